"""Paired differences: two runs' steps at the same pool sizes, and whether what is between them is more than chance.

Two steps of one size differ by more than their seconds show. By how much is told from what repeats leave open, and from
how the differences scatter around a straight line over log2 of the size, but for the one that is furthest from it: a
difference may be real at one size only. Few sizes tell that badly, so it is weighed against what is usual.
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
from poolsize.analysis.vector import Vector

USUAL, WEIGHT = 0.025, 4
"""What two steps of one size disturb their ratio by (standard deviation), and as how many differences that counts."""
FEWEST = 4
"""Sizes from which a scatter around a line, without its furthest, can be told."""
SIMULATED = 2000


@dataclass(frozen=True)
class Pair:
    """Two steps of one size. ratio: natural logarithm of second / first. error: its standard error by their seconds."""

    pool_size: int
    ratio: float
    error: float


@dataclass(frozen=True)
class Difference:
    """A share more (0.05 is 5 % more) or less, with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def real(self) -> bool:
        """Whether chance alone does not make it."""
        return self.low > 0 or self.high < 0

    @classmethod
    def of(cls, ratio: float, half: float) -> "Difference":
        """From a natural logarithm and half the width of its interval; turned round it is the same."""
        return cls(exp(ratio) - 1, exp(ratio - half) - 1, exp(ratio + half) - 1)


def paired(pairs: Sequence[Pair]) -> tuple[Difference, Mapping[int, Difference]]:
    """The difference on average over the sizes, and at each size with intervals that hold at all of them at once.

    pairs: at least one. The intervals hold where steps of one run differ by up to 3 % beyond what their seconds show.
    """
    groups: dict[int, list[Pair]] = {}
    for pair in sorted(pairs, key=lambda pair: pair.pool_size):
        groups.setdefault(pair.pool_size, []).append(pair)
    means = np.array([fmean(pair.ratio for pair in group) for group in groups.values()])
    numbers = np.array([len(group) for group in groups.values()])
    own = np.array([fmean(pair.error**2 for pair in group) for group in groups.values()])
    within = (own + np.median(own)) / 2  # a few seconds know their own error badly
    disturbance, freedom = _disturbance(groups, means, numbers, own)
    variances = (within + disturbance) / numbers
    average = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * sqrt(float(variances.mean()) / len(means))
    each = float(stdtrit(freedom, 1 - (1 - CONFIDENCE) / 2 / len(means))) * np.sqrt(variances)
    by_size = {
        size: Difference.of(float(mean), float(half)) for size, mean, half in zip(groups, means, each, strict=True)
    }
    return Difference.of(float(means.mean()), average), by_size


def _disturbance(
    groups: Mapping[int, Sequence[Pair]], means: Vector, numbers: NDArray[np.int64], own: Vector
) -> tuple[float, float]:
    """Variance of a pair's ratio beyond its seconds' error, and as how many differences it is known."""
    known, freedom = WEIGHT * USUAL**2, float(WEIGHT)
    expected = float(np.median(own))
    repeats = [pair.ratio - mean for group, mean in zip(groups.values(), means, strict=True) for pair in group]
    if (of_repeats := len(repeats) - len(groups)) > 0:
        known += max(0.0, float(np.sum(np.square(repeats))) - of_repeats * expected)
        freedom += of_repeats
    if len(groups) >= FEWEST:
        of_sizes = len(groups) - 3
        scatter = _scatter(np.log2(list(groups)), means, np.sqrt(numbers))
        known += of_sizes * max(0.0, scatter - expected)
        freedom += of_sizes
    return known / freedom, freedom


def _scatter(places: Vector, means: Vector, roots: Vector) -> float:
    """Variance of one pair around the line through the means, the furthest from it left out."""
    trimmed = _trimmed(_design(places, roots), (means * roots)[None])[0]
    return float(trimmed / (len(places) - 3) / _share_left(tuple(places), tuple(roots)))


def _design(places: Vector, roots: Vector) -> Vector:
    return np.asarray(np.column_stack([roots, places * roots]))


def _trimmed(design: Vector, rows: Vector) -> Vector:
    """Sums of squares around a line that leaves out, in each row, the value whose absence lowers it most."""
    hat = design @ np.linalg.pinv(design)
    rest = rows - rows @ hat
    furthest = np.max(rest**2 / np.maximum(1 - np.diag(hat), 1e-9), axis=1)
    return np.asarray((rest**2).sum(axis=1) - furthest)


@lru_cache(maxsize=64)
def _share_left(places: tuple[float, ...], roots: tuple[float, ...]) -> float:
    """What leaving out the furthest keeps of the variance, on average over differences that are only noise."""
    noise = np.random.default_rng(0).standard_normal((SIMULATED, len(places)))
    sums = _trimmed(_design(np.array(places), np.array(roots)), noise)
    return float(sums.mean() / (len(places) - 3))
