"""The answer for a fleet: its pools, which limit decides, and what else would fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from poolsize.answer.finding import Code, Finding, reason, refusal, warning
from poolsize.answer.fleet import ServerLimit, Service, ServicePool, share_out, smallest_need, with_fewer_processes
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput

UNUSED_SHARE = 0.1
"""Connections that no pool can take are named from this share of the size on."""
NOTICEABLE = 0.005
"""A smaller loss of throughput is printed as none, and is nothing to warn of."""
BEYOND_WEIGHT = 1.2
"""A service with more than this multiple of the connections that its weight gives is named."""


@dataclass(frozen=True)
class MeasuredLosses:
    """The loss of throughput that a run tells for any number of connections.

    up_to: the largest number that the run tells of.
    at: number of connections for all clients -> share of capacity lost.
    """

    up_to: int
    at: Callable[[int], float]


@dataclass(frozen=True)
class FleetPlan:
    """The answer for a fleet.

    size: recommended connections, for all clients together.
    pools: the pool of each service; empty where the smallest pools exceed the server's limit.
    findings: reasons, warnings and refusals, in the order to read them.
    """

    size: int
    limit: ServerLimit
    pools: tuple[ServicePool, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def connections(self) -> int:
        """Connections of all pools that usually exist."""
        return _connections(self.pools)

    @property
    def connections_in_deploy(self) -> int:
        """Connections of all pools in a rolling deploy at the autoscaler's maximum."""
        return sum(pool.connections_in_deploy for pool in self.pools)


def plan_fleet(
    size: int, services: Sequence[Service], limit: ServerLimit | None = None, losses: MeasuredLosses | None = None
) -> FleetPlan:
    """Return the pools of a fleet, and what limits them.

    size: recommended connections, for all clients together.
    limit: of the server; None where it is not known. losses: of throughput, from a run; None without a run.
    Raises BadInput for a size that no pool has, and for two services of the same name.
    """
    if not 1 <= size <= LARGEST_POOL:
        raise BadInput(f"`size` {size}: give 1 to {LARGEST_POOL:,} connections")
    names = [service.name for service in services]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"`services` {name}: two services have this name; rename one")
    limit = limit or ServerLimit()
    plan = FleetPlan(size, limit, share_out(size, services, limit) or ())
    if not plan.pools:
        return replace(plan, findings=(_exceeds_limit(plan, services), *_alternatives(plan, services)))
    warnings = [*_above_size(plan, services, losses)]
    if limit.usable is None:
        warnings.append(
            warning(Code.FLEET_LIMIT_UNKNOWN, needed=plan.connections_in_deploy, **_deploy(limit, services))
        )
    return replace(plan, findings=(*_reasons(plan, services), *_alternatives(plan, services), *warnings))


def _exceeds_limit(plan: FleetPlan, services: Sequence[Service]) -> Finding:
    needed, usable = smallest_need(services, plan.limit), plan.limit.usable
    assert usable is not None
    return refusal(
        Code.FLEET_EXCEEDS_LIMIT,
        needed=needed,
        usable=usable,
        excess=needed - usable,
        processes=sum(service.pools_in_deploy(plan.limit.surge) for service in services),
        floor=max(service.floor for service in services),
        **_deploy(plan.limit, services),
    )


def _reasons(plan: FleetPlan, services: Sequence[Service]) -> list[Finding]:
    """Return what keeps the pools from growing, the deadlock floors, and services that got more than their weight."""
    floors = {pool.service.name: pool.service.floor for pool in plan.pools if pool.service.floor > 1}
    findings = [_decides(plan, services)] if plan.connections <= plan.size else []
    if floors:
        findings.append(reason(Code.FLEET_FLOOR, floors=floors, services=len(plan.pools)))
    weights = sum(pool.service.weight for pool in plan.pools)
    for pool in plan.pools:
        by_weight = plan.size * pool.service.weight / weights
        if pool.pool_size > pool.service.floor and pool.connections > BEYOND_WEIGHT * by_weight:
            findings.append(
                reason(
                    Code.FLEET_BEYOND_WEIGHT, service=pool.service.name, connections=pool.connections,
                    by_weight=by_weight,
                )
            )  # fmt: skip
    return findings


