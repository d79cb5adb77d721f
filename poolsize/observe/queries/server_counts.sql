-- How many connections are open and run statements, and how many did the server refuse or lose since its start?
SHOW GLOBAL STATUS WHERE Variable_name IN (
    'Threads_connected', 'Threads_running', 'Max_used_connections', 'Connection_errors_max_connections',
    'Aborted_clients'
)
