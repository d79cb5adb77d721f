-- How many seconds did each user spend in statements? MariaDB with userstat = ON, for PROCESS. It does not count by host.
-- Those under way count up to now, and those of this connection do not count.
SELECT USER, '', 0, 0, SUM(seconds) FROM (
    SELECT USER, BUSY_TIME AS seconds FROM information_schema.user_statistics
    UNION ALL
    SELECT USER, TIME_MS / 1e3 FROM information_schema.processlist
    WHERE COMMAND NOT IN ('Sleep', 'Daemon') AND COMMAND NOT LIKE 'Binlog Dump%' AND ID <> CONNECTION_ID()
    UNION ALL
    SELECT SUBSTRING_INDEX(USER(), '@', 1), -1e0 * VARIABLE_VALUE FROM information_schema.session_status
    WHERE VARIABLE_NAME = 'BUSY_TIME'
) AS times WHERE EXISTS (SELECT * FROM information_schema.user_statistics) GROUP BY USER
