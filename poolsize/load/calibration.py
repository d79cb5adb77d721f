"""What the load's own machinery costs, before it is pointed at anything."""

import statistics
from collections.abc import Callable
from time import monotonic, process_time
from typing import Any

import gevent
from sqlalchemy import URL
from sqlalchemy.pool import Pool

from poolsize.load.closed_loop import call
from poolsize.load.fair_queue import FairQueuePool
from poolsize.load.pool import open_pool
from poolsize.load.transaction import Load
from poolsize.runs.run import Calibration

CONNECTIONS = 2
CALLERS = 4
SECONDS = 0.2
TIMEOUT_SECONDS = 30.0


def calibrate(url: URL) -> Calibration:
    """Run the callers' loop against connections that do nothing, then with the smallest statement; under a second."""
    creator: Any = Idle  # has of a connection only what the loop uses
    idle = FairQueuePool(creator, pool_size=CONNECTIONS, max_overflow=0, reset_on_return=None)
    loop_us, _ = _run(idle, CALLERS, _nothing)
    engine = open_pool(url, CONNECTIONS, TIMEOUT_SECONDS)
    try:
        _, usage_us = _run(engine.pool, 1, _smallest)
    finally:
        engine.dispose()
    return Calibration(
        loop_us=round(loop_us, 2),
        round_trip_us=round(usage_us, 2),
    )


class Idle:
    """A connection, and its cursor, that do nothing."""

    def cursor(self) -> "Idle":
        """Itself."""
        return self

    def close(self) -> None:
        """Nothing."""


def _nothing(_cursor: Any) -> None:
    gevent.sleep(0)  # a real transaction lets the others run while it waits for the server


def _smallest(cursor: Any) -> None:
    cursor.execute("DO 1")


def _run(pool: Pool, callers: int, transaction: Callable[[Any], None]) -> tuple[float, float]:
    """Processor time of a transaction, and the median of its usage, both in microseconds."""
    load = Load(pool.connect)
    loops = [gevent.spawn(call, load, transaction, 0.0) for _ in range(callers)]
    gevent.sleep(0.03)
    load.recorder.end_second()
    cpu_seconds, until = process_time(), monotonic() + SECONDS
    gevent.sleep(until - monotonic())
    second = load.recorder.end_second()
    cpu_seconds = process_time() - cpu_seconds
    load.on = False
    gevent.joinall(loops, raise_error=True)
    usages_us = [value for value, number in second.usage.items() for _ in range(number)]
    return 1e6 * cpu_seconds / max(1, second.transactions), statistics.median(usages_us or [0])
