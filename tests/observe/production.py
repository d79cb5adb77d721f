"""Pools in production, simulated request by request, and what their metrics show: with a known truth.

Shares no code with poolsize.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import log, pi, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from poolsize.observe.observation import Observation, PoolSpan, ServerSpan, Source
from tests.pool_simulation import waits_in_order

Floats = NDArray[np.float64]
BOUNDS_MS = (1.0, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 2_000, 5_000, 10_000)
"""Upper bounds of the buckets of a histogram."""
STARTED = datetime(2026, 1, 5, tzinfo=UTC)
Shown = Literal["gauges", "counters", "buckets"]
"""What metrics show: samples of gauges; with sums of counters; with buckets of the usage times."""


@dataclass(frozen=True)
class Workload:
    """Requests of a process. rate: a second, on average. usage_s: mean usage time.

    kind: of the usage times. variation: squared coefficient of variation of log-normal ones. busy: rate in busy times
    over the mean rate; busy_share: of the time; busy_s: mean length of a busy time. day: the rate is this share above
    and below the mean in the course of a day, which lasts day_s.
    """

    rate: float
    usage_s: float
    kind: Literal["exponential", "log-normal", "constant"] = "exponential"
    variation: float = 1.0
    busy: float = 1.0
    busy_share: float = 0.1
    busy_s: float = 5.0
    day: float = 0.0
    day_s: float = 7_200.0

    @property
    def load(self) -> float:
        """Connections in use on average."""
        return self.rate * self.usage_s

    def arrivals(self, seconds: float, random: np.random.Generator) -> Floats:
        """Return times of arrivals, ascending."""
        highest = self.rate * self.busy * (1 + self.day)
        times = np.cumsum(random.exponential(1 / highest, int(highest * seconds * 1.02 + 100)))
        times = times[times < seconds]
        kept = random.random(len(times)) * highest < self.rate * self._rates(times, seconds, random)
        return np.asarray(times[kept])

    def _rates(self, times: Floats, seconds: float, random: np.random.Generator) -> Floats:
        rates = 1 - self.day * np.cos(2 * pi * times / self.day_s)
        if self.busy == 1:
            return np.asarray(rates)
        calm = (1 - self.busy * self.busy_share) / (1 - self.busy_share)
        calm_s = self.busy_s * (1 - self.busy_share) / self.busy_share
        number = int(2 * seconds / (self.busy_s + calm_s) + 100)
        lengths = np.stack([random.exponential(calm_s, number), random.exponential(self.busy_s, number)], 1).ravel()
        is_busy = np.searchsorted(np.cumsum(lengths), times) % 2 == 1
        return np.asarray(rates * np.where(is_busy, self.busy, calm))

    def usages(self, number: int, random: np.random.Generator) -> Floats:
        """Return usage times in seconds."""
        if self.kind == "constant":
            return np.full(number, self.usage_s)
        if self.kind == "exponential":
            return random.exponential(self.usage_s, number)
        deviation = sqrt(log(1 + self.variation))
        return np.asarray(self.usage_s * random.lognormal(-(deviation**2) / 2, deviation, number))


@dataclass(frozen=True)
class Served:
    """Requests that a pool served. begun: when each got its connection. timed_out: times at which others gave up."""

    seconds: float
    pool_size: int
    arrivals: Floats
    begun: Floats
    usages: Floats
    timed_out: Floats

    @property
    def waits(self) -> Floats:
        """Wait times in seconds."""
        return np.asarray(self.begun - self.arrivals)

    def in_use(self, times: Floats) -> Floats:
        """Return the connections in use at these times."""
        ended = np.sort(self.begun + self.usages)
        return np.asarray(np.searchsorted(np.sort(self.begun), times) - np.searchsorted(ended, times), float)

    def waiting(self, times: Floats) -> Floats:
        """Return the requests that wait at these times."""
        return np.asarray(np.searchsorted(self.arrivals, times) - np.searchsorted(np.sort(self.begun), times), float)


def serve(workload: Workload, pool_size: int, seconds: float, seed: int, timeout_s: float = float("inf")) -> Served:
    """Return the requests of a workload at a pool, first in, first out."""
    random = np.random.default_rng(seed)
    arrivals = workload.arrivals(seconds, random)
    usages = workload.usages(len(arrivals), random)
    waits = waits_in_order(arrivals, usages, pool_size, timeout_s)
    served = waits < timeout_s
    gone = (arrivals + waits)[~served]
    return Served(seconds, pool_size, arrivals[served], (arrivals + waits)[served], usages[served], gone)


@cache
def two_hours(pool_size: int) -> Served:
    """Return the requests of a workload with a day's shape in two hours, which about 9 connections serve."""
    return serve(Workload(30.0, 0.1, "log-normal", 3.0, day=0.6), pool_size, 7_200.0, 1, timeout_s=1.0)


def true_need(workload: Workload, seconds: float, seed: int, limit_s: float | None = None) -> int:
    """Return the smallest pool whose p99 wait time stays within the limit, by trying; else the mean usage time."""
    size, limit_s = int(workload.load) + 1, limit_s or workload.usage_s
    while np.quantile(serve(workload, size, seconds, seed).waits, 0.99) > limit_s:
        size += 1
    return size


def span_of(
    served: Served, shown: Shown, *, period: float = 60.0, every: float = 15.0, name: str = "shop", instance: str = "a"
) -> PoolSpan:
    """Return what metrics show of a pool. every: seconds between two samples of the gauges."""
    edges = np.arange(0.0, served.seconds + 1e-9, period)
    periods, samples = len(edges) - 1, round(period / every)
    times: Floats = np.asarray((np.arange(periods * samples) + 0.5) * every, float)
    in_use, waiting = (values.reshape(periods, samples) for values in (served.in_use(times), served.waiting(times)))

    def sums(at: Floats, values: Floats) -> tuple[float, ...]:
        return tuple(np.histogram(at, edges, weights=values)[0].tolist())

    ended = served.begun + served.usages
    series: dict[str, Any] = {}
    if shown != "gauges":
        series = {
            "uses": sums(ended, np.ones(len(ended))),
            "usage_seconds": sums(ended, served.usages),
            "wait_seconds": sums(served.begun, served.waits),
        }
    if shown == "buckets":
        counts = np.histogram(1000 * served.usages, (0.0, *BOUNDS_MS, np.inf))[0]
        series["usage_buckets"] = tuple(zip((*BOUNDS_MS, None), counts.tolist(), strict=True))
    return PoolSpan(
        name, instance, "HikariCP", STARTED.isoformat(), period,
        size=(float(served.pool_size),) * periods,
        in_use_mean=tuple(in_use.mean(1).tolist()),
        in_use_max=tuple(in_use.max(1).tolist()),
        in_use_variance=tuple(in_use.var(1).tolist()),
        samples=(float(samples),) * periods,
        waiting_mean=tuple(waiting.mean(1).tolist()),
        waiting_max=tuple(waiting.max(1).tolist()),
        timeouts=sums(served.timed_out, np.ones(len(served.timed_out))),
        **series,
    )  # fmt: skip


def observed(spans: Sequence[PoolSpan], server: Sequence[ServerSpan] = ()) -> Observation:
    return Observation(Source("page", "127.0.0.1", "0.1", STARTED.isoformat()), tuple(spans), tuple(server))


def server_of(running: float, cores: int | None, periods: int) -> ServerSpan:
    return ServerSpan(STARTED.isoformat(), 60.0, running_mean=(running,) * periods, cores=cores)
