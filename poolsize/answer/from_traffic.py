"""Traffic -> TrafficAnswer: the pool size that a process's traffic needs, beside what the database can use.

The need is the smallest pool whose p99 wait time stays within a limit while one instance is away and the others take
its traffic. It says nothing of the database: `Supply` does, and the server's limit bounds both.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal

import numpy as np

from poolsize.answer.finding import Caution, Finding, Reason
from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_plan import LimitUnknown, MoreInstances
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.traffic.pool_use import BUSY_SHARE, PoolUse, ProcessTraffic, pool_use
from poolsize.traffic.usage_phases import UsageTimes

Decides = Literal["need", "threads", "floor", "limit"]
NEIGHBOURS = 2
"""Smaller pool sizes in the table, and larger ones."""
TWICE = 2
"""Times the rate, in the last columns of the table."""
RARE = 0.001
"""The share of the time in which more connections are in use than in_use_p99_9."""


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

    def of_process(self, times: float = 1.0, *, one_away: bool = False) -> ProcessTraffic:
        """Return the traffic of one process. times: of the rate. one_away: whether one of two or more instances is."""
        instances = self.service.instances
        others = instances / (instances - 1) if one_away and instances > 1 else 1.0
        rate = self.rate / 1000 / self.service.pools * times * others
        return ProcessTraffic(rate, self.usage, self.burst, threads=self.service.most_useful)

    def in_use_beyond(self, connections: int) -> float:
        """Return the share of the time in which all processes use more connections, if their pools permit it.

        The number in use is Poisson distributed where nobody waits, whatever the usage times are.
        """
        calm = (1 - self.burst * BUSY_SHARE) / (1 - BUSY_SHARE)
        beyond = [_poisson_beyond(connections, self.in_use * part) for part in (self.burst, calm)]
        return beyond[0] * BUSY_SHARE + beyond[1] * (1 - BUSY_SHARE) if self.burst > 1 else beyond[0]

    @property
    def in_use_p99_9(self) -> int:
        """Connections in use that are exceeded for 0.1 % of the time."""
        low, high = 0, 1
        while self.in_use_beyond(high) > RARE:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.in_use_beyond(middle) > RARE else (low, middle)
        return high if self.in_use_beyond(low) > RARE else low


def _poisson_beyond(number: int, mean: float) -> float:
    """Return the probability that a Poisson distributed number is larger than this one."""
    logarithms = np.cumsum(np.log(mean / np.arange(1, number + 1)))
    return max(0.0, 1 - float(np.exp(np.concatenate([[0.0], logarithms]) - mean).sum()))


@dataclass(frozen=True)
class Supply:
    """The connections that the database can use at once, for all clients together.

    range: lowest and highest; None where it is not known. basis: "formula" or "measured".
    """

    connections: int
    range: tuple[int, int] | None
    basis: Literal["formula", "measured"]


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


class SupplyUnknown(Caution, code="traffic_supply_unknown"):
    """Nothing is known of what the database can use. in_use: connections, on average."""

    in_use: float
    in_use_p99_9: int


class SpreadAssumed(Caution, code="traffic_spread_assumed"):
    """Usage times are taken to vary like exponential ones."""


@dataclass(frozen=True)
class TrafficAnswer:
    """The answer for a traffic.

    pool_size: of each process. need: the pool size that the traffic needs, None where no size keeps the wait limit.
    decides: what decides the pool size. limit: the largest pool size that the server's limit allows; None where it is
    not known. supply: None where nothing is known of the database. sizes: ascending in pool size. findings: in the
    order to read them.
    """

    traffic: Traffic
    server_limit: ServerLimit
    pool_size: int
    need: int
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
    wanted = smallest_pool(replace(traffic.of_process(one_away=True), threads=None), traffic.most_wait_ms)
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
    answer = TrafficAnswer(traffic, limit, size, need, decides, allowed, supply, _sizes(traffic, size, need, current))
    return replace(answer, findings=tuple(_findings(answer)))


def _findings(answer: TrafficAnswer) -> Iterator[Finding]:
    """Return what decides the size, then how the pools and the database go together, then what is not known."""
    traffic, service, size = answer.traffic, answer.traffic.service, answer.pool_size
    waits = {each.pool_size: (each.one_away or each.usual).wait_p99_ms for each in answer.sizes}
    away = service.instances if service.instances > 1 else None
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
    yield from _of_supply(answer)
    if answer.limit is None:
        instances = MoreInstances(answer.server_limit.surge, service.most_instances > service.instances)
        yield LimitUnknown(answer.connections_in_deploy, instances)
    if traffic.usage == UsageTimes(traffic.usage.mean_ms):
        yield SpreadAssumed()


def _of_supply(answer: TrafficAnswer) -> Iterator[Finding]:
    """Return how many connections are in use at once, and how many the database can use."""
    traffic, supply, in_use = answer.traffic, answer.supply, answer.traffic.in_use
    if supply is None:
        yield SupplyUnknown(in_use, traffic.in_use_p99_9)
    elif in_use >= supply.connections:
        times = in_use / supply.connections
        yield BeyondSupply(in_use, supply.connections, traffic.rate / times, traffic.usage.mean_ms / times, times)
    else:
        beyond = traffic.in_use_beyond(supply.connections) if answer.connections > supply.connections else 0.0
        yield InUse(in_use, traffic.in_use_p99_9, supply.connections, beyond, answer.connections)


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


def _sizes(traffic: Traffic, size: int, need: int, current: int | None) -> tuple[SizeUse, ...]:
    """Return the rows of the answer, of the need, of today's pool size, and of their neighbours."""
    around = {size + each for each in range(-NEIGHBOURS, NEIGHBOURS + 1)} | {need} | ({current} if current else set())
    return tuple(_size_use(traffic, each) for each in sorted(around) if each >= 1)


def _size_use(traffic: Traffic, pool_size: int) -> SizeUse:
    has_others = traffic.service.instances > 1
    return SizeUse(
        pool_use(traffic.of_process(), pool_size),
        pool_use(traffic.of_process(one_away=True), pool_size) if has_others else None,
        pool_use(traffic.of_process(TWICE), pool_size),
    )
