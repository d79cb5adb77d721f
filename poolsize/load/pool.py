"""A worker's connection pool, with all its connections open."""

import pymysql
from sqlalchemy import URL, Engine, PoolProxiedConnection, create_engine
from sqlalchemy.exc import DBAPIError

from poolsize.errors import WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.target.connection import SCHEMA


def open_pool(url: URL, size: int, timeout_seconds: float) -> Engine:
    """Return an engine whose pool has `size` open connections in poolsize's schema, and max_overflow 0.

    Connections autocommit, as sysbench's do; a workload that needs a transaction executes BEGIN and COMMIT. So a
    returned connection has nothing to reset, and the pool sends no ROLLBACK of its own.
    size: 0 for a worker without a share, whose pool is never used. timeout_seconds: how long a user waits for a
    connection. Raises WorkFailed when the server does not admit that many connections.
    """
    engine = create_engine(
        url.set(database=SCHEMA),
        poolclass=FairQueuePool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=timeout_seconds,
        pool_reset_on_return=None,
        connect_args={"autocommit": True},
    )
    connections: list[PoolProxiedConnection] = []
    failure = None
    try:
        connections.extend(engine.raw_connection() for _ in range(size))
    except (pymysql.MySQLError, DBAPIError) as error:
        failure = error
    for connection in connections:
        connection.close()
    if failure is not None:
        engine.dispose()
        raise WorkFailed(f"the server gave {len(connections)} of {size} connections: {failure}")
    return engine
