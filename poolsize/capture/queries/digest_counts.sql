-- How often did each kind of statement run since the server's start, and how long?
SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT
FROM performance_schema.events_statements_summary_by_digest
LIMIT 50000
