"""A worker's connection pool, whose connections are open unless it is lazy."""

from dataclasses import dataclass
from typing import Any

import pymysql
from sqlalchemy import URL, Engine, PoolProxiedConnection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from poolsize.errors import WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.load.worker_connection import worker_connection
from poolsize.runs.plan import PoolKind
from poolsize.target.connection import ServerGone, error_kind, is_server_gone
from poolsize.target.encryption import connect_arguments


@dataclass(frozen=True)
class OpenPool:
    """A pool whose connections are open, unless it is lazy.

    connection_ids: the server's id of every connection that the pool has opened, later ones and closed ones included.
    """

    engine: Engine
    connection_ids: list[int]


def open_pool(
    url: URL, schema: str, size: int, timeout_seconds: float, kind: PoolKind | str = PoolKind.FAIR
) -> OpenPool:
    """Return a pool with `size` open connections in a schema, and max_overflow 0.

    Connections autocommit, as sysbench's do; a workload that needs a transaction executes BEGIN and COMMIT. So a
    returned connection has nothing to reset, and the fair pool sends no ROLLBACK of its own. SQLAlchemy's own pool
    keeps its defaults, as applications run it: a ROLLBACK at each return, which is a round trip to the server and part
    of the usage time, and connections taken in the order in which they came back. Without a
    pool, a returned connection is closed and the next user opens its own: wait time includes connecting. A lazy pool
    has no open connection yet.
    size: 0 for a worker without a share, whose pool is never used. timeout_seconds: how long a user waits for a
    connection. Raises WorkFailed when the server does not admit that many connections, and BadInput for files of
    certificates that can't be read.
    """
    own = kind == PoolKind.SQLALCHEMY
    bare, encryption = connect_arguments(url)
    engine = create_engine(
        bare.set(database=schema),
        poolclass=QueuePool if own else FairQueuePool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=timeout_seconds,
        pool_reset_on_return="rollback" if own else None,
        connect_args={"autocommit": True, **encryption},
    )
    pool = OpenPool(engine, [])
    event.listen(engine, "do_connect", worker_connection)
    event.listen(engine, "connect", lambda connection, _: pool.connection_ids.append(_id(connection)))
    if kind == PoolKind.NONE:
        event.listen(engine, "checkin", lambda _, record: record.invalidate())
    if kind != PoolKind.LAZY:
        _open_all(engine, size)
    return pool


def _id(connection: Any) -> int:
    """Return the server's id of a PyMySQL connection."""
    return int(connection.thread_id())


def _open_all(engine: Engine, size: int) -> None:
    connections: list[PoolProxiedConnection] = []
    failure: BaseException | None = None
    try:
        connections.extend(engine.raw_connection() for _ in range(size))
    except (pymysql.MySQLError, DBAPIError) as error:
        failure = getattr(error, "orig", None) or error  # SQLAlchemy's own text has further lines
    for connection in connections:
        connection.close()
    if failure is not None:
        engine.dispose()
        kind = ServerGone if is_server_gone(failure) else WorkFailed
        raise kind(
            f"the server gave {len(connections)} of {size} connections ({error_kind(failure)}): {failure.args[-1]}"
        )
