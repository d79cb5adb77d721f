"""The plateau: the smallest pool size whose throughput is within a tolerance of capacity."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from poolsize.analysis.curve import FittedCurve
from poolsize.analysis.stats.confidence import TAILS
from poolsize.analysis.vector import Vector

TOLERANCE = 0.05
CERTAINTY = 0.75
"""Probability with which the answer must be within the tolerance (scripts/calibrate, table 2).

At 0.5 the answer is too small in every other run; at 0.9 it has twice the connections where the curve is uncertain.
"""
ROUNDING = 1e-6
"""Subtracted before a size is rounded up, so that a size that is exact but for rounding stays as it is."""
RANGE = (0.018, 0.982)
"""Quantiles of the posterior samples at the ends of the 95 % range (scripts/calibrate, table 1).

They are wider apart than 0.025 and 0.975, because the posterior samples vary slightly too little.
"""


@dataclass(frozen=True)
class Plateau:
    """The start of the plateau.

    pool_size: the smallest size within the tolerance of capacity with a probability of CERTAINTY. On a user's grid, a
    measured size with a probability of 1/2 may replace a larger size that was not measured.
    probability: that throughput at pool_size is within the tolerance of capacity.
    low, high: the 95 % range of the plateau's start. threshold: (1 - tolerance) x capacity, per second.
    tolerance: share of capacity by which throughput may be lower. throughput: at pool_size, per second.
    loss_low, loss_high: 95 % range of the throughput loss at pool_size, shares of capacity.
    """

    pool_size: int
    probability: float
    low: int
    high: int
    threshold: float
    tolerance: float
    throughput: float
    loss_low: float
    loss_high: float

    @property
    def capacity(self) -> float:
        """Throughput of the best measured size on the fitted curve, per second; at a fixed rate, the rate."""
        return self.threshold / (1 - self.tolerance)


def plateau(
    curve: FittedCurve,
    tolerance: float = TOLERANCE,
    *,
    of_grid: bool,
    certainty: float = CERTAINTY,
) -> Plateau:
    """Return the plateau of a fitted curve; its start may lie between two measured sizes.

    tolerance: share of capacity. of_grid: whether the user chose the sizes, so that no size between them is measured.
    certainty: probability with which pool_size must be within the tolerance.
    """
    efficiency = curve.efficiency()
    probability = (efficiency >= 1 - tolerance).mean(axis=0)
    place = _answer(curve, probability, certainty, of_grid=of_grid)
    size = curve.sizes[place]
    first, last = plateau_range(curve, tolerance)
    losses = np.maximum(0, np.quantile(1 - efficiency[:, place], TAILS))
    mean = curve.mean
    return Plateau(
        pool_size=size,
        probability=float(probability[place]),
        low=min(size, first),
        high=max(size, last),
        threshold=(1 - tolerance) * float(mean[curve.sizes.index(curve.best_size)]),
        tolerance=tolerance,
        throughput=float(mean[place]),
        loss_low=float(losses[0]),
        loss_high=float(losses[1]),
    )


def plateau_range(
    curve: FittedCurve, tolerance: float = TOLERANCE, quantiles: tuple[float, float] = RANGE
) -> tuple[int, int]:
    """Return the lowest and the highest size at which the plateau may start: quantiles over the posterior samples."""
    first, last = 2 ** np.quantile(curve.crossing(1 - tolerance), quantiles)
    return ceil(first - ROUNDING), ceil(last - ROUNDING)


def _answer(curve: FittedCurve, probability: Vector, certainty: float, *, of_grid: bool) -> int:
    """Return the index of the smallest size with enough probability to be within the tolerance.

    On a user's grid, the answer is the smallest measured size below with a probability of at least 1/2, if there is
    such a size. Its probability is lower mostly because the curve between two measured sizes is uncertain.
    """
    place = int(np.argmax(probability >= certainty))
    if not of_grid or curve.sizes[place] in curve.measured:
        return place
    below = (smaller for smaller in range(place) if curve.sizes[smaller] in curve.measured)
    return next((smaller for smaller in below if probability[smaller] >= 1 / 2), place)


def open_loop_plateau(sizes: Sequence[int], rate: float, tolerance: float = TOLERANCE) -> Plateau:
    """Return the plateau of an open loop: the smallest measured size that served the arrival rate.

    Throughput above the rate is chance, so larger sizes are no better.
    sizes: the sizes that served the rate, ascending, not empty. rate: arrivals per second.
    """
    return Plateau(sizes[0], 1.0, sizes[0], sizes[0], (1 - tolerance) * rate, tolerance, rate, 0.0, 0.0)
