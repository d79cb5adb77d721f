"""A finite source: a fixed number of users who think, wait for a connection of a pool, or use a connection.

This is the machine repairman model with a load-dependent server. While n users wait for or have a connection,
min(n, pool size) connections are in use. Transactions end at the closed network's rate for these connections. The
model is a birth-death process, so its solution is exact. Beyond the pool size the probabilities have a closed form
with a single peak. Only the probabilities around the peak are computed, so a million users take hardly more time than
a thousand.

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
from poolsize.traffic.wait_times import Departures, wait_times

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
    numbers; a user whose request will time out is not counted. waits_ms: equally likely wait times, ascending, of the
    requests that do not time out.
    """

    throughput: float
    timeouts: float
    connections_in_use: float
    waiting_users: float
    waits_ms: Vector

    @property
    def wait_ms(self) -> float:
        """Mean wait time for a connection (Little's law)."""
        return self.waiting_users / self.throughput

    @property
    def usage_ms(self) -> float:
        """Mean usage time of a connection (Little's law)."""
        return self.connections_in_use / self.throughput


def finite_source(
    rates: Vector, users: int, think_ms: float, departures: Departures | None = None, timeout_ms: float = inf
) -> FiniteSource:
    """Return the solution for a number of users with a mean think time of think_ms; 0 for no think time.

    rates: transactions per millisecond with 1, 2, ... connections in use, one value for each connection of the pool.
    departures: how the departures from the queue vary; None for exponential times between them, with which the wait
    times are exact. timeout_ms: the longest time that a user waits for a connection.
    """
    pool, full_rate = len(rates), float(rates[-1])
    most = users if timeout_ms == inf else min(users, pool + int(full_rate * timeout_ms))
    share = _timed_out_share(rates, users, most, think_ms, timeout_ms) if most < users else 0.0
    pause_ms = think_ms + share * timeout_ms if share else think_ms
    inside, probabilities = _inside_users(rates, users, most, pause_ms)
    in_use = np.minimum(inside, pool)
    throughput = float(probabilities @ np.where(in_use > 0, rates[in_use - 1], 0.0))
    # An arriving user sees the system with one user fewer (Sevcik and Mitrani, 1981; Lavenberg and Reiser).
    seen, ahead = np.ones(1), inside[-1:] - 1 - pool
    if pause_ms and len(inside) > 1:
        joins = inside < most
        seen, ahead = probabilities[joins] * (users - inside[joins]), inside[joins] - pool
    waits = wait_times(ahead, seen / seen.sum(), full_rate, departures or Departures())
    return FiniteSource(
        throughput,
        throughput * share / (1 - share),
        float(probabilities @ in_use),
        float(probabilities @ (inside - in_use)),
        np.minimum(waits, timeout_ms),
    )


def waits_of_threads(pool_size: int, threads: int, busy: float) -> tuple[float, float]:
    """Return the mean and the p99 wait time of a process's threads, in mean usage times.

    busy: share of the connections that are in use when nobody waits. Usage times and pauses are exponential.
    """
    pause = threads / (busy * pool_size) - 1
    inside, probabilities = _inside_users(np.arange(1.0, pool_size + 1), threads, threads, pause)
    seen, ahead = probabilities * (threads - inside), np.maximum(0, inside - pool_size + 1)
    seen /= seen.sum()

    def beyond(wait: float) -> float:
        return float((seen * gammaincc(np.maximum(1, ahead), pool_size * wait))[ahead > 0].sum()) - 0.01

    longest = LONGEST * threads / pool_size  # hardly any wait is longer, even behind all other threads
    p99 = brentq(beyond, 0.0, longest) if beyond(0.0) > 0 else 0.0
    return float(seen @ ahead) / pool_size, p99


def _timed_out_share(rates: Vector, users: int, most: int, think_ms: float, timeout_ms: float) -> float:
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
        inside, probabilities = _inside_users(rates, users, most, think_ms + middle * timeout_ms)
        requests = probabilities * (users - inside)
        refused = requests[inside == most].sum() / requests.sum()
        low, high = (middle, high) if refused > middle else (low, middle)
    return low


def _inside_users(rates: Vector, users: int, most: int, pause_ms: float) -> tuple[NDArray[np.int64], Vector]:
    """Return the possible numbers of users who wait for or have a connection, and the probability of each number.

    most: the largest such number. pause_ms: mean time of a user between two requests. Numbers of negligible probability
    are left out.
    """
    if pause_ms == 0:
        return np.array([most]), np.ones(1)
    pool = min(len(rates), users)
    up_to_pool = np.arange(pool + 1)
    ratios = np.log((users - up_to_pool[1:] + 1) / (pause_ms * rates[:pool]))
    logarithms = np.concatenate([[0.0], np.cumsum(ratios)])
    outside = pause_ms * float(rates[-1])  # users outside at the peak, if the pool is full there
    around = FAR * np.sqrt(outside + 1) + FAR
    peak = min(most, max(pool, users - outside))
    first, last = max(pool + 1, round(peak - around)), min(most, round(peak + around))
    beyond_pool = np.arange(first, max(first, last + 1))
    beyond = gammaln(users - pool + 1) - gammaln(users - beyond_pool + 1) - (beyond_pool - pool) * np.log(outside)
    all_logarithms = np.concatenate([logarithms, logarithms[-1] + beyond])
    weights = np.exp(all_logarithms - all_logarithms.max())
    kept = weights > NEGLIGIBLE * weights.max()
    return np.concatenate([up_to_pool, beyond_pool])[kept], np.asarray(weights[kept] / weights[kept].sum())
