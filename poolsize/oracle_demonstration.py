"""Oracle's Real-World Performance demonstration: 9,600 callers, and three sizes of the pool.

The figures are from the demonstration as HikariCP's "About Pool Sizing" retells it: callers pause for 550 ms between
calls; response times as they were shown. The interactive law (Denning and Buzen, 1978) makes throughput of them, and
shows where they do not add up.
"""

from dataclasses import dataclass

USERS = 9600
THINK_MS = 550.0


@dataclass(frozen=True)
class Shown:
    """What was shown for one pool size: milliseconds in the pool's queue, and milliseconds of execution."""

    pool_size: int
    wait_ms: float
    execution_ms: float

    @property
    def throughput(self) -> float:
        """Transactions per millisecond that these times mean: users / (response + think)."""
        return USERS / (self.wait_ms + self.execution_ms + THINK_MS)

    @property
    def inside(self) -> float:
        """Callers that have or want a connection at a time (Little's law)."""
        return self.throughput * (self.wait_ms + self.execution_ms)

    @property
    def contradiction(self) -> str:
        """Why they can't have waited for a connection, in a sentence; empty where they can."""
        if not self.wait_ms or self.inside >= self.pool_size:
            return ""
        return (
            f"With {self.pool_size:,} connections the times put {self.inside:,.0f} callers at the database at once, "
            f"fewer than there are connections: the {self.wait_ms:g} ms that they waited were not for one."
        )


SHOWN = (Shown(2048, 33.0, 77.0), Shown(96, 1.0, 2.0))
"""For 1,024 connections only the same throughput and half the wait events were told, no times."""
