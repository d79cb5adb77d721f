"""The plateau: the smallest pool size whose throughput is within a tolerance of capacity."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp

import numpy as np
from scipy.special import ndtri

from poolsize.analysis.curve import FittedCurve
from poolsize.analysis.stats.confidence import TAILS
from poolsize.analysis.vector import Vector

TOLERANCE = 0.05
CERTAINTY = 0.8
"""Probability with which the answer must be within the tolerance (scripts/calibrate, table 2).

At 0.5 the answer is too small in every other run; at 0.9 it has twice the connections where the curve is uncertain.
"""
NEAR = 1.25
"""A measured size up to this multiple of the answer replaces an answer that was not measured."""
LEAST_PROBABILITY = 1e-9
"""A probability this near to 0 or 1 has a finite place on the normal distribution's scale."""
ROUNDING = 1e-6
"""Subtracted before a size is rounded up, so that a size that is exact but for rounding stays as it is."""
RANGE = (0.01, 0.99)
"""Quantiles of the posterior at the ends of the 95 % range (scripts/calibrate, table 1).

They are wider apart than 0.025 and 0.975, because the posterior is slightly too narrow: on recorded curves, whose
seconds wander for minutes, more than in simulations.
"""


@dataclass(frozen=True)
class Plateau:
    """The start of the plateau.

    pool_size: the smallest size within the tolerance of capacity with a probability of CERTAINTY. On a user's grid, a
    measured size may replace a size that was not measured (see _answer).
    probability: that throughput at pool_size is within the tolerance of capacity.
    low, high: the 95 % range of the plateau's start. span: its upper end as a multiple of the lower end, if capacity is
    that of the best size. threshold: (1 - tolerance) x capacity, per second.
    tolerance: share of capacity by which throughput may be lower. throughput: at pool_size, per second.
    greatest_loss: with a probability of 97.5 %, throughput at pool_size is lower than at any one other size by this
    share or less.
    """

    pool_size: int
    probability: float
    low: int
    high: int
    span: float
    threshold: float
    tolerance: float
    throughput: float
    greatest_loss: float

    @property
    def capacity(self) -> float:
        """The highest point of the fitted curve, per second; at a fixed rate, the rate."""
        return self.threshold / (1 - self.tolerance)

    @property
    def certainty(self) -> float:
        """The probability for which pool_size was chosen: CERTAINTY, or 1/2 of a measured size in its place."""
        return CERTAINTY if self.probability >= CERTAINTY else 0.5


def plateau(
    curve: FittedCurve, tolerance: float = TOLERANCE, *, of_grid: bool, certainty: float = CERTAINTY
) -> Plateau:
    """Return the plateau of a fitted curve; its start may lie between two measured sizes.

    tolerance: share of capacity. of_grid: whether the user chose the sizes, so that no size between them is measured.
    certainty: probability with which pool_size must be within the tolerance.
    """
    ratios = curve.against(curve.best_size)
    probability = ratios.at_least(1 - tolerance)
    place = _answer(curve, probability, certainty, of_grid=of_grid)
    size = curve.sizes[place]
    first, last = plateau_range(curve, tolerance)
    begun_with_best = np.maximum.accumulate(probability)
    begun_with_best[curve.sizes.index(curve.best_size) :] = 1.0
    ends = _quantiles(curve, begun_with_best, RANGE)
    highest = float(curve.against(size).quantile(TAILS[1]).max())
    return Plateau(
        pool_size=size,
        probability=float(probability[place]),
        low=min(size, first),
        high=max(size, last),
        span=2 ** float(ends[1] - ends[0]),
        threshold=(1 - tolerance) * curve.at(curve.best_size),
        tolerance=tolerance,
        throughput=float(curve.mean[place]),
        greatest_loss=1 - exp(-max(0.0, highest)),
    )


def contradicts(estimate: Plateau, pool_size: int, throughput: float) -> bool:
    """Return whether another size's measured throughput, per second, exceeds capacity by more than the tolerance."""
    return pool_size != estimate.pool_size and throughput > (1 + estimate.tolerance) * estimate.capacity


def plateau_range(
    curve: FittedCurve, tolerance: float = TOLERANCE, quantiles: tuple[float, float] = RANGE
) -> tuple[int, int]:
    """Return the lowest and the highest size at which the plateau may start: quantiles of its posterior.

    Where the steps have two levels, also those of the curve for which the levels are noise.
    """
    curves = [curve, *([curve.lower_level.of_noise] if curve.lower_level else [])]
    ends = np.array([_quantiles(each, each.begun(1 - tolerance), quantiles) for each in curves])
    return ceil(2 ** ends[:, 0].min() - ROUNDING), ceil(2 ** ends[:, 1].max() - ROUNDING)


def _quantiles(curve: FittedCurve, probability: Vector, quantiles: Sequence[float]) -> Vector:
    """Return quantiles of log2 of the plateau's start; the smallest size stands for all below.

    probability: at each size of the curve, that the plateau starts there or below. Between sizes, its normal quantile
    is linear over log2 of the size.
    """
    scale = ndtri(np.clip(probability, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY))
    return np.asarray(np.interp(ndtri(quantiles), scale, np.log2(curve.sizes)))


def _answer(curve: FittedCurve, probability: Vector, certainty: float, *, of_grid: bool) -> int:
    """Return the index of the smallest size with enough probability to be within the tolerance.

    On a user's grid, a measured size replaces a size that was not measured: the smallest measured size below, else the
    next measured size above where it is hardly larger (NEAR), with a probability of at least 1/2 each. The probability
    between measured sizes is uncertain itself.
    """
    place = int(np.argmax(probability >= certainty))
    if not of_grid or curve.sizes[place] in curve.measured:
        return place
    likely = (index for index, size in enumerate(curve.sizes) if size in curve.measured and probability[index] >= 1 / 2)
    return next((index for index in likely if curve.sizes[index] <= NEAR * curve.sizes[place]), place)


def open_loop_plateau(sizes: Sequence[int], rate: float, tolerance: float = TOLERANCE) -> Plateau:
    """Return the plateau of an open loop: the smallest measured size that served the arrival rate.

    Throughput above the rate is chance, so larger sizes are no better.
    sizes: the sizes that served the rate, ascending, not empty. rate: arrivals per second.
    """
    return Plateau(sizes[0], 1.0, sizes[0], sizes[0], 1.0, (1 - tolerance) * rate, tolerance, rate, 0.0)
