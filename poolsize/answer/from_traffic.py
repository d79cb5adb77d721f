"""Traffic -> TrafficAnswer: the pool size that a process's traffic needs, beside what the database can use.

The need is the smallest pool whose p99 wait time stays within a limit while one instance is away and the others take
its traffic. `Supply` is what the database can use. The server's limit bounds the pool size.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite
from typing import Literal

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.answer.finding import Caution, Finding, Reason, Refusal
from poolsize.answer.fleet import ServerLimit, Service, service_pool
from poolsize.answer.fleet_plan import FleetPlan, LimitUnknown, MoreInstances
from poolsize.answer.from_formula import from_formula
from poolsize.answer.operating_point import LOAD
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.formula import StartingPoint
from poolsize.traffic.database_load import DatabaseLoad, database_load, unslowed_rates
from poolsize.traffic.pool_use import PoolUse, ProcessTraffic, pool_use
from poolsize.traffic.usage_phases import UsageTimes

Decides = Literal["need", "threads", "floor", "limit", "supply"]
NEIGHBOURS = 2
"""Smaller pool sizes in the table, and larger ones."""
OFTEN = 0.999
"""The share of the time in which no more connections are in use than in_use_p99_9."""
MOST_IN_USE = 1_000_000
"""More connections in use at once are a typing error."""
CLOSE = 1.05
"""A mean total time within this factor of the shortest is as good."""
TRIED = 12
"""Pool sizes of which the shortest total time is taken."""
BALANCING = 10
"""Steps after which usage times and pool sizes, which depend on each other, hardly change any more."""


@dataclass(frozen=True)
class Traffic:
    """What an application's traffic is.

    rate: requests per second of all its processes, divided evenly among them. A request uses one connection for its
    usage time. burst: rate of the busiest second of a minute over the mean rate; 1 for arrivals at random.
    max_wait_p99_ms: the limit of the p99 wait time for a connection; None for the mean usage time. wait_limit_ms: after
    which a request gives up; None for never. It changes the waits of the table, and not the need. slowed_by: the
    database's load, which lengthens the usage times; None where they are those that were given.
    Raises BadInput for values that no traffic has.
    """

    rate: float
    usage: UsageTimes
    service: Service
    burst: float = 1.0
    max_wait_p99_ms: float | None = None
    wait_limit_ms: float | None = None
    slowed_by: DatabaseLoad | None = field(default=None, compare=False, repr=False)

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
        if not 1 <= self.burst < 60:
            raise BadInput(f"`burst` {self.burst:g}: give 1 to 59, the busiest second of a minute over the mean")
        if self.in_use > MOST_IN_USE or self.in_use / self.service.pools > LARGEST_POOL / 2:
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

    def loaded(self, load: DatabaseLoad | None) -> "Traffic":
        """Return the traffic with the usage times under the database's load; None for those that were given."""
        return self if load is None else replace(self, usage=replace(self.usage, mean_ms=load.usage_ms), slowed_by=load)

    def twice(self) -> "Traffic":
        """Return the traffic at twice the rate."""
        return replace(self, rate=2 * self.rate)

    def of_process(self, *, one_away: bool = False) -> ProcessTraffic:
        """Return the traffic of a process. one_away: whether an instance is away, and the others take its traffic."""
        instances = self.service.instances
        others = instances / (instances - 1) if one_away and instances > 1 else 1.0
        share = others / self.service.pools
        usages_ms = self.slowed_by.usages_ms(share * self.in_use) if self.slowed_by else None
        limit_ms = self.wait_limit_ms or inf
        return ProcessTraffic(
            self.rate / 1000 * share, self.usage, self.burst, limit_ms, self.service.most_useful, usages_ms
        )


@dataclass(frozen=True)
class Supply:
    """The connections that the database can use at once, for all clients together.

    range: lowest and highest; None where it is not known. basis: "formula", "measured" or "given". rates: requests per
    second that the database completes with 1, 2, ... connections in use; None without a run that shows them.
    highest_measured: of the throughput of the run. doubts: of the run's answer.
    """

    connections: int
    range: tuple[int, int] | None = None
    basis: Literal["formula", "measured", "given"] = "given"
    rates: Vector | None = field(default=None, compare=False)
    highest_measured: float | None = None
    doubts: tuple[Finding, ...] = ()

    @staticmethod
    def by_formula(start: StartingPoint) -> "Supply":
        """Return what the formula says of a database's host."""
        return Supply(start.pool_size, from_formula(start).range, "formula")


