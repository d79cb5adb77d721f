"""Pool sizes for a fleet: the database's connections, shared out among services, instances and processes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite
from operator import mul

from poolsize.errors import BadInput
from poolsize.formula import deadlock_floor
from poolsize.quick_record import QuickRecord

MOST = 1_000_000
"""More instances, or more processes of an instance, are typing errors."""
CONNECTION_BYTES = 1_048_576 + 2 * 16_384
"""Memory of an idle connection with MySQL 9's defaults (facts.server.connection_bytes). MariaDB's is a third."""
DECIMALS = 9
"""Of a number of instances; further decimals are rounding errors, and would count as another instance."""


@dataclass(frozen=True)
class Service:
    """A service that uses the database. Each process of each instance has a pool of its own.

    instances: that usually run. processes: of each instance. weight: part of the database's connections, relative to
    the weights of the other services. max_instances: at the autoscaler's maximum; None for the usual number.
    threads: of a process, that share its pool; None where they are not known. connections_per_thread: that each of them
    holds at once; 1 where only the threads are given.
    Raises BadInput for values that no service has.
    """

    name: str
    instances: int
    processes: int = 1
    weight: float = 1.0
    max_instances: int | None = None
    threads: int | None = None
    connections_per_thread: int | None = None

    def __post_init__(self) -> None:
        for name in ("instances", "processes", "max_instances"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MOST:
                raise BadInput(f"`{name}` {value}: the {name.replace('_', ' ')} of {self.name} are 1 to {MOST:,}")
        if not (self.weight > 0 and isfinite(self.weight)):
            raise BadInput(f"`weight` {self.weight:g} of {self.name}: a weight is a number above 0, e.g. 1")
        if self.most_instances < self.instances:
            raise BadInput(
                f"`max_instances` {self.max_instances}: {self.name} usually has {self.instances:,}; give at least those"
            )
        if self.threads is not None and self.connections_per_thread is None:
            object.__setattr__(self, "connections_per_thread", 1)
        deadlock_floor(self.threads, self.connections_per_thread)

    @property
    def floor(self) -> int:
        """The smallest pool of a process: its deadlock floor, or 1 where that is not known."""
        return deadlock_floor(self.threads, self.connections_per_thread) or 1

    @property
    def most_useful(self) -> int | None:
        """The connections that the threads of a process can hold together; None where they are not known."""
        if self.threads is None or self.connections_per_thread is None:
            return None
        return self.threads * self.connections_per_thread

    @property
    def most_instances(self) -> int:
        """Instances at the autoscaler's maximum."""
        return self.instances if self.max_instances is None else self.max_instances

    @property
    def pools(self) -> int:
        """Pools that usually exist."""
        return self.instances * self.processes

    @property
    def one_away_of(self) -> int | None:
        """Instances, of which 1 may be away; None for a single instance."""
        return self.instances if self.instances > 1 else None

    def pools_in_deploy(self, surge: float) -> int:
        """Return the pools in a rolling deploy at the autoscaler's maximum. surge: share of further instances."""
        return (self.most_instances + ceil(round(self.most_instances * surge, DECIMALS))) * self.processes

    def as_one_process(self, surge: float) -> "Service":
        """Return the service as a single process, with the threads of all its processes, whose pool they share.

        These are the threads in a rolling deploy at the autoscaler's maximum. surge: share of further instances.
        """
        threads = None if self.threads is None else self.threads * self.pools_in_deploy(surge)
        return Service(self.name, 1, threads=threads, connections_per_thread=self.connections_per_thread)

    def with_processes(self, processes: int) -> "Service":
        """Return the service with at most so many processes for each instance, which share the threads evenly."""
        processes = min(processes, self.processes)
        threads = None if self.threads is None else ceil(self.threads * self.processes / processes)
        return replace(self, processes=processes, threads=threads)

    def with_fewer_pools(self) -> "Service":
        """Return the service with 1 process for each instance; or else with half the instances, and their threads."""
        if self.processes > 1:
            return self.with_processes(1)
        most = None if self.max_instances is None else ceil(self.max_instances / 2)
        threads = None if self.threads is None else 2 * self.threads
        return replace(self, instances=ceil(self.instances / 2), max_instances=most, threads=threads)


@dataclass(frozen=True)
class ServerLimit:
    """The connections that the server admits.

    max_connections: for all clients; None where it is not known. reserve: of these, for administrators, monitoring and
    other programs. max_user_connections: for the account of the fleet; None for no such limit.
    surge: share of further instances that run during a rolling deploy, rounded up; 0.25 is the default of a Kubernetes
    Deployment (`maxSurge`). connection_bytes: memory of an idle connection.
    Raises BadInput for values that no server has.
    """

    max_connections: int | None = None
    reserve: int = 10
    max_user_connections: int | None = None
    surge: float = 0.25
    connection_bytes: int = CONNECTION_BYTES

    def __post_init__(self) -> None:
        if self.max_connections is not None and self.max_connections < 1:
            raise BadInput(f"`max_connections` {self.max_connections}: a server admits at least 1 connection")
        if self.reserve < 0:
            raise BadInput(f"`reserve` {self.reserve}: give the connections to keep for others, 0 or more")
        if self.max_connections is not None and self.reserve >= self.max_connections:
            raise BadInput(f"`reserve` {self.reserve}: keep fewer than `max_connections` {self.max_connections}")
        if not 0 <= self.surge <= 1:
            raise BadInput(f"`surge` {self.surge:.0%}: a deploy adds 0% to 100% of the instances")

    @property
    def usable(self) -> int | None:
        """Connections for the fleet; None where no limit is known."""
        of_server = None if self.max_connections is None else self.max_connections - self.reserve
        return min((most for most in (self.max_user_connections, of_server) if most is not None), default=None)

    def raised_to(self, connections: int) -> dict[str, int]:
        """Return the server's variables that must grow so that the fleet may open so many connections, and to what."""
        values = {}
        if self.max_connections is not None and connections > self.max_connections - self.reserve:
            values["max_connections"] = connections + self.reserve
        if self.max_user_connections is not None and connections > self.max_user_connections:
            values["max_user_connections"] = connections
        return values

    def without_maximum(self) -> "ServerLimit":
        """Return the limit of a server that admits any number."""
        return replace(self, max_connections=None, max_user_connections=None)


