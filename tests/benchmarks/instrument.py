"""What `instrument` adds to a checkout and a checkin, in ns of the thread's processor time, the sums included.

An instrumented pool and another take turns on connections that do nothing, so that the speed of the machine, which
wanders, is the same for both turns of a pair. Prints the quartiles of the differences, and that of the fastest turns.
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
    """Print the added cost, and compare its median with the bar."""
    bare, recorded = _engine(), _engine()
    instrument(recorded)
    pairs = [(_turn(bare), _turn(recorded)) for _ in range(PAIRS)]
    added = [after - before for before, after in pairs]
    low, median, high = statistics.quantiles(added, n=4)
    cost = statistics.median(before for before, _ in pairs)
    fastest = min(after for _, after in pairs) - min(before for before, _ in pairs)
    print(
        f"instrument: {median:.0f} ns added to a checkout and checkin of {cost:.0f} ns (quartiles of {PAIRS} pairs "
        f"{low:.0f} to {high:.0f}; the fastest turns differ by {fastest:.0f} ns; bar {BAR_NS})"
    )
    return int(median > BAR_NS)


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
