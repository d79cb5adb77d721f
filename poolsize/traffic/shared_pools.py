"""Pools that share a database whose usage times grow with the connections in use of all pools together.

The requests in all pools, waiting or in use, are a birth-death process: with N of them, transactions end at the
database's rate for the mean number of connections in use. If the speed of the database depended on N alone, the state
would have a product form (a Whittle network; Serfozo, "Introduction to Stochastic Networks", 1999). Among the states
with N requests, each is as likely as there, times its usage time: a state in which usages take longer lasts longer. To
a pool, the others are its environment: while its requests wait, more connections are in use elsewhere, too.
tests/unit/test_shared_pools.py holds the bounds of the errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log, sqrt

import numpy as np

from poolsize.analysis.vector import Vector

NEAREST, FARTHER = 0.98, 0.9
"""The highest load of a pool that is solved. Beyond it, waits grow in inverse proportion to what is left. Where that
takes too many requests, a load that is lower by a factor is solved."""
MOST_REQUESTS = 3000
"""The largest number of requests in all pools that is counted."""
FAR = 12
"""Standard deviations beyond which a number of requests is negligible, where usage times do not grow."""
COARSE_LEVELS, LEVELS_OF_A_STEP = 4000, 200
"""Numbers of requests beyond the usual ones, and how many follow at steps of 1, 2, ...: up to 42,000 that are late."""
NEGLIGIBLE = 1e-8
"""The probability of the largest number of requests that is counted."""
LEAST = 1e-280
"""Smaller weights are rounded too much."""
LEAST_TILTED = -500
"""The logarithm of the smallest weight of 0 requests."""


@dataclass(frozen=True)
class Pools:
    """Pools of the same kind.

    number: of the pools. connections: of each that can be in use at once. rate: requests per second of each, times
    their usage time over the mean usage time of all requests.
    """

    number: int
    connections: int
    rate: float


@dataclass(frozen=True)
class SharedUse:
    """The connections in use, as probabilities of 0, 1, ... of them.

    in_use: of all pools. of_pool: of a pool of the first kind. waiting: mean number of its requests that wait.
    """

    in_use: Vector
    of_pool: Vector
    waiting: float

    @property
    def mean(self) -> float:
        """Connections in use on average, of a pool of the first kind."""
        return float(self.of_pool @ np.arange(len(self.of_pool)))

    def usages_ms(self, rate: float) -> Vector:
        """Return the usage times with 1, 2, ... connections of the pool in use, for requests of the mean usage time.

        rate: of the pool. They are those of a birth-death process with these probabilities, but for the last: the one
        with this mean number of requests that wait, while any does.
        """
        in_use, fewer, more = np.arange(1, len(self.of_pool)), self.of_pool[:-1], self.of_pool[1:]
        likely = (fewer > LEAST) & (more > LEAST)
        usages = np.interp(in_use, in_use[likely], in_use[likely] * more[likely] / fewer[likely])
        if self.waiting > LEAST:
            usages[-1] = in_use[-1] * self.waiting / (self.waiting + more[-1])
        return np.asarray(usages * 1000 / rate)


def keeps_up(rates: Vector, pools: Sequence[Pools]) -> bool:
    """Return whether the first kind of pools keeps up; rates: as in shared_use."""
    return pools[0] in _keeping_up(rates, pools)[0]


def shared_use(rates: Vector, pools: Sequence[Pools]) -> SharedUse | None:
    """Return the connections in use; None where the first kind of pools does not keep up.

    rates: requests per second that the database completes with 1, 2, ... connections in use, the last with more, too.
    """
    keeping_up, load = _keeping_up(rates, pools)
    own = pools[0]
    if own not in keeping_up:
        return None
    solved, use = min(load, NEAREST), None
    while (use := _solved(rates, [replace(each, rate=each.rate * solved / load) for each in pools])) is None:
        solved *= FARTHER
    own_load = load * keeping_up[0].connections / keeping_up[0].rate * own.rate / own.connections
    return replace(use, waiting=use.waiting * (1 - own_load * solved / load) / (1 - own_load))


def use_in_bursts(
    rates: Vector, pools: Sequence[Pools], burst: float, busy_share: float
) -> tuple[Vector, float, float]:
    """Return the probabilities of 0, 1, ... connections in use, and the mean usage and total time in seconds.

    Requests come in bursts; the probabilities are of all pools, in busy seconds and others together. The times are of
    the requests in the pools that keep up, as the first kind of pools does. What a burst brings beyond the database's
    rate is late, and is served after it.
    burst: rate of all pools in a busy second over the mean rate. busy_share: of the time that busy seconds take.
    """
    keeping_up, _ = _keeping_up(rates, pools)
    most_in_use = sum(each.number * each.connections for each in keeping_up)
    always = sum(each.number * each.connections for each in pools) - most_in_use
    total = sum(each.number * each.rate for each in keeping_up)
    usual, most_usual = _usual(rates, total)
    tilt, most = _tilt(keeping_up, usual), min(MOST_REQUESTS, max(most_usual, 2 * most_in_use))
    of_all = np.ones(1)
    for each in keeping_up:
        of_all = _sum_of(of_all, _power(_weights(each, tilt, most), each.number), most)
    in_use = _in_use(_padded(of_all, most), tilt * total)
    steps = np.append(np.ones(most_usual), 1.0 + np.arange(COARSE_LEVELS) // LEVELS_OF_A_STEP)
    requests = np.append(0.0, steps.cumsum())
    in_use = np.minimum(np.interp(requests, np.arange(most + 1), in_use) + (requests - most).clip(0), most_in_use)
    probabilities = _burst_states(total, burst, busy_share, _served(rates, in_use, always)[1:], steps)
    usage_s, total_s = (float(probabilities @ each) / total for each in (in_use, requests))
    return _shares(in_use + always, probabilities), usage_s, total_s


def _solved(rates: Vector, pools: Sequence[Pools]) -> SharedUse | None:
    """Return the connections in use; None where they take more than MOST_REQUESTS. The first kind of pools keeps up."""
    keeping_up, _ = _keeping_up(rates, pools)
    own = pools[0]
    others = [replace(each, number=each.number - (each is own)) for each in keeping_up]
    always = sum(each.number * each.connections for each in pools if each not in keeping_up)
    total = sum(each.number * each.rate for each in keeping_up)
    usual, most = _usual(rates, total)
    tilt = _tilt(keeping_up, usual)
    while True:
        of_own = _weights(own, tilt, most)
        of_others = np.ones(1)
        for each in others:
            of_others = _sum_of(of_others, _power(_weights(each, tilt, most), each.number), most)
        in_use = _in_use(_padded(_sum_of(of_own, of_others, most), most), tilt * total)
        served = _served(rates, in_use, always)
        requests = _birth_death(total, served[1:])
        if requests[-1] * served[-1] < NEGLIGIBLE * (served[-1] - total):
            break
        most *= 2
        if most > MOST_REQUESTS:
            return None
    elsewhere = _in_use(of_others, tilt * (total - own.rate)) + always
    used = np.append(np.arange(min(own.connections, most)), own.connections)
    with_own = np.maximum(1, used[:, None] + elsewhere)
    of_pool = _of_pool(of_own, requests, of_others * (with_own / _completed(rates, with_own)))
    waiting = of_pool[own.connections :]
    of_connections = np.zeros(own.connections + 1)
    of_connections[: min(own.connections, most + 1)] = of_pool[: own.connections]
    of_connections[-1] = waiting.sum()
    return SharedUse(_shares(in_use + always, requests), of_connections, float(waiting @ np.arange(len(waiting))))


def _of_pool(of_own: Vector, requests: Vector, others: Vector) -> Vector:
    """Return the probabilities of 0, 1, ... requests in a pool.

    of_own: its weights. requests: probabilities of 0, 1, ... requests in all pools. others: weights of 0, 1, ...
    requests in the others, one row for 0, 1, ... connections of the pool in use, the last for all of them.
    """
    end, full = len(requests), len(others) - 1
    of_all, with_full = np.zeros(end), others[full, : end - full]
    for number, row in enumerate(others[:full]):
        of_all[number : number + len(row)] += of_own[number] * row[: end - number]
    of_all[full:] += np.convolve(of_own[full:], with_full)[: end - full]
    ratios = np.divide(requests, of_all, out=np.zeros_like(of_all), where=of_all > LEAST)
    fewer = [
        float(ratios[number : number + len(row)] @ row[: end - number]) for number, row in enumerate(others[:full])
    ]
    more = np.correlate(ratios[full:], with_full, "full")[len(with_full) - 1 :]
    of_pool = of_own * np.append(fewer, more)
    return np.asarray(of_pool / of_pool.sum())


def _keeping_up(rates: Vector, pools: Sequence[Pools]) -> tuple[list[Pools], float]:
    """Return the pools that keep up, the first to fill up first, and its load. The others' are always in use."""
    pools, always = sorted(pools, key=lambda each: each.connections / each.rate), 0
    while pools:
        share = pools[0].connections / pools[0].rate  # of the time of a connection, for a request of each second
        in_use = share * sum(each.number * each.rate for each in pools) + always
        load = in_use / share / float(_completed(rates, np.array(in_use)))
        if load < 1:
            return pools, load
        always += pools[0].number * pools[0].connections
        pools = pools[1:]
    return [], 1.0


