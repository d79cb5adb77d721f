"""Callers in front of a pool: who thinks, who waits for a connection, and for how long.

A finite source (the machine repairman with a server that depends on its load): so many users think, then want a
connection; with n of them wanting or having one, min(n, pool) are at work and are done at the rate that the closed
network gives that many. Being a birth-death process it is solved exactly. Beyond the pool its chances have a closed
form with one peak, so that only those around it are computed, and a million users cost hardly more than a thousand.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln

from poolsize.analysis.vector import Vector

NEGLIGIBLE = 1e-12
STEADIEST = 0.01
FAR = 12
"""Standard deviations from the peak beyond which nothing is left."""
CLASSES = 200
"""Into so many classes of equal probability a distribution of times is divided."""


@dataclass(frozen=True)
class Callers:
    """What callers get, on average.

    throughput: transactions per millisecond. at_work: connections in use. queued: callers that wait for one.
    waits_ms: CLASSES equally likely times until a connection was had, ascending.
    """

    throughput: float
    at_work: float
    queued: float
    waits_ms: Vector

    @property
    def wait_ms(self) -> float:
        """How long a caller waits for a connection, on average (Little's law)."""
        return self.queued / self.throughput

    @property
    def usage_ms(self) -> float:
        """How long a connection is held, on average (Little's law)."""
        return self.at_work / self.throughput


def callers(rates: Vector, users: int, think_ms: float, variability: float = 1.0) -> Callers:
    """Solve it. rates: transactions per ms with 1, 2, ... connections at work; as many as the pool has.

    variability: the squared coefficient of variation of a usage time. Waits are exact at 1, exponential ones; else
    the queue's departures are taken to vary as much more or less.
    """
    pool = len(rates)
    inside, chances = _chances(rates, users, think_ms)
    at_work = np.minimum(inside, pool)
    throughput = float(chances @ np.where(at_work > 0, rates[at_work - 1], 0.0))
    # Whoever comes finds the others as they are with one user fewer (Sevcik and Mitrani, 1981; Lavenberg and Reiser).
    found = chances * (users - inside) if think_ms else np.ones(1)
    ahead = inside - pool if think_ms else np.array([users - 1 - pool])
    waits = _waits(ahead, found / found.sum(), float(rates[-1]), max(variability, STEADIEST))
    return Callers(throughput, float(chances @ at_work), float(chances @ (inside - at_work)), waits)


def _chances(rates: Vector, users: int, think_ms: float) -> tuple[NDArray[np.int64], Vector]:
    """Numbers of users that want or have a connection, and how likely each is; the others are next to impossible."""
    if think_ms == 0:
        return np.array([users]), np.ones(1)
    pool = min(len(rates), users)
    few = np.arange(pool + 1)
    steps = np.log((users - few[1:] + 1) / (think_ms * rates[:pool]))
    logarithms = np.concatenate([[0.0], np.cumsum(steps)])
    thinking = think_ms * rates[-1]  # so many at the peak, if the pool is full there
    around = FAR * np.sqrt(thinking + 1) + FAR
    peak = max(pool, users - thinking)
    first, last = max(pool + 1, round(peak - around)), min(users, round(peak + around))
    many = np.arange(first, max(first, last + 1))
    beyond = gammaln(users - pool + 1) - gammaln(users - many + 1) - (many - pool) * np.log(thinking)
    together = np.concatenate([logarithms, logarithms[-1] + beyond])
    likely = np.exp(together - together.max())
    return np.concatenate([few, many]), np.asarray(likely / likely.sum())


def _waits(ahead: NDArray[np.int64], found: Vector, rate: float, variability: float) -> Vector:
    """Equally likely waits: with k ahead in the queue the time of k + 1 departures, each at the full pool's rate.

    ahead: below 0 where a connection is free.
    """
    waiting = (ahead >= 0) & (found > NEGLIGIBLE)
    levels = (np.arange(CLASSES) + 0.5) / CLASSES
    if found[waiting].sum() <= 1 - levels[-1]:
        return np.zeros(CLASSES)
    queued, weights = _thinned(ahead[waiting], found[waiting])
    longest = float((queued[-1] + 1 + 8 * np.sqrt(max(1.0, variability) * (queued[-1] + 1))) / rate)
    times = np.linspace(0, longest, 8 * CLASSES)
    later = weights @ gammaincc((queued[:, None] + 1) / variability, rate * times / variability)
    return np.asarray(np.interp(levels, 1 - later, times, left=0.0))


def _thinned(queued: NDArray[np.int64], chances: Vector) -> tuple[Vector, Vector]:
    """The same distribution with at most CLASSES lengths of the queue, each with the chance of those it stands for."""
    parts = np.array_split(np.arange(len(queued)), min(CLASSES, len(queued)))
    weights = np.array([chances[part].sum() for part in parts])
    lengths = np.array([chances[part] @ queued[part] for part in parts]) / weights
    return lengths, weights
