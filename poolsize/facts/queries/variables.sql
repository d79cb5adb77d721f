-- What is the server, and which of its settings decide how many connections it serves this account?
SHOW VARIABLES WHERE Variable_name IN (
    'hostname', 'port', 'version', 'version_comment', 'max_connections', 'max_user_connections', 'thread_handling',
    'innodb_buffer_pool_size', 'innodb_flush_log_at_trx_commit'
)
