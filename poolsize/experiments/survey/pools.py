"""The pools of the libraries of Python. Each has its library's defaults, but for its size, its wait limit and its test.

Those for threads serve greenlets as well once gevent has patched the standard library. SQLAlchemy's and DBUtils' test
connections only where that is asked for; mysql-connector-python's and peewee's always do. Connections of threads are
not encrypted.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import pymysql
from sqlalchemy import URL, create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool, QueuePool
from sqlalchemy.pool import Pool as SqlAlchemyPool

from poolsize.experiments.survey.timing import POOL_SIZE, Concurrency, Work
from poolsize.load.fair_queue import FairQueuePool

POOL_TIMEOUT_SECONDS = 60
"""How long a pool lets a user wait."""
RETRY_SECONDS = 0.001
"""The pause after a pool that does not wait had no connection."""
Arguments = Mapping[str, Any]
"""Host, port, user and password, as the drivers name them."""
Opening = tuple[Callable[[Arguments, Work], Any], Set[Work]]
"""Opens a pool for a work, and the works that the pool can do. For asyncio, it returns an awaitable of the pool."""


@dataclass(frozen=True)
class Pool:
    """A pool of a library; the functions of a pool for asyncio return awaitables.

    borrow: returns a connection. use: works with it. close: ends all. give_back: returns a connection.
    """

    borrow: Callable[[], Any]
    use: Callable[[Any], Any]
    close: Callable[[], Any]
    give_back: Callable[[Any], Any] = lambda connection: connection.close()


class MockConnection:
    """A connection of PEP 249 to nothing, so that what remains is the pool."""

    def close(self) -> None:
        """Do nothing."""

    commit = rollback = close


MOCK_DRIVER = SimpleNamespace(
    connect=MockConnection,
    threadsafety=1,
    **{name: getattr(pymysql, name) for name in ("InterfaceError", "InternalError", "OperationalError")},
)
"""A driver of PEP 249. threadsafety: threads may share the driver, but no connection."""


def _use_nothing(_: Any) -> None:
    """Do nothing with the connection."""


def _use_of(work: Work) -> Callable[[Any], None]:
    """Return what a user does with a connection of PEP 249."""
    if work in {Work.MOCK, Work.BORROW}:
        return _use_nothing
    prepared = work is Work.PREPARED
    options, statement = ({"prepared": True}, ("SELECT %s", (1,))) if prepared else ({}, ("SELECT 1",))

    def select(connection: Any) -> None:
        cursor = connection.cursor(**options)
        cursor.execute(*statement)
        cursor.fetchall()
        cursor.close()

    return select


def _sqlalchemy(kind: type[SqlAlchemyPool], arguments: Arguments, work: Work, **options: Any) -> Pool:
    """Open a pool of SQLAlchemy. kind: its class. options: of the class."""
    if kind is not NullPool:
        options = {"pool_size": POOL_SIZE, "max_overflow": 0, "timeout": POOL_TIMEOUT_SECONDS, **options}
    if work is Work.MOCK:
        pool = kind(MOCK_DRIVER.connect, **options)
    else:
        pool = kind(partial(pymysql.connect, **arguments, ssl_disabled=True), pre_ping=work is Work.PRE_PING, **options)
        create_engine("mysql+pymysql://", pool=pool)  # a pool tests and resets connections with the engine's dialect
    return Pool(pool.connect, _use_of(work), pool.dispose)


def _dbutils(arguments: Arguments, work: Work) -> Pool:
    """Open DBUtils' PooledDB, which tests connections with a ping where that is asked for."""
    from dbutils.pooled_db import PooledDB

    driver, given = (MOCK_DRIVER, {}) if work is Work.MOCK else (pymysql, {**arguments, "ssl_disabled": True})
    ping = 1 if work is Work.PRE_PING else 0
    pool = PooledDB(driver, maxcached=POOL_SIZE, maxconnections=POOL_SIZE, blocking=True, ping=ping, **given)
    return Pool(pool.connection, _use_of(work), pool.close)


