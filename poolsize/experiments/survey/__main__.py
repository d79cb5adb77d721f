"""The process that times pools: `python -m poolsize.experiments.survey threads|greenlets|asyncio SECONDS`.

The environment has the server's URL as POOLSIZE_SURVEY_URL. Each line of the output is a Timing as JSON, or
{"missing": POOL} where its library is not installed.
"""

import sys

if sys.argv[1] == "greenlets":  # before anything else is imported
    from gevent import monkey

    monkey.patch_all()

import asyncio
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from sqlalchemy import make_url

from poolsize.experiments.survey import async_pools, users
from poolsize.experiments.survey.async_pools import ASYNC_POOLS, AsyncOpening
from poolsize.experiments.survey.thread_pools import GREENLET_POOLS, THREAD_POOLS, Arguments, Opening
from poolsize.experiments.survey.timing import MANY_SECONDS, MANY_USERS, USERS, Concurrency, Timing, Work

WARM_UP_SECONDS = 0.05
"""Time in which a pool opens its connections."""
POOLS = {
    Concurrency.THREADS: tuple(THREAD_POOLS),
    Concurrency.GREENLETS: tuple(GREENLET_POOLS),
    Concurrency.ASYNCIO: tuple(ASYNC_POOLS),
}
"""Concurrency -> the names of its pools."""
Plan = Sequence[tuple[int, float]]
"""Numbers of users, each with the seconds of its timing."""


def main(concurrency: Concurrency, seconds: float) -> None:
    """Time all pools of a concurrency, and print a line for each timing."""
    target, missing = arguments(), set[str]()
    for work in Work:
        plan = [(number, seconds) for number in USERS]
        plan += [(MANY_USERS, MANY_SECONDS)] if work is Work.SELECT else []
        for name in POOLS[concurrency]:
            if name in missing:
                continue
            try:
                for number, measured in _timed(concurrency, name, target, work, plan):
                    _show(name, concurrency, work, number, measured)
            except ModuleNotFoundError:
                missing.add(name)
                print(json.dumps({"missing": name}), flush=True)


def arguments() -> Arguments:
    """Return the arguments with which every driver connects."""
    url = make_url(os.environ["POOLSIZE_SURVEY_URL"])
    return {"host": url.host, "port": url.port, "user": url.username, "password": url.password}


def _timed(
    concurrency: Concurrency, name: str, target: Arguments, work: Work, plan: Plan
) -> Iterable[tuple[int, users.Measured]]:
    """Return the number of users and what they got, for each part of the plan; nothing for a work the pool lacks."""
    if concurrency is Concurrency.ASYNCIO:
        return asyncio.run(_timed_async(ASYNC_POOLS[name], target, work, plan))
    return _timed_threads(GREENLET_POOLS[name], target, work, plan)


def _timed_threads(opening: Opening, target: Arguments, work: Work, plan: Plan) -> Iterator[tuple[int, users.Measured]]:
    if (pool := opening(target, work)) is None:
        return
    for number, seconds in plan:
        users.measure(pool, number, WARM_UP_SECONDS)
        yield number, users.measure(pool, number, seconds)
    pool.close()


async def _timed_async(
    opening: AsyncOpening, target: Arguments, work: Work, plan: Plan
) -> list[tuple[int, users.Measured]]:
    timings: list[tuple[int, users.Measured]] = []
    if (pool := await opening(target, work)) is None:
        return timings
    for number, seconds in plan:
        await async_pools.measure(pool, number, WARM_UP_SECONDS)
        timings.append((number, await async_pools.measure(pool, number, seconds)))
    await pool.close()
    return timings


def _show(name: str, concurrency: Concurrency, work: Work, number: int, measured: users.Measured) -> None:
    timing = Timing(
        name,
        concurrency,
        work,
        number,
        sum(user.transactions for user in measured.users),
        (measured.ended_ns - measured.began_ns) / 1e9,
        sum(user.transactions > 0 for user in measured.users),
        measured.longest_wait_ms,
    )
    print(json.dumps(asdict(timing)), flush=True)


main(Concurrency(sys.argv[1]), float(sys.argv[2]))
