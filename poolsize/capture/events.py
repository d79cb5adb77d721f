"""What every source of a capture yields: the statements that a server ran, the ends of its sessions, and the gaps."""

from dataclasses import dataclass, field
from math import inf, isnan
from pathlib import Path
from typing import NamedTuple

UNKNOWN_ROWS = -1
UNKNOWN_THREAD = 0


class StatementEvent(NamedTuple):
    """A statement that a server ran. The text holds literals, and perhaps secrets: no output shows it.

    thread: the session, or UNKNOWN_THREAD. started: seconds since the epoch. seconds: run time. Both are nan where
    unknown. text: SQL without the final semicolon; empty for a statement that is too long to read.
    """

    thread: int
    started: float
    seconds: float
    text: str
    rows_sent: int = UNKNOWN_ROWS


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The end of a session."""

    thread: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Statements of a session are missing here, or may be."""

    thread: int


Event = StatementEvent | Disconnected | Gap
"""In the order of a source, the events of a thread follow each other in time, those of several threads may not."""


@dataclass
class Tally:
    """What a reader has counted so far. All numbers are final after the last event.

    versions: of the servers, such as "10.11.6-MariaDB-log". first, last: the earliest start and the latest end, in
    seconds since the epoch, infinite where unknown. longest_pause: seconds from the end of all statements so far to the
    start of the next. fastest: the shortest run time, in seconds. unreadable: entries
    that are cut off or of another format. bytes_read: of the files on the disk, where a log may be compressed.
    is_coarse: whether starts are known to the second only.
    cut_files: compressed logs without an end -> the statements read of each, and the latest end by then, as in last.
    """

    versions: set[str] = field(default_factory=set)
    statements: int = 0
    first: float = inf
    last: float = -inf
    fastest: float = inf
    longest_pause: float = 0.0
    unreadable: int = 0
    without_thread: int = 0
    bytes_read: int = 0
    is_coarse: bool = False
    cut_files: dict[Path, tuple[int, float]] = field(default_factory=dict)

    def counted(self, event: StatementEvent) -> StatementEvent:
        """Count a statement, and return the statement."""
        self.statements += 1
        self.without_thread += event.thread == UNKNOWN_THREAD
        self.fastest = min(self.fastest, event.seconds)  # which a nan leaves as it is, like the first and the last
        self.longest_pause = max(self.longest_pause, event.started - self.last if self.last > -inf else 0.0)
        self.first = min(self.first, event.started)
        self.last = max(self.last, event.started + (0 if isnan(event.seconds) else event.seconds))
        return event
