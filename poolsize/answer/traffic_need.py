"""The pool that a process needs for its traffic, and the largest one that is of use, whatever the server's limit is."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import Literal

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.answer.traffic import SharedDatabase, Supply, Traffic, is_beyond, keeping_up
from poolsize.bounds import LARGEST_POOL
from poolsize.traffic.pool_use import ProcessTraffic, pool_use

Decides = Literal["need", "threads", "floor", "limit", "supply"]
CLOSE = 1.05
"""A mean total time within this factor of the shortest is as good."""
TRIED = 12
"""Pool sizes of which the shortest total time is taken."""
MORE = 4
"""Times the pool that a process needs if usage times do not grow: larger ones are not tried where their connections
together are more than the run's rates are known for."""
BALANCING = 10
"""Steps after which the pools of services, which make each other's usage times, hardly change any more."""


@dataclass(frozen=True)
class ProcessNeed:
    """The pool of a process, whatever the server's limit is.

    need: the smallest pool that keeps the limit of the wait time, within what its threads can use; where no pool keeps
    it, the smallest with nearly the shortest total time. pool_size: that; or the deadlock floor where it is above; or
    less where more connections are in use than the database can use, so that requests wait there in place of the pool.
    decides: the pool size; "supply" where no pool keeps the limit, and where requests wait in the database.
    """

    need: int
    pool_size: int
    decides: Decides


def process_need(traffic: Traffic, supply: Supply | None = None) -> ProcessNeed:
    """Return the pool that a process needs at its traffic, and at the usage times that the database then has."""
    (need,) = process_needs([traffic], supply)
    return need


