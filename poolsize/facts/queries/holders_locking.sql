-- The same where performance_schema is off or may not be read; takes a lock for a moment.
SELECT ID, USER, HOST, COMMAND, TIME FROM information_schema.processlist
