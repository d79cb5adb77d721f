"""A pool of connections simulated event by event: first in, first out, with random arrivals, bursts and a wait limit.

Times are in mean usage times. It shares no code with poolsize.traffic.
"""

import heapq
from collections import deque
from dataclasses import dataclass
from math import inf, log, sqrt

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
    """Shares of the requests, and wait times."""

    share_waiting: float
    wait: float
    p99: float
    p99_9: float
    share_timed_out: float


def simulate(pool: SimulatedPool, requests: int, seed: int) -> Simulated:
    """Return what the requests of a simulated pool met."""
    random = np.random.default_rng(seed)
    arrivals, usages = _arrivals(pool, requests, random), _usages(pool, requests, random)
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


def _usages(pool: SimulatedPool, requests: int, random: np.random.Generator) -> Times:
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


def simulate_slowing(pools: int, pool_size: int, rate: float, rates: Times, requests: int, seed: int) -> Simulated:
    """Return what requests meet whose exponential usage times grow with the connections in use of all pools together.

    rates: requests that end per unit of time with 1, 2, ... connections in use. rate: of the requests of all pools.
    """
    random, now = np.random.default_rng(seed), 0.0
    waits: list[float] = []
    in_use, waiting = [0] * pools, [deque[float]() for _ in range(pools)]
    together, ending = 0, np.concatenate([[0.0], rates]).tolist()
    while len(waits) < requests:
        changes = rate + ending[together]
        now += random.exponential(1 / changes)
        if random.random() * changes < rate:
            pool = int(random.integers(pools))
            if in_use[pool] < pool_size:
                in_use[pool], together = in_use[pool] + 1, together + 1
                waits.append(0.0)
            else:
                waiting[pool].append(now)
        else:
            pool = int(np.searchsorted(np.cumsum(in_use), random.random() * together, side="right"))
            if waiting[pool]:
                waits.append(now - waiting[pool].popleft())
            else:
                in_use[pool], together = in_use[pool] - 1, together - 1
    counted = np.array(waits[requests // WARM_UP :])
    p99, p99_9 = np.quantile(counted, [0.99, 0.999])
    return Simulated(float((counted > 0).mean()), float(counted.mean()), p99, p99_9, 0.0)
