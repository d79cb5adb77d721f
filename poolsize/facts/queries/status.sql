-- What has the server counted so far? Any account may ask.
SHOW GLOBAL STATUS WHERE Variable_name IN (
    'Threads_running', 'Connections', 'Connection_errors_max_connections', 'Questions',
    'Threadpool_threads', 'Threadpool_idle_threads',
    'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_read_requests', 'Innodb_row_lock_waits', 'Innodb_row_lock_time',
    'Innodb_os_log_fsyncs', 'Innodb_data_fsyncs', 'Innodb_os_log_written'
)