def _completed(rates: Vector, in_use: Vector) -> Vector:
    return np.asarray(np.interp(in_use, np.arange(len(rates) + 1), np.append(0.0, rates)))


def _usual(rates: Vector, total: float) -> tuple[int, int]:
    """Return the usual number of requests in all pools, and the largest that is not negligible while none waits.

    total: rate of the requests.
    """
    usual = 1 + int(np.argmax(np.append(rates, np.inf) > total))
    return usual, usual + ceil(FAR * sqrt(usual)) + FAR


def _served(rates: Vector, in_use: Vector, always: int) -> Vector:
    """Return the rates at which the database completes requests of some pools. always: in use of the others."""
    return np.asarray(_completed(rates, in_use + always) * in_use / np.maximum(1, in_use + always))


def _weights(pools: Pools, tilt: float, most: int) -> Vector:
    """Return the weights of 0, 1, ..., most requests in a pool: the probabilities if usage times did not grow.

    tilt: usage time, in seconds. The mean numbers in use do not depend on it, and rounding errors do.
    """
    return _birth_death(pools.rate * tilt, np.minimum(np.arange(1, most + 1), pools.connections))


def _tilt(pools: Sequence[Pools], usual: int) -> float:
    """Return a tilt with which no weight of the numbers of requests around the usual one is too small.

    pools: the one that fills up first before the others.
    """
    least = usual / sum(each.number * each.rate for each in pools)
    tilt = 0.95 * pools[0].connections / pools[0].rate

    def least_weight() -> float:
        """Return a bound of the logarithm of the weight of 0 requests: that of as many connections as requests."""
        loads = ((each.number, each.rate * tilt, each.connections) for each in pools)
        return sum(number * (log(1 - load / connections) - load) for number, load, connections in loads)

    while tilt > least and least_weight() < LEAST_TILTED:
        tilt *= 0.9
    return tilt


