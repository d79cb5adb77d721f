"""Services whose pools share a database: its load, and what it makes of each service's usage times."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from poolsize.answer.fleet import DECIMALS, Service
from poolsize.answer.traffic import Supply, Traffic
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.traffic.database_load import DatabaseLoad, database_load, shared_load, slowing_of, unslowed_rates
from poolsize.traffic.pool_use import ProcessTraffic, Slowing
from poolsize.traffic.shared_pools import Pools
from poolsize.traffic.usage_phases import UsageTimes


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
            return _unslowed(together, sum(map(_connections, self.traffics, self.pool_sizes)))
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
            return _unslowed(traffic, _connections(traffic, size))
        pools, bursts = self._with_first(place)
        load, times = shared_load(self.supply.rates, pools, bursts), self._times[place]
        if load is None:
            return None
        in_use, usage_ms = load.in_use, load.usage_ms * times
        if len(pools) > 1:  # as if its arrivals were independent of those of the others
            unslowed = _unslowed(traffic.with_usage(usage_ms), _connections(traffic, size))
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
        """The usage time of each service over the mean one of all."""
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


def _connections(traffic: Traffic, pool_size: int) -> int:
    return traffic.service.pools * pool_size


def _unslowed(traffic: Traffic, connections: int) -> DatabaseLoad | None:
    """Return the load where usage times do not grow."""
    rates = unslowed_rates(traffic.usage.mean_ms, traffic.in_use * traffic.burst, connections)
    return database_load(rates, traffic.rate, traffic.burst, traffic.busy_share)


def _longer(slowing: Slowing, times: float) -> Slowing:
    return replace(slowing, usages_ms=np.asarray(slowing.usages_ms * times))
