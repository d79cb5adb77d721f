"""The traffic of several services -> TrafficPlan: the pool that each one needs, and all of them beside the limits.

The need of each service is that of from_traffic, at the usage times that were given. Where the server's limit is below
the sum, share_out divides it by need. To the database, the services are one queue: requests that arrive at random make
a Poisson number of connections in use for each service, and the sum of such numbers is one of them, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, inf, isinf

from poolsize.answer.finding import Caution, Finding, Reason
from poolsize.answer.fleet import (
    ServerLimit,
    ServicePool,
    connections_of,
    in_deploy_of,
    service_pool,
    share_out,
    sizes_of,
)
from poolsize.answer.fleet_plan import (
    FewerProcesses,
    LimitUnknown,
    MoreInstances,
    Proxy,
    exceeds_limit,
    more_instances,
    raise_limit,
    require_fleet,
)
from poolsize.answer.from_traffic import (
    MOST_IN_USE,
    OFTEN,
    Decides,
    InUse,
    ProcessNeed,
    SizeUse,
    SpreadAssumed,
    SupplyUnknown,
    Traffic,
    bound,
    process_need,
    size_use,
)
from poolsize.bounds import LARGEST_NUMBER
from poolsize.errors import BadInput
from poolsize.traffic.database_load import DatabaseLoad, database_load, unslowed_rates
from poolsize.traffic.usage_phases import UsageTimes


class FleetNeeds(Reason, code="fleet_needs"):
    """What a need is. needed: connections of all needs in a deploy. usable: that the server admits; None if unknown."""

    needed: int
    usable: int | None
    instances: MoreInstances


class FleetBelowNeed(Caution, code="fleet_below_need", is_doubt=True):
    """The server's limit allows less than the services need.

    needed, usable: as in FleetNeeds. pool_sizes: service -> pool size, of those with smaller pools than they need.
    needs: service -> the pool size that it needs. endless: services whose queues grow without end while an instance is
    away.
    """

    needed: int
    usable: int
    instances: MoreInstances
    pool_sizes: Mapping[str, int]
    needs: Mapping[str, int]
    endless: tuple[str, ...]


class FleetBeyondSupply(Caution, code="fleet_beyond_supply", is_doubt=True):
    """On average more connections are in use than the database can use. times: the former over the latter."""

    in_use: float
    supply: int
    times: float


class FleetSupplyUnknown(SupplyUnknown, code="fleet_supply_unknown"):
    """Nothing is known of what the database can use."""


class FleetSpreadAssumed(SpreadAssumed, code="fleet_spread_assumed"):
    """Usage times of services without a p99 are taken to vary like exponential ones."""


@dataclass(frozen=True)
class TrafficPool(ServicePool):
    """The pool of each process of a service, by its traffic.

    need, decides: as in TrafficAnswer. use: how the pool serves the traffic.
    """

    traffic: Traffic
    need: int
    decides: Decides
    use: SizeUse


@dataclass(frozen=True)
class TrafficPlan:
    """The answer for a fleet whose services have rates.

    size: connections that the database can use; None where it is not known. pools: in the order of the services; empty
    where the smallest exceed the server's limit. in_use: connections of all services in use on average. load: of the
    database; None where the pools are too few for that. findings: in the order to read them.
    """

    size: int | None
    limit: ServerLimit
    pools: tuple[TrafficPool, ...]
    in_use: float
    load: DatabaseLoad | None
    findings: tuple[Finding, ...] = ()

    @property
    def connections(self) -> int:
        """Connections of all pools that usually exist."""
        return connections_of(self.pools)

    @property
    def connections_in_deploy(self) -> int:
        """Connections of all pools in a rolling deploy at the autoscaler's maximum."""
        return in_deploy_of(self.pools)


def plan_fleet_for(
    traffics: Sequence[Traffic], size: int | None = None, limit: ServerLimit | None = None
) -> TrafficPlan:
    """Return the pool of each service that its traffic needs, or its share of a limit that is too low for all.

    size: connections that the database can use, for all services together; None where it is not known.
    Raises BadInput for a size that no pool has, for two services of the same name, and for absurd traffic.
    """
    services, limit = [traffic.service for traffic in traffics], limit or ServerLimit()
    require_fleet(size, services)
    in_use = fsum(traffic.in_use for traffic in traffics)
    if in_use > MOST_IN_USE:
        raise BadInput(f"`services`: {in_use:,.0f} connections would be in use at once; are the rates right?")
    needs = [process_need(traffic) for traffic in traffics]
    needed = _pools(traffics, needs, limit)
    split = _within_limit(needed, limit)
    if not split:
        findings = (exceeds_limit(services, limit), *_alternatives(traffics, needed, size, limit))
        return TrafficPlan(size, limit, (), in_use, None, findings)
    pools = tuple(_pool(*of_service, limit) for of_service in zip(traffics, needs, split, strict=True))
    plan = TrafficPlan(size, limit, pools, in_use, _load(traffics, connections_of(pools)))
    return replace(plan, findings=tuple(_findings(plan, needs, needed)))


