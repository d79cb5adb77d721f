"""Pool sizes for a fleet: the database's connections, shared out among services, instances and processes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from poolsize.errors import BadInput

MOST_POOLS = 1_000_000
"""More instances, or more processes of an instance, are typing errors."""
CONNECTION_BYTES = 1_048_576 + 2 * 16_384
"""Memory of an idle connection of MySQL 9 with its defaults; MariaDB's is a third. See facts.server.connection_bytes."""
DECIMALS = 9
"""Of a number of instances; further decimals are rounding errors, and would count as another instance."""


@dataclass(frozen=True)
class Service:
    """A service that uses the database. Each process of each instance has a pool of its own.

    instances: that usually run. processes: of each instance. weight: part of the database's connections, relative to
    the weights of the other services. max_instances: at the autoscaler's maximum.
    floor: the smallest pool of a process; above 1, the deadlock floor.
    """

    name: str
    instances: int
    processes: int = 1
    weight: float = 1.0
    max_instances: int = 0
    floor: int = 1

    def __post_init__(self) -> None:
        """Let the autoscaler's maximum be the usual number where none is given. Raises BadInput."""
        for name in ("instances", "processes"):
            if not 1 <= getattr(self, name) <= MOST_POOLS:
                raise BadInput(
                    f"`{name}` {getattr(self, name)}: {self.name} has 1 to {MOST_POOLS:,} {name.replace('_', ' ')}"
                )
        if not self.weight > 0:
            raise BadInput(f"`weight` {self.weight:g} of {self.name}: a weight is above 0, e.g. 1")
        if self.max_instances and self.max_instances < self.instances:
            raise BadInput(
                f"`max_instances` {self.max_instances}: {self.name} usually has {self.instances:,}; give at least those"
            )
        object.__setattr__(self, "max_instances", self.max_instances or self.instances)

    @property
    def pools(self) -> int:
        """Pools that usually exist."""
        return self.instances * self.processes

    def most_pools(self, surge: float) -> int:
        """Return the pools in a rolling deploy at the autoscaler's maximum. surge: share of further instances."""
        return (self.max_instances + ceil(round(self.max_instances * surge, DECIMALS))) * self.processes


@dataclass(frozen=True)
class ServerLimit:
    """The connections that the server admits.

    max_connections: for all clients; None where it is not known. reserve: of these, for administrators, monitoring and
    other programs. surge: share of further instances that run during a rolling deploy, rounded up; 0.25 is the default
    of a Kubernetes Deployment (`maxSurge`). variable: the server's name of the limit.
    connection_bytes: memory of an idle connection.
    """

    max_connections: int | None = None
    reserve: int = 10
    surge: float = 0.25
    variable: str = "max_connections"
    connection_bytes: int = CONNECTION_BYTES

    def __post_init__(self) -> None:
        """Raise BadInput for values that no server has."""
        if self.max_connections is not None and self.max_connections < 1:
            raise BadInput(f"`max_connections` {self.max_connections}: a server admits at least 1 connection")
        if self.reserve < 0:
            raise BadInput(f"`reserve` {self.reserve}: give the connections to keep for others, 0 or more")
        if not 0 <= self.surge <= 1:
            raise BadInput(f"`surge` {self.surge:.0%}: a deploy adds 0% to 100% of the instances")

    @property
    def usable(self) -> int | None:
        """Connections for the fleet; None where max_connections is not known."""
        return None if self.max_connections is None else max(0, self.max_connections - self.reserve)


@dataclass(frozen=True)
class ServicePool:
    """The pool of each process of a service.

    pool_size: connections that the pool may open, overflow included. connections: of all its usual processes.
    max_connections: in a rolling deploy at the autoscaler's maximum.
    """

    service: Service
    pool_size: int
    connections: int
    max_connections: int


def share_out(size: int, services: Sequence[Service], limit: ServerLimit) -> tuple[ServicePool, ...] | None:
    """Return the pool of each service, or None where the smallest pools exceed the server's limit.

    The sum over the usual processes stays within size, unless the smallest pools alone exceed it. The sum in a rolling
    deploy at the autoscaler's maximum stays within the limit. Within both, the service with the fewest connections for
    its weight grows first; so no split gives the worst supplied service more, and no pool can grow any further.

    size: connections that the database serves best, for all services together.
    """
    if not services:
        raise ValueError("a fleet has at least one service")
    sizes = [service.floor for service in services]
    usual = [service.pools for service in services]
    most = [service.most_pools(limit.surge) for service in services]
    free = size - _total(usual, sizes)
    free_at_most = None if limit.usable is None else limit.usable - _total(most, sizes)
    if free_at_most is not None and free_at_most < 0:
        return None
    growing = set(range(len(services)))
    while growing:
        place = min(growing, key=lambda each: (sizes[each] * usual[each] / services[each].weight, each))
        if usual[place] > free or (free_at_most is not None and most[place] > free_at_most):
            growing.remove(place)
            continue
        sizes[place] += 1
        free -= usual[place]
        free_at_most = None if free_at_most is None else free_at_most - most[place]
    return tuple(
        ServicePool(service, pool_size, pool_size * pools, pool_size * most_pools)
        for service, pool_size, pools, most_pools in zip(services, sizes, usual, most, strict=True)
    )


def smallest_need(services: Sequence[Service], limit: ServerLimit) -> int:
    """Return the connections of the smallest pools in a rolling deploy at the autoscaler's maximum."""
    return sum(service.floor * service.most_pools(limit.surge) for service in services)


def with_fewer_processes(
    size: int, services: Sequence[Service], limit: ServerLimit
) -> tuple[int, tuple[ServicePool, ...]] | None:
    """Return the most processes for each instance with which the fleet keeps size and limit, and the pools then.

    None where a single process for each instance still exceeds them.
    """
    for processes in range(max(service.processes for service in services) - 1, 0, -1):
        fewer = [replace(service, processes=min(processes, service.processes)) for service in services]
        pools = share_out(size, fewer, limit)
        if pools is not None and sum(pool.connections for pool in pools) <= size:
            return processes, pools
    return None


def _total(pools: Sequence[int], sizes: Sequence[int]) -> int:
    return sum(number * size for number, size in zip(pools, sizes, strict=True))
