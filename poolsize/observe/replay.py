"""What if: every observed period at pools of other sizes, or at another rate, over the whole observed time.

In each period the queue is steady (poolsize.traffic.pool_use). Where more arrives than the pool serves, the queue grows
as a fluid does, and lasts into the next periods. tests/observe/test_known_truth.py holds the bounds of the errors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaincinv

from poolsize.analysis.vector import Vector
from poolsize.answer.traffic import Traffic
from poolsize.observe.process_load import LEAST, ProcessLoad
from poolsize.traffic.pool_use import PoolUse, ProcessTraffic, pool_use

KNOTS = 8
"""Loads at which a pool's waits are computed. Between them they are interpolated."""
NEVER = 1e-6
"""Share of the time with all connections in use, below which no request waits."""
LOADS, USAGES = 60, 16
"""Groups of periods: by their loads, and by their mean usage times."""
TIMES = 300
"""Wait times at which their distribution is computed."""
GRID = np.concatenate([[0.0], np.geomspace(1e-2, 1e3, 100)])
"""Wait times, in mean usage times, between which the distribution of a steady queue is straight."""
NONE = -50.0
"""Logarithm of a share that is none."""
RARE, VERY_RARE = 0.01, 0.001
"""Shares of the requests that wait for longer than the p99 and the p99.9."""


@dataclass(frozen=True)
class RareWaits:
    """Wait times for a connection in ms."""

    p99: float
    p99_9: float


@dataclass(frozen=True)
class Replayed:
    """Pools of a size over the whole observed time: the share of all requests that wait, and quantiles of all waits.

    periods_above_limit: the expected number of periods of a process whose p99 wait is above the limit. one_away: the
    same with an instance away; None for a single instance.
    """

    pool_size: int
    share_waiting: float
    wait_ms: RareWaits
    periods_above_limit: int
    one_away: "Replayed | None" = None


def replayed(loads: Sequence[ProcessLoad], traffic: Traffic, pool_sizes: Sequence[int]) -> tuple[Replayed, ...]:
    """Return how pools of these sizes serve what was observed.

    loads: of all processes. traffic: of the busiest period, to which the rates of all periods are scaled.
    """
    usual, away = (_Periods(loads, traffic.of_process(one_away=each), traffic.most_wait_ms) for each in (False, True))
    has_others, results = traffic.service.instances > 1, []
    for size in pool_sizes:
        waits = _Waits.of(away.traffic, size, float(np.median(usual.seconds)), float(away.in_use.max()))
        result = usual.at(size, waits)
        results.append(replace(result, one_away=away.at(size, waits)) if has_others else result)
    return tuple(results)


@dataclass(frozen=True)
class _Periods:
    """The periods of all processes. traffic: of the busiest process at its peak. limit_ms: of the p99 wait."""

    loads: Sequence[ProcessLoad]
    traffic: ProcessTraffic
    limit_ms: float

    @cached_property
    def in_use(self) -> Vector:
        """The connections in use on average in each period."""
        highest = max(float(load.load.max()) for load in self.loads)
        loads = np.concatenate([load.own_load for load in self.loads])
        return np.asarray(np.maximum(self.traffic.load / max(highest, LEAST) * loads, LEAST))

    @cached_property
    def seconds(self) -> Vector:
        """The length of each period."""
        return np.concatenate([load.seconds for load in self.loads])

    @cached_property
    def _usages_ms(self) -> Vector:
        """The mean usage time of each period."""
        uses, seconds = (
            np.concatenate([load.series(name) for load in self.loads]) for name in ("uses", "usage_seconds")
        )
        known = (uses > 0) & (seconds > 0)
        return np.asarray(np.where(known, 1000 * seconds / np.where(known, uses, 1.0), self.traffic.usage.mean_ms))

    def at(self, pool_size: int, waits: "_Waits") -> Replayed:
        """Return how pools of this size serve all periods."""
        usage_ms, late_ms = self.traffic.usage.mean_ms, self._late_ms(pool_size)
        is_late, requests = late_ms > 0, self.in_use * self.seconds / self._usages_ms
        times_ms = np.geomspace(1e-3 * usage_ms, max(1e3 * usage_ms, 2 * float(late_ms.max())), TIMES)
        times_ms = np.insert(times_ms, 0, 0.0)
        beyond, above = np.zeros(TIMES + 1), float((late_ms > self.limit_ms).sum())
        for load, group_ms, number, weight in self._groups(~is_late, requests):
            beyond += weight * waits.beyond(load, times_ms / group_ms)
            above += number * waits.exceeds(load, self.limit_ms / group_ms)
        if is_late.any():
            behind = np.histogram(late_ms[is_late], [*times_ms, np.inf], weights=requests[is_late])[0]
            behind = behind[::-1].cumsum()[::-1]
            beyond += behind + (behind[0] - behind) * waits.beyond(waits.loads[-1], times_ms / usage_ms)
        beyond = np.minimum(beyond / requests.sum(), 1.0)
        wait_ms = RareWaits(*(float(np.interp(-share, -beyond, times_ms)) for share in (RARE, VERY_RARE)))
        return Replayed(pool_size, float(beyond[0]), wait_ms, round(above))

    def _late_ms(self, pool_size: int) -> Vector:
        """Return how long requests of each period wait behind those that came faster than the pool serves."""
        changes = (self.in_use - pool_size) * self.seconds
        ends = np.cumsum([len(load.at) for load in self.loads])[:-1]
        queues = np.concatenate([_queue(of_process) for of_process in np.split(changes, ends)])
        return np.asarray(np.minimum(1000 * queues / pool_size, self.traffic.wait_limit_ms))

    def _groups(self, kept: NDArray[np.bool_], requests: Vector) -> Iterator[tuple[float, float, float, float]]:
        """Yield the load, the mean usage time, the number and the requests of periods that are nearly equal."""
        in_use, usages_ms = self.in_use[kept], self._usages_ms[kept]
        if not len(in_use):
            return
        places = np.zeros(len(in_use), dtype=int)
        for values, groups in ((in_use, LOADS), (np.log(usages_ms), USAGES)):
            spread = max(float(np.ptp(values)), 1e-9)
            places = groups * places + np.minimum((groups * (values - values.min()) / spread).astype(int), groups - 1)
        number = np.bincount(places)
        weight, load = np.bincount(places, requests[kept]), np.bincount(places, in_use)
        usage = np.bincount(places, usages_ms)
        for place in np.flatnonzero(number):
            many = number[place]
            yield load[place] / many, usage[place] / many, many, weight[place]


