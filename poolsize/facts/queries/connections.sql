-- Which connections can this account see? Without the PROCESS privilege: its own, which are the ones to count.
SHOW PROCESSLIST
