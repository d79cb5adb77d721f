"""What is known before an answer for a traffic: the traffic, what the database can use, and its load by services."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import fsum, inf, isfinite
from typing import Literal

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.answer.finding import Finding
from poolsize.answer.fleet import DECIMALS, Service
from poolsize.answer.recommendation import from_formula
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.formula import StartingPoint
from poolsize.traffic.database_load import (
    MOST_IN_USE,
    DatabaseLoad,
    database_load,
    shared_load,
    slowing_of,
    unslowed_rates,
)
from poolsize.traffic.pool_use import BUSY_SHARE, ProcessTraffic, Slowing
from poolsize.traffic.shared_pools import Pools
from poolsize.traffic.usage_phases import UsageTimes


@dataclass(frozen=True)
class Traffic:
    """What an application's traffic is.

    rate: requests per second of all its processes. A request uses one connection for its usage time. busiest: share of
    the busiest process in the rate, over an even share; its pool is the answer. burst: rate of busy times over the mean
    rate; 1 for arrivals at random. busy_share: share of the time that is busy; typed bursts are the busiest second of a
    minute. busy_seconds: mean length of a busy time.
    max_wait_p99_ms: the limit of the p99 wait time for a connection; None for the mean usage time. wait_limit_ms: after
    which a request gives up; None for never. It changes the waits of the table, and not the need. usage_of_run: whether
    the usage times are those of the run's transactions in the database. slowed_by: the database's load, which lengthens
    the usage times; None where they are those that were given. doubled: whether the rate is twice that of a checked
    traffic, and may put more connections in use than a typed rate. least_need: that a process is known to have, because
    requests were cut off with fewer connections.
    Raises BadInput for values that no traffic has.
    """

    rate: float
    usage: UsageTimes
    service: Service
    burst: float = 1.0
    max_wait_p99_ms: float | None = None
    wait_limit_ms: float | None = None
    usage_of_run: bool = False
    slowed_by: DatabaseLoad | None = field(default=None, compare=False, repr=False)
    doubled: bool = field(default=False, repr=False)
    busiest: float = 1.0
    busy_share: float = BUSY_SHARE
    busy_seconds: float = 1.0
    least_need: int = 1

    def __post_init__(self) -> None:
        """Check the values."""
        for name, value in (("rate", self.rate), ("max_wait_p99", self.most_wait_ms)):
            if not (value > 0 and isfinite(value)):
                raise BadInput(f"`{name}` {value:g}: give a number above 0")
        if self.wait_limit_ms is not None and not self.most_wait_ms < self.wait_limit_ms < inf:
            raise BadInput(
                f"`wait_limit` {self.wait_limit_ms:g}ms: give more than the limit of the p99 wait time, "
                f"{self.most_wait_ms:g}ms"
            )
        if not 1 <= self.burst < 1 / self.busy_share:
            raise BadInput(f"`burst` {self.burst:g}: give 1 to 59, the busiest second of a minute over the mean")
        if not self.doubled and (self.in_use > MOST_IN_USE or self.in_use / self.service.pools > LARGEST_POOL / 2):
            raise BadInput(
                f"`rate` {self.rate:,.12g}/s: {self.in_use:,.0f} connections would be in use at once; is it right?"
            )

    @property
    def most_wait_ms(self) -> float:
        """The limit of the p99 wait time."""
        return self.usage.mean_ms if self.max_wait_p99_ms is None else self.max_wait_p99_ms

    @property
    def in_use(self) -> float:
        """Connections in use on average, of all processes together (Little's law)."""
        return self.rate * self.usage.mean_ms / 1000

    @property
    def busiest_rate(self) -> float:
        """Requests per second in busy times, of all processes together."""
        return self.rate * self.burst

    def loaded(self, load: DatabaseLoad | None) -> "Traffic":
        """Return the traffic with the usage times under the database's load; None for those that were given."""
        return self if load is None else replace(self.with_usage(load.usage_ms), slowed_by=load)

    def with_usage(self, mean_ms: float) -> "Traffic":
        """Return the traffic with another mean usage time, and the same limit of the wait time."""
        return replace(self, usage=replace(self.usage, mean_ms=mean_ms), max_wait_p99_ms=self.most_wait_ms)

    def twice(self) -> "Traffic":
        """Return the traffic at twice the rate."""
        return replace(self, rate=2 * self.rate, doubled=True)

    def of_process(self, *, one_away: bool = False) -> ProcessTraffic:
        """Return the traffic of the busiest process. one_away: an instance is away, and the others take its traffic."""
        rate, slowing = self.busiest * self.rate / 1000 / self.service.pools, None
        instances = self.service.instances
        one_away = one_away and instances > 1
        if one_away:
            rate *= instances / (instances - 1)
        if self.slowed_by is not None:
            slowing = self.slowed_by.one_away if one_away else self.slowed_by.slowing
        limit_ms = self.wait_limit_ms or inf
        most = self.service.most_useful
        return ProcessTraffic(rate, self.usage, self.burst, limit_ms, most, slowing, self.busy_share, self.busy_seconds)


FAR_BEYOND, CLOSE = 1.2, 0.95
"""A rate above this many times the highest measured throughput is extrapolated; from this many times on, it is near."""


@dataclass(frozen=True)
class Supply:
    """The connections that the database can use at once, for all clients together.

    range: lowest and highest; None where it is not known. basis: "formula", "measured" or "given". rates: requests per
    second that the database completes with 1, 2, ... connections in use; None without a run that shows them.
    highest_measured: of the throughput of the run. doubts: of the run's answer. usage_ms: of the transactions for which
    a run shows it, when nothing queues. of_generator: connections for those of the run's own load generator.
    """

    connections: int
    range: tuple[int, int] | None = None
    basis: Literal["formula", "measured", "given"] = "given"
    rates: Vector | None = field(default=None, compare=False)
    highest_measured: float | None = None
    doubts: tuple[Finding, ...] = ()
    usage_ms: float | None = None
    of_generator: int | None = None

    @staticmethod
    def by_formula(start: StartingPoint) -> "Supply":
        """Return what the formula says of a database's host."""
        return Supply(start.pool_size, from_formula(start).range, "formula")

    @property
    def extrapolated_from(self) -> float | None:
        """The run's highest throughput, where `rates` go far beyond it; else None."""
        highest = self.highest_measured
        return highest if highest and self.rates is not None and self.rates.max() > FAR_BEYOND * highest else None

    @property
    def taken_for_noise(self) -> float | None:
        """The run's highest throughput, where `rates` stay far below it; else None."""
        highest = self.highest_measured
        return highest if highest and self.rates is not None and self.rates.max() < CLOSE * highest else None


def is_beyond(rate: float, supply: Supply | None) -> bool:
    """Return whether the database completes fewer requests with any number of connections, by the run."""
    return supply is not None and supply.rates is not None and rate >= supply.rates.max()


def knee_rate(supply: Supply | None) -> float | None:
    """Return the rate from which on the database can't keep up with any pools; None where it is not known."""
    return None if supply is None or supply.rates is None else float(supply.rates.max())


def keeping_up(rate: float, rates: Vector) -> tuple[int, int]:
    """Return the fewest and the most connections in use with which the database completes more than arrives.

    Where it still does with the most of `rates`, no number is known to be too large.
    """
    more = rates > rate
    return 1 + int(np.argmax(more)), MOST_IN_USE if more[-1] else len(rates) - int(np.argmax(more[::-1]))


def all_traffic(traffics: Sequence[Traffic]) -> Traffic:
    """Return the traffic of all services as the database sees it, and as a pool sees it that all processes share.

    Bursts come at once. The limit of the p99 wait time is that of the service with the lowest.
    """
    rate, in_use = fsum(traffic.rate for traffic in traffics), fsum(traffic.in_use for traffic in traffics)
    if in_use > LARGEST_POOL / 2:
        raise BadInput(f"`services`: {in_use:,.0f} connections would be in use at once; are the rates right?")
    busiest = fsum(traffic.in_use * traffic.burst for traffic in traffics)
    limit_ms = min(traffic.most_wait_ms for traffic in traffics)
    usage = _usage_of(traffics, 1000 * in_use / rate)
    return Traffic(rate, usage, Service("together", 1), max(1.0, busiest / in_use), limit_ms)


def _usage_of(traffics: Sequence[Traffic], mean_ms: float) -> UsageTimes:
    """Return the usage times of the requests of all services. mean_ms: of all.

    Exponential ones are a mixture whose third moment is known.
    """
    if len(traffics) == 1:
        return traffics[0].usage
    rate = fsum(traffic.rate for traffic in traffics)
    of_services = [(traffic.rate / rate, traffic.usage.mean_ms / mean_ms, traffic.usage) for traffic in traffics]
    square = fsum(share * times**2 * (1 + usage.variation) for share, times, usage in of_services)
    variation, third = max(0.0, round(square - 1, DECIMALS)), None
    if variation > 1 and all(usage.variation == 1 for _, _, usage in of_services):
        third = 6 * fsum(share * times**3 for share, times, _ in of_services)
    return UsageTimes(mean_ms, variation, third)


@dataclass(frozen=True)
class SharedDatabase:
    """The services of a database. pool_sizes: of the processes of each. supply: what the database can use, or None."""

    traffics: tuple[Traffic, ...]
    pool_sizes: tuple[int, ...]
    supply: Supply | None

    def with_pool(self, place: int, size: int) -> "SharedDatabase":
        """Return the same services with another pool of the service at this place."""
        return replace(self, pool_sizes=(*self.pool_sizes[:place], size, *self.pool_sizes[place + 1 :]))

    @property
    def load(self) -> DatabaseLoad | None:
        """The load by all services; None where the pools of any are too small for it."""
        if len(self.traffics) == 1:
            return self.load_of(0, one_away=False)
        together = all_traffic(self.traffics)
        if self.supply is None or self.supply.rates is None:
            pools_of = zip(self.traffics, self.pool_sizes, strict=True)
            return _unslowed(together, sum(traffic.service.pools * size for traffic, size in pools_of))
        pools = self._pools
        place = min(range(len(pools)), key=lambda place: pools[place].connections / pools[place].rate)
        load = shared_load(self.supply.rates, *self._with_first(place))
        return load and replace(load, usage_ms=1000 * load.mean / together.rate)

    def load_of(self, place: int, *, one_away: bool = True) -> DatabaseLoad | None:
        """Return the load by the service at this place; None where its pools are too small for its traffic.

        one_away: whether the load knows the usage times while an instance is away.
        """
        traffic, size = self.traffics[place], self.pool_sizes[place]
        if self.supply is None or self.supply.rates is None:
            return _unslowed(traffic, traffic.service.pools * size)
        pools, bursts = self._with_first(place)
        load, times = shared_load(self.supply.rates, pools, bursts), self._times[place]
        if load is None:
            return None
        in_use, usage_ms = load.in_use, load.usage_ms * times
        if len(pools) > 1:  # as if its arrivals were independent of those of the others
            unslowed = _unslowed(traffic.with_usage(usage_ms), traffic.service.pools * size)
            in_use = in_use if unslowed is None else unslowed.in_use
        slowing = load.slowing and _longer(load.slowing, times)
        away = self.busiest(place).slowing if one_away and traffic.service.instances > 1 else None
        return DatabaseLoad(in_use, usage_ms, slowing, away, load.total_ms if len(pools) == 1 else None)

    def busiest(self, place: int) -> ProcessTraffic:
        """Return a process's traffic and usage times while an instance is away. Only by a run."""
        assert self.supply is not None
        assert self.supply.rates is not None
        (own, *others), bursts = self._with_first(place)
        service = self.traffics[place].service
        if service.instances > 1:
            busier = own.rate * service.instances / (service.instances - 1)
            own = replace(own, number=own.number - service.processes, rate=busier)
        slowing = slowing_of(self.supply.rates, (own, *others), bursts)
        return replace(self.traffics[place].of_process(one_away=True), slowing=_longer(slowing, self._times[place]))

    @property
    def _times(self) -> list[float]:
        """The usage time of each service over the mean usage time of all services."""
        mean_ms = 1000 * fsum(each.in_use for each in self.traffics) / fsum(each.rate for each in self.traffics)
        return [traffic.usage.mean_ms / mean_ms for traffic in self.traffics]

    @property
    def _pools(self) -> list[Pools]:
        pools = []
        for traffic, size, times in zip(self.traffics, self.pool_sizes, self._times, strict=True):
            number, useful = traffic.service.pools, min(size, traffic.service.most_useful or size)
            pools.append(Pools(number, useful, traffic.rate / number * times))
        return pools

    def _with_first(self, place: int) -> tuple[list[Pools], list[float]]:
        """Return the pools and the bursts of all services, those of the service at this place first."""
        pools, bursts = self._pools, [traffic.burst for traffic in self.traffics]
        others = [other for other in range(len(pools)) if other != place]
        return [pools[each] for each in (place, *others)], [bursts[each] for each in (place, *others)]


def _unslowed(traffic: Traffic, connections: int) -> DatabaseLoad | None:
    """Return the load where usage times do not grow."""
    rates = unslowed_rates(traffic.usage.mean_ms, traffic.in_use * traffic.burst, connections)
    return database_load(rates, traffic.rate, traffic.burst, traffic.busy_share)


def _longer(slowing: Slowing, times: float) -> Slowing:
    return replace(slowing, usages_ms=np.asarray(slowing.usages_ms * times))
