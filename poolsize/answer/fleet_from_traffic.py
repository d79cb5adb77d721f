"""The traffic of several services -> TrafficPlan: the pool that each service needs, beside the limits.

The need of each service is that of traffic_need, at the usage times that the database has under all of them. Where the
server's limit is below the sum, share_out divides it by need.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf

from poolsize.answer.finding import Caution, Finding, Reason
from poolsize.answer.fleet import (
    PoolTotals,
    ServerLimit,
    ServicePool,
    connections_of,
    in_deploy_of,
    service_pool,
    share_out,
    shared_floor,
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
from poolsize.answer.from_traffic import SizeUse, size_use
from poolsize.answer.traffic import SharedDatabase, Supply, Traffic, all_traffic, is_beyond
from poolsize.answer.traffic_findings import (
    SpreadAssumed,
    ThreadsBound,
    bound,
    is_too_small,
    of_database,
    of_service,
    threads_suffice,
    with_load,
)
from poolsize.answer.traffic_need import Decides, ProcessNeed, process_need, process_needs
from poolsize.traffic.database_load import DatabaseLoad
from poolsize.traffic.usage_phases import UsageTimes


class FleetNeeds(Reason, code="fleet_needs"):
    """How the traffic decides the pools.

    limits_ms: service -> limit of the p99 wait time, of those whose pool the limit decides. several: how many of them
    have several instances, of which an instance is away. missed: services whose pools the full database decides.
    needed: connections of all pools in a deploy. usable: that the server admits; None if unknown.
    """

    limits_ms: Mapping[str, float]
    several: int
    missed: tuple[str, ...]
    needed: int
    usable: int | None
    instances: MoreInstances


class FleetBelowNeed(Caution, code="fleet_below_need", is_doubt=True):
    """The server's limit allows fewer connections than the services need.

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


class TrafficPool(ServicePool):
    """The pool of each process of a service, by its traffic.

    need, decides: as in TrafficAnswer. use: how the pool serves the traffic.
    """

    traffic: Traffic
    need: int
    decides: Decides
    use: SizeUse


@dataclass(frozen=True)
class TrafficPlan(PoolTotals):
    """The answer for a fleet whose services have rates.

    traffic: of all services together, as the database sees it. supply: what the database can use; None where nothing is
    known of it. pools: in the order of the services; empty where the smallest exceed the server's limit, and where the
    database can't keep up with any. load: of the database; None where the pools are too few for the traffic. findings:
    in the order to read them.
    """

    traffic: Traffic
    supply: Supply | None
    limit: ServerLimit
    pools: tuple[TrafficPool, ...] = ()
    load: DatabaseLoad | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def helps(self) -> bool:
        """Whether the pool sizes help: not where the database, the server's limit or the threads are too few."""
        return bool(self.pools) and self.carries and not is_too_small(self.findings)

    @property
    def carries(self) -> bool:
        """Whether the pools and the threads carry the traffic, if the database does."""
        is_endless = any(pool.decides == "limit" and isinf(pool.use.usual.wait_p99_ms) for pool in self.pools)
        loaded = (with_load(pool.traffic, pool.use.load, self.supply, self.traffic) for pool in self.pools)
        return not is_endless and all(map(threads_suffice, loaded))


def plan_fleet_for(
    traffics: Sequence[Traffic], supply: Supply | None = None, limit: ServerLimit | None = None
) -> TrafficPlan:
    """Return the pool of each service that its traffic needs, or its share of a limit that is too low for all.

    supply: what the database can use, for all services together. A run's rates are those for their mean usage time.
    Raises BadInput for a supply that no database has, for two services of the same name, and for absurd traffic.
    """
    services, limit = [traffic.service for traffic in traffics], limit or ServerLimit()
    require_fleet(None if supply is None else supply.connections, services)
    plan = TrafficPlan(all_traffic(traffics), supply, limit)
    if is_beyond(plan.traffic.rate, supply):
        return replace(plan, findings=tuple(of_database(plan.traffic, supply, None, 0)))
    needs = process_needs(traffics, supply)
    needed = _pools(traffics, [need.pool_size for need in needs], limit)
    split = _within_limit(needed, limit)
    if not split:
        return replace(plan, findings=(exceeds_limit(services, limit), *_alternatives(traffics, needed, plan)))
    database = SharedDatabase(tuple(traffics), tuple(split), supply)
    pools = _with_uses(database, needs, _pools(traffics, split, limit))
    plan = replace(plan, pools=pools, load=database.load)
    return replace(plan, findings=tuple(_findings(plan, needs, needed)))


def _pools(traffics: Sequence[Traffic], sizes: Sequence[int], limit: ServerLimit) -> list[ServicePool]:
    """Return the pool of each service, with these sizes."""
    return [service_pool(traffic.service, size, limit) for traffic, size in zip(traffics, sizes, strict=True)]


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


