import pymysql
from dbutils.pooled_db import PooledDB

sample_config = {
    "host": "sample",
    "db": "sample",
    "maxconnections": 0,  # any number
    "mincached": 4,
    "maxcached": 0,
    "maxusage": 5,
    "blocking": True,
}

pool = PooledDB(pymysql, **sample_config)