def _birth_death(births: float, deaths: Vector) -> Vector:
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(births / deaths))])
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum())


def _burst_states(births: float, burst: float, busy_share: float, deaths: Vector, steps: Vector) -> Vector:
    """Return the probabilities of the levels of a birth-death process whose births come in bursts of about a second.

    births: on average. deaths: of the levels from the second on. steps: to each of these from the level below.
    """
    from scipy.linalg import solve_banded  # its import would take longer than an answer without bursts

    calm = births * (1 - busy_share * burst) / (1 - busy_share)
    rates, changes = np.array([births * burst, calm]), np.array([1.0, busy_share / (1 - busy_share)])
    up, down = rates / steps[:, None], deaths / steps
    likely = 2 * int(np.argmax(_birth_death(calm, deaths))) + 1
    balance = np.zeros((5, 2 * len(deaths) + 2))  # a column for each state: of each level the busy one, then the calm
    balance[0, 2:] = -np.repeat(down, 2)
    balance[1, 1::2] = -changes[1]
    balance[2] = (np.append(0.0, down)[:, None] + np.vstack([up, np.zeros(2)]) + changes).ravel()
    balance[3, ::2] = -changes[0]
    balance[4, :-2] = -up.ravel()
    for place in range(max(0, likely - 2), min(balance.shape[1], likely + 3)):
        balance[2 + likely - place, place] = place == likely
    weights = solve_banded((2, 2), balance, np.arange(balance.shape[1]) == likely)
    levels = weights.reshape(-1, 2).sum(axis=1).clip(0)
    return np.asarray(levels / levels.sum())


def _sum_of(ones: Vector, others: Vector, most: int) -> Vector:
    """Return the weights of the sum of two numbers of requests, without those that are too small in the end."""
    weights = np.convolve(ones, others)[: most + 1]
    return np.asarray(weights[: 1 + int(np.flatnonzero(weights > LEAST)[-1])], dtype=float)


def _padded(weights: Vector, most: int) -> Vector:
    return np.append(weights, np.zeros(most + 1 - len(weights)))


def _power(of_one: Vector, number: int) -> Vector:
    """Return the weights of the sum of a number of pools."""
    most, result = len(of_one) - 1, np.ones(1)
    while number:
        if number % 2:
            result = _sum_of(result, of_one, most)
        number //= 2
        of_one = _sum_of(of_one, of_one, most) if number else of_one
    return result


def _in_use(of_all: Vector, tilt: float) -> Vector:
    """Return the mean number of connections in use with 0, 1, ... requests in all pools."""
    numbers = np.arange(len(of_all))
    likely = (of_all[1:] > LEAST) & (of_all[:-1] > LEAST)
    known = np.append(0.0, tilt * of_all[:-1][likely] / of_all[1:][likely])
    return np.asarray(np.interp(numbers, np.append(0, numbers[1:][likely]), known))


def _shares(in_use: Vector, probabilities: Vector) -> Vector:
    """Return the probabilities of whole numbers of connections in use, of means between them."""
    below = in_use.astype(int)
    above = probabilities * (in_use - below)
    most = int(below.max()) + 2
    return np.asarray(np.bincount(below, probabilities - above, most) + np.bincount(below + 1, above, most), float)