@dataclass(frozen=True)
class ProcessNeed:
    """The pool of a process, whatever the server's limit is.

    need: the smallest pool that keeps the limit of the wait time, within what its threads can use. pool_size: that, or
    the deadlock floor where it is above. decides: the pool size.
    """

    need: int
    pool_size: int
    decides: Decides


@dataclass(frozen=True)
class SizeUse:
    """How a pool of this size serves the traffic: at the rate, with an instance away, and at twice the rate.

    load: of the database at the rate; None where it can't keep up with so many connections. one_away: None for a single
    instance.
    """

    load: DatabaseLoad | None
    usual: PoolUse
    one_away: PoolUse | None
    twice: PoolUse

    @property
    def pool_size(self) -> int:
        """The pool size of each process."""
        return self.usual.pool_size


class KeepsWait(Reason, code="traffic_need"):
    """The need is the smallest pool that keeps the limit of the p99 wait time. fewer_p99_ms: with a pool smaller by 1.

    processes: that have such a pool. one_away_of: instances, where one of them is away; None for a single instance.
    """

    need: int
    limit_ms: float
    wait_p99_ms: float
    one_away_of: int | None
    fewer_p99_ms: float | None
    processes: int


class ThreadsBound(Reason, code="traffic_threads"):
    """The threads of a process can't use more connections.

    connections: that they can hold together. thread_wait_p99_ms: until a thread is free, if each process has a queue of
    its own; None where a thread holds several connections. one_away: whether an instance is away then. service: in a
    fleet, its name.
    """

    threads: int
    connections: int
    thread_wait_p99_ms: float | None
    one_away: bool
    service: str | None = None


class TooFewThreads(Caution, code="traffic_too_few_threads", is_doubt=True):
    """The requests of a process need more connections than its threads can use. one_away_of: as in KeepsWait.

    service: the name of a service in a fleet.
    """

    threads: int
    in_use: float
    one_away_of: int | None
    service: str | None = None


class FloorBound(Reason, code="traffic_floor"):
    """The deadlock floor of a process is above its need. service: the name of a service in a fleet."""

    floor: int
    need: int
    service: str | None = None


class LimitBound(Caution, code="traffic_limit", is_doubt=True):
    """The server's limit allows a smaller pool than the need. wait_p99_ms: with it; infinite for a growing queue.

    variables: of the server, with the values that the need takes. one_away_of: as in KeepsWait.
    """

    need: int
    limit: int
    wait_p99_ms: float
    usable: int
    processes: int
    variables: Mapping[str, int]
    one_away_of: int | None


class LimitAllows(Reason, code="traffic_limit_allows"):
    """How the server's limit bounds a pool. usable: connections for all processes of a deploy. limit: for each."""

    usable: int
    processes: int
    limit: int


class InUse(Reason, code="traffic_in_use"):
    """How many connections are in use at once, and how many the database can use.

    share_beyond: of the time in which more are in use. connections: of all pools. share_full: of the time in which all
    of these are in use. waits_grow: whether the waits of the answer count the longer usage times then.
    """

    in_use: float
    in_use_p99_9: int
    supply: int
    share_beyond: float
    share_full: float
    connections: int
    waits_grow: bool


class BeyondSupply(Caution, code="traffic_beyond_supply", is_doubt=True):
    """On average at least as many connections are in use as the database can use.

    rate, usage_ms, enough: a rate, a usage time, and connections that the database could use, with which 70 % of what
    it can use are in use. is_formula: whether the formula says what it can use. services: that the traffic is of.
    """

    in_use: float
    supply: int
    is_formula: bool
    rate: float
    usage_ms: float
    enough: int
    services: int = 1


class BurstBeyondSupply(Caution, code="traffic_burst_beyond_supply", is_doubt=True):
    """In the busiest second of a minute, as many connections are in use as the database can use, or more."""

    in_use: float
    supply: int


