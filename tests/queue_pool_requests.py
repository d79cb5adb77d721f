"""Requests for a connection of SQLAlchemy's QueuePool, a thread for each, that arrive at the times of plans.

    python -m tests.queue_pool_requests < PLANS

The variable DATABASE is the URL. The first line of a plan is the pool size. A further line is a request: when it
arrives, in seconds, and its SQL. An empty line ends the plan. A line of the output is a request, too: when it asked for
a connection, when it had the connection, and when it had given it back, in seconds; an empty line ends a plan's. With
the same input and output, `Requests.java` has HikariCP, and `applications/go/requests` Go's database/sql.
"""

import os
import sys
import threading
import time

from sqlalchemy import Engine, create_engine

from poolsize.server.connection import database_url


def main() -> None:
    """Run the plans on standard input."""
    engines, database = dict[int, Engine](), database_url(os.environ["DATABASE"])
    for first in sys.stdin:
        pool_size, plan = int(first), list[tuple[float, str]]()
        for line in iter(sys.stdin.readline, "\n"):
            due, sql = line.rstrip().split(" ", 1)
            plan.append((float(due), sql))
        if pool_size not in engines:
            engines[pool_size] = create_engine(database, pool_size=pool_size, max_overflow=0, pool_timeout=600)
        for times in run(engines[pool_size], plan):
            print(*times)
        print(flush=True)
    for engine in engines.values():
        engine.dispose()


def run(engine: Engine, plan: list[tuple[float, str]]) -> list[tuple[float, float, float]]:
    """Run the requests, and return their three times."""
    requests: list[tuple[float, float, float]] = []

    def request(sql: str) -> None:
        asked = time.perf_counter()
        connection = engine.raw_connection()
        got = time.perf_counter()
        connection.cursor().execute(sql)
        connection.close()
        requests.append((asked - begin, got - begin, time.perf_counter() - begin))

    threads = [threading.Thread(target=request, args=(sql,)) for _, sql in plan]
    begin = time.perf_counter()
    for (due, _), thread in zip(plan, threads, strict=True):
        time.sleep(max(0.0, begin + due - time.perf_counter()))
        thread.start()
    for thread in threads:
        thread.join()
    return requests


if __name__ == "__main__":
    main()
