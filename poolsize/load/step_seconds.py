"""The seconds of a step, summed over its workers as their messages arrive."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class StepSecond:
    """One second of a step, summed over the workers.

    reported_by: the workers that are in the sum. transactions: number that ended. backlog: number that were due and
    that no user was free to run. errors: kind -> failed transactions. total_us: total time in us -> transactions.
    """

    reported_by: set[str] = field(default_factory=set)
    transactions: int = 0
    backlog: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    total_us: Counter[int] = field(default_factory=Counter)

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

    def add(self, message: Mapping[str, Any]) -> None:
        """Add one worker's part of one second. message: the fields of messages.SECOND; a lost worker's is ignored."""
        if message["worker"] not in self.workers:
            return
        place = message["index"] - len(self.complete)
        while len(self._incomplete) <= place:
            self._incomplete.append(StepSecond())
        second = self._incomplete[place]
        second.reported_by.add(message["worker"])
        second.transactions += message["transactions"]
        second.backlog += message["backlog"]
        second.errors.update(message["errors"])
        for total_us, number in zip(*message["total_us"], strict=True):
            second.total_us[total_us] += number
        self._move_complete()

    def lose(self, worker: str) -> None:
        """Wait no longer for the seconds of a lost worker."""
        self.workers.discard(worker)
        self._move_complete()

    def _move_complete(self) -> None:
        while self._incomplete and self.workers <= self._incomplete[0].reported_by:
            self.complete.append(self._incomplete.pop(0))