class Slows(Reason, code="traffic_slows"):
    """How the database slows as it fills, by the run.

    usage_ms, loaded_usage_ms: mean usage times when nothing queues, and at the rate. knee_rate: beyond it, queues grow
    without end, whatever the pools are. connections: of all pools. full_rate: that the database completes when all are
    in use. highest_measured: throughput of the run; None if unknown.
    """

    usage_ms: float
    loaded_usage_ms: float
    knee_rate: float
    connections: int
    full_rate: float
    highest_measured: float | None

    @property
    def overloaded_usage_ms(self) -> float:
        """The mean usage time when all connections are in use."""
        return 1000 * self.connections / self.full_rate


class NearKnee(Caution, code="traffic_near_knee"):
    """On average more connections are in use than the database can use. share: of knee_rate that arrives."""

    in_use: float
    supply: int
    share: float


class WaitsElsewhere(Reason, code="traffic_waits_elsewhere"):
    """A larger pool would only move waiting into the database, because it is nearly full by the run.

    pool_size, total_ms: of each process, and the mean total time with it. need, need_total_ms: of the pool that keeps
    limit_ms, the limit of the p99 wait time; equal to the former where no pool does. share: of knee_rate that arrives.
    one_away_of: as in KeepsWait.
    """

    pool_size: int
    total_ms: float
    need: int
    need_total_ms: float
    limit_ms: float
    share: float
    one_away_of: int | None


class BeyondKnee(Refusal, code="traffic_beyond_knee"):
    """Requests come faster than the database completes them with any number of connections, by the run."""

    rate: float
    knee_rate: float
    times: float


class Collapses(Caution, code="traffic_collapses", is_doubt=True):
    """The database slows down when it is full, by the run: an overload would not end.

    connections: of all pools. most: with which it still completes more than the rate of the requests.
    """

    connections: int
    most: int
    rate: float


class SupplyUnknown(Caution, code="traffic_supply_unknown"):
    """Nothing is known of what the database can use.

    in_use: connections, on average. cores: with which the formula gives as many, with one disk.
    """

    in_use: float
    in_use_p99_9: int
    cores: int


class SpreadAssumed(Caution, code="traffic_spread_assumed"):
    """Usage times are taken to vary like exponential ones. several: whether there may be several services."""

    several: bool


@dataclass(frozen=True)
class TrafficAnswer:
    """The answer for a traffic.

    pool_size: of each process. need: the pool size that the traffic needs; None where the database can't keep up with
    any. decides: what decides the pool size. limit: the largest pool size that the server's limit allows; None where it
    is not known. supply: None where nothing is known of the database. sizes: ascending in pool size. findings: in the
    order to read them.
    """

    traffic: Traffic
    server_limit: ServerLimit
    pool_size: int
    need: int | None
    decides: Decides
    limit: int | None
    supply: Supply | None
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
        """The rate from which on the database can't keep up with any pools; None where it is not known."""
        return knee_rate(self.supply)

    @property
    def at_size(self) -> SizeUse:
        """The row of the pool size."""
        return next(size for size in self.sizes if size.pool_size == self.pool_size)

    @property
    def plan(self) -> FleetPlan:
        """The pools as those of a fleet whose size is the need of all processes; none where no pool size helps."""
        service, limit = self.traffic.service, self.server_limit
        pools = () if self.need is None else (service_pool(service, self.pool_size, limit),)
        return FleetPlan((self.need or 0) * service.pools, limit, pools, self.findings)

    @property
    def load(self) -> DatabaseLoad | None:
        """The database's load at the rate; None where it can't keep up with these pools."""
        return self.at_size.load


def recommend_for(
    traffic: Traffic, supply: Supply | None = None, limit: ServerLimit | None = None, current: int | None = None
) -> TrafficAnswer:
    """Return the pool size of each process for a traffic, and what decides it.

    current: today's pool size, for a row of the table. Raises BadInput where the server admits no pool.
    """
    if current is not None and not 1 <= current <= LARGEST_POOL:
        raise BadInput(f"`current` {current}: give 1 to {LARGEST_POOL:,} connections")
    service, limit = traffic.service, limit or ServerLimit()
    allowed = None if limit.usable is None else limit.usable // service.pools_in_deploy(limit.surge)
    if allowed is not None and allowed < service.floor:
        pools = service.pools_in_deploy(limit.surge)
        raise BadInput(
            f"`max_connections`: {pools:,} pools need {pools * service.floor:,} connections in a deploy, and the "
            f"server has {limit.usable:,} for them; run fewer processes, or raise its limit"
        )
    of_process = process_need(traffic, supply)
    size, need, decides = of_process.pool_size, of_process.need, of_process.decides
    if decides == "need" and supply is not None:
        size, need = _useful(traffic, supply, need)
        decides = "need" if size == of_process.need else "supply"
    if allowed is not None and allowed < size:
        size, decides = allowed, "limit"
    most = service.most_useful or size + NEIGHBOURS
    around = {*range(max(1, size - NEIGHBOURS), min(size + NEIGHBOURS, most) + 1), size, need, current or size}
    slows = supply is not None and supply.rates is not None
    sizes = tuple(
        size_use(traffic, each, (load_of(traffic, supply, each), load_of(traffic.twice(), supply, each)), slows=slows)
        for each in sorted(around)
    )
    of_all = None if is_beyond(traffic, supply) else need
    answer = TrafficAnswer(traffic, limit, size, of_all, decides, allowed, supply, sizes)
    return replace(answer, findings=tuple(_findings(answer, of_process)))


