"""The wait times of a queue, from the number of users ahead and from how its departures vary."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, log, log2, sqrt

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln

from poolsize.analysis.size_summary import BySize
from poolsize.analysis.stats.percentiles import quantiles
from poolsize.analysis.vector import Vector

NEGLIGIBLE = 1e-6
"""A probability of a number of users or connections, below which the number is left out."""
GROUPS = 64
"""The largest number of different lengths of the queue, or connections in use, for which times are computed."""
LEAST_VARIABILITY = 0.01
"""The lowest squared coefficient of variation for which the gamma distribution is computed."""
MOST_PAUSED = 0.9
"""The largest share of the time that pauses may take."""
CLASSES = 200
"""Classes of equal probability that stand for a distribution of times."""
POINTS = 600
"""Times at which a distribution is computed."""
FAR = 8
"""Standard deviations from the mean beyond which probabilities are negligible."""
LEVELS = 1000
"""Quantiles that are read from a histogram of wait times."""
QUARTILES = 1.349
"""Distance of a normal distribution's quartiles, in standard deviations."""
PAUSED = 5
"""Wait times met a pause if they exceed the median by more than this number of standard deviations."""
FEW_PAUSED = 0.002
"""A smaller share of such wait times is not evidence of pauses."""


@dataclass(frozen=True)
class Departures:
    """How the departures from a queue vary.

    variability: squared coefficient of variation of the time between two departures, pauses left out.
    pauses_per_ms, pause_ms: now and then there is no departure for pause_ms, as when the server flushes its pages.
    """

    variability: float = 1.0
    pauses_per_ms: float = 0.0
    pause_ms: float = 0.0

    @property
    def paused_share(self) -> float:
        """Share of the time that pauses take."""
        return min(MOST_PAUSED, self.pauses_per_ms * self.pause_ms)


@dataclass(frozen=True)
class MeasuredDepartures:
    """How the departures from the pool's queue vary, by measured pool size, ascending, not empty.

    Without think time, the queue's length is always the same: users less pool size. The wait time is then the time of
    so many departures, and its spread is theirs.
    """

    by_pool_size: Mapping[float, Departures]

    def at(self, pool_size: int) -> Departures:
        """Return the departures at a pool size, interpolated between the measured sizes over log2 of the size.

        Beyond the measured sizes they are those of the nearest.
        """
        places = [log2(measured) for measured in self.by_pool_size]
        departures = self.by_pool_size.values()
        figures = [(log(each.variability), each.pauses_per_ms, each.pause_ms) for each in departures]
        variability, per_ms, pause_ms = (
            float(np.interp(log2(pool_size), places, values)) for values in zip(*figures, strict=True)
        )
        return Departures(float(np.exp(variability)), per_ms, pause_ms)

    def variabilities(self, in_use: Vector) -> Vector:
        """Return the variability of the departures with these numbers of connections in use."""
        places = np.log2(list(self.by_pool_size))
        figures = np.log([each.variability for each in self.by_pool_size.values()])
        return np.asarray(np.exp(np.interp(np.log2(in_use), places, figures)))

    def of_share(self, instances: int) -> "MeasuredDepartures":
        """Return the departures from one of several pools, which are a random part of all departures.

        A pool's size is its share of the measured size. Pauses are the same for all pools.
        """
        return MeasuredDepartures(
            {
                size / instances: replace(departures, variability=1 + (departures.variability - 1) / instances)
                for size, departures in self.by_pool_size.items()
            }
        )

    def without(self, pool_size: int) -> "MeasuredDepartures":
        """Return the departures without those of a pool size, where there are others."""
        others = {size: departures for size, departures in self.by_pool_size.items() if size != pool_size}
        return MeasuredDepartures(others) if others else self


def measured_departures(by_size: BySize) -> MeasuredDepartures | None:
    """Return the departures of a run without think time; None where no valid size has users that wait."""
    departures: dict[float, Departures] = {}
    for size in by_size.valid:
        step = by_size.steps[size.pool_size][0]
        queues = min(size.pool_size, len(step.workers) or 1)  # each worker has its own share of the pool
        ahead = (step.users - size.pool_size) / queues
        waits = by_size.histogram("wait", size.pool_size)
        if ahead > 0 and waits is not None and size.throughput.mean:
            departures[size.pool_size] = _departures(waits, ahead, size.throughput.mean / 1000 / queues)
    return MeasuredDepartures(departures) if departures else None


