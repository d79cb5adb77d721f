"""Users that borrow and return connections as fast as they can: tasks of asyncio."""

import asyncio
from time import perf_counter_ns

from poolsize.survey.async_pools import AsyncPool
from poolsize.survey.users import LONGEST_END_SECONDS, Clock, Measured, User


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
