-- For how many seconds has the server been up?
SHOW GLOBAL STATUS WHERE Variable_name = 'Uptime'
