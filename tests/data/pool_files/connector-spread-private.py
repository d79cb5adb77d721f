import mysql.connector.pooling

__sample = {
    "host": "127.0.0.1",
    "database": "sample",
}

try:
    pool = mysql.connector.pooling.MySQLConnectionPool(
        **__sample,
        pool_size=10
    )
except Exception as error:
    print(error)
