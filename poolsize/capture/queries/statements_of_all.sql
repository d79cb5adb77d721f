-- Which statements of all connections ended in a period? The history is a ring: its oldest statement shows whether
-- statements of the period were overwritten. The newest may not be in the ring yet. MariaDB keeps texts in the
-- server's character set; BINARY keeps the bytes of a text that was cut inside a character.
SELECT THREAD_ID, EVENT_ID, EVENT_NAME, statements.TIMER_START, TIMER_WAIT,
    CAST(CONVERT(SQL_TEXT USING utf8mb4) AS BINARY), ROWS_SENT, reading.TIMER_START, ring.oldest, ring.statements
FROM performance_schema.events_statements_history_long AS statements JOIN (
    SELECT MIN(TIMER_END) AS oldest, COUNT(*) AS statements FROM performance_schema.events_statements_history_long
) AS ring JOIN (
    SELECT TIMER_START FROM performance_schema.events_statements_current
    WHERE THREAD_ID = %(own)s AND NESTING_EVENT_LEVEL = 0
) AS reading
WHERE TIMER_END > %(since)s AND TIMER_END + %(longest)s > reading.TIMER_START
    AND TIMER_END + %(margin)s <= reading.TIMER_START AND NESTING_EVENT_LEVEL = 0 AND THREAD_ID <> %(own)s
LIMIT %(most)s
