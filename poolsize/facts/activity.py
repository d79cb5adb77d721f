"""The work that a server does for others, before a sweep adds its own."""

import time
from dataclasses import dataclass

from poolsize.facts.server import Cursor, query

SAMPLE_SECONDS = 0.3
OWN_STATEMENTS = 1
"""Of the sample itself, which the server counts."""
BUSY_PER_SECOND = 10.0
"""Monitoring alone runs fewer statements."""


@dataclass(frozen=True)
class Activity:
    """The work of other programs on a server. connections: open ones. statements_per_second: in SAMPLE_SECONDS."""

    connections: int
    statements_per_second: float

    @property
    def busy(self) -> bool:
        """Whether a load would disturb others, and be disturbed."""
        return self.statements_per_second >= BUSY_PER_SECOND


def read_activity(cursor: Cursor) -> Activity:
    """Return what others do on the server while the cursor's connection is the only one of poolsize's."""
    before = _counters(cursor)
    started = time.perf_counter()
    time.sleep(SAMPLE_SECONDS)
    after = _counters(cursor)
    statements = after["Questions"] - before["Questions"] - OWN_STATEMENTS
    return Activity(after["Threads_connected"] - 1, max(0.0, statements / (time.perf_counter() - started)))


def _counters(cursor: Cursor) -> dict[str, int]:
    cursor.execute(query("activity"))
    return {str(name): int(value) for name, value in cursor.fetchall()}
