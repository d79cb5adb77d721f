"""How a pool serves a process's traffic: connections in use, the share of requests that wait, and wait times.

Small pools are solved exactly (random_arrivals). A large pool is compared with two smaller ones, which have as many
spare connections per square root of the pool size (Halfin and Whitt 1981). Without bursts, their waits are corrected by
Erlang's formula, which holds for exponential usage times and pools of every size. The figures of the two are
extrapolated along a line in 1 / sqrt(pool size). In bursts far beyond the pool, the queue grows and shrinks as a fluid
does: the smaller pools then have the same load per connection.
Below a squared coefficient of variation of 0.5, waits are extrapolated along a line, on which they nearly lie (Tijms
1994). tests/unit/test_pool_use.py holds the bounds of the errors.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from math import inf, sqrt

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.traffic.random_arrivals import Waits, in_bursts, steady, waits
from poolsize.traffic.usage_phases import LEAST_VARIATION, UsageTimes, usage_phases

SMALL, LARGEST_EXACT = 8, 24
"""The pools with which a large one is compared; those up to the second are solved exactly."""
MOST_UTILISATION = 1 - 1e-6
"""From which on a queue counts as one that grows without end: rounding errors would be larger than what is left."""
LEAST_LOAD = 0.01
"""Of a smaller pool that stands for a large one, as a share of its connections."""
FLUID = 40
"""Standard deviations by which a queue grows in a busy second, from which on it counts as a fluid."""
BUSY_SHARE = 1 / 60
"""Of the time: with bursts, each minute has a busy second, on average."""


@dataclass(frozen=True)
class ProcessTraffic:
    """The requests of one process for connections.

    rate: requests per millisecond. burst: rate in the busiest second of a minute over the mean rate; 1 for arrivals at
    random. wait_limit_ms: after which a request gives up. most_in_use: connections that the threads of the process
    can use at once; None for any number.
    """

    rate: float
    usage: UsageTimes
    burst: float = 1.0
    wait_limit_ms: float = inf
    most_in_use: int | None = None

    @property
    def load(self) -> float:
        """Connections in use on average, if nobody gives up (Little's law)."""
        return self.rate * self.usage.mean_ms


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
    if traffic.load >= most * MOST_UTILISATION and traffic.wait_limit_ms == inf:
        return PoolUse(pool_size, most / pool_size, 1.0, inf, inf, inf, 0.0)
    if traffic.most_in_use is not None and pool_size >= traffic.most_in_use:
        return PoolUse(pool_size, min(traffic.load, most) / pool_size, 0.0, 0.0, 0.0, 0.0, 0.0)
    if traffic.usage.variation < LEAST_VARIATION:
        return _extrapolated(traffic, pool_size)
    share, mean, p99, p99_9, timed_out = _figures(traffic, pool_size).tolist()
    utilisation, usage_ms = traffic.load * (1 - timed_out) / pool_size, traffic.usage.mean_ms
    return PoolUse(pool_size, utilisation, share, mean * usage_ms, p99 * usage_ms, p99_9 * usage_ms, timed_out)


def _extrapolated(traffic: ProcessTraffic, pool_size: int) -> PoolUse:
    near, far = (
        pool_use(replace(traffic, usage=UsageTimes(traffic.usage.mean_ms, variation)), pool_size)
        for variation in (LEAST_VARIATION, 1.0)
    )
    beyond = (LEAST_VARIATION - traffic.usage.variation) / (1 - LEAST_VARIATION)
    of_near, of_far = np.array(astuple(near)[1:]), np.array(astuple(far)[1:])
    return PoolUse(pool_size, *np.maximum(0.0, of_near + beyond * (of_near - of_far)).tolist())


def _figures(traffic: ProcessTraffic, pool_size: int) -> Vector:
    """Return the share that waits, the mean, p99 and p99.9 wait in mean usage times, and the share that times out."""
    if pool_size <= LARGEST_EXACT:
        return _figures_of(_exact_waits(traffic, pool_size, lambda load: load, 1.0))
    of_small, of_larger = (_by_smaller(traffic, pool_size, smaller) for smaller in (SMALL, LARGEST_EXACT))
    step = 1 / sqrt(SMALL) - 1 / sqrt(LARGEST_EXACT)
    further = (1 / sqrt(LARGEST_EXACT) - 1 / sqrt(pool_size)) / step
    return np.asarray(np.maximum(0.0, of_larger + further * (of_larger - of_small)))


def _figures_of(of_pool: Waits) -> Vector:
    rare = (of_pool.quantile(0.99), of_pool.quantile(0.999))
    return np.array([of_pool.longer[0], of_pool.mean, *rare, of_pool.timed_out])


def _by_smaller(traffic: ProcessTraffic, pool_size: int, smaller: int) -> Vector:
    """Return the figures of a large pool by the waits of a smaller one, whose queue moves more slowly."""
    is_fluid = _is_fluid(traffic, pool_size)
    faster = 1.0 if is_fluid else sqrt(pool_size / smaller)

    def scaled(load: float) -> float:
        if is_fluid:
            return load * smaller / pool_size
        return max(smaller - (pool_size - load) / faster, smaller * LEAST_LOAD)

    of_smaller, load = _exact_waits(traffic, smaller, scaled, faster), scaled(traffic.load)
    likelier = 1.0
    if traffic.burst == 1 and traffic.load < pool_size * MOST_UTILISATION:
        likelier = _share_waiting(pool_size, traffic.load) / _share_waiting(smaller, load)
        faster = (pool_size - traffic.load) / (smaller - load)
    longer, timed_out = np.minimum(1.0, of_smaller.longer * likelier), of_smaller.timed_out * likelier
    return _figures_of(Waits(of_smaller.times / faster, longer, of_smaller.mean / faster * likelier, timed_out))


def _is_fluid(traffic: ProcessTraffic, pool_size: int) -> bool:
    """Return whether the queue grows by far more in a busy second than its random spread."""
    busy, second = traffic.load * traffic.burst, 1000 / traffic.usage.mean_ms
    return traffic.burst > 1 and (busy - pool_size) * second > FLUID * sqrt((busy + pool_size) * second)


def _exact_waits(traffic: ProcessTraffic, pool_size: int, scaled: Callable[[float], float], faster: float) -> Waits:
    """Return the waits for a pool, in mean usage times.

    scaled: the load of this pool that stands for a load of the traffic's. faster: how many times as fast a queue of the
    traffic's pool moves.
    """
    load, usage_ms = traffic.load, traffic.usage.mean_ms
    arrivals = steady(scaled(load))
    if traffic.burst > 1:
        busy, calm = load * traffic.burst, load * (1 - traffic.burst * BUSY_SHARE) / (1 - BUSY_SHARE)
        weights, second = (busy / scaled(busy), calm / scaled(calm)), 1000 / usage_ms
        arrivals = in_bursts(scaled(busy), scaled(calm), second, second / BUSY_SHARE - second, weights)
    phases, limit = usage_phases(traffic.usage), traffic.wait_limit_ms / usage_ms * faster
    if scaled(load) < pool_size * MOST_UTILISATION:
        unlimited = waits(arrivals, phases, pool_size)
        if unlimited.times[-1] <= limit:
            return unlimited
    return waits(arrivals, phases, pool_size, limit)


def _share_waiting(pool_size: int, load: float) -> float:
    """Return the share of requests that wait, of exponential usage times (Erlang's C formula); load < pool_size."""
    blocked = 1.0
    for connections in range(1, pool_size + 1):
        blocked = load * blocked / (connections + load * blocked)
    return blocked / (1 - load / pool_size * (1 - blocked))