def process_needs(traffics: Sequence[Traffic], supply: Supply | None = None) -> list[ProcessNeed]:
    """Return the pool that a process of each service needs, at the usage times that the database has with all pools.

    More connections in use make longer usage times, and those need more connections.
    """
    needs = [_within_bounds(traffic, _wanted_alone(traffic)) for traffic in traffics]
    if supply is None or supply.rates is None or is_beyond(sum(traffic.rate for traffic in traffics), supply):
        return needs
    largest = [
        min(most, max(MORE * need.pool_size, len(supply.rates) // traffic.service.pools))
        for most, need, traffic in zip(largest_pools(traffics, supply.rates), needs, traffics, strict=True)
    ]
    kept: list[bool] = []

    @cache
    def wait_p99_ms(place: int, sizes: tuple[int, ...]) -> float:
        """Return the p99 wait time with these pool sizes. Later rounds ask for many of them again."""
        return _wait_p99_ms(SharedDatabase(tuple(traffics), sizes, supply), place)

    for _ in range(BALANCING):
        before = needs
        database = SharedDatabase(tuple(traffics), tuple(need.pool_size for need in before), supply)
        wanted = [_wanted(database, place, most, wait_p99_ms) for place, most in enumerate(largest)]
        needs = [_within_bounds(traffic, size) for traffic, (size, _) in zip(traffics, wanted, strict=True)]
        kept = [keeps or need.decides != "need" for need, (_, keeps) in zip(needs, wanted, strict=True)]
        if needs == before or len(traffics) == 1:
            break
    database = SharedDatabase(tuple(traffics), tuple(need.pool_size for need in needs), supply)
    is_full = _is_full(database)
    for place, need in enumerate(needs):
        if not kept[place]:
            size = nearly_shortest(database, place)
            needs[place] = replace(need, need=size, pool_size=size, decides="supply")
        elif is_full and need.decides == "need" and (size := nearly_shortest(database, place)) < need.need:
            needs[place] = replace(need, pool_size=size, decides="supply")
    return needs


def _is_full(database: SharedDatabase) -> bool:
    """Return whether more connections are in use than the database can use, on average or in bursts."""
    supply, load = database.supply, database.load
    assert supply is not None
    busiest = sum(traffic.busiest_rate for traffic in database.traffics)
    return load is not None and (is_beyond(busiest, supply) or load.mean >= supply.connections)


def largest_pools(traffics: Sequence[Traffic], rates: Vector) -> list[int]:
    """Return the largest pool of a process of each service, at least 1: the database keeps up when all are in use."""
    _, most = keeping_up(sum(traffic.rate for traffic in traffics), rates)
    in_use = sum(traffic.in_use for traffic in traffics)
    return [max(1, int(most * traffic.in_use / in_use / traffic.service.pools)) for traffic in traffics]


def _within_bounds(traffic: Traffic, wanted: int) -> ProcessNeed:
    service, wanted = traffic.service, max(wanted, traffic.least_need)
    need = wanted if service.most_useful is None else min(wanted, service.most_useful)
    decides: Decides = "floor" if service.floor > need else "need" if need == wanted else "threads"
    return ProcessNeed(need, max(need, service.floor), decides)


def _wanted_alone(traffic: Traffic) -> int:
    """Return the pool that a process wants if usage times do not grow. Threads do not bound it."""
    process = replace(traffic.of_process(one_away=True), wait_limit_ms=inf, most_in_use=None)
    return smallest_pool(process, traffic.most_wait_ms)


def _wanted(
    database: SharedDatabase, place: int, most: int, wait_p99_ms: Callable[[int, tuple[int, ...]], float]
) -> tuple[int, bool]:
    """Return the pool that a process of a service wants, with the pools of the others, and whether it keeps the limit.

    wait_p99_ms: as _wait_p99_ms, of a place and the pool sizes. Threads do not bound the pool.
    """
    own, before = database.traffics[place], database.pool_sizes[place]

    def with_size(size: int) -> float:
        return wait_p99_ms(place, database.with_pool(place, size).pool_sizes)

    size = _smallest(with_size, own.most_wait_ms, int(own.of_process(one_away=True).load), most, before)
    keeps = size < most or with_size(size) <= own.most_wait_ms
    return size, keeps and _usual_wait_p99_ms(database.with_pool(place, size), place) <= own.most_wait_ms


def _wait_p99_ms(database: SharedDatabase, place: int) -> float:
    """Return the p99 wait time of a service while an instance is away, if threads do not bound its pool."""
    database, _ = _with_threads(database, place)
    return pool_use(database.busiest(place), database.pool_sizes[place]).wait_p99_ms


def _usual_wait_p99_ms(database: SharedDatabase, place: int) -> float:
    """Return the p99 wait time of a service while all instances are there, if threads do not bound its pool.

    It may be longer than with an instance away: more connections are then in use, and a database may slow down by them.
    """
    database, own = _with_threads(database, place)
    load = database.load_of(place, one_away=False)
    return inf if load is None else pool_use(own.loaded(load).of_process(), database.pool_sizes[place]).wait_p99_ms


def _with_threads(database: SharedDatabase, place: int) -> tuple[SharedDatabase, Traffic]:
    """Return the services and the service at this place, which gets threads for its whole pool, and no wait limit."""
    own = database.traffics[place]
    own = replace(own, wait_limit_ms=None, service=replace(own.service, threads=None, connections_per_thread=None))
    return replace(database, traffics=(*database.traffics[:place], own, *database.traffics[place + 1 :])), own


def smallest_pool(traffic: ProcessTraffic, most_wait_ms: float) -> int:
    """Return the smallest pool whose p99 wait time is at most this long."""
    too_small = int(traffic.load)
    return _smallest(
        lambda size: pool_use(traffic, size).wait_p99_ms, most_wait_ms, too_small, LARGEST_POOL, too_small + 1
    )


def _smallest(
    wait_p99_ms: Callable[[int], float], most_wait_ms: float, too_small: int, largest: int, guess: int
) -> int:
    """Return the smallest pool that keeps the limit, or the largest one.

    too_small: a pool that never catches up. guess: from which on the search goes up or down, in steps that double.
    """

    def keeps(size: int) -> bool:
        return size >= largest or wait_p99_ms(size) <= most_wait_ms

    low, step = min(too_small, largest - 1), 1
    high = max(low + 1, min(guess, largest))
    if keeps(high):
        while high - step > low and keeps(high - step):
            high, step = high - step, 2 * step
        low = max(low, high - step)
    else:
        low = high
        while not keeps(low + step):
            low, step = low + step, 2 * step
        high = min(low + step, largest)
    return bisect_left(range(high), True, low + 1, key=keeps)


def nearly_shortest(database: SharedDatabase, place: int) -> int:
    """Return the smallest tried pool of a service, up to its present one, whose mean total time is nearly the shortest.

    A pool that is too small while an instance is away is taken only where all are.
    """
    traffic, largest = database.traffics[place], database.pool_sizes[place]
    floor = max(traffic.service.floor, traffic.least_need)
    tried = sorted({int(size) for size in np.geomspace(floor, max(floor, largest), TRIED).round()})
    usual = [mean_total_ms(database.with_pool(place, size), place) for size in tried]
    lasting = [total_ms if lasts else inf for total_ms, lasts in usual]
    totals = lasting if min(lasting) < inf else [total_ms for total_ms, _ in usual]
    return next(size for size, total_ms in zip(tried, totals, strict=True) if total_ms <= CLOSE * min(totals))


def mean_total_ms(database: SharedDatabase, place: int) -> tuple[float, bool]:
    """Return the mean total time of a service's requests, and whether its pools last while an instance is away.

    The time is infinite where the pools are too small for the traffic. While an instance is away, usage times are those
    that the other instances then have.
    """
    load = database.load_of(place)
    if load is None:
        return inf, False
    traffic, pool_size = replace(database.traffics[place].loaded(load), wait_limit_ms=None), database.pool_sizes[place]
    total_ms = load.total_ms
    if total_ms is None:
        total_ms = load.usage_ms + pool_use(traffic.of_process(), pool_size).wait_ms
    return total_ms, traffic.of_process(one_away=True).is_served(pool_size)
