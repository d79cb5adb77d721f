"""The answer for a fleet: its pools, which limit decides, and what else would fit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from poolsize.answer.finding import Caution, Figures, Finding, Reason, Refusal, Severity
from poolsize.answer.fleet import (
    PoolTotals,
    ServerLimit,
    Service,
    ServicePool,
    connections_of,
    in_deploy_of,
    share_out,
    shared_floor,
    sizes_of,
    smallest_need,
    with_fewer_processes,
)
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.quick_record import QuickRecord

UNUSED_SHARE = 0.1
"""Connections that no pool can take are named from this share of the size on."""
NOTICEABLE = 0.005
"""A smaller loss of throughput is printed as none, and is nothing to warn of."""
BUSY = (0.3, 0.5, 0.8)
"""Shares of a pool's connections in use, for which the waits of separate pools are shown."""
NOTICEABLE_WAIT = 0.5
"""Mean usage times: a shorter p99 wait in busy separate pools is not worth a sentence."""
BEYOND_WEIGHT = 1.2
"""A service with more than this multiple of the connections that its weight gives is named."""


class MeasuredLosses(QuickRecord):
    """The loss of throughput that a run tells for any number of connections.

    up_to: the largest number that the run tells of.
    at: number of connections for all clients -> share of capacity lost.
    """

    up_to: int
    at: Callable[[int], float]


class MoreInstances(Figures):
    """What adds instances: the surge of a deploy, a share; and whether an autoscaler does."""

    surge: float
    autoscaled: bool


class PoolsTogether(Reason):
    """All pools together: their connections, usually and in a deploy, of the recommended size and the usable ones.

    larger: of a single service, the next pool size, and the connections that all its pools would have; else None.
    """

    size: int
    connections: int
    unused: int
    in_deploy: int
    usable: int | None
    instances: MoreInstances
    larger: tuple[int, int] | None


class FleetSize(PoolsTogether, code="fleet_size"):
    """The recommended size keeps the pools from growing."""


class FleetLimit(PoolsTogether, code="fleet_limit"):
    """The server's limit keeps the pools from growing."""


class FleetThreads(PoolsTogether, code="fleet_threads"):
    """The threads of the processes can't use larger pools."""


class PoolSizeKept(Caution, code="fleet_pool_size_kept"):
    """The measured application limits throughput, and other instances have cores of their own: a pool keeps its size.

    measured_pools: of the run. bottleneck: its name. connections: of all pools, which the run did not measure.
    """

    pool_size: int
    measured_pools: int
    bottleneck: str
    connections: int


class FleetFloor(Reason, code="fleet_floor"):
    """Service -> deadlock floor, where it is above 1. services: their number."""

    floors: Mapping[str, int]
    services: int


class SeparatePools(Reason, code="fleet_separate_pools"):
    """Threads wait for the connections of their own process, while other processes have free ones.

    busy: shares of a pool's connections that are in use when nobody waits. waits, p99: mean and p99 wait times at each
    of them, in mean usage times, for exponential usage times and pauses.
    """

    service: str
    pool_size: int
    threads: int
    busy: tuple[float, ...]
    waits: tuple[float, ...]
    p99: tuple[float, ...]


class BeyondWeight(Reason, code="fleet_beyond_weight"):
    """A service has more connections than its weight gives, because the others can't use the difference."""

    service: str
    connections: int
    by_weight: float


class AboveSize(Caution, code="fleet_above_size"):
    """All pools together, usually or at the autoscaler's maximum, have more connections than recommended.

    pool_sizes: service -> pool size with which they have no more; None where there is none.
    throughput_loss: share of capacity; None where the run measured up to fewer connections, or without a run.
    """

    connections: int
    size: int
    at_max_instances: bool
    pool_sizes: Mapping[str, int] | None
    throughput_loss: float | None
    measured_up_to: int | None


class HardlyAboveSize(AboveSize):
    """All pools together have more connections than recommended, without a noticeable loss of throughput."""

    severity = Severity.REASON


class PoolOfOne(Caution, code="fleet_pool_of_one"):
    """Several processes have a pool of 1 connection each, although their threads could use more."""


