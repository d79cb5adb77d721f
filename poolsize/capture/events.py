"""What every source of a capture yields: the statements that a server ran, the ends of its sessions, and the gaps."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isnan, nan

UNKNOWN_ROWS = -1
UNKNOWN_THREAD = 0


@dataclass(frozen=True, slots=True)
class StatementEvent:
    """One statement that a server ran. The text holds literals, and perhaps secrets: no output shows it."""

    thread: int
    """The session; UNKNOWN_THREAD where the source does not say."""
    started: float
    """Start of the statement: seconds since the epoch, or nan where unknown."""
    seconds: float
    """Run time; nan where unknown, as in a general log."""
    text: str
    """SQL without the final semicolon; empty for a statement that is too long to read."""
    schema: str | None = None
    rows_sent: int = UNKNOWN_ROWS
    rows_examined: int = UNKNOWN_ROWS
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The end of a session. Seconds since the epoch, or nan where unknown."""

    thread: int
    at: float


Event = StatementEvent | Disconnected
Events = Iterator[Event]
"""In the order of the source: the events of a thread follow each other in time, those of several threads may not."""


@dataclass
class Tally:
    """What a reader has counted so far. All numbers are final after the last event."""

    versions: set[str] = field(default_factory=set)
    """The servers' versions, where the source says them: "8.0.36", "10.11.6-MariaDB-log"."""
    statements: int = 0
    first: float = nan
    last: float = nan
    """The earliest start and the latest end: seconds since the epoch, or nan where unknown."""
    too_long: int = 0
    """Statements that were skipped for their length; each is an event with an empty text."""
    unreadable: int = 0
    """Entries without a run time or a command: cut off, or another format."""
    without_thread: int = 0
    bytes_read: int = 0
    """Bytes of the files as they lie on the disk: compressed ones count as such."""

    def counted(self, event: StatementEvent) -> StatementEvent:
        """Count a statement, and return it."""
        self.statements += 1
        self.too_long += not event.text
        self.without_thread += event.thread == UNKNOWN_THREAD
        started = event.started
        if isnan(started):
            return event
        ended = started if isnan(event.seconds) else started + event.seconds
        if not self.first <= started:  # also where it is nan
            self.first = started
        if not self.last >= ended:
            self.last = ended
        return event
