"""The findings of an answer for a traffic: what bounds the pools, and how they and the database go together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import ceil, floor, fsum
from typing import Literal

from poolsize.answer.finding import Caution, Finding, Reason, Refusal
from poolsize.answer.fleet import ServerLimit
from poolsize.answer.traffic import SharedDatabase, Supply, Traffic, is_beyond, keeping_up, knee_rate
from poolsize.answer.traffic_need import Decides, ProcessNeed, process_need, process_needs
from poolsize.formula import CONNECTIONS_PER_CORE
from poolsize.traffic.database_load import DatabaseLoad
from poolsize.traffic.pool_use import pool_use
from poolsize.units import rounded_down

OFTEN = 0.999
"""The share of the time in which no more connections are in use than in_use_p99_9."""
NEAR = 0.6
"""The share of what the database can use above which requests begin to wait for each other in the database."""
HEADROOM, GROWN = 1.1, 1.2
"""Times the rate, chosen values: pools that keep up with less than the first have little headroom. Their larger size is
that for the second."""
WIDEST_CHECKED = 20
"""The largest squared variation of the simulations in docs/explanation/two-sides.md. Beyond it, two phases are too
coarse for the tail of log-normal times: the p99 wait is then up to 3 times the computed wait."""


ReadingTimes = Literal["each moment", "single", "several"]
"""When an observation has read the connections in use."""


class KeepsWait(Reason, code="traffic_need"):
    """The need is the smallest pool that keeps the limit of the p99 wait time. fewer_p99_ms: with a pool smaller by 1.

    is_usage_time: whether the limit is the mean usage time, because none was given. processes: that have such a pool.
    one_away_of: instances, of which 1 is away; None for a single instance. range: 95 % range of the need, or None.
    """

    need: int
    limit_ms: float
    is_usage_time: bool
    wait_p99_ms: float
    one_away_of: int | None
    fewer_p99_ms: float | None
    processes: int
    range: tuple[int, int] | None = None


class CutOff(Caution, code="traffic_cut_off", is_doubt=True):
    """Observed pools, or their server, cut demand off: the need is a lower bound.

    at_maximum, waiting: busy periods in which all connections were in use, and in which requests waited, of so many
    `periods`. timeouts: requests that gave up. is_saturated: whether the server was saturated.
    """

    need: int
    at_maximum: int
    waiting: int
    periods: int
    timeouts: int
    is_saturated: bool


class Observed(Reason, code="traffic_observed"):
    """The traffic is that of an observation. growth: factor on the rate.

    range: 95 % range of the need where the need does not decide the size; else None.

    in_use_max: the most connections of a process in use at these readings. size: of this process's pool. None where
    they are not known.
    """

    seconds: float
    range: tuple[int, int] | None
    growth: float
    in_use_max: int | None = None
    size: int | None = None
    readings: ReadingTimes = "several"


class UsageGrows(Caution, code="traffic_usage_grows"):
    """Observed usage times grow with the connections in use: requests wait in the database, or beyond it."""

    low_ms: float
    high_ms: float


class BurstsUnseen(Caution, code="traffic_bursts_unseen"):
    """The observation does not show bursts between two readings."""


class ShortObservation(Caution, code="traffic_short_observation"):
    """The observation is shorter than a day, and may not have the day's busiest time."""

    seconds: float


class Divided(Caution, code="traffic_divided"):
    """The traffic of the observed processes is divided among more. observed, processes: their numbers.

    growth: with which each process has as much traffic as an observed process.
    """

    observed: int
    processes: int
    growth: float


class OneOfPools(Caution, code="traffic_one_of_pools"):
    """The observation has several pools, and the answer has the database for this pool alone.

    pools: that are in use. others: connections of the other pools, in a deploy with surge; None where they are not
    known, or the server is another. is_least: whether they are a lower bound. in_use: of these, on average in the
    busiest period of each pool, at the answer's rate. max_connections: of the answer's limit, which leaves them
    `others`; None where no limit is known. too_few: the server's limit, in place of which the answer has
    max_connections, because it does not admit the needs of all pools; else None.
    """

    pools: int
    others: int | None = None
    surge: bool = True
    is_least: bool = False
    in_use: float = 0.0
    max_connections: int | None = None
    too_few: int | None = None


class Selected(Caution, code="traffic_selected"):
    """The observation has only pools with some labels; others may use the same server."""


