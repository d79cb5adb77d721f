"""What `instrument` adds to a checkout and a checkin, in ns of the thread's processor time, the sums included.

An instrumented pool and another take turns on connections that do nothing. Other processes only add to the time of a
turn, by the caches that they share with it: so the fastest turns are compared with the bar, and the quartiles of the
differences are shown beside it.
"""

import statistics
import sys
from time import thread_time_ns

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import QueuePool

from poolsize.observe import instrument
from poolsize.observe.pool_events import BATCH

BAR_NS = 2_000
PAIRS, CHECKOUTS = 200, BATCH
"""A turn has the checkouts whose events are summed together."""


class Connection:
    """A connection of which only the pool costs time."""

    def rollback(self) -> None:
        """Do nothing, as a reset does nothing on a connection without a transaction."""

    def close(self) -> None:
        """Do nothing."""


def main() -> int:
    """Print the added cost, and compare it with the bar."""
    bare, recorded = _engine(), _engine()
    instrument(recorded)
    pairs = [(_turn(bare), _turn(recorded)) for _ in range(PAIRS)]
    added = [after - before for before, after in pairs]
    low, median, high = statistics.quantiles(added, n=4)
    bare_ns, recorded_ns = (min(turns) for turns in zip(*pairs, strict=True))
    print(
        f"instrument: {recorded_ns - bare_ns:.0f} ns added to the {bare_ns:.0f} ns of a checkout and checkin, in the "
        f"fastest turns (quartiles of {PAIRS} pairs {low:.0f}, {median:.0f}, {high:.0f} ns; bar {BAR_NS})"
    )
    return int(recorded_ns - bare_ns > BAR_NS)


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
