"""The logarithm of a percentile of the total time at the measured sizes, and between them, with its error."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log
from statistics import fmean
from typing import Self

import numpy as np

from poolsize.analysis.by_size import BySize
from poolsize.analysis.stats.confidence import FEWEST_SECONDS, UNKNOWN_ERROR, mean_error
from poolsize.analysis.stats.noise import Noise, inflation
from poolsize.analysis.stats.percentiles import ROUNDING, log_series
from poolsize.analysis.vector import Vector
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
        """Return the logarithms at the valid sizes whose percentile the run knows, at least one.

        against_mean: whether they are of multiples of the mean total time by Little's law.
        """
        known = [size for size in by_size.valid if getattr(size.total, quantile) > 0]
        steps = [by_size.steps[size.pool_size] for size in known]
        series = [[_series(step, quantile) for step in repeats] for repeats in steps]
        noise = Noise.of(series)
        logarithms = [log(getattr(size.total, quantile)) for size in known]
        biases = np.array([_bias(logarithm, parts, noise) for logarithm, parts in zip(logarithms, series, strict=True)])
        variances, freedoms = _errors(series, noise)
        means = np.array(logarithms) + biases
        if against_mean:
            means -= [_log_mean(repeats) for repeats in steps]
        log_sizes = np.log2([size.pool_size for size in known])
        roughness = _roughness(log_sizes, means, variances)
        return cls(log_sizes, means, variances, freedoms, roughness)

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
    """Return the logarithms of a percentile in the parts of a step: its sections, or the seconds of p95; else none."""
    if "total" in step.sections:
        return log_series(step.sections["total"][quantile])
    seconds = step.p95_ms[step.warm_up_seconds :] if quantile == "p95" else ()
    return log_series([value_ms for value_ms in seconds if value_ms > 0])


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


def _errors(series: Sequence[Sequence[Sequence[float]]], noise: Noise) -> tuple[Vector, Vector]:
    """Return the variance of each size's mean logarithm, and its degrees of freedom. series: one a repeat."""
    errors = [mean_error(repeats, noise) for repeats in series]
    variances = [(error if isfinite(error) else UNKNOWN_ERROR) ** 2 + ROUNDING**2 for error, _ in errors]
    freedoms = [freedom if isfinite(error) else NORMAL for error, freedom in errors]
    return np.array(variances), np.array(freedoms)


def _roughness(log_sizes: Vector, means: Vector, variances: Vector) -> float:
    """Return the variance by which the logarithm changes over one doubling, beyond its errors."""
    if len(means) < 2:
        return 0.0
    beyond = np.diff(means) ** 2 - variances[1:] - variances[:-1]
    return max(0.0, float(beyond.sum() / np.ptp(log_sizes)))