def _decides(plan: FleetPlan, services: Sequence[Service]) -> Finding:
    """Return the reason that names what keeps the pools from growing: the threads, the size, or the server's limit."""
    unused = plan.size - plan.connections
    values: dict[str, Any] = {
        "size": plan.size, "connections": plan.connections, "unused": unused,
        "in_deploy": plan.connections_in_deploy, "usable": plan.limit.usable, **_deploy(plan.limit, services),
    }  # fmt: skip
    if all(pool.pool_size == pool.service.most_useful for pool in plan.pools):
        return reason(Code.FLEET_THREADS, **values)
    by_size = all(pool.service.pools > unused for pool in plan.pools if pool.pool_size != pool.service.most_useful)
    return reason(Code.FLEET_SIZE if by_size else Code.FLEET_LIMIT, **values)


def _above_size(plan: FleetPlan, services: Sequence[Service], losses: MeasuredLosses | None) -> list[Finding]:
    """Return the finding that all pools together have more connections than the size, usually or at the maximum."""
    at_maximum = [replace(service, instances=service.most_instances) for service in services]
    most = sum(service.pools * pool.pool_size for service, pool in zip(at_maximum, plan.pools, strict=True))
    usually = plan.connections > plan.size
    connections = plan.connections if usually else most
    if connections <= plan.size:
        return []
    values: dict[str, Any] = {"throughput_loss": None, "measured_up_to": None}
    if losses is not None:
        values["measured_up_to"] = losses.up_to
        if connections <= losses.up_to:
            values["throughput_loss"] = losses.at(connections) - losses.at(plan.size)
    within = None if usually else share_out(plan.size, at_maximum, plan.limit)
    loss = values["throughput_loss"]
    finding = warning if loss is None or loss >= NOTICEABLE else reason
    return [
        finding(
            Code.FLEET_ABOVE_SIZE, connections=connections, size=plan.size, at_max_instances=not usually,
            pool_sizes=_sizes(within) if within and _connections(within) <= plan.size else None, **values,
        )
    ]  # fmt: skip


def _alternatives(plan: FleetPlan, services: Sequence[Service]) -> list[Finding]:
    """Return what else would fit, where the pools exceed the size or the limit, or leave much of the size unused."""
    too_many = not plan.pools or plan.connections > plan.size
    if not too_many and plan.size - plan.connections < UNUSED_SHARE * plan.size:
        return []
    findings = []
    if too_many and (fewer := with_fewer_processes(plan.size, services, plan.limit)):
        processes, pools = fewer
        connections = _connections(pools)
        findings.append(
            reason(
                Code.FLEET_FEWER_PROCESSES, processes=processes, connections=connections, pool_sizes=_sizes(pools)
            )
        )  # fmt: skip
    usable = plan.limit.usable
    if usable != 0:
        to_database = plan.size if usable is None else min(plan.size, usable)
        clients = plan.connections_in_deploy or smallest_need(services, plan.limit)
        findings.append(reason(Code.FLEET_PROXY, connections=to_database, clients=clients))
    return [*findings, *_raised_limit(plan, services)]


def _raised_limit(plan: FleetPlan, services: Sequence[Service]) -> list[Finding]:
    """Return the limit with which the size decides, where the limit decides now."""
    pools = share_out(plan.size, services, plan.limit.without_maximum())
    assert pools is not None
    usable, in_deploy = plan.limit.usable, sum(pool.connections_in_deploy for pool in pools)
    if usable is None or in_deploy <= usable:
        return []
    return [
        reason(
            Code.FLEET_RAISE_LIMIT, variables=plan.limit.raised_to(in_deploy), pool_sizes=_sizes(pools),
            connections=_connections(pools), more=in_deploy - usable,
            memory_bytes=(in_deploy - usable) * plan.limit.connection_bytes,
        )
    ]  # fmt: skip


def _deploy(limit: ServerLimit, services: Sequence[Service]) -> dict[str, Any]:
    """Return what adds instances: the surge of a deploy, and whether there is an autoscaler."""
    return {"surge": limit.surge, "autoscaled": any(each.most_instances > each.instances for each in services)}


def _connections(pools: Sequence[ServicePool]) -> int:
    return sum(pool.connections for pool in pools)


def _sizes(pools: Sequence[ServicePool]) -> dict[str, int]:
    """Return service -> pool size."""
    return {pool.service.name: pool.pool_size for pool in pools}
