-- How many of the clients' connections keep no history, and how many are there?
SELECT COUNT(CASE WHEN INSTRUMENTED = 'NO' OR HISTORY = 'NO' THEN 1 END), COUNT(*) FROM performance_schema.threads
WHERE TYPE = 'FOREGROUND' AND PROCESSLIST_ID IS NOT NULL
