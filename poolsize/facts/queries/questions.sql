-- How many statements did clients send, of all accounts together?
SHOW GLOBAL STATUS WHERE Variable_name = 'Questions'
