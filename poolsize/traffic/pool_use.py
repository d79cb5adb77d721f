"""How a pool serves a process's traffic: connections in use, the share of requests that wait, and wait times.

Small pools are solved exactly (random_arrivals). A large pool is compared with two smaller ones, which have as many
spare connections per square root of the pool size (Halfin and Whitt 1981). Without bursts, their waits are corrected by
Erlang's formula, which holds for exponential usage times and pools of every size. The figures of the two are
extrapolated along a line in 1 / sqrt(pool size). After a burst, the queue of too small a pool shrinks too slowly: the
two are then larger. In bursts far beyond the pool, the queue grows and shrinks as a fluid does: the smaller pools then
have the same load per connection.
Below a squared coefficient of variation of 0.5, waits are extrapolated along a line, on which they nearly lie (Tijms
1994). tests/unit/test_pool_use.py holds the bounds of the errors.
"""

from dataclasses import astuple, dataclass, field, replace
from math import ceil, inf, sqrt

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.traffic.random_arrivals import Waits, in_bursts, steady, waits
from poolsize.traffic.usage_phases import LEAST_VARIATION, UsageTimes, usage_phases

SMALL, LARGEST_EXACT = 8, 24
"""The pools with which a large one is compared; those up to the second are solved exactly."""
LARGEST_SMALL, LARGER = 36, 4 / 3
"""The largest first pool after a burst, and how many times as large the second one is then, at least."""
MOST_UTILISATION = 1 - 1e-6
"""From which on a queue counts as one that grows without end: rounding errors would be larger than what is left."""
LEAST_LOAD = 0.01
"""Of a smaller pool that stands for a large one, as a share of its connections."""
FLUID = 40
"""Standard deviations by which a queue grows in a busy second, from which on it counts as a fluid."""
BUSY_SHARE = 1 / 60
"""Of the time: with typed bursts, each minute has a busy second, on average."""


@dataclass(frozen=True)
class Slowing:
    """How usage times grow with the connections of a pool in use, and of others with them.

    usages_ms: mean usage times with 1, 2, ... connections in use, the last with more too. One row for all requests, or
    one for the busiest second of a minute and one for the others. likelier: times as likely as with these usage times
    that a request waits.
    """

    usages_ms: Vector
    likelier: float = 1.0


@dataclass(frozen=True)
class ProcessTraffic:
    """The requests of one process for connections.

    rate: requests per millisecond. burst: rate in busy times over the mean rate; 1 for arrivals at random. busy_share:
    of the time that busy times take. busy_seconds: mean length of a busy time. wait_limit_ms: after which a request
    gives up. most_in_use: connections that the threads of the process can use at once; None for any number. slowing:
    None where the mean usage time is always that of `usage`.
    """

    rate: float
    usage: UsageTimes
    burst: float = 1.0
    wait_limit_ms: float = inf
    most_in_use: int | None = None
    slowing: Slowing | None = field(default=None, compare=False)
    busy_share: float = BUSY_SHARE
    busy_seconds: float = 1.0

    @property
    def busy_time(self) -> float:
        """Mean length of a busy time, in mean usage times."""
        return 1000 * self.busy_seconds / self.usage.mean_ms

    @property
    def load(self) -> float:
        """Connections in use on average, if nobody gives up (Little's law)."""
        return self.rate * self.usage.mean_ms

    @property
    def has_bursts(self) -> bool:
        """Whether busy seconds differ from others, by the own requests or by those of other pools."""
        return self.burst > 1 or (self.slowing is not None and len(self.slowing.usages_ms) > 1)

    def full(self, connections: int) -> "ProcessTraffic":
        """Return the traffic with the usage times that so many connections in use have."""
        if self.slowing is None:
            return self
        usages_ms = self.slowing.usages_ms[0]
        usage_ms = float(usages_ms[min(connections, len(usages_ms)) - 1])
        return replace(self, usage=replace(self.usage, mean_ms=usage_ms))

    def is_served(self, pool_size: int) -> bool:
        """Return whether a pool of this size serves all requests, however long they wait."""
        most = min(pool_size, self.most_in_use or pool_size)
        return self.full(most).load < most * MOST_UTILISATION


