-- How many transactions did each account end, and how many seconds did it spend in transactions and in statements?
-- Those under way count up to now. A statement of a stored program is a part of the statement that called the program.
SELECT USER, HOST, SUM(transactions), SUM(transaction_seconds), SUM(statement_seconds) FROM (
    SELECT USER, HOST, COUNT_STAR AS transactions, SUM_TIMER_WAIT / 1e12 AS transaction_seconds, 0 AS statement_seconds
    FROM performance_schema.events_transactions_summary_by_account_by_event_name
    UNION ALL
    SELECT USER, HOST, 0, 0, SUM_TIMER_WAIT / 1e12
    FROM performance_schema.events_statements_summary_by_account_by_event_name
    WHERE EVENT_NAME NOT LIKE 'statement/sp/%'
    UNION ALL
    SELECT PROCESSLIST_USER, PROCESSLIST_HOST, 0, TIMER_WAIT / 1e12, 0
    FROM performance_schema.events_transactions_current JOIN performance_schema.threads USING (THREAD_ID)
    WHERE STATE = 'ACTIVE' AND PROCESSLIST_ID <> CONNECTION_ID()
    UNION ALL
    SELECT PROCESSLIST_USER, PROCESSLIST_HOST, 0, 0, TIMER_WAIT / 1e12
    FROM performance_schema.events_statements_current JOIN performance_schema.threads USING (THREAD_ID)
    WHERE END_EVENT_ID IS NULL AND NESTING_EVENT_LEVEL = 0 AND PROCESSLIST_ID <> CONNECTION_ID()
        AND EVENT_NAME NOT LIKE 'statement/com/Binlog Dump%'
) AS times WHERE USER IS NOT NULL GROUP BY USER, HOST
