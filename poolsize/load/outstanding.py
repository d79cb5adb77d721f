"""The outstanding transactions of an open loop: due, and not ended."""

from dataclasses import dataclass
from time import perf_counter_ns


@dataclass(frozen=True)
class OutstandingSecond:
    """One second of one worker.

    backlog: transactions that are due and have no connection at the second's end.
    busy: busy connections, their mean over the second, in connection-seconds.
    """

    backlog: int
    busy: float


class Outstanding:
    """Counts the outstanding transactions of one worker, and the time for which they occupy its connections.

    A connection is busy from the moment that a transaction is due for it, until the transaction ends. So the time in
    which the event loop hands a connection over counts: no other transaction can use the connection then.
    """

    def __init__(self, connections: int) -> None:
        """connections: this worker's part of the pool."""
        self._connections = connections
        self._number = 0
        self._busy_ns = 0
        self._changed_ns = 0

    def begin(self) -> None:
        """Begin the first second now."""
        self._changed_ns = perf_counter_ns()

    def arrive(self) -> None:
        """Count a transaction that is due now."""
        self._add_busy_time()
        self._number += 1

    def end(self) -> None:
        """Count a transaction that has ended or failed now."""
        self._add_busy_time()
        self._number -= 1

    def end_second(self) -> OutstandingSecond:
        """End the current second, and return its figures."""
        self._add_busy_time()
        second = OutstandingSecond(max(0, self._number - self._connections), self._busy_ns / 1e9)
        self._busy_ns = 0
        return second

    def _add_busy_time(self) -> None:
        now_ns = perf_counter_ns()
        self._busy_ns += min(self._number, self._connections) * (now_ns - self._changed_ns)
        self._changed_ns = now_ns
