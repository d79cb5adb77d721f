-- Which statements did each connection end last? Only statements that ended since a moment come with their texts.
SELECT THREAD_ID, EVENT_ID, EVENT_NAME, statements.TIMER_START, TIMER_WAIT,
    IF(TIMER_END > %(since)s, CAST(CONVERT(SQL_TEXT USING utf8mb4) AS BINARY), NULL), ROWS_SENT, reading.TIMER_START,
    NESTING_EVENT_LEVEL
FROM performance_schema.events_statements_history AS statements JOIN (
    SELECT TIMER_START FROM performance_schema.events_statements_current
    WHERE THREAD_ID = %(own)s AND NESTING_EVENT_LEVEL = 0
) AS reading
WHERE THREAD_ID <> %(own)s
LIMIT %(most)s