class LimitUnknown(Caution, code="fleet_limit_unknown"):
    """The server's limit is not known. needed: connections in a deploy."""

    needed: int
    instances: MoreInstances


class ExceedsLimit(Refusal, code="fleet_exceeds_limit"):
    """The smallest pools need more connections than the server admits. floors, services: as in FleetFloor."""

    needed: int
    usable: int
    excess: int
    processes: int
    floors: Mapping[str, int]
    services: int
    instances: MoreInstances


class FewerProcesses(Reason, code="fleet_fewer_processes"):
    """An alternative: at most so many processes in each instance. pool_sizes: service -> pool size then."""

    processes: int
    connections: int
    pool_sizes: Mapping[str, int]


class Proxy(Reason, code="fleet_proxy"):
    """An alternative: a proxy with so many connections to the database and so many clients."""

    connections: int
    clients: int


class RaiseLimit(Reason, code="fleet_raise_limit"):
    """An alternative: larger values of the server's variables, which admit more connections and take more memory."""

    variables: Mapping[str, int]
    pool_sizes: Mapping[str, int]
    connections: int
    more: int
    memory_bytes: int


class FleetPlan(PoolTotals, QuickRecord):
    """The answer for a fleet.

    size: recommended connections, for all clients together.
    pools: the pool of each service; empty where the smallest pools exceed the server's limit.
    findings: reasons, warnings and refusals, in the order to read them.
    """

    size: int
    limit: ServerLimit
    pools: tuple[ServicePool, ...]
    findings: tuple[Finding, ...] = ()


def plan_fleet(
    size: int, services: Sequence[Service], limit: ServerLimit | None = None, losses: MeasuredLosses | None = None
) -> FleetPlan:
    """Return the pools of a fleet, and what limits them.

    size: recommended connections, for all clients together.
    limit: of the server; None where it is not known. losses: of throughput, from a run; None without a run.
    Raises BadInput for a size that no pool has, and for two services of the same name.
    """
    require_fleet(size, services)
    limit = limit or ServerLimit()
    plan = FleetPlan(size, limit, share_out(size, services, limit) or ())
    instances = more_instances(services, limit)
    if not plan.pools:
        return replace(plan, findings=(exceeds_limit(services, limit), *_alternatives(plan, services)))
    unknown = [LimitUnknown(plan.connections_in_deploy, instances)] if limit.usable is None else []
    alone = [pool for pool in plan.pools if pool.pool_size == 1 < pool.service.pools and pool.service.most_useful != 1]
    cautions = (*([PoolOfOne()] if alone else []), *_above_size(plan, services, losses))
    return replace(plan, findings=(*_reasons(plan, instances), *cautions, *_alternatives(plan, services), *unknown))


def require_fleet(size: int | None, services: Sequence[Service]) -> None:
    """Raise BadInput for a size that no pool has, and for two services of the same name."""
    if size is not None and not 1 <= size <= LARGEST_POOL:
        raise BadInput(f"`size` {size}: give 1 to {LARGEST_POOL:,} connections")
    names = [service.name for service in services]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"`services` {name}: two services have this name; rename a service")


def more_instances(services: Sequence[Service], limit: ServerLimit) -> MoreInstances:
    """Return what adds instances to the usual ones of these services."""
    return MoreInstances(limit.surge, any(service.most_instances > service.instances for service in services))


def exceeds_limit(services: Sequence[Service], limit: ServerLimit) -> ExceedsLimit:
    """Return the refusal of services whose smallest pools exceed the server's limit."""
    needed, usable = smallest_need(services, limit), limit.usable
    assert usable is not None
    pools = sum(each.pools_in_deploy(limit.surge) for each in services)
    floors, instances = _floors(services), more_instances(services, limit)
    return ExceedsLimit(needed, usable, needed - usable, pools, floors, len(services), instances)


def _floors(services: Sequence[Service]) -> dict[str, int]:
    return {service.name: service.floor for service in services if service.floor > 1}


