-- How many seconds did each user spend in statements? MariaDB with userstat = ON, for PROCESS. It does not count by host.
-- Those under way count up to now.
SELECT USER, '', 0, 0, SUM(seconds) FROM (
    SELECT USER, BUSY_TIME AS seconds FROM information_schema.user_statistics
    UNION ALL
    SELECT USER, TIME_MS / 1e3 FROM information_schema.processlist
    WHERE COMMAND NOT IN ('Sleep', 'Daemon') AND COMMAND NOT LIKE 'Binlog Dump%' AND ID <> CONNECTION_ID()
) AS times WHERE EXISTS (SELECT * FROM information_schema.user_statistics) GROUP BY USER
