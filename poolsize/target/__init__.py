"""The target of the load: a database server, poolsize's schema on it, and the server's counters."""
