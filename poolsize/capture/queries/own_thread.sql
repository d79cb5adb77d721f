-- Which thread serves this connection, and when did its statement start, in picoseconds of performance_schema's clock?
SELECT THREAD_ID, TIMER_START
FROM performance_schema.threads JOIN performance_schema.events_statements_current USING (THREAD_ID)
WHERE PROCESSLIST_ID = CONNECTION_ID() AND NESTING_EVENT_LEVEL = 0