def _connector(arguments: Arguments, work: Work) -> Pool:
    """Open the pool of mysql-connector-python, whose users ask again while it has no connection: it does not wait."""
    from mysql.connector import PoolError
    from mysql.connector.pooling import MySQLConnectionPool

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

    return Pool(borrow, _use_of(work), pool._remove_connections)


def _peewee(arguments: Arguments, work: Work) -> Pool:
    from playhouse.pool import PooledMySQLDatabase

    database = PooledMySQLDatabase(None, max_connections=POOL_SIZE, timeout=POOL_TIMEOUT_SECONDS)
    database.init("information_schema", **arguments, ssl_disabled=True)

    def borrow() -> Any:
        database.connect()
        return database

    def select(_: Any) -> None:
        database.execute_sql("SELECT 1").fetchall()

    return Pool(borrow, select if work is Work.SELECT else _use_nothing, database.close_all)


async def _use_nothing_async(_: Any) -> None:
    """Do nothing with the connection."""


async def _sqlalchemy_async(driver: str, arguments: Arguments, work: Work) -> Pool:
    """Open SQLAlchemy's AsyncAdaptedQueuePool. driver: asyncmy or aiomysql."""
    url = URL.create(f"mysql+{driver}", arguments["user"], arguments["password"], arguments["host"], arguments["port"])
    engine = create_async_engine(
        url, pool_size=POOL_SIZE, max_overflow=0, pool_timeout=POOL_TIMEOUT_SECONDS, pool_pre_ping=work is Work.PRE_PING
    )

    async def select(connection: Any) -> None:
        (await connection.exec_driver_sql("SELECT 1")).all()

    return Pool(engine.connect, _use_nothing_async if work is Work.BORROW else select, engine.dispose)


async def _driver_async(name: str, arguments: Arguments, work: Work) -> Pool:
    """Open the pool of a driver. name: asyncmy or aiomysql."""
    pool = await import_module(name).create_pool(**arguments, minsize=1, maxsize=POOL_SIZE)

    async def select(connection: Any) -> None:
        async with connection.cursor() as cursor:
            await cursor.execute("SELECT 1")
            await cursor.fetchall()

    async def close() -> None:
        pool.close()
        await pool.wait_closed()

    return Pool(pool.acquire, _use_nothing_async if work is Work.BORROW else select, close, pool.release)


_PLAIN = {Work.BORROW, Work.SELECT}
_UNPREPARED = {*Work} - {Work.PREPARED}
_FOR_THREADS: Mapping[str, Opening] = {
    "SQLAlchemy QueuePool": (partial(_sqlalchemy, QueuePool), _UNPREPARED),
    "SQLAlchemy QueuePool, LIFO": (partial(_sqlalchemy, QueuePool, use_lifo=True), _UNPREPARED),
    "SQLAlchemy NullPool": (partial(_sqlalchemy, NullPool), _PLAIN),
    "DBUtils PooledDB": (_dbutils, _UNPREPARED),
    "mysql-connector-python": (_connector, _PLAIN | {Work.PREPARED}),
    "peewee": (_peewee, _PLAIN),
}
POOLS: Mapping[Concurrency, Mapping[str, Opening]] = {
    Concurrency.THREADS: _FOR_THREADS,
    Concurrency.GREENLETS: {
        **_FOR_THREADS,
        "poolsize's fair pool, no ROLLBACK": (partial(_sqlalchemy, FairQueuePool, reset_on_return=None), _UNPREPARED),
    },
    Concurrency.ASYNCIO: {
        "SQLAlchemy with asyncmy": (partial(_sqlalchemy_async, "asyncmy"), _PLAIN | {Work.PRE_PING}),
        "SQLAlchemy with aiomysql": (partial(_sqlalchemy_async, "aiomysql"), _PLAIN | {Work.PRE_PING}),
        "asyncmy": (partial(_driver_async, "asyncmy"), _PLAIN),
        "aiomysql": (partial(_driver_async, "aiomysql"), _PLAIN),
    },
}
"""Concurrency -> name of a pool -> how to open it, and for which works."""
