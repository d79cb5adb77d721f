"""Paired differences: whether two runs differ significantly at the same pool sizes, and on average.

Two steps of one size differ by more than their seconds show (between-step noise). It is estimated from the scatter of
repeats, and from the scatter of the differences around a straight line over log2 of the size. The difference
furthest from the line is left out, because a difference may be significant at one size only. Few sizes estimate the
noise badly, so the estimate is averaged with the usual noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, sqrt
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from poolsize.analysis.stats.confidence import CONFIDENCE
from poolsize.analysis.vector import Matrix, Vector

USUAL, WEIGHT = 0.025, 4
"""Usual between-step noise of a ratio of two steps (standard deviation), and its weight, in measured differences."""
FEWEST_SIZES = 4
"""With fewer sizes, the scatter around a line without the furthest difference can't be estimated."""
SIMULATED = 2000
"""Simulated sets of differences, which show how much leaving out the furthest difference reduces the scatter."""


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
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    @classmethod
    def of(cls, log_ratio: float, half: float) -> "Difference":
        """Return the difference that a natural logarithm of a ratio means. half: half the width of its interval."""
        return cls(exp(log_ratio) - 1, exp(log_ratio - half) - 1, exp(log_ratio + half) - 1)


def paired(pairs: Sequence[Pair]) -> tuple[Difference, Mapping[int, Difference]]:
    """Return the mean difference over the sizes, and size -> difference.

    The intervals at the sizes hold for all sizes at once (Bonferroni). They contain the true difference with
    95 % probability if the between-step noise is at most 3 %. pairs: at least one.
    """
    groups: dict[int, list[Pair]] = {}
    for pair in sorted(pairs, key=lambda pair: pair.pool_size):
        groups.setdefault(pair.pool_size, []).append(pair)
    means = np.array([fmean(pair.log_ratio for pair in group) for group in groups.values()])
    numbers = np.array([len(group) for group in groups.values()])
    own = np.array([fmean(pair.standard_error**2 for pair in group) for group in groups.values()])
    within = (own + np.median(own)) / 2  # a few seconds estimate their own error badly
    between, freedom = _between_step_variance(groups, means, numbers, own)
    variances = (within + between) / numbers
    average = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * sqrt(float(variances.mean()) / len(means))
    each = float(stdtrit(freedom, 1 - (1 - CONFIDENCE) / 2 / len(means))) * np.sqrt(variances)
    by_size = {
        size: Difference.of(float(mean), float(half)) for size, mean, half in zip(groups, means, each, strict=True)
    }
    return Difference.of(float(means.mean()), average), by_size


def _between_step_variance(
    groups: Mapping[int, Sequence[Pair]], means: Vector, numbers: NDArray[np.int64], own: Vector
) -> tuple[float, float]:
    """Return the variance that between-step noise adds to a log ratio, and the estimate's degrees of freedom.

    groups: pool size -> its pairs. One value a group: means of the log ratios; numbers of pairs; own, the mean variance
    of a log ratio from the steps' seconds.
    """
    squares, freedom = WEIGHT * USUAL**2, float(WEIGHT)
    expected = float(np.median(own))
    deviations = [pair.log_ratio - mean for group, mean in zip(groups.values(), means, strict=True) for pair in group]
    if (of_repeats := len(deviations) - len(groups)) > 0:
        squares += max(0.0, float(np.sum(np.square(deviations))) - of_repeats * expected)
        freedom += of_repeats
    if len(groups) >= FEWEST_SIZES:
        of_sizes = len(groups) - 3
        scatter = _scatter(np.log2(list(groups)), means, np.sqrt(numbers))
        squares += of_sizes * max(0.0, scatter - expected)
        freedom += of_sizes
    return squares / freedom, freedom


def _scatter(log_sizes: Vector, means: Vector, roots: Vector) -> float:
    """Return the variance of one pair around the line through the means, the furthest mean left out.

    roots: square roots of the numbers of pairs, the weights of the means.
    """
    squares = _trimmed_squares(_design(log_sizes, roots), (means * roots)[None])[0]
    return float(squares / (len(log_sizes) - 3) / _share_left(tuple(log_sizes), tuple(roots)))


def _design(log_sizes: Vector, roots: Vector) -> Matrix:
    return np.asarray(np.column_stack([roots, log_sizes * roots]))


def _trimmed_squares(design: Matrix, rows: Matrix) -> Vector:
    """Return each row's sum of squares around its line, without the value whose absence lowers the sum most."""
    hat = design @ np.linalg.pinv(design)
    residuals = rows - rows @ hat
    furthest = np.max(residuals**2 / np.maximum(1 - np.diag(hat), 1e-9), axis=1)
    return np.asarray((residuals**2).sum(axis=1) - furthest)


@lru_cache(maxsize=64)
def _share_left(log_sizes: tuple[float, ...], roots: tuple[float, ...]) -> float:
    """Return the share of pure noise's variance that is left, on average, without the furthest value."""
    noise = np.random.default_rng(0).standard_normal((SIMULATED, len(log_sizes)))
    squares = _trimmed_squares(_design(np.array(log_sizes), np.array(roots)), noise)
    return float(squares.mean() / (len(log_sizes) - 3))
