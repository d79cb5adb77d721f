"""Traffic -> TrafficAnswer: the pool size that a process's traffic needs, beside what the database can use.

The need is the smallest pool whose p99 wait time stays within a limit while one instance is away and the others take
its traffic. It says nothing of the database: `Supply` does, and the server's limit bounds both.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Literal

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.answer.finding import Caution, Finding, Reason
from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_plan import LimitUnknown, MoreInstances
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.traffic.database_load import DatabaseLoad, database_load
from poolsize.traffic.pool_use import PoolUse, ProcessTraffic, pool_use
from poolsize.traffic.usage_phases import UsageTimes

Decides = Literal["need", "threads", "floor", "limit"]
NEIGHBOURS = 2
"""Smaller pool sizes in the table, and larger ones."""
TWICE = 2
"""Times the rate, in the last columns of the table."""
OFTEN = 0.999
"""The share of the time in which no more connections are in use than in_use_p99_9."""
BALANCING = 10
"""Steps after which usage times and pool sizes, which depend on each other, hardly change any more."""


@dataclass(frozen=True)
class Traffic:
    """What an application's traffic is.

    rate: requests per second of all its processes, each of which takes the same part. A request uses one connection for
    a usage time. burst: rate of the busiest second of a minute over the mean rate; 1 for arrivals at random.
    max_wait_p99_ms: the limit of the p99 wait time for a connection; None for the mean usage time.
    Raises BadInput for values that no traffic has.
    """

    rate: float
    usage: UsageTimes
    service: Service
    burst: float = 1.0
    max_wait_p99_ms: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        for name, value in (
            ("rate", self.rate),
            ("usage_time", self.usage.mean_ms),
            ("max_wait_p99", self.most_wait_ms),
        ):
            if not (value > 0 and isfinite(value)):
                raise BadInput(f"`{name}` {value:g}: give a number above 0")
        if not 1 <= self.burst <= 60:
            raise BadInput(f"`burst` {self.burst:g}: the busiest second of a minute has 1 to 60 times the mean rate")
        if self.rate * self.usage.mean_ms / 1000 / self.service.pools > LARGEST_POOL / 2:
            raise BadInput(
                f"`rate` {self.rate:g}/s: each process would use more than {LARGEST_POOL // 2:,} connections"
            )

    @property
    def most_wait_ms(self) -> float:
        """The limit of the p99 wait time."""
        return self.usage.mean_ms if self.max_wait_p99_ms is None else self.max_wait_p99_ms

    @property
    def in_use(self) -> float:
        """Connections in use on average, of all processes together (Little's law)."""
        return self.rate * self.usage.mean_ms / 1000

    def loaded(self, load: DatabaseLoad | None) -> "Traffic":
        """Return the traffic with the usage times that the database's load makes; None for those that were given."""
        return self if load is None else replace(self, usage=replace(self.usage, mean_ms=load.usage_ms))

    def of_process(self, *, one_away: bool = False) -> ProcessTraffic:
        """Return the traffic of one process. one_away: whether one of two or more instances is."""
        instances = self.service.instances
        others = instances / (instances - 1) if one_away and instances > 1 else 1.0
        rate = self.rate / 1000 / self.service.pools * others
        return ProcessTraffic(rate, self.usage, self.burst, threads=self.service.most_useful)


@dataclass(frozen=True)
class Supply:
    """The connections that the database can use at once, for all clients together.

    range: lowest and highest; None where it is not known. basis: "formula" or "measured". rates: requests per second
    that the database completes with 1, 2, ... connections in use; None without a run that shows them.
    """

    connections: int
    range: tuple[int, int] | None
    basis: Literal["formula", "measured"]
    rates: Vector | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SizeUse:
    """A pool size of each process at the rate, with one instance away, and at twice the rate.

    one_away: None for a single instance.
    """

    usual: PoolUse
    one_away: PoolUse | None
    twice: PoolUse

    @property
    def pool_size(self) -> int:
        """The pool size of each process."""
        return self.usual.pool_size


class KeepsWait(Reason, code="traffic_need"):
    """The need is the smallest pool that keeps the limit of the p99 wait time. fewer_p99_ms: with a pool smaller by 1.

    one_away_of: instances, where one of them is away; None for a single instance.
    """

    need: int
    limit_ms: float
    wait_p99_ms: float
    one_away_of: int | None
    fewer_p99_ms: float | None


class ThreadsBound(Reason, code="traffic_threads"):
    """The threads of a process can't use more connections. connections: that they can hold together."""

    threads: int
    connections: int


class FloorBound(Reason, code="traffic_floor"):
    """The deadlock floor of a process is above its need."""

    floor: int
    need: int


class LimitBound(Caution, code="traffic_limit", is_doubt=True):
    """The server's limit allows a smaller pool than the need. wait_p99_ms: with it; infinite for a growing queue.

    one_away_of: as in KeepsWait.
    """

    need: int
    limit: int
    wait_p99_ms: float
    usable: int
    processes: int
    one_away_of: int | None


class InUse(Reason, code="traffic_in_use"):
    """How many connections are in use at once, and how many the database can use.

    share_beyond: of the time in which more are in use. connections: of all pools.
    """

    in_use: float
    in_use_p99_9: int
    supply: int
    share_beyond: float
    connections: int


class BeyondSupply(Caution, code="traffic_beyond_supply", is_doubt=True):
    """On average more connections are in use than the database can use. rate, usage_ms: with which as many are.

    times: what the database can use must grow by this factor.
    """

    in_use: float
    supply: int
    rate: float
    usage_ms: float
    times: float


class Slows(Reason, code="traffic_slows"):
    """How the database slows as it fills, by the run.

    usage_ms, loaded_usage_ms: mean usage times when nothing queues, and at the rate. knee_rate: with all connections in
    use; beyond it, queues grow without end. overloaded_usage_ms: usage time then.
    """

    usage_ms: float
    loaded_usage_ms: float
    knee_rate: float
    connections: int
    overloaded_usage_ms: float


class NearKnee(Caution, code="traffic_near_knee"):
    """On average more connections are in use than the database can use. share: of knee_rate that arrives."""

    in_use: float
    supply: int
    share: float


class BeyondKnee(Caution, code="traffic_beyond_knee", is_doubt=True):
    """Requests come faster than the database completes them with all connections in use, by the run."""

    rate: float
    knee_rate: float
    connections: int
    times: float


class SupplyUnknown(Caution, code="traffic_supply_unknown"):
    """Nothing is known of what the database can use. in_use: connections, on average."""

    in_use: float
    in_use_p99_9: int


class SpreadAssumed(Caution, code="traffic_spread_assumed"):
    """Usage times are taken to vary like exponential ones."""


@dataclass(frozen=True)
class TrafficAnswer:
    """The answer for a traffic.

    pool_size: of each process. need: the pool size that the traffic needs. decides: what decides the pool size. limit:
    the largest pool size that the server's limit allows; None where it is not known. supply: None where nothing is
    known of the database. load: of the database at the rate; None where it can't keep up. sizes: ascending in pool
    size. findings: in the order to read them.
    """

    traffic: Traffic
    server_limit: ServerLimit
    pool_size: int
    need: int
    decides: Decides
    limit: int | None
    supply: Supply | None
    load: DatabaseLoad | None
    sizes: tuple[SizeUse, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def connections(self) -> int:
        """Connections of all pools that usually exist."""
        return self.pool_size * self.traffic.service.pools

    @property
    def connections_in_deploy(self) -> int:
        """Connections of all pools in a rolling deploy at the autoscaler's maximum."""
        return self.pool_size * self.traffic.service.pools_in_deploy(self.server_limit.surge)

    @property
    def knee_rate(self) -> float | None:
        """The rate from which on the database can't keep up with all connections in use; None where it is not known."""
        if self.supply is None or self.supply.rates is None:
            return None
        return float(self.supply.rates[min(self.connections, len(self.supply.rates)) - 1])

    @property
    def at_size(self) -> SizeUse:
        """The row of the pool size."""
        return next(size for size in self.sizes if size.pool_size == self.pool_size)


def recommend_for(
    traffic: Traffic, supply: Supply | None = None, limit: ServerLimit | None = None, current: int | None = None
) -> TrafficAnswer:
    """Return the pool size of each process for a traffic, and what decides it.

    current: today's pool size, for a row of the table. Raises BadInput where the server admits no pool.
    """
    service, limit = traffic.service, limit or ServerLimit()
    load, wanted = _balance(traffic, supply)
    need = wanted if service.most_useful is None else min(wanted, service.most_useful)
    allowed = None if limit.usable is None else limit.usable // service.pools_in_deploy(limit.surge)
    if allowed is not None and allowed < service.floor:
        pools = service.pools_in_deploy(limit.surge)
        raise BadInput(
            f"`max_connections`: {pools:,} pools need {pools * service.floor:,} connections in a deploy, and the "
            f"server has {limit.usable:,} for them; run fewer processes, or raise its limit"
        )
    size: int = max(need, service.floor)
    decides: Decides = "need" if need == wanted else "threads"
    if service.floor > need:
        decides = "floor"
    if allowed is not None and allowed < size:
        size, decides = allowed, "limit"
    doubled = replace(traffic, rate=TWICE * traffic.rate)
    loads = (load, database_load(_rates(doubled, supply, size * service.pools), doubled.rate, traffic.burst))
    around = {size + each for each in range(-NEIGHBOURS, NEIGHBOURS + 1)} | {need} | ({current} if current else set())
    sizes = tuple(_size_use(traffic, doubled, loads, each) for each in sorted(around) if each >= 1)
    answer = TrafficAnswer(traffic, limit, size, need, decides, allowed, supply, load, sizes)
    return replace(answer, findings=tuple(_findings(answer)))


def _balance(traffic: Traffic, supply: Supply | None) -> tuple[DatabaseLoad | None, int]:
    """Return the database's load and the pool that a process wants, each at the other's value.

    More connections in use make longer usage times, and those need more connections. Threads do not bound the pool.
    """
    load, wanted = None, _wanted(traffic, None)
    for _ in range(BALANCING):
        load = database_load(_rates(traffic, supply, wanted * traffic.service.pools), traffic.rate, traffic.burst)
        before, wanted = wanted, _wanted(traffic, load)
        if load is None or wanted == before:
            break
    return load, wanted


def _wanted(traffic: Traffic, load: DatabaseLoad | None) -> int:
    process = replace(traffic.loaded(load).of_process(one_away=True), threads=None)
    return smallest_pool(process, traffic.most_wait_ms)


def _rates(traffic: Traffic, supply: Supply | None, connections: int) -> Vector:
    """Return the requests per second that the database completes with 1, 2, ... connections in use.

    Without a run that shows them, usage times do not grow.
    """
    if supply is not None and supply.rates is not None:
        return supply.rates[:connections]
    return np.asarray(np.arange(1, connections + 1) * 1000 / traffic.usage.mean_ms)


def _findings(answer: TrafficAnswer) -> Iterator[Finding]:
    """Yield what decides the size, then how the pools and the database go together, then what is not known."""
    traffic, service, size = answer.traffic, answer.traffic.service, answer.pool_size
    waits = {each.pool_size: (each.one_away or each.usual).wait_p99_ms for each in answer.sizes}
    away = service.instances if service.instances > 1 else None
    if answer.load is None:
        yield from _of_database(answer)
        return
    if answer.decides in {"need", "limit"}:
        yield KeepsWait(answer.need, traffic.most_wait_ms, waits[answer.need], away, waits.get(answer.need - 1))
    if answer.decides == "threads":
        assert service.threads is not None
        yield ThreadsBound(service.threads, answer.need)
    if answer.decides == "floor":
        yield FloorBound(service.floor, answer.need)
    if answer.decides == "limit":
        assert answer.server_limit.usable is not None
        pools = service.pools_in_deploy(answer.server_limit.surge)
        yield LimitBound(answer.need, size, waits[size], answer.server_limit.usable, pools, away)
    yield from _of_database(answer)
    if answer.limit is None:
        instances = MoreInstances(answer.server_limit.surge, service.most_instances > service.instances)
        yield LimitUnknown(answer.connections_in_deploy, instances)
    if traffic.usage == UsageTimes(traffic.usage.mean_ms):
        yield SpreadAssumed()


def _of_database(answer: TrafficAnswer) -> Iterator[Finding]:
    """Yield how many connections are in use at once, how many the database can use, and how it slows."""
    traffic, supply, load, knee = answer.traffic, answer.supply, answer.load, answer.knee_rate
    usage_ms, connections = traffic.usage.mean_ms, answer.connections
    if load is None:
        yield BeyondKnee(traffic.rate, knee or 0.0, connections, traffic.rate / (knee or traffic.rate))
    elif supply is None:
        yield SupplyUnknown(load.mean, load.quantile(OFTEN))
    elif load.mean >= supply.connections and knee is None:
        times = load.mean / supply.connections
        yield BeyondSupply(load.mean, supply.connections, traffic.rate / times, usage_ms / times, times)
    else:
        beyond = load.beyond(supply.connections)
        yield InUse(load.mean, load.quantile(OFTEN), supply.connections, beyond, connections)
        if knee is not None:
            yield Slows(usage_ms, load.usage_ms, knee, connections, 1000 * connections / knee)
            if load.mean >= supply.connections:
                yield NearKnee(load.mean, supply.connections, traffic.rate / knee)


def smallest_pool(traffic: ProcessTraffic, most_wait_ms: float) -> int:
    """Return the smallest pool whose p99 wait time is at most this long."""
    low = int(traffic.load)  # too small: it never catches up
    step = 1
    while pool_use(traffic, low + step).wait_p99_ms > most_wait_ms:
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pool_use(traffic, middle).wait_p99_ms > most_wait_ms else (low, middle)
    return high


def _size_use(
    traffic: Traffic, doubled: Traffic, loads: tuple[DatabaseLoad | None, DatabaseLoad | None], pool_size: int
) -> SizeUse:
    """Return a row of the table. loads: of the database, at the rate and at twice the rate; None for an overload."""

    def use(asked: Traffic, load: DatabaseLoad | None, *, one_away: bool = False) -> PoolUse:
        if load is None:
            return PoolUse(pool_size, 1.0, 1.0, inf, inf, inf, 0.0)
        return pool_use(asked.loaded(load).of_process(one_away=one_away), pool_size)

    load, twice = loads
    away = use(traffic, load, one_away=True) if traffic.service.instances > 1 else None
    return SizeUse(use(traffic, load), away, use(doubled, twice))
