-- How many connections were open at most, when, and how many did the server refuse or lose since its start?
SHOW GLOBAL STATUS WHERE Variable_name IN (
    'Threads_connected', 'Max_used_connections', 'Max_used_connections_time', 'Connection_errors_max_connections',
    'Aborted_connects', 'Aborted_clients', 'Uptime'
)