@dataclass(frozen=True)
class PoolUse:
    """A pool under a process's traffic.

    utilisation: share of the pool's connections that are in use on average. share_waiting: of the requests. wait_ms,
    wait_p99_ms, wait_p99_9_ms: of all requests; infinite where the traffic needs more connections than the pool has.
    share_timed_out: of the requests.
    """

    pool_size: int
    utilisation: float
    share_waiting: float
    wait_ms: float
    wait_p99_ms: float
    wait_p99_9_ms: float
    share_timed_out: float


def pool_use(traffic: ProcessTraffic, pool_size: int) -> PoolUse:
    """Return how a pool of this size serves the traffic.

    With a connection for each thread nobody waits for a connection: requests wait for a thread. Waits for either are
    infinite where the traffic needs more than there are.
    """
    most = min(pool_size, traffic.most_in_use or pool_size)
    full = traffic.full(most)
    if traffic.wait_limit_ms == inf and not traffic.is_served(pool_size):
        return PoolUse(pool_size, most / pool_size, 1.0, inf, inf, inf, 0.0)
    if traffic.most_in_use is not None and pool_size >= traffic.most_in_use:
        return PoolUse(pool_size, min(traffic.load, most) / pool_size, 0.0, 0.0, 0.0, 0.0, 0.0)
    if traffic.usage.variation < LEAST_VARIATION:
        return _extrapolated(traffic, pool_size)
    share, mean, p99, p99_9, timed_out = _figures(full, pool_size).tolist()
    utilisation, usage_ms = traffic.load * (1 - timed_out) / pool_size, full.usage.mean_ms
    return PoolUse(pool_size, utilisation, share, mean * usage_ms, p99 * usage_ms, p99_9 * usage_ms, timed_out)


def _extrapolated(traffic: ProcessTraffic, pool_size: int) -> PoolUse:
    near, far = (
        pool_use(replace(traffic, usage=UsageTimes(traffic.usage.mean_ms, variation)), pool_size)
        for variation in (LEAST_VARIATION, 1.0)
    )
    beyond = (LEAST_VARIATION - traffic.usage.variation) / (1 - LEAST_VARIATION)
    of_near, of_far = np.array(astuple(near)[1:]), np.array(astuple(far)[1:])
    return PoolUse(pool_size, *np.maximum(0.0, of_near + beyond * (of_near - of_far)).tolist())


@dataclass(frozen=True)
class _Smaller:
    """A pool that stands for a larger one, or for itself. faster: how many times as fast the larger one's queue moves.

    is_fluid: whether both have the same load per connection; else as many spare connections per square root.
    """

    connections: int
    pool_size: int
    is_fluid: bool

    @property
    def faster(self) -> float:
        return 1.0 if self.is_fluid else sqrt(self.pool_size / self.connections)

    def load(self, load: float) -> float:
        """Return its load that stands for a load of the larger pool."""
        if self.is_fluid or self.connections == self.pool_size:
            return load * self.connections / self.pool_size
        return max(self.connections - (self.pool_size - load) / self.faster, self.connections * LEAST_LOAD)

    def speeds(self, slowing: Slowing | None) -> Vector:
        """Return the speeds of usages with 0, 1, ... of its connections in use; 1 with all of them, in busy seconds."""
        if slowing is None:
            return np.ones((1, self.connections + 1))
        free = np.arange(self.connections, -1, -1)
        spread = self.pool_size / self.connections if self.is_fluid else self.faster
        in_use = np.maximum(self.pool_size - free * spread, 1)
        numbers = np.arange(1, slowing.usages_ms.shape[1] + 1)
        usages_ms = np.array([np.interp(in_use, numbers, row) for row in slowing.usages_ms])
        return np.asarray(usages_ms[0, -1] / usages_ms)


def _figures(traffic: ProcessTraffic, pool_size: int) -> Vector:
    """Return the share that waits, the mean, p99 and p99.9 wait in mean usage times, and the share that times out."""
    is_fluid = _is_fluid(traffic, pool_size)
    small = SMALL if is_fluid else _small(traffic, pool_size)
    larger = max(LARGEST_EXACT, ceil(small * LARGER))
    if pool_size <= larger:
        return _by_smaller(traffic, _Smaller(pool_size, pool_size, is_fluid=False))
    of_small, of_larger = (_by_smaller(traffic, _Smaller(smaller, pool_size, is_fluid)) for smaller in (small, larger))
    step = 1 / sqrt(small) - 1 / sqrt(larger)
    further = (1 / sqrt(larger) - 1 / sqrt(pool_size)) / step
    return np.asarray(np.maximum(0.0, of_larger + further * (of_larger - of_small)))


