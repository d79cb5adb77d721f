"""What `instrument` adds to a checkout and a checkin, in ns of the thread's processor time, the sums included.

An instrumented pool and another take short turns on connections that do nothing. Other processes only add to the time
of a turn, by the caches that they share with it: so the fastest turns are compared with the bar.
"""

import statistics
import sys
from time import thread_time_ns

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import QueuePool

from poolsize.observe import instrument
from poolsize.observe.instrumentation import PoolMetrics
from poolsize.observe.pool_events import BATCH

BAR_NS = 2_000
PAIRS, CHECKOUTS = 2_000, 50
SUMS = 300


class Connection:
    """A connection of which only the pool costs time."""

    def rollback(self) -> None:
        """Do nothing, as a reset does nothing on a connection without a transaction."""

    def close(self) -> None:
        """Do nothing."""


def main() -> int:
    """Print the added cost, and compare it with the bar."""
    bare, recorded = _engine(), _engine()
    metrics = instrument(recorded)
    pairs = [(_turn(bare), _turn(recorded)) for _ in range(PAIRS)]
    (bare_ns, recorded_ns), medians = (
        map(min, zip(*pairs, strict=True)),
        map(statistics.median, zip(*pairs, strict=True)),
    )
    sum_ns = min(_summing(recorded, metrics) for _ in range(SUMS))
    added, bare_median, recorded_median = recorded_ns - bare_ns + sum_ns, *medians
    print(
        f"instrument: {added:.0f} ns added to the {bare_ns:.0f} ns of a checkout and checkin, {sum_ns:.0f} by the "
        f"sums, in the fastest turns (medians {bare_median:.0f} and {recorded_median:.0f} ns; bar {BAR_NS})"
    )
    return int(added > BAR_NS)


def _summing(engine: Engine, metrics: PoolMetrics) -> float:
    """Return the processor time to sum the events of a checkout and checkin, in ns: the last of a batch sums all."""
    metrics.events.totals()
    for _ in range(BATCH - 1):
        engine.pool.connect().close()
    connection = engine.pool.connect()
    begun = thread_time_ns()
    connection.close()
    return (thread_time_ns() - begun) / BATCH


def _engine() -> Engine:
    return create_engine("sqlite://", poolclass=QueuePool, creator=Connection, _initialize=False)


def _turn(engine: Engine) -> float:
    """Return the processor time of a checkout and a checkin, in ns."""
    connect, begun = engine.pool.connect, thread_time_ns()
    for _ in range(CHECKOUTS):
        connect().close()
    return (thread_time_ns() - begun) / CHECKOUTS


if __name__ == "__main__":
    sys.exit(main())
