-- How many connections are open now, of all accounts together?
SHOW GLOBAL STATUS WHERE Variable_name = 'Threads_connected'