def _pools(traffics: Sequence[Traffic], needs: Sequence[ProcessNeed], limit: ServerLimit) -> list[ServicePool]:
    """Return the pools that the services need, whatever the server admits."""
    of_services = zip(traffics, needs, strict=True)
    return [service_pool(traffic.service, need.pool_size, limit) for traffic, need in of_services]


def _within_limit(needed: Sequence[ServicePool], limit: ServerLimit) -> list[int]:
    """Return the pool size of each service; nothing where the smallest pools exceed the server's limit.

    Where the needed pools exceed it, the service with the smallest share of its need grows first; of equal ones, the
    first by name, so that the order of the services changes nothing.
    """
    if limit.usable is None or in_deploy_of(needed) <= limit.usable:
        return [pool.pool_size for pool in needed]
    by_name = sorted(needed, key=lambda pool: pool.service.name)
    services = [replace(pool.service, weight=float(pool.connections)) for pool in by_name]
    split = share_out(inf, services, limit, [pool.pool_size for pool in by_name])
    sizes = sizes_of(split or ())
    return [sizes[pool.service.name] for pool in needed if sizes]


def _pool(traffic: Traffic, need: ProcessNeed, pool_size: int, limit: ServerLimit) -> TrafficPool:
    pool, use = service_pool(traffic.service, pool_size, limit), size_use(traffic, pool_size)
    decides = need.decides if pool_size == need.pool_size else "limit"
    return TrafficPool(**vars(pool), traffic=traffic, need=need.need, decides=decides, use=use)


def _load(traffics: Sequence[Traffic], connections: int) -> DatabaseLoad | None:
    """Return the database's load by all services; None where they need more connections. Bursts come at once."""
    rate = fsum(traffic.rate for traffic in traffics)
    in_use = fsum(traffic.in_use for traffic in traffics)
    busiest = fsum(traffic.in_use * traffic.burst for traffic in traffics)
    return database_load(unslowed_rates(1000 * in_use / rate, busiest, connections), rate, busiest / in_use)


def _findings(plan: TrafficPlan, needs: Sequence[ProcessNeed], needed: Sequence[ServicePool]) -> Iterator[Finding]:
    """Yield what decides the sizes, how the pools and the database go together, what else fits, what is not known."""
    traffics, limit = [pool.traffic for pool in plan.pools], plan.limit
    instances = more_instances([traffic.service for traffic in traffics], limit)
    of_all, below = in_deploy_of(needed), [pool for pool in plan.pools if pool.decides == "limit"]
    yield FleetNeeds(of_all, limit.usable, instances)
    for traffic, need in zip(traffics, needs, strict=True):
        if need.decides != "need":
            yield bound(traffic, need, traffic.service.name)
    if below:
        assert limit.usable is not None
        endless = tuple(pool.service.name for pool in below if isinf((pool.use.one_away or pool.use.usual).wait_p99_ms))
        of_below = {name: size for name, size in sizes_of(needed).items() if name in sizes_of(below)}
        yield FleetBelowNeed(of_all, limit.usable, instances, sizes_of(below), of_below, endless)
    yield from _of_database(plan)
    if below:
        yield from _alternatives(traffics, needed, plan.size, limit)
    if limit.usable is None:
        yield LimitUnknown(of_all, instances)
    if any(traffic.usage == UsageTimes(traffic.usage.mean_ms) for traffic in traffics):
        yield FleetSpreadAssumed()


def _of_database(plan: TrafficPlan) -> Iterator[Finding]:
    """Yield how many connections are in use at once, and how many the database can use."""
    size, load = plan.size, plan.load
    if size is not None and plan.in_use >= size:
        yield FleetBeyondSupply(plan.in_use, size, plan.in_use / size)
    elif load is None:
        pass  # the limit or the threads are the cause, and have a finding
    elif size is None:
        yield FleetSupplyUnknown(load.mean, load.quantile(OFTEN))
    else:
        yield InUse(load.mean, load.quantile(OFTEN), size, load.beyond(size), plan.connections)


def _alternatives(
    traffics: Sequence[Traffic], needed: Sequence[ServicePool], size: int | None, limit: ServerLimit
) -> Iterator[Finding]:
    """Yield what else fits, where the needed pools exceed the server's limit."""
    assert limit.usable is not None
    low, high, fitting = 0, max(traffic.service.processes for traffic in traffics), None
    while high - low > 1:
        processes = (low + high) // 2
        fewer = [replace(traffic, service=traffic.service.with_processes(processes)) for traffic in traffics]
        pools = _pools(fewer, [process_need(traffic) for traffic in fewer], limit)
        if in_deploy_of(pools) <= limit.usable:
            low, fitting = processes, FewerProcesses(processes, connections_of(pools), sizes_of(pools))
        else:
            high = processes
    if fitting:
        yield fitting
    load = _load(traffics, LARGEST_NUMBER)
    assert load is not None
    to_database = min(each for each in (load.quantile(OFTEN), limit.usable, size) if each is not None)
    if load.mean < to_database:
        yield Proxy(to_database, in_deploy_of(needed))
    yield raise_limit(needed, limit)
