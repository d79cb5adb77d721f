-- Which limits, timeouts and kinds of threads does the server have, how safe is a commit, and who runs the server?
SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'wait_timeout', 'interactive_timeout', 'sync_binlog', 'log_bin', 'performance_schema', 'hostname', 'version',
    'version_comment', 'basedir', 'aurora_version', 'aad_auth_only'
) OR Variable_name LIKE 'thread\_pool\_%' OR Variable_name LIKE 'cloudsql\_%'
