-- Who holds a connection, since when, and is it at work? MySQL 8.0.22 or later; takes no lock.
SELECT ID, USER, HOST, COMMAND, TIME FROM performance_schema.processlist
