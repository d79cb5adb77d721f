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

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from statistics import fmean
from typing import Self

import numpy as np
from scipy.special import ndtr, stdtrit

from poolsize.analysis.by_size import BySize
from poolsize.analysis.curve import LEAST_VARIANCE, FittedCurve
from poolsize.analysis.percentile_logs import PercentileLogs
from poolsize.analysis.vector import Matrix, Vector

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
        deviations = np.sqrt(np.diagonal(self.curve.covariances, axis1=1, axis2=2) + LEAST_VARIANCE)
        least = np.log(1000 * self.users / (times_ms + self.gap_ms))
        above = ndtr((self.curve.means - least[:, None]) / deviations)
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
        room = np.min([log(limit_ms) - self._ratios(quantile) for quantile, limit_ms in limits_ms.items()], axis=0)
        kept = room >= 0 if self.littles_law is None else self.littles_law.at_most(np.exp(room))
        return np.asarray(kept.mean(axis=0))

    def _ratios(self, quantile: str) -> Matrix:
        """Return equally likely values of r at each size, ascending; shape (POINTS, sizes)."""
        logs = PercentileLogs.of(self.by_size, quantile, against_mean=self.littles_law is not None)
        mean, error, freedom = logs.at(self.sizes)
        shares = (np.arange(POINTS) + 0.5) / POINTS
        return np.asarray(mean + error * stdtrit(freedom, shares[:, None]))
