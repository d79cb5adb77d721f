-- Which parts of performance_schema record statements, with their times?
SELECT NAME, ENABLED = 'YES' FROM performance_schema.setup_consumers
WHERE NAME IN (
    'global_instrumentation', 'thread_instrumentation', 'statements_digest', 'events_statements_current',
    'events_statements_history', 'events_statements_history_long'
)
UNION ALL
SELECT NAME, ENABLED = 'YES' AND TIMED = 'YES' FROM performance_schema.setup_instruments
WHERE NAME = 'statement/sql/select'
