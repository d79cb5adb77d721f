"""A worker's connection pools in one step, and their connections, which are open unless the pool is lazy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pymysql
from sqlalchemy import URL, Engine, PoolProxiedConnection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import Pool, QueuePool

from poolsize.errors import WorkFailed
from poolsize.load.fair_queue import FairQueuePool, Lease
from poolsize.load.worker_connection import WorkerConnection
from poolsize.runs.plan import PoolKind
from poolsize.server.connection import ServerGone, error_kind
from poolsize.server.encryption import connect_arguments
from poolsize.units import count

SHARED = ""
"""The name of the pool of all users without a pool of their own."""
Checkout = Callable[[], Lease | PoolProxiedConnection]
"""Takes a connection from a pool."""


@dataclass(frozen=True)
class Pools:
    """The open pools of a worker: one for each class of users that has a pool of its own, and one for the others.

    engines: user class, or SHARED -> its pool. connection_ids: the server's id of every connection that the pools have
    opened, later ones and closed ones included.
    """

    engines: dict[str, Engine]
    connection_ids: list[int]

    @property
    def checkouts(self) -> dict[str, Checkout]:
        """Name of a pool -> the function that takes a connection from it."""
        return {name: _checkout(engine.pool) for name, engine in self.engines.items()}

    def close(self) -> None:
        """Close the connections of every pool."""
        for engine in self.engines.values():
            engine.dispose()


def _checkout(pool: Pool) -> Checkout:
    """Return the function that takes a connection: a Lease, unless a locustfile hears an event that it lacks."""
    if isinstance(pool, FairQueuePool) and not (pool.dispatch.checkout or pool.dispatch.reset):
        return pool.lease
    return pool.connect


def open_pools(
    url: URL, schema: str, connections: int, shares: Mapping[str, float], timeout_seconds: float, kind: PoolKind | str
) -> Pools:
    """Return a worker's pools, with all their connections open unless they are lazy.

    connections: of all pools together. shares: user class -> its pool's part of them; the shared pool has the others.
    timeout_seconds: how long a user waits for a connection. Raises WorkFailed where there are fewer connections than
    pools, and when the server does not admit them; BadInput for files of certificates that can't be read.
    """
    pools = Pools({}, [])
    try:
        for name, size in divided(connections, shares).items():
            pools.engines[name] = open_pool(url, schema, size, timeout_seconds, kind, pools.connection_ids)
    except BaseException:
        pools.close()
        raise
    return pools


def open_pool(
    url: URL, schema: str, size: int, timeout_seconds: float, kind: PoolKind | str, connection_ids: list[int]
) -> Engine:
    """Return a pool with `size` open connections in a schema, and max_overflow 0.

    Connections autocommit, as sysbench's do; a workload that needs a transaction executes BEGIN and COMMIT. So a
    returned connection has nothing to reset, and the fair pool sends no ROLLBACK of its own. SQLAlchemy's own pool
    keeps its defaults, as applications run it: a ROLLBACK at each return, which is a round trip to the server and part
    of the usage time, and connections taken in the order in which they came back. Without a pool, a returned connection
    is closed and the next user opens its own: wait time includes connecting. A lazy pool has no open connection yet.
    size: 0 for a worker without a share, whose pool is never used. connection_ids: the pool appends to it.
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
    event.listen(
        engine, "do_connect", lambda _dialect, _record, positional, named: WorkerConnection(*positional, **named)
    )
    event.listen(engine, "connect", lambda connection, _: connection_ids.append(int(connection.thread_id())))
    if kind == PoolKind.NONE:
        event.listen(engine, "checkin", lambda _, record: record.invalidate())
    if kind != PoolKind.LAZY:
        _open_all(engine, size)
    return engine


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
        kind = error_kind(failure)
        raise (ServerGone if kind == "server_gone" else WorkFailed)(
            f"the server gave {len(connections)} of {size} connections ({kind}): {failure.args[-1]}"
        )


def divided_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Return name of a pool -> its part of the connections, with the shared pool where there is one."""
    rest = 1 - sum(shares.values())
    return {**shares, **({SHARED: rest} if rest > 1e-9 else {})}


def divided(connections: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Return the connections of each pool: at least 1, in all exactly `connections`, nearly in proportion.

    shares: as in open_pools. Without a connection, no pool has any. Raises WorkFailed for fewer connections than pools.
    """
    parts = divided_shares(shares)
    if connections == 0:
        return dict.fromkeys(parts, 0)
    if connections < len(parts):
        raise WorkFailed(
            f"{count(connections, 'connection')} can't be divided among {len(parts)} pools: sweep `sizes` of "
            f"{len(parts)} and more for each worker"
        )
    sizes = dict.fromkeys(parts, 1)
    for _ in range(connections - len(parts)):
        sizes[max(parts, key=lambda name: parts[name] * connections - sizes[name])] += 1
    return sizes
