"""The process that times pools: `python -m poolsize.experiments.survey.process threads|greenlets|asyncio SECONDS`.

The environment has the server's URL as POOLSIZE_SURVEY_URL. Each line of the output is a Timing as JSON, or
{"missing": POOL} where its library is not installed.
"""

import sys

if __name__ == "__main__" and sys.argv[1] == "greenlets":  # before anything else is imported
    from gevent import monkey

    monkey.patch_all()

import asyncio
import json
import os
import threading
from dataclasses import asdict, dataclass, replace
from itertools import product
from time import perf_counter_ns, sleep
from typing import Any

from sqlalchemy import make_url

from poolsize.errors import WorkFailed
from poolsize.experiments.survey.pools import POOLS, Pool
from poolsize.experiments.survey.timing import MANY_SECONDS, MANY_USERS, USERS, Concurrency, Timing, Work

WARM_UP_SECONDS = 0.05
"""Time in which a pool opens its connections."""
LONGEST_END_SECONDS = 60.0
"""The longest time to wait, at the end, until every user has stopped."""


def main(concurrency: Concurrency, seconds: float) -> None:
    """Time all pools of a concurrency, and print a line for each timing."""
    url, missing = make_url(os.environ["POOLSIZE_SURVEY_URL"]), set[str]()
    arguments = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
    with asyncio.Runner() as runner:
        measure: Any = measure_threads
        result_of: Any = lambda result: result  # noqa: E731
        if concurrency is Concurrency.ASYNCIO:
            measure, result_of = measure_tasks, runner.run
        for work, (name, (opening, works)) in product(Work, POOLS[concurrency].items()):
            if work not in works or name in missing:
                continue
            try:
                pool = result_of(opening(arguments, work))
            except ModuleNotFoundError:
                missing.add(name)
                print(json.dumps({"missing": name}), flush=True)
                continue
            many = [(MANY_USERS, MANY_SECONDS)] if work is Work.SELECT else []
            for users, length in [*((users, seconds) for users in USERS), *many]:
                result_of(measure(pool, users, WARM_UP_SECONDS))
                timing = Timing(name, concurrency, work, users, **result_of(measure(pool, users, length)))
                print(json.dumps(asdict(timing)), flush=True)
            result_of(pool.close())


@dataclass
class User:
    """What one user got. asked_ns: when it began to wait; None while it has a connection. error: that stopped it."""

    transactions: int = 0
    longest_ns: int = 0
    asked_ns: int | None = None
    error: Exception | None = None


class Users:
    """The users of a measurement, who borrow and return connections as fast as they can between two moments."""

    def __init__(self, number: int) -> None:
        self.each = [User() for _ in range(number)]
        self.began_ns = self.end_ns = 0

    def begin(self, seconds: float) -> None:
        """Begin now; all users wait from now on."""
        self.began_ns = perf_counter_ns()
        self.end_ns = self.began_ns + round(1e9 * seconds)
        for user in self.each:
            user.asked_ns = self.began_ns

    def measured(self) -> dict[str, Any]:
        """Return the last fields of a Timing; users that still wait count as waiting until now."""
        users = [replace(user) for user in self.each]
        now_ns = perf_counter_ns()
        waits_ns = [now_ns - user.asked_ns for user in users if user.asked_ns is not None]
        return {
            "transactions": sum(user.transactions for user in users),
            "seconds": (now_ns - self.began_ns) / 1e9,
            "served": sum(user.transactions > 0 for user in users),
            "longest_wait_ms": max([0, *waits_ns, *(user.longest_ns for user in users)]) / 1e6,
        }


def measure_threads(pool: Pool, number: int, seconds: float) -> dict[str, Any]:
    """Let a number of threads, or greenlets, work for some seconds, and return what they got.

    Raises WorkFailed where a user failed, or does not stop.
    """
    users, begin = Users(number), threading.Event()
    threads = [threading.Thread(target=_work, args=(pool, user, users, begin), daemon=True) for user in users.each]
    for thread in threads:
        thread.start()
    users.begin(seconds)
    begin.set()
    sleep(seconds)
    measured = users.measured()
    last_ns = perf_counter_ns() + round(1e9 * LONGEST_END_SECONDS)
    for user, thread in zip(users.each, threads, strict=True):
        thread.join(max(0.0, (last_ns - perf_counter_ns()) / 1e9))
        if user.error or thread.is_alive():
            raise WorkFailed(f"a user failed: {user.error or 'it still waits for a connection'}")
    return measured


def _work(pool: Pool, user: User, users: Users, begin: threading.Event) -> None:
    begin.wait()
    asked_ns = users.began_ns
    try:
        while asked_ns < users.end_ns:
            connection = pool.borrow()
            obtained_ns, user.asked_ns = perf_counter_ns(), None
            user.longest_ns = max(user.longest_ns, obtained_ns - asked_ns)
            try:
                if obtained_ns >= users.end_ns:
                    return
                pool.use(connection)
            finally:
                pool.give_back(connection)
            user.transactions += 1
            asked_ns = user.asked_ns = perf_counter_ns()
    except Exception as error:  # any error of a library; the survey ends with it
        user.error = error


async def measure_tasks(pool: Pool, number: int, seconds: float) -> dict[str, Any]:
    """Let a number of tasks work for some seconds, and return what they got."""
    users = Users(number)
    users.begin(seconds)
    tasks = [asyncio.create_task(_work_async(pool, user, users)) for user in users.each]
    await asyncio.sleep(seconds)
    measured = users.measured()
    async with asyncio.timeout(LONGEST_END_SECONDS):
        await asyncio.gather(*tasks)
    return measured


async def _work_async(pool: Pool, user: User, users: Users) -> None:
    asked_ns = users.began_ns
    while asked_ns < users.end_ns:
        connection = await pool.borrow()
        obtained_ns, user.asked_ns = perf_counter_ns(), None
        user.longest_ns = max(user.longest_ns, obtained_ns - asked_ns)
        try:
            if obtained_ns >= users.end_ns:
                return
            await pool.use(connection)
        finally:
            await pool.give_back(connection)
        user.transactions += 1
        asked_ns = user.asked_ns = perf_counter_ns()


if __name__ == "__main__":
    main(Concurrency(sys.argv[1]), float(sys.argv[2]))