def _with_uses(
    database: SharedDatabase, needs: Sequence[ProcessNeed], pools: Sequence[ServicePool]
) -> tuple[TrafficPool, ...]:
    """Return the pools with how each serves its traffic."""
    with_uses = []
    for place, (traffic, need, pool) in enumerate(zip(database.traffics, needs, pools, strict=True)):
        decides = need.decides if pool.pool_size == need.pool_size else "limit"
        use = size_use(database, place)
        with_uses.append(TrafficPool(**vars(pool), traffic=traffic, need=need.need, decides=decides, use=use))
    return tuple(with_uses)


def _findings(plan: TrafficPlan, needs: Sequence[ProcessNeed], needed: Sequence[ServicePool]) -> Iterator[Finding]:
    """Yield what decides the sizes, how the pools and the database go together, what else fits, what is not known."""
    traffics, limit = [pool.traffic for pool in plan.pools], plan.limit
    instances = more_instances([traffic.service for traffic in traffics], limit)
    of_all, below = in_deploy_of(needed), [pool for pool in plan.pools if pool.decides == "limit"]
    if below:
        assert limit.usable is not None
        endless = tuple(pool.service.name for pool in below if isinf((pool.use.one_away or pool.use.usual).wait_p99_ms))
        of_below = {name: size for name, size in sizes_of(needed).items() if name in sizes_of(below)}
        yield FleetBelowNeed(of_all, limit.usable, instances, sizes_of(below), of_below, endless)
    decided = list(zip(traffics, (need.decides for need in needs), strict=True))
    by_wait = [traffic for traffic, decides in decided if decides == "need"]
    missed = tuple(traffic.service.name for traffic, decides in decided if decides == "supply")
    limits_ms = {traffic.service.name: traffic.most_wait_ms for traffic in by_wait}
    several = sum(traffic.service.instances > 1 for traffic in by_wait)
    if by_wait or missed or (limit.usable is not None and not below):
        yield FleetNeeds(limits_ms, several, missed, of_all, limit.usable, instances)
    for pool, need in zip(plan.pools, needs, strict=True):
        if need.decides in {"threads", "floor"}:
            traffic = with_load(pool.traffic, pool.use.load, plan.supply, plan.traffic)
            finding = bound(traffic, need, pool.service.name)
            if pool.decides != "limit" or not isinstance(finding, ThreadsBound):
                yield finding
    of_all_services = list(of_database(plan.traffic, plan.supply, plan.load, plan.connections, len(plan.pools)))
    if is_too_small(of_all_services):
        below = []
    else:
        yield from _of_each_service(plan)
    yield from of_all_services
    if below:
        yield from _alternatives(traffics, needed, plan)
    if limit.usable is None:
        yield LimitUnknown(of_all, instances)
    assumed = [each.traffic.usage == UsageTimes(each.traffic.usage.mean_ms) for each in plan.pools]
    if any(each and need.decides != "threads" for each, need in zip(assumed, needs, strict=True)):
        yield SpreadAssumed(several=True)


def _of_each_service(plan: TrafficPlan) -> Iterator[Finding]:
    database = SharedDatabase(
        tuple(pool.traffic for pool in plan.pools), tuple(pool.pool_size for pool in plan.pools), plan.supply
    )
    for place, pool in enumerate(plan.pools):
        yield from of_service(database, place, pool.use.load, pool.decides, plan.limit, pool.service.name)


def _alternatives(traffics: Sequence[Traffic], needed: Sequence[ServicePool], plan: TrafficPlan) -> Iterator[Finding]:
    """Yield what else fits, where the needed pools exceed the server's limit."""
    limit, supply, usable = plan.limit, plan.supply, plan.limit.usable
    assert usable is not None
    low, high, fitting = 0, max(traffic.service.processes for traffic in traffics), None
    while high - low > 1:
        processes = (low + high) // 2
        fewer = [replace(traffic, service=traffic.service.with_processes(processes)) for traffic in traffics]
        pools = _pools(fewer, [need.pool_size for need in process_needs(fewer, supply)], limit)
        if in_deploy_of(pools) <= usable:
            low, fitting = processes, FewerProcesses(processes, connections_of(pools), sizes_of(pools))
        else:
            high = processes
    if fitting:
        yield fitting
    shared = shared_pool(traffics, supply, limit)
    if shared <= min(usable, usable if supply is None else supply.connections):
        yield Proxy(shared, in_deploy_of(needed))
    yield raise_limit(needed, limit)


def shared_pool(traffics: Sequence[Traffic], supply: Supply | None, limit: ServerLimit) -> int:
    """Return the size of a pool that all processes of all services share, such as a proxy's.

    It keeps the lowest limit of the p99 wait time, and the threads of all processes of a deploy do not deadlock.
    """
    need = process_need(all_traffic(traffics), supply).need
    return max(need, shared_floor([traffic.service for traffic in traffics], limit))
