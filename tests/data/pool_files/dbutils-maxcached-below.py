import pymysql
from dbutils.pooled_db import PooledDB

SAMPLE_POOL = PooledDB(
    creator=pymysql,
    maxconnections=10,
    mincached=2,
    maxcached=5,
    maxshared=3,
    blocking=True,
    setsession=[],
    ping=0,
    host="127.0.0.1",
    database="sample",
)
