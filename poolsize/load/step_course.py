"""How a step goes, second by second, put together from what its load processes tell."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class CourseSecond:
    """One second of all processes: transactions that ended, errors by kind, backlog, and total times in us."""

    told: set[str] = field(default_factory=set)
    transactions: int = 0
    backlog: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    total_us: Counter[int] = field(default_factory=Counter)

    @property
    def p95_ms(self) -> float:
        """Of the total time of this second's transactions; 0 without any."""
        left = 0.95 * self.total_us.total()
        for value, number in sorted(self.total_us.items()):
            left -= number
            if left <= 0:
                return value / 1000
        return 0.0


class StepCourse:
    """The seconds so far. seconds: those that every process still at work has told."""

    def __init__(self, workers: Iterable[str]) -> None:
        self.workers = set(workers)
        self.seconds: list[CourseSecond] = []
        self._incomplete: list[CourseSecond] = []

    def add(self, second: Mapping[str, Any]) -> None:
        """Take what one process told of one of its seconds (messages.SECOND); one that was lost is not heard."""
        if second["worker"] not in self.workers:
            return
        place = second["index"] - len(self.seconds)
        while len(self._incomplete) <= place:
            self._incomplete.append(CourseSecond())
        together = self._incomplete[place]
        together.told.add(second["worker"])
        together.transactions += second["transactions"]
        together.backlog += second["backlog"]
        together.errors.update(second["errors"])
        for value, number in zip(*second["total_us"], strict=True):
            together.total_us[value] += number
        self._move_complete()

    def lose(self, worker: str) -> None:
        """Wait no more for a process that is gone."""
        self.workers.discard(worker)
        self._move_complete()

    def _move_complete(self) -> None:
        while self._incomplete and self.workers <= self._incomplete[0].told:
            self.seconds.append(self._incomplete.pop(0))
