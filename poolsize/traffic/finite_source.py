"""A finite source: a fixed number of users who think, wait for a connection of a pool, or use a connection.

This is the machine repairman model with a load-dependent server. While n users wait for or have a connection,
min(n, pool size) connections are in use. Transactions end at the closed network's rate for these connections. With
exponential times the model is a birth-death process, and its solution is exact. Beyond the pool size the probabilities
have a closed form with a single peak. Only the probabilities around the peak are computed, so a million users take
hardly more time than a thousand.

Departures that vary more or less than exponential ones make the queue longer or shorter: as in a diffusion, the
logarithms of the probabilities' ratios are multiplied by 2 / (1 + variability) (compare Allen and Cunneen; Allen 1990).
Connections in use that do not slow each other down are in no queue, and have the factor 1. In between, the factor
follows the elasticity of the rate. tests/predict/test_accuracy.py holds the bounds of the errors.

A user who would wait longer than the timeout gives up after it. To the queue, such a user is never there: a request
that finds as many users ahead as the pool serves within the timeout is a longer pause (compare balking, Barrer 1957).
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaincc, gammaln

from poolsize.analysis.vector import Vector
from poolsize.traffic.wait_times import CLASSES, Departures, MeasuredDepartures, wait_times

NEGLIGIBLE = 1e-12
"""A probability that counts as 0, as a share of the highest."""
FAR = 12
"""Standard deviations from the peak beyond which probabilities are negligible."""
LONGEST = 20
"""Times the mean wait behind all threads of a process: longer waits are negligible."""
CERTAIN = 100
"""With as many timeouts among the requests in the queue, the queue is always as long as the timeout permits."""
HALVINGS = 20
"""Steps of the search for the share of timeouts."""


@dataclass(frozen=True)
class FiniteSource:
    """The solution of the model.

    throughput, timeouts: transactions and timed-out requests per millisecond. connections_in_use, waiting_users: mean
    numbers; a user whose request will time out is not counted. found: probabilities that a request that does not time
    out finds 0, 1, ... connections in use; with all of them in use it waits. waits_ms: equally likely wait times,
    ascending, of the requests that wait and do not time out.
    """

    throughput: float
    timeouts: float
    connections_in_use: float
    waiting_users: float
    found: Vector
    waits_ms: Vector

    @property
    def wait_ms(self) -> float:
        """Mean wait time for a connection (Little's law)."""
        return self.waiting_users / self.throughput

    @property
    def usage_ms(self) -> float:
        """Mean usage time of a connection (Little's law)."""
        return self.connections_in_use / self.throughput

    def wait_quantile_ms(self, share: float) -> float:
        """Return the wait time that this share of the requests does not exceed."""
        waiting = float(self.found[-1])
        return float(np.quantile(self.waits_ms, (share - 1 + waiting) / waiting)) if share > 1 - waiting else 0.0


def finite_source(
    rates: Vector, users: int, think_ms: float, departures: MeasuredDepartures | None = None, timeout_ms: float = inf
) -> FiniteSource:
    """Return the solution for a number of users with a mean think time of think_ms; 0 for no think time.

    rates: transactions per millisecond with 1, 2, ... connections in use, one value for each connection of the pool.
    departures: how the departures vary by connections in use; None for exponential times between them, with which the
    wait times are exact. timeout_ms: the longest time that a user waits for a connection.
    """
    pool, full_rate = len(rates), float(rates[-1])
    numbers = np.arange(1.0, pool + 1)
    factors = _queue_factors(rates, departures.variabilities(numbers)) if departures else np.ones(pool + 1)
    most = users if timeout_ms == inf else min(users, pool + int(full_rate * timeout_ms))
    share = _timed_out_share(rates, factors, users, most, think_ms, timeout_ms) if most < users else 0.0
    pause_ms = think_ms + share * timeout_ms if share else think_ms
    inside, probabilities = _inside_users(rates, users, most, pause_ms, factors)
    in_use = np.minimum(inside, pool)
    throughput = float(probabilities @ np.where(in_use > 0, rates[in_use - 1], 0.0))
    if think_ms and not share:
        throughput = float(probabilities @ (users - inside)) / think_ms  # Little's law, also with the factors
    # An arriving user sees the system with one user fewer (Sevcik and Mitrani, 1981; Lavenberg and Reiser).
    seen, others = np.ones(1), inside[-1:] - 1
    if pause_ms and len(inside) > 1:
        joins = inside < most
        seen, others = probabilities[joins] * (users - inside[joins]), inside[joins]
    seen = seen / seen.sum()
    waiting, waits_ms = others >= pool, np.zeros(CLASSES)
    if seen[waiting].any():
        at_full = departures.at(pool) if departures else Departures()
        waits_ms = wait_times(others[waiting] - pool, seen[waiting], full_rate, at_full)
    return FiniteSource(
        throughput,
        throughput * share / (1 - share),
        float(probabilities @ in_use),
        float(probabilities @ (inside - in_use)),
        np.asarray(np.bincount(np.minimum(others, pool), seen, pool + 1), float),
        np.minimum(waits_ms, timeout_ms),
    )


def _queue_factors(rates: Vector, variabilities: Vector) -> Vector:
    """Return the factors of the ratios' logarithms with 1, 2, ... users inside; the last is beyond the pool size."""
    numbers = np.arange(1, len(rates) + 1)
    elasticity = np.append(1.0, np.diff(np.log(rates)) / np.diff(np.log(numbers)))
    in_queue = 2 / (1 + variabilities)
    return np.append(in_queue + np.clip(elasticity, 0.0, 1.0) * (1 - in_queue), in_queue[-1])


def waits_of_threads(pool_size: int, threads: int, busy: float) -> tuple[float, float]:
    """Return the mean and the p99 wait time of a process's threads, in mean usage times.

    busy: share of the connections that are in use when nobody waits. Usage times and pauses are exponential.
    """
    pause = threads / (busy * pool_size) - 1
    inside, probabilities = _inside_users(
        np.arange(1.0, pool_size + 1), threads, threads, pause, np.ones(pool_size + 1)
    )
    seen, ahead = probabilities * (threads - inside), np.maximum(0, inside - pool_size + 1)
    seen /= seen.sum()

    def beyond(wait: float) -> float:
        return float((seen * gammaincc(np.maximum(1, ahead), pool_size * wait))[ahead > 0].sum()) - 0.01

    longest = LONGEST * threads / pool_size  # hardly any wait is longer, even behind all other threads
    p99 = brentq(beyond, 0.0, longest) if beyond(0.0) > 0 else 0.0
    return float(seen @ ahead) / pool_size, p99


def _timed_out_share(
    rates: Vector, factors: Vector, users: int, most: int, think_ms: float, timeout_ms: float
) -> float:
    """Return the share of the requests that time out: those that find the queue as long as the timeout permits.

    most: the largest number of users that wait for or have a connection.
    """
    beyond, full_rate = users - most, float(rates[-1])
    always = (beyond - full_rate * think_ms) / (beyond + full_rate * timeout_ms)
    if always * (most - len(rates)) > CERTAIN:
        return always
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside, probabilities = _inside_users(rates, users, most, think_ms + middle * timeout_ms, factors)
        requests = probabilities * (users - inside)
        refused = requests[inside == most].sum() / requests.sum()
        low, high = (middle, high) if refused > middle else (low, middle)
    return low


def _inside_users(
    rates: Vector, users: int, most: int, pause_ms: float, factors: Vector
) -> tuple[NDArray[np.int64], Vector]:
    """Return the possible numbers of users who wait for or have a connection, and the probability of each number.

    most: the largest such number. pause_ms: mean time of a user between two requests. factors: as _queue_factors has
    them; 1 for exponential times. Numbers of negligible probability are left out.
    """
    if pause_ms == 0:
        return np.array([most]), np.ones(1)
    pool, in_queue = min(len(rates), users), float(factors[-1])
    up_to_pool = np.arange(pool + 1)
    ratios = factors[:pool] * np.log((users - up_to_pool[1:] + 1) / (pause_ms * rates[:pool]))
    logarithms = np.concatenate([[0.0], np.cumsum(ratios)])
    outside = pause_ms * float(rates[-1])  # users outside at the peak, if the pool is full there
    around = FAR * np.sqrt((outside + 1) / in_queue) + FAR / in_queue
    peak = min(most, max(pool, users - outside))
    first, last = max(pool + 1, round(peak - around)), min(most, round(peak + around))
    beyond_pool = np.arange(first, max(first, last + 1))
    shifted = max(outside + (1 - 1 / in_queue) / 2, outside / 2)  # so that the factor leaves the mean as it is
    beyond = gammaln(users - pool + 1) - gammaln(users - beyond_pool + 1) - (beyond_pool - pool) * np.log(shifted)
    all_logarithms = np.concatenate([logarithms, logarithms[-1] + in_queue * beyond])
    weights = np.exp(all_logarithms - all_logarithms.max())
    kept = weights > NEGLIGIBLE * weights.max()
    return np.concatenate([up_to_pool, beyond_pool])[kept], np.asarray(weights[kept] / weights[kept].sum())
