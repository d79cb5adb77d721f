"""Paired differences: whether two runs differ significantly at the same pool sizes, and on average.

Two steps of one size differ by more than their seconds show (between-step noise), at some sizes by much more than at
others. So each size has a variance of its own: the usual noise, which counts as a few pairs, and the scatter of the
size's repeats (a moderated t; Smyth, 2004). The average weights the sizes by their precision. Its interval has the
scatter of the differences between the sizes, all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from statistics import fmean

import numpy as np
from scipy.special import stdtrit

from poolsize.analysis.stats.confidence import CONFIDENCE, TAILS
from poolsize.analysis.vector import Vector
from poolsize.units import FloatOrNull

USUAL = 0.02
"""Usual between-step noise of a ratio of two steps."""
WEIGHT = 3
"""Pairs of steps as which the usual noise counts in the variance at a size.

With fewer, a throughput that is lower by a quarter would not be found with one step a size. With more, the recorded
noise of read-write loads is found significant too often (tests/comparison/test_recorded_pairs.py).
"""
WEIGHT_OF_AVERAGE = 1
"""Sizes as which the sizes' own variances count in the scatter of the sizes around the average."""


@dataclass(frozen=True)
class Pair:
    """Two steps of one pool size, one from each run.

    log_ratio: natural logarithm of second / first. standard_error: of log_ratio, from the seconds of the steps.
    """

    pool_size: int
    log_ratio: float
    standard_error: float


@dataclass(frozen=True)
class Difference:
    """The relative difference of the second run from the first, with its 95 % interval.

    mean, low, high: shares of the first run's value; 0.05 is 5 % more.
    """

    mean: float
    low: float
    high: FloatOrNull

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    @classmethod
    def of(cls, log_ratio: float, half: float) -> "Difference":
        """Return the difference that a natural logarithm of a ratio means. half: half the width of its interval."""
        return cls(exp(log_ratio) - 1, exp(log_ratio - half) - 1, exp(log_ratio + half) - 1)


def paired(pairs: Sequence[Pair]) -> tuple[Difference, Mapping[int, Difference]]:
    """Return the mean difference over the sizes, weighted by their precision, and size -> difference.

    With one size, both are the same. The intervals at the sizes hold for all sizes at once (Bonferroni).
    pairs: not empty.
    """
    groups: dict[int, list[Pair]] = {}
    for pair in sorted(pairs, key=lambda pair: pair.pool_size):
        groups.setdefault(pair.pool_size, []).append(pair)
    means = np.array([fmean(pair.log_ratio for pair in group) for group in groups.values()])
    variances, freedoms = np.array([_variance_of_mean(group) for group in groups.values()]).T
    each = stdtrit(freedoms, 1 - (1 - CONFIDENCE) / 2 / len(means)) * np.sqrt(variances)
    by_size = {
        size: Difference.of(float(mean), float(half)) for size, mean, half in zip(groups, means, each, strict=True)
    }
    return (_average(means, variances) if len(means) > 1 else by_size[pairs[0].pool_size]), by_size


def _variance_of_mean(group: Sequence[Pair]) -> tuple[float, float]:
    """Return the variance of the mean log ratio of the pairs of one size, and its degrees of freedom."""
    mean = fmean(pair.log_ratio for pair in group)
    scatter = sum((pair.log_ratio - mean) ** 2 for pair in group)
    usual = USUAL**2 + fmean(pair.standard_error**2 for pair in group)
    freedom = WEIGHT + len(group) - 1
    return (WEIGHT * usual + scatter) / freedom / len(group), freedom


def _average(means: Vector, variances: Vector) -> Difference:
    """Return the mean difference. means: of the log ratios, one a size. variances: of these means.

    A variance of few pairs may be much too small by chance. So the median variance is added to each of them, and no
    size weighs more than twice as much as the median.
    """
    weights = 1 / (variances + np.median(variances))
    weights /= weights.sum()
    mean = float(weights @ means)
    freedom = len(means) - 1 + WEIGHT_OF_AVERAGE
    scatter = float(weights @ (means - mean) ** 2) + WEIGHT_OF_AVERAGE * float(weights**2 @ variances)
    return Difference.of(mean, float(stdtrit(freedom, TAILS[1])) * sqrt(scatter / freedom))