def _queue(changes: Vector) -> Vector:
    """Return the means over each period of a queue that changes by so much in it, and is never below 0."""
    sums = np.concatenate([[0.0], np.cumsum(changes)])
    queue = sums - np.minimum.accumulate(sums)
    return np.asarray((queue[1:] + queue[:-1]) / 2)


@dataclass(frozen=True)
class _Waits:
    """The waits of a steady queue. loads: ascending. logs: of the shares that wait for longer than GRID, for each load.

    mixing: time in which an empty pool forgets its queue, in periods.
    """

    loads: Vector
    logs: Vector
    pool_size: int
    mixing: float

    @classmethod
    def of(cls, traffic: ProcessTraffic, pool_size: int, seconds: float, most: float) -> Self:
        """Return the waits in periods of so many seconds, with at most so many connections in use on average."""
        usage, bursts = traffic.usage, (traffic.burst - 1) ** 2 * traffic.busy_share * traffic.busy_seconds
        mixing = ((1 + usage.variation) * usage.mean_ms / 1000 / pool_size + 2 * bursts) / seconds
        fullest = min(most, pool_size * max(0.5, 1 - sqrt(mixing / 2)))  # a fuller pool's queue outgrows the period
        least = min(float(gammaincinv(pool_size, NEVER)) / traffic.burst, 0.9 * fullest)
        loads = np.linspace(least, fullest, KNOTS)
        logs = [
            _logs(pool_use(replace(traffic, rate=load / usage.mean_ms), pool_size), usage.mean_ms) for load in loads
        ]
        return cls(loads, np.array(logs), pool_size, mixing)

    def beyond(self, load: float, times: Vector) -> Vector:
        """Return the shares of the requests that wait for longer than these times."""
        if load < self.loads[0]:
            return np.zeros_like(times)
        upper = int(np.clip(np.searchsorted(self.loads, load), 1, KNOTS - 1))
        low, high = self.loads[upper - 1], self.loads[upper]
        place = min(1.0, (load - low) / (high - low))
        logs = (1 - place) * self.logs[upper - 1] + place * self.logs[upper]
        slope = (logs[-1] - logs[-2]) / (GRID[-1] - GRID[-2])
        return np.asarray(np.exp(np.interp(times, GRID, logs) + slope * np.maximum(times - GRID[-1], 0.0)))

    def exceeds(self, load: float, limit: float) -> float:
        """Return the probability that more than 1 % of a period's requests wait for longer than the limit.

        Requests above the limit come in clusters; their share of a period is taken to have a gamma distribution.
        """
        share = float(self.beyond(load, np.array([limit]))[0])
        cluster = self.mixing / max(1 - load / self.pool_size, 0.01) ** 2
        return float(gammaincc(share / cluster, RARE / cluster)) if share > 0 else 0.0


def _logs(use: PoolUse, usage_ms: float) -> Vector:
    """Return the logarithms of the shares that wait for longer than the times of GRID; straight between quantiles."""
    if use.share_waiting <= 0:
        return np.full(len(GRID), NONE)
    marks = [(0.0, log(use.share_waiting))]
    for wait_ms, share in ((use.wait_p99_ms, RARE), (use.wait_p99_9_ms, VERY_RARE)):
        if wait_ms / usage_ms > marks[-1][0]:
            marks.append((wait_ms / usage_ms, log(share)))
    (time, share), (before, share_before) = marks[-1], marks[max(0, len(marks) - 2)]
    mean = use.wait_ms / usage_ms / use.share_waiting
    slope = (share - share_before) / (time - before) if time > before else -1 / mean
    times, logs = zip(*marks, strict=True)
    return np.asarray(np.maximum(np.interp(GRID, times, logs) + slope * np.maximum(GRID - time, 0.0), NONE))