class HeldUnseen(Caution, code="traffic_held_unseen"):
    """A server counted the connections in use; the application may hold others without a statement or transaction."""


class HoldsWhile(Reason, code="traffic_holds"):
    """The conditions under which the answer stays valid. rate, usage_ms: at most."""

    rate: float
    usage_ms: float


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


class LittleHeadroom(Caution, code="traffic_little_headroom", is_doubt=True):
    """From a rate that is hardly higher, the queue grows without end.

    most_rate: that the pools keep up with. more: than the rate, a share. grown: a higher rate, as a share above the
    rate; enough: the pool size that it needs, None where threads can't use so many. variables: of the server, with the
    values that `enough` takes. processes: that have such a pool. service: the name of a service in a fleet.
    """

    most_rate: float
    more: float
    grown: float
    enough: int | None
    variables: Mapping[str, int]
    processes: int
    service: str | None = None


class WideSpread(Caution, code="traffic_wide_spread", is_doubt=True):
    """Usage times vary more than any that the waits were checked for.

    times: the p99 usage time, in mean usage times. service: the name of a service in a fleet.
    """

    times: float
    service: str | None = None


Way = Literal[
    "run fewer processes", "let a proxy share connections", "run fewer threads", "lower the rate or the usage time"
]
"""What lets a traffic fit into the server's limit, beside a larger one."""


class LimitBound(Caution, code="traffic_limit", is_doubt=True):
    """The server's limit allows a smaller pool than the need. wait_p99_ms: with it; infinite for a growing queue.

    None for demand that was cut off. variables: of the server, with the values that the need takes. one_away_of: as in
    KeepsWait. ways: that let the need fit.
    """

    need: int
    limit: int
    wait_p99_ms: float | None
    usable: int
    processes: int
    variables: Mapping[str, int]
    one_away_of: int | None
    ways: tuple[Way, ...] = ()


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


class NearSupply(Caution, code="traffic_near_supply"):
    """Of the connections that the database can use, more than NEAR are in use on average."""

    in_use: float
    supply: int


class BeyondSupply(Caution, code="traffic_beyond_supply", is_doubt=True):
    """On average at least as many connections are in use as the database can use.

    rate, usage_ms, enough: a rate, a usage time, and connections that the database could use, with which NEAR of what
    it can use are in use. share: of all rates, or of all usage times, that has the same effect. more_cores: with which
    the formula gives `enough`; None where it does not say what the database can use. services: that the traffic is of.
    """

    in_use: float
    supply: int
    more_cores: int | None
    rate: float
    usage_ms: float
    share: float
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
    in use. extrapolated_from: the run's highest throughput, where knee_rate is far beyond it; else None.
    """

    usage_ms: float
    loaded_usage_ms: float
    knee_rate: float
    connections: int
    full_rate: float
    extrapolated_from: float | None


class NearKnee(Caution, code="traffic_near_knee"):
    """On average more connections are in use than the database can use. share: of knee_rate that arrives."""

    in_use: float
    supply: int
    share: float


class WaitsElsewhere(Reason, code="traffic_waits_elsewhere"):
    """A larger pool would only move waiting into the database, because it is nearly full by the run.

    pool_size, total_ms: of each process, and the mean total time with it. need, need_total_ms: of the pool that keeps
    limit_ms, the limit of the p99 wait time; equal to the former where no pool does. share: of knee_rate that arrives.
    in_burst: whether in the busiest second of a minute, and not on average. one_away_of: as in KeepsWait.
    """

    pool_size: int
    total_ms: float
    need: int
    need_total_ms: float
    limit_ms: float
    share: float
    one_away_of: int | None
    in_burst: bool = False


def is_too_small(findings: Iterable[Finding]) -> bool:
    """Return whether these findings say that the database is too small for the traffic, so that no pool size helps."""
    return any(isinstance(each, BeyondSupply) for each in findings)


class BeyondKnee(Refusal, code="traffic_beyond_knee"):
    """Requests come faster than the database completes them with any number of connections, by the run.

    taken_for_noise: the run's highest throughput, where it is above knee_rate; else None.
    """

    rate: float
    knee_rate: float
    times: float
    taken_for_noise: float | None


class Collapses(Caution, code="traffic_collapses", is_doubt=True):
    """The database slows down when it is full, by the run: an overload would not end.

    connections: of all pools. most: with which it still completes more than the rate of the requests.
    """

    connections: int
    most: int
    rate: float


class SupplyUnknown(Caution, code="traffic_supply_unknown"):
    """Nothing is known of what the database can use.

    in_use: connections, on average. cores: with which the formula gives more than are in use in the busiest second.
    has_bursts: whether that second differs from others. connections: of all pools.
    """

    in_use: float
    in_use_p99_9: int
    cores: int
    has_bursts: bool
    connections: int


class SpreadAssumed(Caution, code="traffic_spread_assumed"):
    """The squared variation of usage times is not known, and assumed to be `variation`: 1 is that of exponential times.

    several: whether there may be several services.
    """

    several: bool
    variation: float = 1.0


class UsageOfRun(Caution, code="traffic_usage_of_run"):
    """The usage times are those of the run's transactions when nothing queues. usage_ms: their mean."""

    usage_ms: float