def process_need(traffic: Traffic, supply: Supply | None = None) -> ProcessNeed:
    """Return the pool that a process needs at its traffic, and at the usage times that the database then has."""
    service, wanted = traffic.service, _balanced(traffic, supply)
    need = wanted if service.most_useful is None else min(wanted, service.most_useful)
    decides: Decides = "floor" if service.floor > need else "need" if need == wanted else "threads"
    return ProcessNeed(need, max(need, service.floor), decides)


def _useful(traffic: Traffic, supply: Supply, need: int) -> tuple[int, int]:
    """Return the largest pool that is of use, and the need: the former, too, where no pool keeps the limit.

    Where the database is full on average, or no pool keeps the limit of the wait time, larger pools only move waiting
    into the database: the smallest tried pool is of use whose mean total time is close to the shortest.
    """
    load = None if supply.rates is None or is_beyond(traffic, supply) else load_of(traffic, supply, need)
    if load is None:
        return need, need
    busiest = replace(traffic.loaded(load).of_process(one_away=True), wait_limit_ms=inf)
    keeps = pool_use(busiest, need).wait_p99_ms <= traffic.most_wait_ms
    if keeps and load.mean < supply.connections:
        return need, need
    tried = sorted({int(size) for size in np.geomspace(1, need, TRIED).round()})
    totals = [mean_total_ms(traffic, supply, size) for size in tried]
    useful = next(size for size, total_ms in zip(tried, totals, strict=True) if total_ms <= CLOSE * min(totals))
    return useful, need if keeps else useful


def mean_total_ms(traffic: Traffic, supply: Supply, pool_size: int) -> float:
    """Return the mean total time with pools of this size; infinite if they are too small with an instance away."""
    service, load = traffic.service, load_of(traffic, supply, pool_size)
    left = service.pools - service.processes if service.instances > 1 else service.pools
    if load is None or load_of(traffic, supply, ceil(pool_size * left / service.pools)) is None:
        return inf
    process = replace(traffic.loaded(load).of_process(), wait_limit_ms=inf)
    return load.usage_ms + pool_use(process, pool_size).wait_ms


def is_beyond(traffic: Traffic, supply: Supply | None) -> bool:
    """Return whether the database completes fewer requests with any number of connections, by the run."""
    return supply is not None and supply.rates is not None and traffic.rate >= supply.rates.max()


def knee_rate(supply: Supply | None) -> float | None:
    """Return the rate from which on the database can't keep up with any pools; None where it is not known."""
    return None if supply is None or supply.rates is None else float(supply.rates.max())


def _balanced(traffic: Traffic, supply: Supply | None) -> int:
    """Return the pool that a process wants, and that makes the usage times for which it wants it.

    More connections in use make longer usage times, and those need more connections. Threads do not bound the pool.
    """
    if supply is None or supply.rates is None or is_beyond(traffic, supply):
        return _wanted(traffic, None)
    fewest = ceil(keeping_up(traffic, supply.rates)[0] / traffic.service.pools)
    most = _largest(traffic, supply.rates)
    wanted = min(_wanted(traffic, None), most)
    for _ in range(BALANCING):
        load = load_of(traffic, supply, wanted)
        if load is None:
            if not wanted < fewest <= most:
                break
            wanted = fewest
            continue
        before, wanted = wanted, min(_wanted(traffic, load), most)
        if wanted == before:
            break
    return wanted


