"""The pool inside an application: its use, by the application's own metrics."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isnan, nan
from statistics import fmean
from typing import Self

from poolsize.analysis.stats.confidence import Noise, mean_interval
from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.runs.run import Step
from poolsize.units import FloatOrNull

NEARLY = 0.9
"""Requests per connection, by metrics that are read once a second, from which on a pool counts as full."""

MOST_WAIT = 0.25
"""Where requests wait for a connection for more of the response time than this, the pool has the longest queue.

A queue that is busy for 0.9 of the time has 9 requests on average (M/M/1), a quarter of 38 users.
"""
MOSTLY = 0.5
"""The share of a user's time from which on pauses decide the load. A chosen value."""
FEWEST_READINGS = 10
"""Fewer readings of the metrics do not show that a pool was never full."""


def busy_connections(step: Step) -> float | None:
    """Return the mean number of busy connections of a pool; None without metrics."""
    return _in_each_pool(step, "pool_usage_seconds", "pool_active")


def _in_each_pool(step: Step, spent_seconds: str, level: str) -> float | None:
    """Return the mean number of requests of a pool by the time they spent, else by a level; None without metrics.

    The sum of times misses no moment between two readings.
    """
    spent, pools = step.counter(spent_seconds), step.counter("pool_count")
    values = readings(step, level) if spent is None else [spent]
    number = fmean(values) if values else None
    return None if number is None or not pools else number / pools


def wanting_requests(step: Step, pools: int) -> float | None:
    """Return the mean number of requests of a pool that hold or want a connection; None where not known.

    Without metrics, a pool that opened fewer connections than it may had no more such requests at any time.
    pools: number of pools of the application.
    """
    busy, opened = busy_connections(step), step.server_connections
    if busy is not None:
        return busy + (_in_each_pool(step, "pool_wait_seconds", "pool_waiting") or 0.0)
    if step.knows_usage or opened is None or not 0 < opened < pools * step.pool_size:
        return None
    return opened / pools


def mean_times_ms(step: Step, pools: int) -> tuple[float, float]:
    """Return the mean wait time and the mean usage time of a request in ms, by Little's law; NaN where not known.

    A request that takes several connections has the sum of their times. pools: number of pools of the application, of
    which the metrics page may show a part.
    """
    rate = step.mean_throughput / pools
    numbers = _in_each_pool(step, "pool_wait_seconds", "pool_waiting"), busy_connections(step)
    wait_ms, usage_ms = (nan if number is None or not rate else 1000 * number / rate for number in numbers)
    return wait_ms, usage_ms


@dataclass(frozen=True)
class SampledUsage:
    """The mean usage time of a request, from the number of connections in use, which is read once a second.

    mean_ms: by Little's law. error: half its 95 % interval, as a share of it. longest_ms: what the wait time leaves of
    the response time. is_possible: whether the response times allow it. The page is answered while the service works,
    so readings may count too many connections; and other work may use the pool.
    """

    mean_ms: FloatOrNull
    error: FloatOrNull
    longest_ms: float
    is_possible: bool = True

    @classmethod
    def of(cls, steps: Sequence[Step], wait_ms: float, usage_ms: float, noise: Noise) -> Self | None:
        """Return the usage time in steps of one size; None if the metrics sum usage times, or were never read.

        wait_ms, usage_ms: as in mean_times_ms, of all these steps. noise: of the run's readings.
        """
        in_use = [readings(step, "pool_active") for step in steps if step.counter("pool_usage_seconds") is None]
        if not any(in_use):
            return None
        interval = mean_interval(in_use, noise)
        error = interval.high / interval.mean - 1 if interval.mean else inf
        response_ms = mean_ms(step.latencies.total for step in steps if step.latencies)
        return cls(usage_ms, error, response_ms - (0.0 if isnan(wait_ms) else wait_ms))

    @property
    def usage_ms(self) -> float:
        """The mean; NaN where it is not possible, and where its error is larger than itself."""
        return self.mean_ms if self.is_possible and self.error <= 1 else nan


