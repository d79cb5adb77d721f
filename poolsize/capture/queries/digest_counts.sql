-- How often did each kind of statement run since the server's start, how long, and how many rows did it send?
SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_SENT
FROM performance_schema.events_statements_summary_by_digest
LIMIT 50000
