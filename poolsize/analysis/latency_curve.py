"""The latency curve: percentiles of the total time at every pool size, with their uncertainty.

In a closed loop, Little's law ties the mean total time T to throughput X: T(n) = users / X(n) - gap(n), with n the pool
size and the gap the mean time between a user's transactions. So the fitted curve of throughput gives the mean total
time at every size, with its uncertainty. A percentile is the mean times a ratio that varies slowly with the pool size:

    log p95(n) = log T(n) + r(n)

The logarithm r is known at the measured sizes, where p95 and mean are of the same seconds: what disturbs a step changes
both. Without Little's law (at an arrival rate, with an unknown number of users) T is left out, and r is the
percentile's own logarithm. The same holds where users pause most of the time: an error of throughput is then a large
error of T.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean
from typing import Self

import numpy as np
from scipy.special import ndtr, stdtrit

from poolsize.analysis.curve import FittedCurve
from poolsize.analysis.size_summary import BySize
from poolsize.analysis.stats.confidence import FEWEST_SECONDS, UNKNOWN_ERROR, Noise, inflation, mean_error
from poolsize.analysis.stats.percentiles import ROUNDING, log_series
from poolsize.analysis.vector import Matrix, Vector
from poolsize.runs.run import Step

NORMAL = 1000
"""Degrees of freedom of an error that was not estimated."""


@dataclass(frozen=True, eq=False)
class PercentileLogs:
    """Logarithms of a percentile, in ms or as a multiple of the mean total time, at the measured sizes.

    log_sizes: log2 of the sizes, ascending. means: of the logarithms. variances, freedoms: of their errors.
    roughness: variance by which the logarithm is expected to change over one doubling.
    """

    log_sizes: Vector
    means: Vector
    variances: Vector
    freedoms: Vector
    roughness: float

    @classmethod
    def of(cls, by_size: BySize, quantile: str, *, against_mean: bool) -> Self:
        """Return the logarithms at the valid sizes whose percentile the run knows, not empty.

        against_mean: whether they are of multiples of the mean total time by Little's law.
        """
        known = [size for size in by_size.valid if getattr(size.total, quantile) > 0]
        log_sizes = np.log2([size.pool_size for size in known])
        steps = [by_size.steps[size.pool_size] for size in known]
        series = [[_series(step, quantile) for step in repeats] for repeats in steps]
        noise = Noise.of(series)
        logarithms = [log(getattr(size.total, quantile)) for size in known]
        means = np.array([value + _bias(value, parts, noise) for value, parts in zip(logarithms, series, strict=True)])
        if against_mean:
            means -= [_log_mean(repeats) for repeats in steps]
        errors, freedoms = np.array([mean_error(repeats, noise) for repeats in series]).T
        estimated = np.isfinite(errors)
        variances = np.where(estimated, errors, UNKNOWN_ERROR) ** 2 + ROUNDING**2
        roughness = 0.0
        if len(means) > 1:
            beyond = np.diff(means) ** 2 - variances[1:] - variances[:-1]
            roughness = max(0.0, float(beyond.sum() / np.ptp(log_sizes)))
        return cls(log_sizes, means, variances, np.where(estimated, freedoms, NORMAL), roughness)

    def at(self, sizes: Sequence[int]) -> tuple[Vector, Vector, Vector]:
        """Return mean, standard error and degrees of freedom of the logarithm at sizes within the measured sizes.

        Between two measured sizes the logarithm is a Brownian bridge: its mean is linear over log2 of the size.
        """
        places = np.log2(sizes)
        above = np.clip(np.searchsorted(self.log_sizes, places), 0, len(self.log_sizes) - 1)
        below = np.clip(np.searchsorted(self.log_sizes, places, side="right") - 1, 0, len(self.log_sizes) - 1)
        width = self.log_sizes[above] - self.log_sizes[below]
        share = np.divide(places - self.log_sizes[below], width, out=np.zeros(len(places)), where=width > 0)
        mean = (1 - share) * self.means[below] + share * self.means[above]
        variance = (1 - share) ** 2 * self.variances[below] + share**2 * self.variances[above]
        variance += self.roughness * width * share * (1 - share)
        return mean, np.sqrt(variance), np.minimum(self.freedoms[below], self.freedoms[above])


def _log_mean(repeats: Sequence[Step]) -> float:
    """Return the logarithm of the mean total time in ms by Little's law, over the steps of one size."""
    transactions = sum(sum(step.counted) for step in repeats)
    user_ms = sum(1000 * step.users * len(step.counted) - step.gap_ms * sum(step.counted) for step in repeats)
    return log(user_ms / transactions)


