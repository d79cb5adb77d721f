-- How many statements did clients send, and how many pages did InnoDB read from disk for them?
SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Innodb_buffer_pool_reads')
