"""Traffic -> TrafficAnswer: the pool size that a process's traffic needs, beside what the database can use.

The need is the smallest pool whose p99 wait time stays within a limit while one instance is away and the others take
its traffic. `Supply` is what the database can use. The server's limit bounds the pool size.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isinf

from poolsize.answer.finding import Finding
from poolsize.answer.fleet import ServerLimit, service_pool
from poolsize.answer.fleet_plan import FleetPlan, LimitUnknown, more_instances
from poolsize.answer.traffic import SharedDatabase, Supply, Traffic, is_beyond, keeping_up
from poolsize.answer.traffic_findings import (
    BurstBeyondSupply,
    Collapses,
    CurrentPool,
    HoldsWhile,
    KeepsWait,
    LimitAllows,
    LimitBound,
    NearKnee,
    SpreadAssumed,
    ThreadsBound,
    ThreadsUnknown,
    UsageOfRun,
    WaitsElsewhere,
    bound,
    is_too_small,
    of_database,
    of_service,
    threads_suffice,
    ways_within,
    with_load,
)
from poolsize.answer.traffic_need import Decides, ProcessNeed, mean_total_ms, process_need
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.traffic.database_load import MOST_IN_USE, DatabaseLoad
from poolsize.traffic.pool_use import PoolUse, pool_use
from poolsize.traffic.usage_phases import UsageTimes
from poolsize.units import any_of

NEIGHBOURS = 2
"""Smaller pool sizes in the table, and larger ones."""


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


def size_use(database: SharedDatabase, place: int) -> SizeUse:
    """Return how the pools of the service at this place serve its traffic. database: at the rate.

    By a run, waits are endless where the database can't keep up; else they are those of usage times that do not grow.
    """
    pool_size, slows = database.pool_sizes[place], database.supply is not None and database.supply.rates is not None

    def use(traffic: Traffic, load: DatabaseLoad | None, *, one_away: bool = False) -> PoolUse:
        if load is None and slows:
            return PoolUse(pool_size, 1.0, 1.0, inf, inf, inf, 0.0)
        return pool_use(traffic.loaded(load).of_process(one_away=one_away), pool_size)

    traffic, twice = database.traffics[place], tuple(traffic.twice() for traffic in database.traffics)
    load, load_at_twice = database.load_of(place), replace(database, traffics=twice).load_of(place, one_away=False)
    away = use(traffic, load, one_away=True) if traffic.service.instances > 1 else None
    return SizeUse(load, use(traffic, load), away, use(traffic.twice(), load_at_twice))


@dataclass(frozen=True)
class TrafficAnswer:
    """The answer for a traffic.

    pool_size: of each process. useful: that without the server's limit. need: the pool size that the traffic needs;
    None where the database can't keep up with any. decides: what decides the pool size. limit: the largest pool size
    that the server's limit allows; None where it is not known. supply: None where nothing is known of the database.
    sizes: ascending in pool size. findings: in the order to read them.
    """

    traffic: Traffic
    server_limit: ServerLimit
    pool_size: int
    useful: int
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
    def helps(self) -> bool:
        """Whether the pool size helps: not where the database, the server's limit or the threads are too few."""
        return self.need is not None and self.carries and not is_too_small(self.findings)

    @property
    def carries(self) -> bool:
        """Whether the pools and the threads carry the traffic, if the database does."""
        is_endless = self.decides == "limit" and isinf(self.at_size.usual.wait_p99_ms)
        return not is_endless and threads_suffice(with_load(self.traffic, self.load, self.supply, self.traffic))

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
        raise _exceeds_limit(traffic, supply, limit)
    of_process = process_need(traffic, supply)
    size, need, decides = of_process.pool_size, of_process.need, of_process.decides
    useful = size
    if allowed is not None and allowed < size:
        size, decides = allowed, "limit"
    most = service.most_useful or size + NEIGHBOURS
    around = {*range(max(1, size - NEIGHBOURS), min(size + NEIGHBOURS, most) + 1), size, need, current or size}
    sizes = tuple(size_use(SharedDatabase((traffic,), (each,), supply), 0) for each in sorted(around))
    of_all = None if is_beyond(traffic.rate, supply) else need
    answer = TrafficAnswer(traffic, limit, size, useful, of_all, decides, allowed, supply, sizes)
    findings = (*_findings(answer, of_process), *_of_current(answer, current))
    return replace(answer, findings=findings)


def _exceeds_limit(traffic: Traffic, supply: Supply | None, limit: ServerLimit) -> BadInput:
    """Return the error of a traffic whose smallest pools exceed the server's limit, with the ways that help."""
    pools, floor = traffic.service.pools_in_deploy(limit.surge), traffic.service.floor
    ways = any_of(["raise its limit", *ways_within(traffic, supply, limit)])
    return BadInput(
        f"`max_connections`: {pools:,} pools need {pools * floor:,} connections in a deploy, and the server has "
        f"{limit.usable:,} for them; {ways}"
    )


