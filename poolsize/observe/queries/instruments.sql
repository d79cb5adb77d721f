-- Does performance_schema time transactions and statements, also those that are under way?
SELECT NAME, ENABLED = 'YES' AND TIMED = 'YES' FROM performance_schema.setup_instruments
WHERE NAME IN ('transaction', 'statement/sql/select')
UNION ALL
SELECT NAME, ENABLED = 'YES' FROM performance_schema.setup_consumers
WHERE NAME IN (
    'global_instrumentation', 'thread_instrumentation', 'events_transactions_current', 'events_statements_current'
)