@dataclass(frozen=True)
class PoolUse:
    """The use of an application's pool of one size, in the counted seconds of its steps.

    in_use: mean number of connections in use, by the higher of two metrics: HikariCP's sum of usage times leaves out
    parts of a millisecond. most_in_use: the highest number that a reading of the metrics has, one reading a second, and
    at least in_use: the reading itself may keep a thread of the service busy. Several pools on a metrics page count
    together. has_waiting: whether a reading has requests that wait for a connection. wait_share: share of the response
    time that a request waits for a connection; NaN where not known. pause_share: share of its time that a user pauses.
    """

    pool_size: int
    in_use: float
    most_in_use: int
    has_waiting: bool
    wait_share: float
    pause_share: float

    @classmethod
    def of(cls, steps: Sequence[Step], pools: int) -> Self | None:
        """Return the use of the pool in steps of one size; None where too few metrics show connections in use."""
        active, waiting = (
            [reading for step in steps for reading in readings(step, name)] for name in ("pool_active", "pool_waiting")
        )
        busy = [number for step in steps if (number := busy_connections(step)) is not None]
        levels = [number for step in steps if (number := _in_each_pool(step, "", "pool_active")) is not None]
        if len(active) < FEWEST_READINGS or not any(active):
            return None
        in_use = max(fmean(busy), fmean(levels))
        response_ms = mean_ms(step.latencies.total for step in steps if step.latencies)
        wait_ms = fmean(mean_times_ms(step, pools)[0] for step in steps)
        pause_ms = fmean(step.gap_ms for step in steps)
        return cls(
            pool_size=steps[0].pool_size,
            in_use=in_use,
            most_in_use=ceil(max(in_use, *active)),
            has_waiting=any(waiting),
            wait_share=wait_ms / response_ms if response_ms else nan,
            pause_share=pause_ms / (pause_ms + response_ms) if response_ms else 0.0,
        )

    @property
    def is_full(self) -> bool:
        """Whether the pool was the bottleneck: a queue saturates a server that is busy for nearly all of the time."""
        return self.in_use >= NEARLY * self.pool_size

    @property
    def is_paced(self) -> bool:
        """Whether the users' pauses decide the load, as in production, and not the response times."""
        return self.pause_share > MOSTLY


def free_pools(uses: Sequence[PoolUse], tolerance: float, *, saturated_cpu: bool) -> tuple[PoolUse, PoolUse] | None:
    """Return the use of the smallest pool, and of the smallest that was never full, where no size limits throughput.

    None where the metrics do not show that. They show it where the smallest pool was never full, or where its
    connections were free for a part of the time, and without the waits for them throughput would be higher by no more
    than the tolerance: a closed loop has users / (response time + pause) (interactive law). Where the application's
    processors are saturated, throughput would not be higher: requests that do not wait for a connection wait for a
    core. But most of their wait must be for a core already.
    uses: of the measured sizes, ascending. tolerance: a share of throughput. saturated_cpu: of the application.
    """
    smallest, answer = uses[0], _never_full(uses)
    if len(uses) < 2 or answer is None:
        return None
    most_wait = MOST_WAIT if saturated_cpu else tolerance / (1 - smallest.pause_share)
    is_free = not smallest.is_full and smallest.wait_share <= most_wait
    return (smallest, answer) if is_free or answer.pool_size == smallest.pool_size else None


def _never_full(uses: Sequence[PoolUse]) -> PoolUse | None:
    """Return the use of the smallest pool that no reading shows full, or with a waiting request; None without any.

    No reading of a larger pool has as many connections in use either: most_in_use is that of all these pools.
    """
    smallest, most = None, 0
    for use in reversed(uses):
        most = max(most, use.most_in_use)
        if use.has_waiting or most >= use.pool_size:
            break
        smallest = replace(use, most_in_use=most)
    return smallest


def readings(step: Step, name: str) -> list[float]:
    """Return the values of a level at the beginnings of the counted seconds in which it was read.

    The last reading, at the end of the step, may come after the users' last requests.
    """
    values = step.server.get(name, ())
    counted = values[max(0, step.warm_up_seconds - 1) : len(values) - 1 or None]  # a single reading counts
    return [value for value in counted if value is not None]
