import pymysql
from DBUtils.PooledDB import PooledDB

class Sample:
    pool = PooledDB(
        creator=pymysql,
        maxconnections=10,
        mincached=2,
        maxcached=5,
        blocking=True,
        maxusage=None,
        database="sample",
    )
