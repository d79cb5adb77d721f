-- Which connections are open, and which of them have an open transaction? Needs performance_schema's transactions.
-- MariaDB has no index on these tables, and makes one for the inner query.
SELECT PROCESSLIST_ID, PROCESSLIST_USER, PROCESSLIST_HOST, PROCESSLIST_COMMAND, PROCESSLIST_TIME,
    active.THREAD_ID IS NOT NULL
FROM performance_schema.threads LEFT JOIN (
    SELECT DISTINCT THREAD_ID FROM performance_schema.events_transactions_current WHERE STATE = 'ACTIVE'
) AS active ON active.THREAD_ID = threads.THREAD_ID
WHERE TYPE = 'FOREGROUND' AND PROCESSLIST_ID IS NOT NULL
