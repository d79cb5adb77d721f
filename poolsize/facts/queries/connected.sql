-- How many connections are open now, everybody's together?
SHOW GLOBAL STATUS WHERE Variable_name = 'Threads_connected'
