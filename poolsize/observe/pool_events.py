"""What happens in a pool, recorded at the price of a few appends, and summed when somebody reads.

A request begins and ends; a usage begins when the request gets its connection, and ends when the connection is back.
Threads, greenlets, finalizers and signal handlers add without a lock: the GIL makes an append, and an extension by a
pair, atomic. Sums are made of the events in batches, so that the maximum and the variance are exact, and cost little
for each event.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter_ns, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poolsize.observe.sums import Sums

Integers = NDArray[np.int64]

BATCH = 2_000
"""Usages after which the events are summed even if nobody reads; so memory is bounded."""
E24 = (10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 50, 56, 62, 68, 75, 82, 91)
BOUNDS_NS = np.array([step * 10**power for power in range(3, 11) for step in E24] + [10**12], dtype=np.int64)
"""Upper bounds of the buckets of a histogram: from 10 us to 1,000 s, 10 % apart."""


@dataclass
class Times:
    """Durations. counts: in each bucket up to a bound, and above the last. nanoseconds: their sum."""

    counts: Integers = field(default_factory=lambda: np.zeros(len(BOUNDS_NS) + 1, dtype=np.int64))
    nanoseconds: int = 0

    def add(self, durations: Integers) -> None:
        """Count durations, in ns."""
        self.counts += np.bincount(BOUNDS_NS.searchsorted(durations), minlength=len(self.counts))
        self.nanoseconds += int(durations.sum())

    @property
    def number(self) -> int:
        """Number of durations."""
        return int(self.counts.sum())


@dataclass
class Level:
    """A number that changes with time. now: its value. highest: the most since the start.

    sums: of its values since the last call of `start_period`, each by the ns for which it lasts.
    """

    now: int = 0
    highest: int = 0
    sums: Sums = field(default_factory=Sums)

    def follow(self, levels: Integers, nanoseconds: Integers) -> None:
        """Add levels, each of which lasts so many ns; the last is the present value."""
        self.now = int(levels[-1])
        self.sums += Sums.of(levels.astype(float), nanoseconds) + Sums(highest=self.now)
        self.highest = max(self.highest, int(self.sums.highest))

    def start_period(self) -> None:
        """Forget the values until now."""
        self.sums = Sums(highest=self.now)


@dataclass
class Totals:
    """Sums of all events of a pool in this process until `at`, in ns of the clock.

    waits, usages: of requests that got a connection, and of usages that ended. creations: of connections. timeouts:
    requests that gave up. in_use, pending: connections, and requests that found all connections in use. used: summed
    time of all usages, those that still last included, in ns: its rate is the mean number in use. demand: requests
    that have no connection yet, and connections in use.
    """

    at: int
    waits: Times = field(default_factory=Times)
    usages: Times = field(default_factory=Times)
    creations: Times = field(default_factory=Times)
    timeouts: int = 0
    in_use: Level = field(default_factory=Level)
    pending: Level = field(default_factory=Level)
    used: int = 0
    demand: int = 0


class PoolEvents:
    """The events of a pool in this process, all times in ns of `clock`. limit: connections that it may open, or None.

    begun: when requests began. served: when a request got its connection, and when it had begun, in turn. used: when a
    connection was given back, and when its usage had begun, in turn. ended: when requests ended that got none of their
    own; timeouts: a value for each that timed out. created: how long it took to open a connection. held: connection
    record -> start of its usage.

    Lists of integers, which a pair extends at once: an append to an array costs several times as much, and pairs that
    are kept are work for the garbage collector.
    """

    def __init__(self, limit: int | None, clock: Callable[[], int] = perf_counter_ns) -> None:
        self.limit, self.clock = limit, clock
        self.begun, self.served, self.used, self.ended = (list[int]() for _ in range(4))
        self.created, self.timeouts = list[int](), list[int]()
        self.held: dict[Any, int] = {}
        self.restart()

    def restart(self) -> None:
        """Forget all events: this process is a fork, and the events are those of its parent."""
        self.held.clear()
        for events in vars(self).values():
            if isinstance(events, list):
                del events[:]
        self._summing = Lock()
        self._totals = Totals(self.clock())

    def opened(self, _connection: object, record: Any) -> None:
        """Record a new connection: SQLAlchemy's event `connect`."""
        self.created.append(max(0, round((time() - record.starttime) * 1e9)))

    def detached(self, _connection: object, record: Any) -> None:
        """Record the end of the usage of a connection that leaves the pool: SQLAlchemy's event `detach`."""
        taken = self.held.pop(record, None)
        if taken is not None:  # otherwise it was taken before the pool was instrumented, or by the parent process
            self.used.extend((self.clock(), taken))

    def totals(self, *, end_period: bool = False) -> Totals:
        """Return the sums until now. end_period: whether the maxima of a period begin anew."""
        with self._summing:
            self._sum()
            totals = deepcopy(self._totals)
            if end_period:
                self._totals.in_use.start_period()
                self._totals.pending.start_period()
            return totals

    def relieve(self) -> None:
        """Sum the events if there are many, unless another thread, or an interrupted frame of this one, does so."""
        if len(self.used) // 2 + len(self.ended) >= BATCH and self._summing.acquire(blocking=False):
            try:
                self._sum()
            finally:
                self._summing.release()

    def _sum(self) -> None:
        # A usage's end is appended after its start, and that after its request's: so each is read with what it needs.
        gave_up, (back, taken) = _drained(self.ended), _drained(self.used).reshape(-1, 2).T
        (served, asked), begun = _drained(self.served).reshape(-1, 2).T, _drained(self.begun)
        totals, since, now = self._totals, self._totals.at, self.clock()
        totals.waits.add(served - asked)
        totals.usages.add(back - taken)
        totals.creations.add(_drained(self.created))
        totals.timeouts += len(_drained(self.timeouts))
        totals.used += totals.in_use.now * (now - since) + int((now - served).sum()) - int((now - back).sum())
        levels, seconds = _path(totals.in_use.now, served, back, since, now)
        totals.in_use.follow(levels, seconds)
        levels, seconds = _path(totals.demand, begun, np.concatenate((back, gave_up)), since, now)
        totals.demand = int(levels[-1])
        if self.limit is not None:
            totals.pending.follow(np.maximum(levels - self.limit, 0), seconds)
        totals.at = now


def _drained(events: list[int]) -> Integers:
    """Return the events so far, and remove them; other threads append meanwhile."""
    part = events[:]
    del events[: len(part)]
    return np.fromiter(part, np.int64, len(part))


def _path(level: int, ups: Integers, downs: Integers, since: int, now: int) -> tuple[Integers, Integers]:
    """Return the values of a level that goes up and down by 1, and how long each lasts, from `since` to `now`, in ns.

    A thread that was stopped before its append makes an event late: the level changes at `since` then.
    """
    times = np.concatenate((ups, downs))
    order = times.argsort(kind="stable")
    levels, edges = np.empty(len(times) + 1, np.int64), np.empty(len(times) + 2, np.int64)
    levels[0], levels[1:] = level, np.where(order < len(ups), 1, -1)
    edges[0], edges[-1] = since, now
    np.maximum(times[order], since, out=edges[1:-1])
    return levels.cumsum(), edges[1:] - edges[:-1]