class ThreadsUnknown(Caution, code="traffic_threads_unknown"):
    """The threads of a process are not known, and with fewer than pool_size a process can't use its pool."""

    pool_size: int


class CurrentPool(Reason, code="traffic_current"):
    """The user's pool size today, beside the answer, pool_size.

    current_p99_ms: the wait with it, infinite for a queue that grows without end. current_timed_out: share of the
    requests that give up then. current_connections, connections: of all pools. one_away_of: as in KeepsWait. limit: the
    largest pool that the server's limit allows; None if unknown.
    """

    current: int
    pool_size: int
    current_p99_ms: float
    current_timed_out: float
    current_connections: int
    connections: int
    one_away_of: int | None
    limit: int | None


def with_load(traffic: Traffic, load: DatabaseLoad | None, supply: Supply | None, together: Traffic) -> Traffic:
    """Return the traffic with the usage times under the load, or else with the fewest connections that keep up.

    together: the traffic of all services.
    """
    if load is not None or supply is None or supply.rates is None:
        return traffic.loaded(load)
    times = 1000 * keeping_up(together.rate, supply.rates)[0] / together.rate / together.usage.mean_ms
    return traffic.with_usage(traffic.usage.mean_ms * times)


def threads_suffice(traffic: Traffic) -> bool:
    """Return whether the threads of a process can serve its requests, with all instances. traffic: with its load."""
    most = traffic.service.most_useful
    return most is None or replace(traffic.of_process(), most_in_use=None).load < most


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
    return TooFewThreads(service.threads, busiest.load, service.one_away_of, name)


def ways_within(traffic: Traffic, supply: Supply | None, limit: ServerLimit) -> tuple[Way, ...]:
    """Return what lets a traffic that exceeds the server's limit fit into it; nothing where only a larger limit does.

    Fewer processes are tried as 1 in each instance, or else as half as many instances; they share the threads.
    """
    service, usable, surge = traffic.service, limit.usable, limit.surge
    assert usable is not None
    deploy, ways = service.pools_in_deploy(surge), dict[Way, int]()
    if service.pools > 1 and traffic.in_use < usable:
        services = (service.with_fewer_pools(), service.as_one_process(surge))
        fewer, shared = (
            process_need(replace(traffic, service=each, busiest=1.0, doubled=True), supply).pool_size
            for each in services
        )
        ways["run fewer processes"] = fewer * services[0].pools_in_deploy(surge)
        ways["let a proxy share connections"] = shared
    fitting = tuple(way for way, connections in ways.items() if connections <= usable)
    if fitting or service.floor * deploy <= usable:
        return fitting or ("lower the rate or the usage time",)
    with_one_thread = (service.connections_per_thread or 1) * deploy
    return ("run fewer threads",) if service.floor > 1 and with_one_thread <= usable else ()


def of_service(
    database: SharedDatabase,
    place: int,
    load: DatabaseLoad | None,
    decides: Decides,
    limit: ServerLimit,
    name: str | None = None,
) -> Iterator[Finding]:
    """Yield that a slightly higher rate is too much for the pools of a service, and that its usage times vary widely.

    load: at these pools. decides: the pool size. name: of the service in a fleet.
    """
    traffic, size = database.traffics[place], database.pool_sizes[place]
    if decides in {"need", "floor"}:
        full = traffic.loaded(load).of_process().full(size)
        if size < HEADROOM * full.load:
            yield from _little_headroom(database, place, size / full.load, limit, name)
    if traffic.usage.variation > WIDEST_CHECKED and decides not in {"threads", "limit"}:
        yield WideSpread(traffic.usage.p99_ms / traffic.usage.mean_ms, name)


