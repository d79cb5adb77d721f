"""A finite source: a fixed number of users who think, wait for a connection of a pool, or use a connection.

This is the machine repairman model with a load-dependent server. While n users wait for or have a connection,
min(n, pool size) connections are in use. Transactions end at the closed network's rate for these connections. The
model is a birth-death process, so its solution is exact. Beyond the pool size the probabilities have a closed form
with a single peak. Only the probabilities around the peak are computed, so a million users take hardly more time than
a thousand.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln

from poolsize.analysis.vector import Vector

NEGLIGIBLE = 1e-12
"""A probability that counts as 0."""
LEAST_VARIABILITY = 0.01
"""The lowest squared coefficient of variation for which the gamma distribution is computed."""
FAR = 12
"""Standard deviations from the peak beyond which probabilities are negligible."""
CLASSES = 200
"""Classes of equal probability that stand for a distribution of times."""


@dataclass(frozen=True)
class FiniteSource:
    """The solution of the model.

    throughput: transactions per millisecond. connections_in_use, waiting_users: mean numbers.
    waits_ms: CLASSES equally likely wait times, ascending.
    """

    throughput: float
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


def finite_source(rates: Vector, users: int, think_ms: float, variability: float = 1.0) -> FiniteSource:
    """Return the solution for a number of users with a mean think time of think_ms; 0 for no think time.

    rates: transactions per millisecond with 1, 2, ... connections in use, one value for each connection of the pool.
    variability: squared coefficient of variation of usage times. Wait times are exact at 1 (exponential usage times).
    At other values the time between two departures from the queue is a gamma distribution of that variability, an
    approximation.
    """
    pool = len(rates)
    inside, probabilities = _inside_users(rates, users, think_ms)
    in_use = np.minimum(inside, pool)
    throughput = float(probabilities @ np.where(in_use > 0, rates[in_use - 1], 0.0))
    # An arriving user sees the system as it is with one user fewer (Sevcik and Mitrani, 1981; Lavenberg and Reiser).
    seen = probabilities * (users - inside) if think_ms else np.ones(1)
    ahead = inside - pool if think_ms else np.array([users - 1 - pool])
    waits = _waits(ahead, seen / seen.sum(), float(rates[-1]), max(variability, LEAST_VARIABILITY))
    return FiniteSource(throughput, float(probabilities @ in_use), float(probabilities @ (inside - in_use)), waits)


def _inside_users(rates: Vector, users: int, think_ms: float) -> tuple[NDArray[np.int64], Vector]:
    """Return the possible numbers of users who wait for or have a connection, and the probability of each number.

    Numbers of negligible probability are left out.
    """
    if think_ms == 0:
        return np.array([users]), np.ones(1)
    pool = min(len(rates), users)
    up_to_pool = np.arange(pool + 1)
    ratios = np.log((users - up_to_pool[1:] + 1) / (think_ms * rates[:pool]))
    logarithms = np.concatenate([[0.0], np.cumsum(ratios)])
    thinking = think_ms * rates[-1]  # thinking users at the peak, if the pool is full there
    around = FAR * np.sqrt(thinking + 1) + FAR
    peak = max(pool, users - thinking)
    first, last = max(pool + 1, round(peak - around)), min(users, round(peak + around))
    beyond_pool = np.arange(first, max(first, last + 1))
    beyond = gammaln(users - pool + 1) - gammaln(users - beyond_pool + 1) - (beyond_pool - pool) * np.log(thinking)
    all_logarithms = np.concatenate([logarithms, logarithms[-1] + beyond])
    weights = np.exp(all_logarithms - all_logarithms.max())
    return np.concatenate([up_to_pool, beyond_pool]), np.asarray(weights / weights.sum())


def _waits(ahead: NDArray[np.int64], probabilities: Vector, rate: float, variability: float) -> Vector:
    """Return CLASSES equally likely wait times in ms: with k users ahead, the time of k + 1 departures.

    ahead: numbers of users ahead in the queue; below 0 a connection is free. probabilities: of these numbers.
    rate: departures per millisecond with the pool full.
    """
    waiting = (ahead >= 0) & (probabilities > NEGLIGIBLE)
    levels = (np.arange(CLASSES) + 0.5) / CLASSES
    if probabilities[waiting].sum() <= 1 - levels[-1]:
        return np.zeros(CLASSES)
    queued, weights = _thinned(ahead[waiting], probabilities[waiting])
    longest = float((queued[-1] + 1 + 8 * np.sqrt(max(1.0, variability) * (queued[-1] + 1))) / rate)
    times = np.linspace(0, longest, 8 * CLASSES)
    later = weights @ gammaincc((queued[:, None] + 1) / variability, rate * times / variability)
    return np.asarray(np.interp(levels, 1 - later, times, left=0.0))


def _thinned(queued: NDArray[np.int64], probabilities: Vector) -> tuple[Vector, Vector]:
    """Return at most CLASSES lengths of the queue, each the mean of a group, and each group's probability."""
    groups = np.array_split(np.arange(len(queued)), min(CLASSES, len(queued)))
    weights = np.array([probabilities[group].sum() for group in groups])
    lengths = np.array([probabilities[group] @ queued[group] for group in groups]) / weights
    return lengths, weights