def keeping_up(traffic: Traffic, rates: Vector) -> tuple[int, int]:
    """Return the fewest and the most connections in use with which the database completes more than arrives.

    Where it still does with the most of `rates`, no number is known to be too large.
    """
    more = rates > traffic.rate
    return 1 + int(np.argmax(more)), MOST_IN_USE if more[-1] else len(rates) - int(np.argmax(more[::-1]))


def _largest(traffic: Traffic, rates: Vector) -> int:
    """Return the largest pool of a process with which the database keeps up when all pools are in use, at least 1."""
    return max(1, keeping_up(traffic, rates)[1] // traffic.service.pools)


def load_of(traffic: Traffic, supply: Supply | None, pool_size: int) -> DatabaseLoad | None:
    """Return the database's load with pools of this size; None where it can't keep up with them."""
    rates = _rates(traffic, supply, pool_size * traffic.service.pools)
    load = database_load(rates, traffic.rate, traffic.burst)
    return replace(load, rates=None) if load and (supply is None or supply.rates is None) else load


def _wanted(traffic: Traffic, load: DatabaseLoad | None) -> int:
    process = replace(traffic.loaded(load).of_process(one_away=True), wait_limit_ms=inf, most_in_use=None)
    return smallest_pool(process, traffic.most_wait_ms)


def _rates(traffic: Traffic, supply: Supply | None, connections: int) -> Vector:
    """Return the requests per second that the database completes with 1, 2, ... connections in use.

    Without a run that shows them, usage times do not grow.
    """
    if supply is not None and supply.rates is not None:
        return supply.rates[:connections]
    return unslowed_rates(traffic.usage.mean_ms, traffic.in_use * traffic.burst, connections)


def _findings(answer: TrafficAnswer, of_process: ProcessNeed) -> Iterator[Finding]:
    """Yield what decides the size, then how the pools and the database go together, then what is not known."""
    traffic, service = answer.traffic, answer.traffic.service
    yield from _deciding(answer, of_process)
    for finding in of_database(traffic, answer.supply, answer.load, answer.connections):
        if answer.decides != "supply" or not isinstance(finding, NearKnee):  # the first finding says as much
            yield finding
    if answer.limit is not None and answer.server_limit.usable is not None and answer.decides != "limit":
        processes = service.pools_in_deploy(answer.server_limit.surge)
        yield LimitAllows(answer.server_limit.usable, processes, answer.limit)
    if answer.limit is None:
        instances = MoreInstances(answer.server_limit.surge, service.most_instances > service.instances)
        yield LimitUnknown(answer.connections_in_deploy, instances)
    if traffic.usage == UsageTimes(traffic.usage.mean_ms) and of_process.decides != "threads":
        yield SpreadAssumed(several=False)


def _deciding(answer: TrafficAnswer, of_process: ProcessNeed) -> Iterator[Finding]:
    """Yield what decides the size; nothing where no pool size helps."""
    traffic, service, need = answer.traffic, answer.traffic.service, answer.need
    if need is None:
        return
    waits = {each.pool_size: (each.one_away or each.usual).wait_p99_ms for each in answer.sizes}
    away = service.instances if service.instances > 1 else None
    if answer.decides == "supply" and answer.supply is not None and answer.supply.rates is not None:
        totals_ms = [mean_total_ms(traffic, answer.supply, size) for size in (answer.pool_size, need)]
        share = traffic.rate / float(answer.supply.rates.max())
        yield WaitsElsewhere(answer.pool_size, totals_ms[0], need, totals_ms[1], traffic.most_wait_ms, share, away)
        most = keeping_up(traffic, answer.supply.rates)[1]
        if most < MOST_IN_USE:
            yield Collapses(answer.connections, most, traffic.rate)
    elif of_process.decides == "need" and answer.decides != "floor" and isfinite(waits[need]):
        yield KeepsWait(need, traffic.most_wait_ms, waits[need], away, waits.get(need - 1), service.pools)
    if of_process.decides == "threads" or answer.decides == "floor":
        finding = bound(with_load(traffic, answer.load, answer.supply, traffic), of_process)
        if answer.decides != "limit" or not isinstance(finding, ThreadsBound):
            yield finding
    if answer.decides == "limit":
        assert answer.server_limit.usable is not None
        pools = service.pools_in_deploy(answer.server_limit.surge)
        variables = answer.server_limit.raised_to(max(need, service.floor) * pools)
        size, usable = answer.pool_size, answer.server_limit.usable
        yield LimitBound(max(need, service.floor), size, waits[size], usable, pools, variables, away)


def with_load(traffic: Traffic, load: DatabaseLoad | None, supply: Supply | None, together: Traffic) -> Traffic:
    """Return the traffic with the usage times under the load, or else with the fewest connections that keep up.

    together: the traffic of all services.
    """
    if load is not None or supply is None or supply.rates is None:
        return traffic.loaded(load)
    times = 1000 * keeping_up(together, supply.rates)[0] / together.rate / together.usage.mean_ms
    return replace(traffic, usage=replace(traffic.usage, mean_ms=traffic.usage.mean_ms * times))


def bound(traffic: Traffic, of_process: ProcessNeed, name: str | None = None) -> Finding:
    """Return the bound that decides the pool of a process: its threads or its deadlock floor. name: of its service."""
    service, need = traffic.service, of_process.need
    if of_process.decides == "floor":
        return FloorBound(service.floor, need, name)
    assert service.threads is not None
    busiest = replace(traffic.of_process(one_away=True), most_in_use=None)
    if busiest.load < need:
        wait_ms = pool_use(busiest, need).wait_p99_ms if service.threads == need else None
        return ThreadsBound(service.threads, need, wait_ms, service.instances > 1, name)
    return TooFewThreads(service.threads, busiest.load, service.instances if service.instances > 1 else None, name)


def of_database(
    traffic: Traffic, supply: Supply | None, load: DatabaseLoad | None, connections: int, services: int = 1
) -> Iterator[Finding]:
    """Yield how many connections are in use at once, how many the database can use, and how it slows.

    connections: of all pools. services: that the traffic is of.
    """
    usage_ms, knee = traffic.usage.mean_ms, knee_rate(supply)
    in_use = traffic.in_use if load is None else load.mean
    if knee is not None and is_beyond(traffic, supply):
        yield BeyondKnee(traffic.rate, knee, traffic.rate / knee)
    elif supply is not None and knee is None and in_use >= supply.connections:
        times, is_formula, enough = in_use / supply.connections / LOAD, supply.basis == "formula", ceil(in_use / LOAD)
        at_load = (traffic.rate / times, usage_ms / times, enough)
        yield BeyondSupply(in_use, supply.connections, is_formula, *at_load, services)
    elif load is None:  # too few connections; the limit or the threads are the cause, and have a finding
        if supply is not None and supply.rates is not None:
            most = keeping_up(traffic, supply.rates)[1]
            if connections > most:
                yield Collapses(connections, most, traffic.rate)
    elif supply is None:
        yield SupplyUnknown(load.mean, load.quantile(OFTEN), max(1, ceil((load.mean - 1) / 2)))
    else:
        beyond = load.beyond(supply.connections)
        full = load.beyond(connections - 1)
        yield InUse(load.mean, load.quantile(OFTEN), supply.connections, beyond, full, connections, knee is not None)
        if load.mean < supply.connections <= traffic.burst * load.mean:
            yield BurstBeyondSupply(traffic.burst * load.mean, supply.connections)
        if knee is not None:
            assert load.rates is not None
            yield Slows(usage_ms, load.usage_ms, knee, connections, float(load.rates[-1]), supply.highest_measured)
            if load.mean >= supply.connections:
                yield NearKnee(load.mean, supply.connections, traffic.rate / knee)
    yield from supply.doubts if supply else ()


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


def size_use(
    traffic: Traffic, pool_size: int, loads: tuple[DatabaseLoad | None, DatabaseLoad | None], *, slows: bool
) -> SizeUse:
    """Return how pools of this size serve the traffic.

    loads: of the database at the rate and at twice the rate. slows: whether the waits without a load are endless,
    because the database can't keep up; else the usage times are those of the traffic.
    """

    def use(traffic: Traffic, load: DatabaseLoad | None, *, one_away: bool = False) -> PoolUse:
        if load is None and slows:
            return PoolUse(pool_size, 1.0, 1.0, inf, inf, inf, 0.0)
        return pool_use(traffic.loaded(load).of_process(one_away=one_away), pool_size)

    load, load_at_twice = loads
    away = use(traffic, load, one_away=True) if traffic.service.instances > 1 else None
    return SizeUse(load, use(traffic, load), away, use(traffic.twice(), load_at_twice))
