"""The cost of one worker, measured before the first step."""

import statistics
from time import monotonic, process_time
from typing import Any

import gevent
from sqlalchemy import URL

from poolsize.load.fair_queue import FairQueuePool
from poolsize.load.loops import ClosedLoop
from poolsize.load.pool import SHARED, Checkout, open_pools
from poolsize.load.recorder import StepRecorder
from poolsize.load.transaction import Behavior, Load, Transaction
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import Calibration

CONNECTIONS, USERS = 2, 4
"""Of the loop whose CPU time is measured; more users than connections, so that users wait for each other."""
SECONDS, SETTLE_SECONDS = 0.2, 0.03
"""Length of a measurement, and of the load before it that is not counted."""
TIMEOUT_SECONDS = 30.0


def calibrate(url: URL, schema: str) -> Calibration:
    """Return the cost of one worker: of the users' loop without a server, and of the smallest statement.

    It takes less than a second. Both use the fair pool, whichever pool the sweep measures, so that the figures of all
    runs compare. url: the database. schema: the schema that the connections use.
    Raises WorkFailed when the server does not admit the connections.
    """
    creator: Any = IdleConnection  # the loop uses no more of a connection than this class has
    idle_pool = FairQueuePool(creator, pool_size=CONNECTIONS, max_overflow=0, reset_on_return=None)
    # A real transaction lets other users run while it waits for the server.
    loop_us, _ = _measure(idle_pool.connect, USERS, lambda _: gevent.sleep(0))
    pools = open_pools(url, schema, CONNECTIONS, {}, TIMEOUT_SECONDS, PoolKind.FAIR)
    try:
        _, usage_us = _measure(pools.checkouts[SHARED], 1, lambda cursor: cursor.execute("DO 1"))
    finally:
        pools.close()
    return Calibration(loop_us=round(loop_us, 2), round_trip_us=round(usage_us, 2))


class IdleConnection:
    """A connection that does nothing, and is its own cursor."""

    def cursor(self) -> "IdleConnection":
        """Return the connection itself."""
        return self

    def close(self) -> None:
        """Do nothing."""


def _measure(checkout: Checkout, users: int, transaction: Transaction) -> tuple[float, float]:
    """Return a transaction's CPU time in this process and its median usage time, both in microseconds."""
    kind = "calibration"
    load = Load({SHARED: checkout}, StepRecorder([kind]))
    loop = ClosedLoop(load, think_seconds=0.0)
    greenlets = [gevent.spawn(loop.run_user, Behavior(((kind, transaction),))) for _ in range(users)]
    gevent.sleep(SETTLE_SECONDS)
    load.recorder.end_second()
    cpu_seconds, until = process_time(), monotonic() + SECONDS
    gevent.sleep(until - monotonic())
    second = load.recorder.end_second()
    cpu_seconds = process_time() - cpu_seconds
    loop.end()
    gevent.joinall(greenlets, raise_error=True)
    usages_us = [usage_us for usage_us, number in second.usage.items() for _ in range(number)]
    return 1e6 * cpu_seconds / max(1, second.transactions), statistics.median(usages_us or [0])