def _series(step: Step, quantile: str) -> tuple[float, ...]:
    """Return the logarithms of a percentile in the parts of a step: its sections, or its seconds; else none."""
    if "total" in step.sections:
        return log_series(step.sections["total"][quantile])
    return log_series(step.counted_ms(quantile))


def _bias(logarithm: float, series: Sequence[Sequence[float]], noise: Noise) -> float:
    """Return the amount by which the logarithm of a percentile of the whole time is too low on average.

    A short time holds few of the slow moments that make a high percentile. The bias is inversely proportional to the
    number of independent parts of the time, so the parts' own percentiles show it (the jackknife: Quenouille, 1956).
    series: logarithms of the percentile in the parts of the time, one series a repeat.
    """
    long_enough = [repeat for repeat in series if len(repeat) > 1]
    if sum(map(len, long_enough)) < FEWEST_SECONDS:
        return 0.0
    independent = sum(len(repeat) / float(noise.weights @ inflation(len(repeat))) for repeat in long_enough)
    of_a_part = logarithm - fmean(value for repeat in long_enough for value in repeat)
    return max(0.0, of_a_part) / max(1.0, independent - 1)


MOST_GAP = 0.5
"""Little's law gives the mean total time where the gap is at most this share of the time between two transactions.

At this share, an error of throughput is twice as large in the mean total time.
"""
POINTS = 200
"""Number of equally likely values that stand for an uncertain ratio."""


@dataclass(frozen=True, eq=False)
class LittlesLaw:
    """The mean total time at each size of a fitted curve, by Little's law.

    curve: of throughput. users, gap_ms: at each of the curve's sizes; the gap is the mean between two transactions.
    """

    curve: FittedCurve
    users: Vector
    gap_ms: Vector

    @classmethod
    def of(cls, curve: FittedCurve | None, by_size: BySize) -> Self | None:
        """Return the mean total time of a run in a closed loop; None where throughput does not determine it."""
        steps = [by_size.steps[size.pool_size] for size in by_size.valid]
        users = [fmean(step.users for step in repeats) for repeats in steps]
        gap_ms = [fmean(step.gap_ms for step in repeats) for repeats in steps]
        rates = [size.throughput.mean for size in by_size.valid]
        if curve is None or any(
            gap * rate > 1000 * MOST_GAP * number or not rate * number
            for gap, rate, number in zip(gap_ms, rates, users, strict=True)
        ):
            return None
        measured, sizes = np.log2([size.pool_size for size in by_size.valid]), np.log2(curve.sizes)
        return cls(curve, np.interp(sizes, measured, users), np.interp(sizes, measured, gap_ms))

    def at_most(self, times_ms: Matrix) -> Matrix:
        """Return the probabilities that the mean total time is at most some times. Shape of both: (times, sizes)."""
        logs, least = self.curve.logs, np.log(1000 * self.users / (times_ms + self.gap_ms))
        above = ndtr((logs.means - least[:, None]) / logs.deviations)
        return np.asarray(np.einsum("h,ths->ts", self.curve.probabilities, above))


@dataclass(frozen=True, eq=False)
class LatencyCurve:
    """Percentiles of the total time over pool sizes.

    sizes: ascending; those of the fitted curve, or the valid sizes without a curve. by_size: the measurements.
    littles_law: the mean total time; None where it is left out (see the module).
    """

    sizes: tuple[int, ...]
    by_size: BySize
    littles_law: LittlesLaw | None

    @classmethod
    def of(cls, curve: FittedCurve | None, by_size: BySize) -> Self:
        """Return the latency curve of a run. curve: its fitted curve of throughput, if it has one."""
        sizes = curve.sizes if curve else tuple(size.pool_size for size in by_size.valid)
        return cls(sizes, by_size, LittlesLaw.of(curve, by_size))

    def probability(self, limits_ms: Mapping[str, float]) -> Vector:
        """Return the probability at each size that all limits are kept.

        limits_ms: quantile ("p95") -> the highest value of that percentile in ms; one or more, which the run knows. The
        errors of two percentiles go together: they are of one distribution.
        """
        shares, rooms = (np.arange(POINTS)[:, None] + 0.5) / POINTS, []
        for quantile, limit_ms in limits_ms.items():
            logs = PercentileLogs.of(self.by_size, quantile, against_mean=self.littles_law is not None)
            mean, error, freedom = logs.at(self.sizes)
            rooms.append(log(limit_ms) - (mean + error * stdtrit(freedom, shares)))  # r has equally likely values
        room = np.min(rooms, axis=0)
        kept = room >= 0 if self.littles_law is None else self.littles_law.at_most(np.exp(room))
        return np.asarray(kept.mean(axis=0))
