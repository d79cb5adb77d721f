-- The same for the kinds of statements that ran since a moment, with their texts, and whether they are new.
SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, DIGEST_TEXT, FIRST_SEEN >= %(started)s
FROM performance_schema.events_statements_summary_by_digest
WHERE LAST_SEEN >= %(started)s
LIMIT 5000
