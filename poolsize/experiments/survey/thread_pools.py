"""The pools of libraries for threads, which serve greenlets as well once gevent has patched the standard library.

Each pool has its library's defaults, but for its size. SQLAlchemy's and DBUtils' test connections only where that is
asked for; mysql-connector-python's and peewee's always do. Connections are not encrypted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic, sleep
from typing import Any

import pymysql
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool, QueuePool
from sqlalchemy.pool import Pool as SqlAlchemyPool

from poolsize.experiments.survey import mock_driver
from poolsize.experiments.survey.timing import POOL_SIZE, Work
from poolsize.load.fair_queue import FairQueuePool

POOL_TIMEOUT_SECONDS = 60
"""How long a pool lets a user wait."""
RETRY_SECONDS = 0.001
"""The pause after a pool that does not wait had no connection."""
Arguments = Mapping[str, Any]
"""Host, port, user and password, as the drivers name them."""


@dataclass(frozen=True)
class Pool:
    """A pool of a library. borrow: returns a connection. use: works with it. give_back: returns it. close: ends all."""

    borrow: Callable[[], Any]
    use: Callable[[Any], None]
    give_back: Callable[[Any], None]
    close: Callable[[], Any]


Opening = Callable[[Arguments, Work], Pool | None]
"""Opens a pool for a work; None where the library can't do it."""


def _close(connection: Any) -> None:
    connection.close()


def _use_nothing(_: Any) -> None:
    """Do nothing with the connection."""


def _select(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("SELECT 1")
    cursor.fetchall()
    cursor.close()


def _select_prepared(connection: Any) -> None:
    cursor = connection.cursor(prepared=True)
    cursor.execute("SELECT %s", (1,))
    cursor.fetchall()
    cursor.close()


def _use_of(work: Work) -> Callable[[Any], None]:
    """Return what a user does with a connection of PEP 249."""
    return {Work.MOCK: _use_nothing, Work.BORROW: _use_nothing, Work.PREPARED: _select_prepared}.get(work, _select)


def sqlalchemy_pool(kind: type[SqlAlchemyPool], arguments: Arguments, work: Work, **options: Any) -> Pool | None:
    """Open a pool of SQLAlchemy. kind: its class. options: of the class."""
    if work is Work.PREPARED or (kind is NullPool and work in {Work.MOCK, Work.PRE_PING}):
        return None
    if kind is not NullPool:
        options = {"pool_size": POOL_SIZE, "max_overflow": 0, "timeout": POOL_TIMEOUT_SECONDS, **options}
    if work is Work.MOCK:
        pool = kind(mock_driver.connect, **options)
    else:
        pool = kind(partial(pymysql.connect, **arguments, ssl_disabled=True), pre_ping=work is Work.PRE_PING, **options)
        create_engine("mysql+pymysql://", pool=pool)  # a pool tests and resets connections with the engine's dialect
    return Pool(pool.connect, _use_of(work), _close, pool.dispose)


def dbutils_pool(arguments: Arguments, work: Work) -> Pool | None:
    """Open DBUtils' PooledDB, which tests connections with a ping where that is asked for."""
    from dbutils.pooled_db import PooledDB

    if work is Work.PREPARED:
        return None
    driver, given = (mock_driver, {}) if work is Work.MOCK else (pymysql, {**arguments, "ssl_disabled": True})
    ping = 1 if work is Work.PRE_PING else 0
    pool = PooledDB(driver, maxcached=POOL_SIZE, maxconnections=POOL_SIZE, blocking=True, ping=ping, **given)
    return Pool(pool.connection, _use_of(work), _close, pool.close)


def connector_pool(arguments: Arguments, work: Work) -> Pool | None:
    """Open the pool of mysql-connector-python, whose users ask again while it has no connection: it does not wait."""
    from mysql.connector import PoolError
    from mysql.connector.pooling import MySQLConnectionPool

    if work in {Work.MOCK, Work.PRE_PING}:
        return None
    pool = MySQLConnectionPool(pool_name="survey", pool_size=POOL_SIZE, use_pure=True, ssl_disabled=True, **arguments)

    def borrow() -> Any:
        end = monotonic() + POOL_TIMEOUT_SECONDS
        while True:
            try:
                return pool.get_connection()
            except PoolError:
                if monotonic() > end:
                    raise
                sleep(RETRY_SECONDS)

    return Pool(borrow, _use_of(work), _close, pool._remove_connections)


def peewee_pool(arguments: Arguments, work: Work) -> Pool | None:
    """Open peewee's pool, which gives each thread a connection of its own."""
    from playhouse.pool import PooledMySQLDatabase

    if work not in {Work.BORROW, Work.SELECT}:
        return None
    database = PooledMySQLDatabase(None, max_connections=POOL_SIZE, timeout=POOL_TIMEOUT_SECONDS)
    database.init("information_schema", **arguments, ssl_disabled=True)

    def borrow() -> Any:
        database.connect()
        return database

    def select(_: Any) -> None:
        database.execute_sql("SELECT 1").fetchall()

    use = select if work is Work.SELECT else _use_nothing
    return Pool(borrow, use, _close, database.close_all)


THREAD_POOLS: Mapping[str, Opening] = {
    "SQLAlchemy QueuePool": partial(sqlalchemy_pool, QueuePool),
    "SQLAlchemy QueuePool, LIFO": partial(sqlalchemy_pool, QueuePool, use_lifo=True),
    "SQLAlchemy NullPool": partial(sqlalchemy_pool, NullPool),
    "DBUtils PooledDB": dbutils_pool,
    "mysql-connector-python": connector_pool,
    "peewee": peewee_pool,
}
"""Name of a pool -> how to open it."""
GREENLET_POOLS: Mapping[str, Opening] = {
    **THREAD_POOLS,
    "poolsize's fair pool, no ROLLBACK": partial(sqlalchemy_pool, FairQueuePool, reset_on_return=None),
}
"""The same, with the pool that poolsize measures with."""
