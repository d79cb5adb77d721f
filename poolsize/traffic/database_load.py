"""The database under the requests of all processes: how many connections are in use at once, and how usage times grow.

To requests that arrive at random, the database is one queue: while n connections are in use, transactions end at the
rate of a closed network with n users (Norton's theorem for queues, Chandy, Herzog and Woo 1975). Once all connections
are in use, further requests wait in their pools, and the rate grows no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, sqrt

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.traffic.pool_use import BUSY_SHARE, Slowing, in_use_probabilities
from poolsize.traffic.shared_pools import Pools, SharedUse, keeps_up, shared_use, use_in_bursts

MOST_IN_USE = 1_000_000
"""More connections are never in use at once."""
FAR = 12
"""Standard deviations beyond which a number of connections in use is negligible."""


@dataclass(frozen=True)
class DatabaseLoad:
    """in_use: probabilities that 0, 1, ... connections are in use. usage_ms: mean usage time.

    slowing: of the usage times in a pool; None where they do not grow. one_away: that while an instance is away.
    total_ms: mean total time of the requests of all pools, where they come in bursts and usage times grow; else None.
    """

    in_use: Vector
    usage_ms: float
    slowing: Slowing | None = field(default=None, compare=False)
    one_away: Slowing | None = field(default=None, compare=False)
    total_ms: float | None = None

    @property
    def mean(self) -> float:
        """Connections in use on average."""
        return float(self.in_use @ np.arange(len(self.in_use)))

    def beyond(self, connections: int) -> float:
        """Return the share of the time in which more connections are in use."""
        return float(self.in_use[connections + 1 :].sum())

    def quantile(self, share: float) -> int:
        """Return the connections in use that are not exceeded for this share of the time."""
        return int(np.searchsorted(np.cumsum(self.in_use), share))


def database_load(
    rates: Vector, rate: float, burst: float = 1.0, busy_share: float = BUSY_SHARE
) -> DatabaseLoad | None:
    """Return the load at a rate of requests per second; None where they come faster than the database serves them.

    rates: requests per second that it completes with 1, 2, ... connections in use, one value for each connection of all
    pools. burst: rate of busy times over the mean rate; at more than it serves, all are in use. busy_share: of the
    time.
    """
    if rate >= rates[-1]:
        return None
    in_use = _in_use(rates, rate)
    if burst > 1:
        calm = (rate - busy_share * min(burst * rate, rates[-1])) / (1 - busy_share)  # what is late is served then
        in_use = busy_share * _in_use(rates, burst * rate) + (1 - busy_share) * _in_use(rates, calm)
    return DatabaseLoad(in_use, 1000 * float(in_use @ np.arange(len(in_use))) / rate)


def shared_load(rates: Vector, pools: Sequence[Pools], bursts: Sequence[float]) -> DatabaseLoad | None:
    """Return the load of a database that pools share; None where the first kind of them does not keep up.

    rates: as in shared_use. bursts: of each kind of pools; they come at once. usage_ms, slowing: in a pool of the first
    kind, for requests of the mean usage time.
    """
    if not keeps_up(rates, pools):
        return None
    states = _states(rates, pools, bursts)
    slowing = _slowing(rates, pools, states)
    if len(states) == 1:
        use = states[0].use
        assert use is not None
        return DatabaseLoad(use.in_use, 1000 * use.mean / pools[0].rate, slowing)
    of_kinds = np.array([each.number * each.rate for each in pools])
    in_use, usage_s, total_s = use_in_bursts(rates, pools, float(of_kinds @ bursts / of_kinds.sum()), BUSY_SHARE)
    return DatabaseLoad(in_use, 1000 * usage_s, slowing, total_ms=1000 * total_s)


def slowing_of(rates: Vector, pools: Sequence[Pools], bursts: Sequence[float]) -> Slowing:
    """Return how usage times grow in a pool of the first kind, for requests of the mean usage time; as in shared_load.

    Once its pools do not keep up, all pools fill up at once.
    """
    return _slowing(rates, pools, _states(rates, pools, bursts))


@dataclass(frozen=True)
class _State:
    """Busy seconds, or others. rate: of a pool of the first kind. use: None where these pools do not keep up."""

    rate: float
    use: SharedUse | None


def _slowing(rates: Vector, pools: Sequence[Pools], states: Sequence[_State]) -> Slowing:
    own, first = pools[0], states[0]
    of_all = np.linspace(0, _connections(pools), own.connections + 1)[1:]  # as all pools fill up at once
    filling_ms = 1000 * of_all / np.interp(of_all, np.arange(1, len(rates) + 1), rates)
    rows = np.array([filling_ms if state.use is None else state.use.usages_ms(state.rate) for state in states])
    if first.use is None:
        rows[:, -1] = filling_ms[-1]  # who waits in a calm second is late from a busy one
        return Slowing(rows)
    likely = in_use_probabilities(1000 * np.arange(1, own.connections + 1) / rows[0], first.rate)[-1]
    return Slowing(rows, first.use.of_pool[-1] / likely if likely > 0 else 1.0)


def _states(rates: Vector, pools: Sequence[Pools], bursts: Sequence[float]) -> list[_State]:
    """Return busy seconds and others, in which what is late is served, too; without bursts, the only state."""
    if max(bursts) == 1:
        return [_State(pools[0].rate, shared_use(rates, pools))]
    connections = _connections(pools)
    speed = float(rates[min(connections, len(rates)) - 1]) / connections
    busy = [replace(each, rate=each.rate * burst) for each, burst in zip(pools, bursts, strict=True)]
    served = [min(each.rate, each.connections * speed) for each in busy]
    calm = [
        replace(each, rate=(each.rate - BUSY_SHARE * rate) / (1 - BUSY_SHARE))
        for each, rate in zip(pools, served, strict=True)
    ]
    return [_State(of_state[0].rate, shared_use(rates, of_state)) for of_state in (busy, calm)]


def _connections(pools: Sequence[Pools]) -> int:
    return min(MOST_IN_USE, sum(each.number * each.connections for each in pools))


def unslowed_rates(usage_ms: float, busiest: float, connections: int) -> Vector:
    """Return the rates, for database_load, of a database whose usage times do not grow with the connections in use.

    busiest: connections in use on average in the busiest second. More than are ever in use are left out.
    """
    number = min(connections, ceil(busiest + FAR * sqrt(busiest) + FAR))
    return np.asarray(np.arange(1, number + 1) * 1000 / usage_ms)


def _in_use(rates: Vector, rate: float) -> Vector:
    """Return the probabilities that 0, 1, ... connections are in use."""
    if rate >= rates[-1]:
        return np.asarray(np.eye(len(rates) + 1)[-1])
    return in_use_probabilities(rates, rate)
