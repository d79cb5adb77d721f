"""The pools of libraries for asyncio, each with its library's defaults but for size and test, and their users."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import perf_counter_ns
from typing import Any

from sqlalchemy import URL
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from poolsize.experiments.survey.thread_pools import POOL_TIMEOUT_SECONDS, Arguments
from poolsize.experiments.survey.timing import POOL_SIZE, Work
from poolsize.experiments.survey.users import LONGEST_END_SECONDS, Clock, Measured, User


@dataclass(frozen=True)
class AsyncPool:
    """A pool of a library. borrow: returns a connection. use: works with it. give_back: returns it. close: ends all."""

    borrow: Callable[[], Awaitable[Any]]
    use: Callable[[Any], Awaitable[None]]
    give_back: Callable[[Any], Awaitable[None]]
    close: Callable[[], Awaitable[None]]


AsyncOpening = Callable[[Arguments, Work], Awaitable[AsyncPool | None]]
"""Opens a pool for a work; None where the library can't do it."""


async def _use_nothing(_: Any) -> None:
    """Do nothing with the connection."""


async def sqlalchemy_pool(driver: str, arguments: Arguments, work: Work) -> AsyncPool | None:
    """Open SQLAlchemy's AsyncAdaptedQueuePool. driver: asyncmy or aiomysql."""
    if work in {Work.MOCK, Work.PREPARED}:
        return None
    url = URL.create(f"mysql+{driver}", arguments["user"], arguments["password"], arguments["host"], arguments["port"])
    engine = create_async_engine(
        url, pool_size=POOL_SIZE, max_overflow=0, pool_timeout=POOL_TIMEOUT_SECONDS, pool_pre_ping=work is Work.PRE_PING
    )

    async def borrow() -> AsyncConnection:
        return await engine.connect()

    async def select(connection: AsyncConnection) -> None:
        (await connection.exec_driver_sql("SELECT 1")).all()

    async def give_back(connection: AsyncConnection) -> None:
        await connection.close()

    return AsyncPool(borrow, _use_nothing if work is Work.BORROW else select, give_back, engine.dispose)


async def driver_pool(name: str, arguments: Arguments, work: Work) -> AsyncPool | None:
    """Open the pool of a driver. name: asyncmy or aiomysql."""
    if work not in {Work.BORROW, Work.SELECT}:
        return None
    pool = await import_module(name).create_pool(**arguments, minsize=1, maxsize=POOL_SIZE)

    async def select(connection: Any) -> None:
        async with connection.cursor() as cursor:
            await cursor.execute("SELECT 1")
            await cursor.fetchall()

    async def give_back(connection: Any) -> None:
        if (waiting := pool.release(connection)) is not None:
            await waiting

    async def close() -> None:
        pool.close()
        await pool.wait_closed()

    return AsyncPool(pool.acquire, _use_nothing if work is Work.BORROW else select, give_back, close)


ASYNC_POOLS: Mapping[str, AsyncOpening] = {
    "SQLAlchemy with asyncmy": partial(sqlalchemy_pool, "asyncmy"),
    "SQLAlchemy with aiomysql": partial(sqlalchemy_pool, "aiomysql"),
    "asyncmy": partial(driver_pool, "asyncmy"),
    "aiomysql": partial(driver_pool, "aiomysql"),
}
"""Name of a pool -> how to open it."""


async def measure(pool: AsyncPool, number: int, seconds: float) -> Measured:
    """Let a number of users work for some seconds, and return what they got."""
    clock, users = Clock(), [User() for _ in range(number)]
    clock.start(seconds, users)
    tasks = [asyncio.create_task(_work(pool, user, clock)) for user in users]
    while perf_counter_ns() < clock.end_ns:
        await asyncio.sleep(max(0.0, (clock.end_ns - perf_counter_ns()) / 1e9))
    measured = Measured([User(**vars(user)) for user in users], clock.began_ns, perf_counter_ns())
    async with asyncio.timeout(LONGEST_END_SECONDS):
        await asyncio.gather(*tasks)
    return measured


async def _work(pool: AsyncPool, user: User, clock: Clock) -> None:
    asked_ns = clock.began_ns
    while asked_ns < clock.end_ns:
        connection = await pool.borrow()
        obtained_ns, user.asked_ns = perf_counter_ns(), None
        user.longest_ns = max(user.longest_ns, obtained_ns - asked_ns)
        try:
            if obtained_ns >= clock.end_ns:
                return
            await pool.use(connection)
        finally:
            await pool.give_back(connection)
        user.transactions += 1
        asked_ns = user.asked_ns = perf_counter_ns()