def _reasons(plan: FleetPlan, instances: MoreInstances) -> Iterator[Finding]:
    """Yield what keeps the pools from growing, the deadlock floors, and services that got more than their weight."""
    if (unused := plan.size - plan.connections) >= 0:
        growing = [pool for pool in plan.pools if pool.pool_size != pool.service.most_useful]
        by_size = all(pool.service.pools > unused for pool in growing)
        decides = FleetThreads if not growing else FleetSize if by_size else FleetLimit
        together = (plan.size, plan.connections, unused, plan.connections_in_deploy, plan.limit.usable)
        single = plan.pools[0] if len(plan.pools) == 1 else None
        larger = (single.pool_size + 1, single.connections + single.service.pools) if single else None
        yield decides(*together, instances, larger)
    if floors := _floors([pool.service for pool in plan.pools]):
        yield FleetFloor(floors, len(plan.pools))
    yield from _separate_pools(plan)
    weights = sum(pool.service.weight for pool in plan.pools)
    for pool in plan.pools:
        by_weight = plan.size * pool.service.weight / weights
        if pool.pool_size > pool.service.floor and pool.connections > BEYOND_WEIGHT * by_weight:
            yield BeyondWeight(pool.service.name, pool.connections, by_weight)


def _separate_pools(plan: FleetPlan) -> Iterator[Finding]:
    """Yield how long the threads of a process wait, for each service with pools that are smaller than they can use."""
    for pool in plan.pools:
        service, size = pool.service, pool.pool_size
        if service.threads and service.connections_per_thread == 1 and service.pools > 1 and size < service.threads:
            from poolsize.traffic.finite_source import waits_of_threads  # only these need scipy

            waits = [waits_of_threads(size, service.threads, busy) for busy in BUSY]
            means, p99 = zip(*waits, strict=True)
            if p99[-1] > NOTICEABLE_WAIT:
                yield SeparatePools(service.name, size, service.threads, BUSY, means, p99)


def _above_size(plan: FleetPlan, services: Sequence[Service], losses: MeasuredLosses | None) -> Iterator[Finding]:
    """Yield the finding that all pools together have more connections than the size, usually or at the maximum."""
    at_maximum = [replace(service, instances=service.most_instances) for service in services]
    most = sum(service.pools * pool.pool_size for service, pool in zip(at_maximum, plan.pools, strict=True))
    usually = plan.connections > plan.size
    connections = plan.connections if usually else most
    if connections <= plan.size:
        return
    is_known = losses is not None and connections <= losses.up_to
    loss = losses.at(connections) - losses.at(plan.size) if losses is not None and is_known else None
    within = None if usually else share_out(plan.size, at_maximum, plan.limit)
    finding = AboveSize if loss is None or loss >= NOTICEABLE else HardlyAboveSize
    yield finding(
        connections,
        plan.size,
        at_max_instances=not usually,
        pool_sizes=sizes_of(within) if within and connections_of(within) <= plan.size else None,
        throughput_loss=loss,
        measured_up_to=losses.up_to if losses else None,
    )


def _alternatives(plan: FleetPlan, services: Sequence[Service]) -> Iterator[Finding]:
    """Yield what else would fit, where the pools exceed the size or the limit, or leave much of the size unused."""
    too_many, usable = not plan.pools or plan.connections > plan.size, plan.limit.usable
    if not too_many and plan.size - plan.connections < UNUSED_SHARE * plan.size:
        return
    if too_many and (fewer := with_fewer_processes(plan.size, services, plan.limit)):
        processes, pools = fewer
        yield FewerProcesses(processes, connections_of(pools), sizes_of(pools))
    to_database = plan.size if usable is None else min(plan.size, usable)
    if shared_floor(services, plan.limit) <= to_database:
        yield Proxy(to_database, plan.connections_in_deploy or smallest_need(services, plan.limit))
    by_size = share_out(plan.size, services, plan.limit.without_maximum())
    assert by_size is not None
    if usable is not None and in_deploy_of(by_size) > usable:
        yield raise_limit(by_size, plan.limit)


def raise_limit(pools: Sequence[ServicePool], limit: ServerLimit) -> RaiseLimit:
    """Return the larger limit that admits these pools in a deploy, which exceed the server's limit."""
    in_deploy, usable = in_deploy_of(pools), limit.usable
    assert usable is not None
    more = in_deploy - usable
    memory_bytes = more * limit.connection_bytes
    return RaiseLimit(limit.raised_to(in_deploy), sizes_of(pools), connections_of(pools), more, memory_bytes)