def _small(traffic: ProcessTraffic, pool_size: int) -> int:
    """Return the smaller pool with which a large one is compared: after a burst, its queue shrinks as fast."""
    if traffic.burst == 1 or traffic.load * traffic.burst < pool_size:
        return SMALL
    least = ((pool_size - _calm(traffic)) / (1 - LEAST_LOAD)) ** 2 / pool_size
    return max(SMALL, min(LARGEST_SMALL, ceil(least)))


def _calm(traffic: ProcessTraffic) -> float:
    """Return the connections in use on average, outside busy seconds."""
    return traffic.load * (1 - traffic.burst * traffic.busy_share) / (1 - traffic.busy_share)


def _by_smaller(traffic: ProcessTraffic, smaller: _Smaller) -> Vector:
    """Return the figures of a pool by the waits of a smaller one, whose queue moves more slowly, or of its own."""
    of_smaller, load = _exact_waits(traffic, smaller), smaller.load(traffic.load)
    pool_size, faster, likelier = smaller.pool_size, smaller.faster, 1.0
    if traffic.slowing is not None:
        likelier = traffic.slowing.likelier
    if smaller.connections < pool_size and not traffic.has_bursts and traffic.load < pool_size * MOST_UTILISATION:
        (speeds,) = _Smaller(pool_size, pool_size, is_fluid=False).speeds(traffic.slowing)
        (speeds_of_smaller,) = smaller.speeds(traffic.slowing)
        likelier *= _share_waiting(traffic.load, speeds) / _share_waiting(load, speeds_of_smaller)
        faster = (pool_size - traffic.load) / (smaller.connections - load)
    of_pool = of_smaller.likelier(likelier, faster)
    rare = (of_pool.quantile(0.99), of_pool.quantile(0.999))
    return np.array([of_pool.longer[0], of_pool.mean, *rare, of_pool.timed_out])


def _is_fluid(traffic: ProcessTraffic, pool_size: int) -> bool:
    """Return whether the queue grows by far more in a busy time than its random spread."""
    busy, time = traffic.load * traffic.burst, traffic.busy_time
    return traffic.burst > 1 and (busy - pool_size) * time > FLUID * sqrt((busy + pool_size) * time)


def _exact_waits(traffic: ProcessTraffic, pool: _Smaller) -> Waits:
    """Return the waits of the traffic in a pool that stands for its own, in mean usage times."""
    load, usage_ms = traffic.load, traffic.usage.mean_ms
    arrivals = steady(pool.load(load))
    if traffic.has_bursts:
        busy, calm = load * traffic.burst, _calm(traffic)
        weights, time = (busy / pool.load(busy), calm / pool.load(calm)), traffic.busy_time
        arrivals = in_bursts(pool.load(busy), pool.load(calm), time, time / traffic.busy_share - time, weights)
    phases, limit = usage_phases(traffic.usage), traffic.wait_limit_ms / usage_ms * pool.faster
    speeds = pool.speeds(traffic.slowing)
    if pool.load(load) < pool.connections * MOST_UTILISATION:
        unlimited = waits(arrivals, phases, pool.connections, speeds=speeds)
        if unlimited.times[-1] <= limit:
            return unlimited
    return waits(arrivals, phases, pool.connections, limit, speeds)


def in_use_probabilities(rates: Vector, rate: float) -> Vector:
    """Return the probabilities that 0, 1, ... connections are in use, of a birth-death process that may queue.

    rates: at which usages end with 1, 2, ... connections in use. rate: of the requests, below the last of them. With
    constant usage times, the last probability is Erlang's C formula.
    """
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(rate / rates))])
    weights = np.exp(logarithms - logarithms.max())
    weights[-1] /= 1 - rate / rates[-1]
    return np.asarray(weights / weights.sum())


def _share_waiting(load: float, speeds: Vector) -> float:
    """Return the share of requests that wait, of exponential usage times. speeds: with 0, 1, ... connections in use."""
    return float(in_use_probabilities(np.arange(1, len(speeds)) * speeds[1:], load)[-1])
