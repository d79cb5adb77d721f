-- The same for transactions of InnoDB, which the privilege PROCESS shows. The inner query is one for the holders.
SELECT ID, USER, HOST, COMMAND, TIME, trx_mysql_thread_id IS NOT NULL FROM (
{connections}
) AS connections LEFT JOIN information_schema.innodb_trx ON trx_mysql_thread_id = ID