def _findings(answer: TrafficAnswer, of_process: ProcessNeed) -> Iterator[Finding]:
    """Yield what decides the size, then how the pools and the database go together, then what is not known."""
    traffic, service = answer.traffic, answer.traffic.service
    yield from _deciding(answer, of_process)
    if answer.need is not None and service.threads is None and answer.pool_size > 1:
        yield ThreadsUnknown(answer.pool_size)
    findings = list(of_database(traffic, answer.supply, answer.load, answer.connections))
    if answer.need is not None and not is_too_small(findings):
        database = SharedDatabase((traffic,), (answer.pool_size,), answer.supply)
        yield from of_service(database, 0, answer.load, answer.decides, answer.server_limit)
    for finding in findings:
        if answer.decides != "supply" or not isinstance(finding, NearKnee | BurstBeyondSupply):  # the first says it
            yield finding
    if answer.limit is not None and answer.server_limit.usable is not None and answer.decides != "limit":
        processes = service.pools_in_deploy(answer.server_limit.surge)
        yield LimitAllows(answer.server_limit.usable, processes, answer.limit)
    if answer.limit is None:
        yield LimitUnknown(answer.connections_in_deploy, more_instances([service], answer.server_limit))
    if traffic.usage_of_run:
        yield UsageOfRun(traffic.usage.mean_ms)
    if traffic.usage == UsageTimes(traffic.usage.mean_ms) and of_process.decides != "threads":
        yield SpreadAssumed(several=False)
    if answer.need is not None and not isinf(answer.at_size.usual.wait_p99_ms):
        yield HoldsWhile(traffic.rate, traffic.usage.mean_ms)


def _of_current(answer: TrafficAnswer, current: int | None) -> Iterator[Finding]:
    """Yield what today's pool size means beside the answer; nothing where no pool size helps."""
    if current is None or answer.need is None:
        return
    service = answer.traffic.service
    (of_current,) = (each for each in answer.sizes if each.pool_size == current)
    is_endless = isinf(of_current.usual.wait_p99_ms)
    use = of_current.usual if is_endless else of_current.one_away or of_current.usual
    waits = (use.wait_p99_ms, use.share_timed_out)
    connections, away_of = (current * service.pools, answer.connections), None if is_endless else service.one_away_of
    yield CurrentPool(current, answer.pool_size, *waits, *connections, away_of, answer.limit)


def _deciding(answer: TrafficAnswer, of_process: ProcessNeed) -> Iterator[Finding]:
    """Yield what decides the size; nothing where no pool size helps."""
    traffic, service, need = answer.traffic, answer.traffic.service, answer.need
    if need is None:
        return
    waits = {each.pool_size: (each.one_away or each.usual).wait_p99_ms for each in answer.sizes}
    if answer.decides == "supply" and answer.load and answer.supply and answer.supply.rates is not None:
        databases = [SharedDatabase((traffic,), (size,), answer.supply) for size in (answer.pool_size, need)]
        totals_ms = [mean_total_ms(database, 0)[0] for database in databases]
        in_burst = traffic.loaded(answer.load).in_use < answer.supply.connections and traffic.burst > 1
        share = (traffic.busiest_rate if in_burst else traffic.rate) / float(answer.supply.rates.max())
        times = (answer.pool_size, totals_ms[0], need, totals_ms[1], traffic.most_wait_ms)
        yield WaitsElsewhere(*times, share, service.one_away_of, in_burst)
        most = keeping_up(traffic.rate, answer.supply.rates)[1]
        if most < MOST_IN_USE:
            yield Collapses(answer.connections, most, traffic.rate)
    elif of_process.decides == "need" and answer.decides != "floor" and waits[need] <= traffic.most_wait_ms:
        limit = (traffic.most_wait_ms, traffic.max_wait_p99_ms is None)
        yield KeepsWait(need, *limit, waits[need], service.one_away_of, waits.get(need - 1), service.pools)
    if of_process.decides == "threads" or answer.decides == "floor":
        finding = bound(with_load(traffic, answer.load, answer.supply, traffic), of_process)
        if answer.decides != "limit" or not isinstance(finding, ThreadsBound):
            yield finding
    if answer.decides == "limit":
        assert answer.server_limit.usable is not None
        pools = service.pools_in_deploy(answer.server_limit.surge)
        variables = answer.server_limit.raised_to(answer.useful * pools)
        size, usable = answer.pool_size, answer.server_limit.usable
        away_of = None if isinf(answer.at_size.usual.wait_p99_ms) else service.one_away_of
        ways = ways_within(traffic, answer.supply, answer.server_limit)
        yield LimitBound(answer.useful, size, waits[size], usable, pools, variables, away_of, ways)
