"""A pool of connections simulated event by event: first in, first out, with random arrivals, bursts and a wait limit.

Times are in mean usage times. It shares no code with poolsize.traffic.
"""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from random import Random

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]
WARM_UP = 20
"""One request of so many is left out at the start."""


@dataclass(frozen=True)
class SimulatedPool:
    """A pool and its traffic. load: connections in use on average, with nobody giving up.

    second: in mean usage times; bursts need it. is_log_normal: whether usage times are, for which variation is that of
    log-normal times.
    """

    pool_size: int
    load: float
    variation: float = 1.0
    burst: float = 1.0
    second: float = inf
    limit: float = inf
    is_log_normal: bool = False


@dataclass(frozen=True)
class Simulated:
    """Shares of the requests, wait times, and the mean usage time."""

    share_waiting: float
    wait: float
    p99: float
    p99_9: float
    share_timed_out: float
    usage: float = 1.0


def simulate(pool: SimulatedPool, requests: int, seed: int) -> Simulated:
    """Return what the requests of a simulated pool met."""
    random = np.random.default_rng(seed)
    arrivals, usages = _arrivals(pool, requests, random), usage_times(pool, requests, random)
    waits = waits_in_order(arrivals, usages, pool.pool_size, pool.limit)
    counted = waits[requests // WARM_UP :]
    p99, p99_9 = np.quantile(counted, [0.99, 0.999])
    return Simulated(
        float((counted > 0).mean()), float(counted.mean()), p99, p99_9, float((counted >= pool.limit).mean())
    )


def waits_in_order(arrivals: Times, usages: Times, pool_size: int, limit: float = inf) -> Times:
    """Return the waits of requests that are served first in, first out, and give up after the limit."""
    ends, waits = [0.0] * pool_size, np.zeros(len(arrivals))
    for number, (arrival, usage) in enumerate(zip(arrivals.tolist(), usages.tolist(), strict=True)):
        wait = max(0.0, ends[0] - arrival)
        waits[number] = min(wait, limit)
        if wait < limit:
            heapq.heapreplace(ends, arrival + wait + usage)
    return waits


def usage_times(pool: SimulatedPool, requests: int, random: np.random.Generator) -> Times:
    """Return the usage times of requests, with a mean of 1.

    Constant, gamma, exponential or two kinds of exponential times, by their variation; or log-normal.
    """
    variation = pool.variation
    if pool.is_log_normal:
        deviation = sqrt(log(1 + variation))
        return random.lognormal(-(deviation**2) / 2, deviation, requests)
    if variation == 0:
        return np.ones(requests)
    if variation <= 1:
        return random.gamma(1 / variation, variation, requests)
    often = (1 + sqrt((variation - 1) / (variation + 1))) / 2
    means = np.where(random.random(requests) < often, 1 / (2 * often), 1 / (2 * (1 - often)))
    return np.asarray(random.exponential(1.0, requests) * means)


def _arrivals(pool: SimulatedPool, requests: int, random: np.random.Generator) -> Times:
    if pool.burst == 1:
        return np.cumsum(random.exponential(1 / pool.load, requests))
    states = ((pool.load * (60 - pool.burst) / 59, 59 * pool.second), (pool.load * pool.burst, pool.second))
    begin, made, batches = 0.0, 0, []
    while made < requests:
        for rate, mean in states:
            length = random.exponential(mean)
            batch = begin + np.sort(random.random(random.poisson(rate * length))) * length
            batches.append(batch)
            begin, made = begin + length, made + len(batch)
    return np.concatenate(batches)[:requests]


@dataclass(frozen=True)
class SharingPools:
    """Pools of the same kind, which share a database with others.

    rate: of the requests of each pool. usage: mean usage time over that of the requests of all pools.
    """

    number: int
    pool_size: int
    rate: float
    usage: float = 1.0


def simulate_sharing(
    kinds: Sequence[SharingPools], rates: Times, requests: int, seed: int, burst: float = 1.0, second: float = inf
) -> list[Simulated]:
    """Return what requests of each kind of pools meet whose exponential usage times grow with all connections in use.

    rates: requests that end per unit of time with 1, 2, ... connections in use of all pools. requests: of all pools.
    burst, second: as in SimulatedPool; of all pools at once.
    """
    random, now, busy, together, made, used = Random(seed), 0.0, False, 0, 0, 0.0
    all_pools = [(kind, pool) for kind, each in enumerate(kinds) for pool in range(each.number)]
    in_use = [[0] * each.number for each in kinds]
    using: list[list[int]] = [[] for _ in kinds]  # a pool for each connection in use
    waiting = [[deque[float]() for _ in range(each.number)] for each in kinds]
    waits: list[list[float]] = [[] for _ in kinds]
    mean, speeds = sum(each.number * each.rate for each in kinds), [0.0, *(rates / np.arange(1, len(rates) + 1))]
    arriving = choices_of(random, all_pools, [kinds[kind].rate for kind, _ in all_pools])
    while made < requests:
        rate = mean * (burst if busy else (60 - burst) / 59) if burst > 1 else mean
        change = 0.0 if burst == 1 else 1 / second if busy else 1 / second / 59
        ending = [speeds[together] * len(each) / kind.usage for each, kind in zip(using, kinds, strict=True)]
        total = rate + change + sum(ending)
        before, now = now, now + random.expovariate(total)
        used += together * (now - before)
        place = random.random() * total
        if place < rate:
            made, (kind, pool) = made + 1, next(arriving)
            if in_use[kind][pool] < kinds[kind].pool_size:
                in_use[kind][pool], together = in_use[kind][pool] + 1, together + 1
                using[kind].append(pool)
                waits[kind].append(0.0)
            else:
                waiting[kind][pool].append(now)
        elif place < rate + change:
            busy = not busy
        else:
            (kind,) = random.choices(range(len(kinds)), ending)
            connection = int(random.random() * len(using[kind]))
            pool = using[kind][connection]
            if waiting[kind][pool]:
                waits[kind].append(now - waiting[kind][pool].popleft())
            else:
                using[kind][connection] = using[kind][-1]
                using[kind].pop()
                in_use[kind][pool], together = in_use[kind][pool] - 1, together - 1
    return [
        _met(np.array(each[len(each) // WARM_UP :]), kind.usage * used / made)
        for each, kind in zip(waits, kinds, strict=True)
    ]


def choices_of(
    random: Random, values: Sequence[tuple[int, int]], weights: Sequence[float]
) -> Iterator[tuple[int, int]]:
    """Yield random values for ever."""
    while True:
        yield from random.choices(values, weights, k=1000)


def _met(waits: Times, usage: float) -> Simulated:
    p99, p99_9 = np.quantile(waits, [0.99, 0.999])
    return Simulated(float((waits > 0).mean()), float(waits.mean()), p99, p99_9, 0.0, usage)