def _little_headroom(
    database: SharedDatabase, place: int, times: float, limit: ServerLimit, name: str | None
) -> Iterator[LittleHeadroom]:
    """Yield up to which rate the pools of a service keep up, unless the database is the bound of a higher one.

    times: the rate.
    """
    traffics, supply = list(database.traffics), database.supply
    traffic, size = traffics[place], database.pool_sizes[place]
    traffics[place] = replace(traffic, rate=GROWN * traffic.rate, doubled=True)
    if is_beyond(fsum(each.rate for each in traffics), supply):
        return
    need = process_needs(traffics, supply)[place]
    if need.decides == "supply":
        return
    enough = need.pool_size if need.pool_size > size * GROWN / times else None
    sizes = database.with_pool(place, need.pool_size).pool_sizes
    pools = zip(traffics, sizes, strict=True)
    in_deploy = sum(pool_size * each.service.pools_in_deploy(limit.surge) for each, pool_size in pools)
    most = (times * traffic.rate, times - 1, GROWN - 1)
    yield LittleHeadroom(*most, enough, limit.raised_to(in_deploy), traffic.service.pools, name)


def of_database(
    traffic: Traffic, supply: Supply | None, load: DatabaseLoad | None, connections: int, services: int = 1
) -> Iterator[Finding]:
    """Yield how many connections are in use at once, how many the database can use, and how it slows.

    connections: of all pools. services: that the traffic is of.
    """
    knee = knee_rate(supply)
    in_use = traffic.loaded(load).in_use
    if supply is not None and knee is not None and is_beyond(traffic.rate, supply):
        yield BeyondKnee(traffic.rate, knee, traffic.rate / knee, supply.taken_for_noise)
    elif supply is not None and knee is None and in_use >= supply.connections:
        yield _beyond_supply(traffic, in_use, supply, services)
    elif load is None:  # too few connections; the limit or the threads are the cause, and have a finding
        if supply is not None and supply.rates is not None:
            most = keeping_up(traffic.rate, supply.rates)[1]
            if connections > most:
                yield Collapses(connections, most, traffic.rate)
    elif supply is None:
        busiest = traffic.burst * in_use
        cores = max(1, ceil(floor(round(busiest, 9)) / CONNECTIONS_PER_CORE))  # the formula adds a disk
        yield SupplyUnknown(in_use, load.quantile(OFTEN), cores, traffic.burst > 1, connections)
    else:
        yield from _in_use(traffic, in_use, supply, load, connections)
    yield from supply.doubts if supply else ()


def _beyond_supply(traffic: Traffic, in_use: float, supply: Supply, services: int) -> BeyondSupply:
    share, enough = NEAR * supply.connections / in_use, ceil(round(in_use / NEAR, 9))
    more_cores = ceil((enough - supply.connections) / CONNECTIONS_PER_CORE) if supply.basis == "formula" else None
    rate, usage_ms = rounded_down(share * traffic.rate), rounded_down(share * traffic.usage.mean_ms)
    return BeyondSupply(in_use, supply.connections, more_cores, rate, usage_ms, rounded_down(share), enough, services)


def _in_use(traffic: Traffic, in_use: float, supply: Supply, load: DatabaseLoad, connections: int) -> Iterator[Finding]:
    """Yield how many connections are in use beside those that the database can use, and how it slows."""
    knee = knee_rate(supply)
    beyond = load.beyond(supply.connections)
    full = load.beyond(connections - 1)
    yield InUse(in_use, load.quantile(OFTEN), supply.connections, beyond, full, connections, knee is not None)
    if knee is None and round(in_use / supply.connections, 9) > NEAR:
        yield NearSupply(in_use, supply.connections)
    if in_use < supply.connections <= traffic.burst * in_use:
        yield BurstBeyondSupply(traffic.burst * in_use, supply.connections)
    if knee is not None:
        assert supply.rates is not None
        full_rate = float(supply.rates[min(connections, len(supply.rates)) - 1])
        yield Slows(traffic.usage.mean_ms, load.usage_ms, knee, connections, full_rate, supply.extrapolated_from)
        if in_use >= supply.connections:
            yield NearKnee(in_use, supply.connections, traffic.rate / knee)
