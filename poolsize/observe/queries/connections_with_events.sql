-- Which connections are open, and which of them have an open transaction? Needs performance_schema's transactions.
SELECT PROCESSLIST_ID, PROCESSLIST_USER, PROCESSLIST_HOST, PROCESSLIST_COMMAND, PROCESSLIST_TIME,
    COALESCE(STATE = 'ACTIVE', 0)
FROM performance_schema.threads LEFT JOIN performance_schema.events_transactions_current USING (THREAD_ID)
WHERE TYPE = 'FOREGROUND' AND PROCESSLIST_ID IS NOT NULL
