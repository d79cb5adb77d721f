-- Which connections can this account see? Without the PROCESS privilege: its own.
SHOW PROCESSLIST
