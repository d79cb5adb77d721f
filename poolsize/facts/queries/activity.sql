-- How many connections are open, and how many statements did clients send?
SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Threads_connected')
