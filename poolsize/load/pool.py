"""A full pool of a given size."""

import pymysql
from sqlalchemy import URL, Engine, PoolProxiedConnection, create_engine
from sqlalchemy.exc import DBAPIError

from poolsize.errors import WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.target.connection import SCHEMA


def open_pool(url: URL, size: int, timeout_seconds: float) -> Engine:
    """A QueuePool of exactly size connections (max_overflow 0) in the schema, every one of them open.

    Connections commit by themselves, as sysbench's do; a workload that wants a transaction says BEGIN and
    COMMIT. So nothing is left to reset when one is returned, and the pool sends no ROLLBACK of its own.
    timeout_seconds: how long a caller waits for one.
    Raises WorkFailed when the server does not give that many.
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
    opened: list[PoolProxiedConnection] = []
    failure = None
    try:
        opened.extend(engine.raw_connection() for _ in range(size))
    except (pymysql.MySQLError, DBAPIError) as error:
        failure = error
    for connection in opened:
        connection.close()
    if failure is not None:
        engine.dispose()
        raise WorkFailed(f"the server gave {len(opened)} of {size} connections: {failure}")
    return engine
