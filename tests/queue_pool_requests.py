"""Requests for a connection of SQLAlchemy's QueuePool, a thread for each, that arrive at the times of plans.

    python -m tests.queue_pool_requests [WORKLOAD] < PLANS

The variable DATABASE is the URL. The first line of a plan is the pool size, and how many requests there may be at
once. A further line is a request: when it arrives, and how long the server then sleeps, in seconds. An empty line ends
the plan. With a WORKLOAD of poolsize, a request runs a transaction instead. A line of the output is a request, too:
when it asked for a connection, when it had the connection, and when it had given it back, in seconds; an empty line
ends a plan's. With the same input and output, `Requests.java` has HikariCP, and `applications/go/requests` Go's
database/sql.
"""

import os
import runpy
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy import URL, Engine, create_engine

from poolsize.files import workloads
from poolsize.server.connection import database_url
from poolsize.server.schema import SweepSchema
from poolsize.sweep.readers import OWN_SCHEMA

Use = Callable[[Any, float], object]
"""What a request does: with a cursor, and the seconds of its line."""
WARM_UP = 200
"""Uses in all of a pool before its first request."""


def main() -> None:
    """Run the plans on standard input."""
    workload, engines = sys.argv[1:], dict[int, Engine]()
    database = database_url(os.environ["DATABASE"])
    with transactions(database, *workload) if workload else nullcontext((database, sleep)) as (url, use):
        for first in sys.stdin:
            (pool_size, at_once), plan = map(int, first.split()), list[tuple[float, float]]()
            for line in iter(sys.stdin.readline, ""):
                if not line.strip():
                    break
                due, seconds = map(float, line.split())
                plan.append((due, seconds))
            if pool_size not in engines:
                engines[pool_size] = opened(url, pool_size, use)
            for times in run(engines[pool_size], at_once, plan, use):
                print(*times)
            print(flush=True)
        for engine in engines.values():
            engine.dispose()


def sleep(cursor: Any, seconds: float) -> None:
    """Let the server sleep."""
    cursor.execute(f"DO SLEEP({seconds})")


@contextmanager
def transactions(database: URL, workload: str) -> Iterator[tuple[URL, Use]]:
    """Return a schema with the workload's tables, and the function that runs a transaction."""
    name = workload.title().replace("_", "")
    user_class = runpy.run_path(str(workloads()[workload]))[name]
    user = user_class.__new__(user_class)
    with SweepSchema(database) as schema:
        schema.make_tables(user_class.prepare)
        yield database.set(database=OWN_SCHEMA), lambda cursor, _: user.transaction(cursor)


def opened(url: URL, pool_size: int, use: Use) -> Engine:
    """Return a pool, all of whose connections have been used."""
    engine = create_engine(url, pool_size=pool_size, max_overflow=0, pool_timeout=600)
    connections = [engine.raw_connection() for _ in range(pool_size)]
    for connection in connections:
        for _ in range(WARM_UP // pool_size):
            use(connection.cursor(), 0.0)
        connection.close()
    return engine


def run(engine: Engine, at_once: int, plan: list[tuple[float, float]], use: Use) -> list[tuple[float, float, float]]:
    """Run the requests, and return their three times."""
    requests, places = list[tuple[float, float, float]](), threading.Semaphore(at_once)

    def request(seconds: float) -> None:
        try:
            asked = time.perf_counter()
            connection = engine.raw_connection()
            got = time.perf_counter()
            use(connection.cursor(), seconds)
            connection.close()
            requests.append((asked - begin, got - begin, time.perf_counter() - begin))
        finally:
            places.release()

    threads = [threading.Thread(target=request, args=(seconds,)) for _, seconds in plan]
    begin = time.perf_counter()
    for (due, _), thread in zip(plan, threads, strict=True):
        time.sleep(max(0.0, begin + due - time.perf_counter()))
        places.acquire()
        thread.start()
    for thread in threads:
        thread.join()
    return requests


if __name__ == "__main__":
    main()
