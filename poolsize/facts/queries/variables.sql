-- What is the server, and which of its settings decide how many connections it serves?
SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'version', 'version_comment', 'max_connections', 'max_user_connections',
    'thread_handling', 'thread_pool_size',
    'innodb_buffer_pool_size', 'innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin'
)
