"""The answer for a fleet: its pools, which limit decides, and what else would fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from poolsize.answer.finding import Code, Finding, reason, refusal, warning
from poolsize.answer.fleet import ServerLimit, Service, ServicePool, share_out, smallest_need, with_fewer_processes
from poolsize.errors import BadInput
from poolsize.sweep.readers import LARGEST_POOL

UNUSED_SHARE = 0.1
"""Connections that no pool can take, because pools have whole sizes, are named from this share of the size on."""

Loss = Callable[[int], float | None]
"""Pool size for all clients together -> share of capacity lost there; None where the run did not measure it."""


@dataclass(frozen=True)
class FleetPlan:
    """The answer for a fleet.

    size: connections that the database serves best, for all clients together.
    pools: one for each service; empty where the smallest pools exceed the server's limit.
    findings: reasons, warnings and refusals, in the order to read them.
    """

    size: int
    limit: ServerLimit
    pools: tuple[ServicePool, ...]
    findings: tuple[Finding, ...]

    @property
    def connections(self) -> int:
        """Connections of all pools that usually exist."""
        return sum(pool.connections for pool in self.pools)

    @property
    def max_connections(self) -> int:
        """Connections of all pools in a rolling deploy at the autoscaler's maximum."""
        return sum(pool.max_connections for pool in self.pools)


def plan_fleet(
    size: int, services: Sequence[Service], limit: ServerLimit | None = None, loss: Loss | None = None
) -> FleetPlan:
    """Return the pools of a fleet, and what limits them.

    size: connections that the database serves best, for all clients together, as `recommend` answers.
    limit: of the server; None where it is not known. loss: of throughput, from a run; None without a run.
    Raises BadInput for a size that no pool has, and for two services of one name.
    """
    if not 1 <= size <= LARGEST_POOL:
        raise BadInput(f"`size` {size}: give 1 to {LARGEST_POOL:,} connections")
    names = [service.name for service in services]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"`services` {name}: two services have this name; rename one")
    limit = limit or ServerLimit()
    pools = share_out(size, services, limit)
    plan = FleetPlan(size, limit, pools or (), ())
    found = (*_findings(plan, services, loss), *_alternatives(plan, services))
    return FleetPlan(size, limit, pools or (), found)


def _findings(plan: FleetPlan, services: Sequence[Service], loss: Loss | None) -> tuple[Finding, ...]:
    limit = plan.limit
    if not plan.pools:
        needed = smallest_need(services, limit)
        assert limit.usable is not None
        return (
            refusal(
                Code.FLEET_EXCEEDS_LIMIT, needed=needed, usable=limit.usable, excess=needed - limit.usable,
                max_connections=limit.max_connections, reserve=limit.reserve, variable=limit.variable,
            ),
        )  # fmt: skip
    findings = [_decides(plan)]
    if plan.connections > plan.size:
        findings.append(_above_size(plan.connections, plan.size, loss, at_most=False))
    elif (at_most := _at_max_instances(plan)) > plan.size:
        findings.append(_above_size(at_most, plan.size, loss, at_most=True))
    if limit.max_connections is None:
        findings.append(warning(Code.FLEET_LIMIT_UNKNOWN, needed=plan.max_connections, surge=limit.surge))
    return tuple(findings)


def _decides(plan: FleetPlan) -> Finding:
    """Return the reason that names what keeps the pools from growing: the size, the limit, or the smallest pool."""
    unused = plan.size - plan.connections
    values = {
        "size": plan.size, "connections": plan.connections, "unused": unused,
        "at_most": plan.max_connections, "usable": plan.limit.usable, "surge": plan.limit.surge,
    }  # fmt: skip
    if unused < 0:
        return reason(Code.FLEET_SMALLEST_POOLS, **values)
    by_size = any(pool.service.pools > unused for pool in plan.pools)
    return reason(Code.FLEET_SIZE if by_size else Code.FLEET_LIMIT, **values)


def _at_max_instances(plan: FleetPlan) -> int:
    """Return the connections at the autoscaler's maximum, without a deploy."""
    return sum(pool.pool_size * pool.service.max_instances * pool.service.processes for pool in plan.pools)


def _above_size(connections: int, size: int, loss: Loss | None, *, at_most: bool) -> Finding:
    lost = None if loss is None else loss(connections)
    return warning(Code.FLEET_ABOVE_SIZE, connections=connections, size=size, throughput_loss=lost, at_most=at_most)


def _alternatives(plan: FleetPlan, services: Sequence[Service]) -> tuple[Finding, ...]:
    """Return what else would fit, where the smallest pools exceed the size or the limit, or much stays unused."""
    too_many = not plan.pools or plan.connections > plan.size
    if not too_many and plan.size - plan.connections < UNUSED_SHARE * plan.size:
        return ()
    findings = []
    if too_many and (fewer := with_fewer_processes(plan.size, services, plan.limit)):
        processes, pools = fewer
        findings.append(
            reason(
                Code.FLEET_FEWER_PROCESSES, processes=processes, connections=sum(pool.connections for pool in pools),
                pool_sizes={pool.service.name: pool.pool_size for pool in pools},
            )
        )  # fmt: skip
    findings.append(reason(Code.FLEET_PROXY, connections=plan.size))
    if not plan.pools:
        raised = smallest_need(services, plan.limit) + plan.limit.reserve
        assert plan.limit.max_connections is not None
        more = raised - plan.limit.max_connections
        findings.append(
            reason(
                Code.FLEET_RAISE_LIMIT, max_connections=raised, more=more, variable=plan.limit.variable,
                memory_bytes=more * plan.limit.connection_bytes,
            )
        )  # fmt: skip
    return tuple(findings)