class ServicePool(QuickRecord):
    """The pool of each process of a service.

    pool_size: connections that the pool may open, overflow included. connections: of all its usual processes.
    connections_in_deploy: in a rolling deploy at the autoscaler's maximum.
    """

    service: Service
    pool_size: int
    connections: int
    connections_in_deploy: int


def service_pool(service: Service, pool_size: int, limit: ServerLimit) -> ServicePool:
    """Return the pool of each process of a service, with its connections usually and in a deploy."""
    in_deploy = pool_size * service.pools_in_deploy(limit.surge)
    return ServicePool(service, pool_size, pool_size * service.pools, in_deploy)


class PoolTotals:
    """The sums of an answer's pools."""

    pools: tuple[ServicePool, ...]

    @property
    def connections(self) -> int:
        """Connections of all pools that usually exist."""
        return connections_of(self.pools)

    @property
    def connections_in_deploy(self) -> int:
        """Connections of all pools in a rolling deploy at the autoscaler's maximum."""
        return in_deploy_of(self.pools)


def connections_of(pools: Sequence[ServicePool]) -> int:
    """Return the connections of all pools that usually exist."""
    return sum(pool.connections for pool in pools)


def in_deploy_of(pools: Sequence[ServicePool]) -> int:
    """Return the connections of all pools in a rolling deploy at the autoscaler's maximum."""
    return sum(pool.connections_in_deploy for pool in pools)


def sizes_of(pools: Sequence[ServicePool]) -> dict[str, int]:
    """Return service -> pool size."""
    return {pool.service.name: pool.pool_size for pool in pools}


def share_out(
    size: float, services: Sequence[Service], limit: ServerLimit, largest: Sequence[int | None] | None = None
) -> tuple[ServicePool, ...] | None:
    """Return the pool of each service, or None where the smallest pools exceed the server's limit.

    The sum over the usual processes stays within size, unless the smallest pools alone exceed it. The sum in a rolling
    deploy of all services, at the autoscaler's maximum, stays within the limit. No pool is larger than its threads can
    use. Within these bounds, the service with the fewest connections for its weight grows first. So no split gives the
    worst supplied service more, and no pool can grow any further.

    size: recommended connections, for all services together. largest: pool size of each service; None for the most that
    its threads can use.
    """
    if not services:
        raise ValueError("a fleet has at least one service")
    largest = [service.most_useful for service in services] if largest is None else largest
    sizes = [service.floor for service in services]
    usual = [service.pools for service in services]
    most = [service.pools_in_deploy(limit.surge) for service in services]
    free = size - sum(map(mul, usual, sizes))
    free_in_deploy = inf if limit.usable is None else limit.usable - sum(map(mul, most, sizes))
    if free_in_deploy < 0:
        return None
    growing = set(range(len(services)))
    while growing:
        place = min(growing, key=lambda each: (sizes[each] * usual[each] / services[each].weight, each))
        if usual[place] > free or most[place] > free_in_deploy or sizes[place] == largest[place]:
            growing.remove(place)
            continue
        sizes[place] += 1
        free -= usual[place]
        free_in_deploy -= most[place]
    return tuple(service_pool(service, pool_size, limit) for service, pool_size in zip(services, sizes, strict=True))


def smallest_need(services: Sequence[Service], limit: ServerLimit) -> int:
    """Return the connections of the smallest pools in a rolling deploy at the autoscaler's maximum."""
    return sum(service.floor * service.pools_in_deploy(limit.surge) for service in services)


def shared_floor(services: Sequence[Service], limit: ServerLimit) -> int:
    """Return the smallest pool that all processes of a deploy at the autoscaler's maximum share without deadlocks."""
    return 1 + sum((service.floor - 1) * service.pools_in_deploy(limit.surge) for service in services)


def with_fewer_processes(
    size: int, services: Sequence[Service], limit: ServerLimit
) -> tuple[int, tuple[ServicePool, ...]] | None:
    """Return the most processes for each instance with which the fleet keeps size and limit, and the pools then.

    None where a single process for each instance still exceeds them.
    """
    for processes in range(max(service.processes for service in services) - 1, 0, -1):
        pools = share_out(size, [service.with_processes(processes) for service in services], limit)
        if pools is not None and connections_of(pools) <= size:
            return processes, pools
    return None