def _departures(waits: HdrHistogram, number: float, rate: float) -> Departures:
    """Return the departures of which a number take the wait times. rate: departures per millisecond."""
    times_ms = quantiles(waits, ((np.arange(LEVELS) + 0.5) / LEVELS).tolist()) / 1000
    low, median, high = np.quantile(times_ms, [0.25, 0.5, 0.75])
    spread_ms = max((high - low) / QUARTILES, np.finfo(float).tiny)
    paused = times_ms > median + PAUSED * spread_ms
    pauses_per_ms = pause_ms = 0.0
    if paused.mean() >= FEW_PAUSED:
        pauses_per_ms = -log(1 - float(paused.mean())) * rate / number
        pause_ms = float(times_ms[paused].mean() - median)
    own_rate = rate / (1 - Departures(1.0, pauses_per_ms, pause_ms).paused_share)
    variability = max(float((spread_ms * own_rate) ** 2 / number), float(np.finfo(float).tiny))
    return Departures(variability, pauses_per_ms, pause_ms)


def wait_times(ahead: NDArray[np.int64], probabilities: Vector, rate: float, departures: Departures) -> Vector:
    """Return CLASSES equally likely wait times in ms: with k users ahead, the time of k + 1 departures.

    ahead: numbers of users ahead in the queue, ascending. probabilities: of these numbers.
    rate: departures per millisecond with the pool full, pauses included.

    The time of k + 1 departures is a gamma distribution, to which a Poisson number of pauses adds.
    """
    levels = (np.arange(CLASSES) + 0.5) / CLASSES
    queued, weights = thinned(ahead, probabilities)
    weights = weights / weights.sum()
    variability = max(departures.variability, LEAST_VARIABILITY)
    pauses = departures.pauses_per_ms * float(weights @ (queued + 1)) / rate
    own_rate = rate / (1 - departures.paused_share)
    least, most = float(queued[0] + 1), float(queued[-1] + 1)
    shortest_ms = max(0.0, least - FAR * sqrt(variability * least)) / own_rate
    longest_ms = (most + FAR * sqrt(max(1.0, variability) * most)) / own_rate
    most_pauses = ceil(pauses + FAR * sqrt(pauses))
    times = np.linspace(shortest_ms, longest_ms + most_pauses * departures.pause_ms, POINTS)
    later = weights @ gammaincc((queued[:, None] + 1) / variability, own_rate * times / variability)
    if pauses:
        numbers = np.arange(max(0, int(pauses - FAR * sqrt(pauses))), most_pauses + 1)
        shares = np.exp(numbers * np.log(pauses) - gammaln(numbers + 1))
        shifted = [np.interp(times - number * departures.pause_ms, times, later, left=later[0]) for number in numbers]
        later = sum(share * longer for share, longer in zip(shares / shares.sum(), shifted, strict=True))
    return np.asarray(np.interp(levels, 1 - later, times, left=0.0))


def thinned(numbers: NDArray[np.int64], probabilities: Vector) -> tuple[Vector, Vector]:
    """Return at most GROUPS means of groups of numbers, and their probabilities. Negligible ones are left out."""
    kept = np.flatnonzero(probabilities > NEGLIGIBLE * probabilities.sum())
    groups = np.array_split(kept, min(GROUPS, len(kept)))
    weights = np.array([probabilities[group].sum() for group in groups])
    means = np.array([probabilities[group] @ numbers[group] for group in groups]) / weights
    return means, weights


def usage_shape(usage: HdrHistogram | None) -> Vector:
    """Return CLASSES equally likely usage times, as multiples of their mean. usage: None for exponential ones."""
    levels = (np.arange(CLASSES) + 0.5) / CLASSES
    shape = -np.log1p(-levels) if usage is None else quantiles(usage, levels.tolist())
    return np.asarray(shape / shape.mean())
