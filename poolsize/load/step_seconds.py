"""The seconds of a step, summed over its workers as their messages arrive."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from poolsize.load.outstanding import OutstandingSecond
from poolsize.load.recorder import WorkerSecond


@dataclass(frozen=True)
class ReportedSecond:
    """One worker's part of one second of a step, as plain values that can cross a network.

    index: of the second, from 0. The other fields are as in StepSecond.
    """

    index: int
    transactions: int
    backlog: int
    busy: float
    errors: dict[str, int]
    total_us: dict[int, int]
    unserved: int
    gap_seconds: float = 0.0

    @classmethod
    def of(cls, index: int, second: WorkerSecond, outstanding: OutstandingSecond, unserved: int) -> Self:
        """Return the report of a second. The arguments are those of worker_step.Reporting.on_second."""
        return cls(
            index,
            second.transactions,
            outstanding.backlog,
            outstanding.busy,
            second.errors,
            second.total,
            unserved,
            second.gap_seconds,
        )


@dataclass
class StepSecond:
    """One second of a step, summed over the workers.

    reported_by: the workers that are in the sum. transactions: number that ended.
    backlog, busy: as in outstanding.OutstandingSecond. errors: kind -> failed transactions.
    total_us: total time in us -> transactions.
    unserved: users of a closed loop whose first transaction had not ended.
    gap_seconds: sum of the gaps before the transactions, users' pauses included.
    """

    reported_by: set[str] = field(default_factory=set)
    transactions: int = 0
    backlog: int = 0
    busy: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)
    total_us: Counter[int] = field(default_factory=Counter)
    unserved: int = 0
    gap_seconds: float = 0.0

    @property
    def p95_ms(self) -> float:
        """95th percentile of the total time of this second's transactions, in ms; 0 without any."""
        remaining = 0.95 * self.total_us.total()
        for total_us, number in sorted(self.total_us.items()):
            remaining -= number
            if remaining <= 0:
                return total_us / 1000
        return 0.0


class StepSeconds:
    """Collects the seconds of a step.

    workers: the workers that are not lost. complete: the seconds that all of them have reported, in order.
    """

    def __init__(self, workers: Iterable[str]) -> None:
        self.workers = set(workers)
        self.complete: list[StepSecond] = []
        self._incomplete: list[StepSecond] = []

    def add(self, worker: str, reported: ReportedSecond) -> None:
        """Add one worker's part of one second; a lost worker's is ignored."""
        if worker not in self.workers:
            return
        place = reported.index - len(self.complete)
        while len(self._incomplete) <= place:
            self._incomplete.append(StepSecond())
        second = self._incomplete[place]
        second.reported_by.add(worker)
        second.transactions += reported.transactions
        second.backlog += reported.backlog
        second.busy += reported.busy
        second.unserved += reported.unserved
        second.gap_seconds += reported.gap_seconds
        second.errors.update(reported.errors)
        second.total_us.update(reported.total_us)
        self._move_complete()

    def lose(self, worker: str) -> None:
        """Wait no longer for the seconds of a lost worker."""
        self.workers.discard(worker)
        self._move_complete()

    def _move_complete(self) -> None:
        while self._incomplete and self.workers <= self._incomplete[0].reported_by:
            self.complete.append(self._incomplete.pop(0))
