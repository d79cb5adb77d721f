"""Simulated runs of a closed loop, transaction by transaction: users, a pool and a database on a few cores."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.stats.percentiles import empty_histogram, encoded
from poolsize.load.messages import SECTIONS
from poolsize.runs.run import QUANTILES, Latencies, Run, Step
from tests.conftest import a_setting, a_step
from tests.simulation import seconds as correlated

Floats = NDArray[np.float64]
WARM_UP = 1
"""Seconds."""
SLOWEST = 0.3
"""The lowest speed of a second."""


@dataclass(frozen=True)
class Network:
    """Users that share a pool; a connection in use is with the client, or at one of the database's cores.

    client_ms: mean time of a transaction outside of the database. cpu_ms: mean time at a core.
    slowdown: share by which a core gets slower for each transaction in the database beyond the cores.
    think_ms: mean pause of a user between transactions.
    variation: squared coefficient of variation of the time at a core. instances: of the application; each has its share
    of the users and of the pool.
    """

    users: int
    cores: int
    client_ms: float
    cpu_ms: float
    slowdown: float
    think_ms: float = 0.0
    variation: float = 1.0
    instances: int = 1


def transactions(network: Network, pool_size: int, speeds: Sequence[float], random: np.random.Generator) -> Floats:
    """Return end, wait time and usage time of each transaction, in seconds, shape (transactions, 3), by their end.

    speeds: of the database in each second, 1.0 as a rule. Users are served in order of arrival.
    """
    draws = _draws(random.standard_exponential)
    services = draws if network.variation == 1 else _gamma(network.variation, random)
    events: list[tuple[float, int, int]] = [(network.think_ms / 1000 * next(draws), 0, u) for u in range(network.users)]
    events.sort()
    asked, obtained = [0.0] * network.users, [0.0] * network.users
    instances = network.instances
    waiting: list[deque[int]] = [deque() for _ in range(instances)]
    ready: deque[int] = deque()
    free = [pool_size // instances] * instances
    idle, length = network.cores, len(speeds)
    ended: list[tuple[float, float, float]] = []
    while events[0][0] < length:
        now, event, user = heappop(events)
        own = user % instances
        if event == 0:  # the user asks for a connection
            asked[user] = now
            waiting[own].append(user)
        elif event == 1:  # the client has done its part
            ready.append(user)
        else:  # a core has done its part, so the transaction ends
            idle += 1
            free[own] += 1
            ended.append((now, obtained[user] - asked[user], now - obtained[user]))
            heappush(events, (now + network.think_ms / 1000 * next(draws), 0, user))
        while waiting[own] and free[own]:
            free[own] -= 1
            user = waiting[own].popleft()
            obtained[user] = now
            heappush(events, (now + network.client_ms / 1000 * next(draws), 1, user))
        while ready and idle:
            idle -= 1
            slower = 1 + network.slowdown * (len(ready) + network.cores - idle - network.cores)
            service = network.cpu_ms / 1000 * next(services) * max(1.0, slower) / speeds[int(now)]
            heappush(events, (now + service, 2, ready.popleft()))
    return np.array(ended)


def _speeds(mean: float, within: float, length: int, random: np.random.Generator) -> list[float]:
    return [max(SLOWEST, speed) for speed in correlated(mean, within, length, random)]


def simulated_run(
    network: Network, sizes: Sequence[int], length: int, random: np.random.Generator, within: float, between: float
) -> Run:
    """Return a complete run of one step a size.

    length: counted seconds of a step. within: standard deviation of the database's speed in a second, a share; seconds
    are correlated. between: of its speed in a step.
    """
    steps = []
    for order, size in enumerate(sizes):
        speeds = _speeds(float(np.exp(between * random.standard_normal())), within, length + WARM_UP, random)
        steps.append(step_of(network, size, order, transactions(network, size, speeds, random), length))
    return Run(a_setting(tuple(sizes), network.users), tuple(steps))


def step_of(network: Network, size: int, order: int, done: Floats, length: int) -> Step:
    """Return the step of transactions, as `transactions` returns them. length: of its counted seconds."""
    second = done[:, 0].astype(int)
    times_us = {
        "wait": np.maximum(1, done[:, 1] * 1e6).astype(int),
        "usage": np.maximum(1, done[:, 2] * 1e6).astype(int),
        "total": np.maximum(1, (done[:, 1] + done[:, 2]) * 1e6).astype(int),
    }
    counts = np.bincount(second, minlength=length + WARM_UP)
    counted = second >= WARM_UP
    bounds = [WARM_UP + round(length * place / SECTIONS) for place in range(SECTIONS + 1)]
    step = a_step(size, counts[WARM_UP:].tolist(), network.users, order)
    transactions_per_second = counts[WARM_UP:].mean()
    mean_ms = times_us["total"][counted].mean() / 1000
    return replace(
        step,
        throughput=tuple(counts.tolist()),
        gap_ms=max(0.0, 1000 * network.users / transactions_per_second - mean_ms),
        latencies=Latencies(**{name: _encoded(times[counted]) for name, times in times_us.items()}),
        sections={
            name: _sections([times[(second >= start) & (second < end)] for start, end in pairwise(bounds)])
            for name, times in times_us.items()
        },
        checks=(),
    )


def _encoded(times_us: NDArray[np.int64]) -> str:
    """Return the histogram, whose three digits are eleven bits."""
    histogram = empty_histogram()
    rounded = np.maximum(0, np.frexp(times_us)[1] - 11)
    for time_us, number in zip(*np.unique(times_us >> rounded << rounded, return_counts=True), strict=True):
        histogram.record_value(int(time_us), int(number))
    return encoded(histogram)


def _sections(parts_us: Sequence[NDArray[np.int64]]) -> dict[str, tuple[float, ...]]:
    known = [np.percentile(part, list(QUANTILES.values())) / 1000 for part in parts_us if part.size]
    return {name: tuple(float(values[place]) for values in known) for place, name in enumerate(QUANTILES)}


def _gamma(variation: float, random: np.random.Generator) -> Iterator[float]:
    """Return times with a mean of 1 and this squared coefficient of variation."""
    return _draws(lambda number: random.gamma(1 / variation, variation, number))


def _draws(many: Callable[[int], Floats]) -> Iterator[float]:
    while True:
        yield from many(4096).tolist()
