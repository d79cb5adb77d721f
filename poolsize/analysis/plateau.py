"""The plateau: the smallest pool size whose throughput is within a tolerance of the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from poolsize.analysis.curve import Curves
from poolsize.analysis.stats.confidence import TAILS
from poolsize.analysis.vector import Matrix

TOLERANCE = 0.05
CERTAINTY = 0.75
"""How likely the answer must be within the tolerance. At a half it would be too small in one run of two, and at 0.9 an
uncertain curve would be answered with twice the connections."""
ROUNDING = 1e-6
RANGE = (0.018, 0.982)
"""Shares of the drawn curves at the ends of the range. In simulation these hold the truth in 95 of 100 runs: the drawn
curves are a little too much alike."""


@dataclass(frozen=True)
class Plateau:
    """pool_size: the smallest size that is likely (CERTAINTY) within the tolerance of the best.

    low, high: the sizes between which the plateau begins in 95 of 100 curves that the measurements allow.
    threshold: (1 - tolerance) of the best throughput, per second. throughput: at pool_size, per second.
    loss_low, loss_high: the share of the best throughput that pool_size gives up, in as many of them.
    """

    pool_size: int
    low: int
    high: int
    threshold: float
    tolerance: float
    throughput: float
    loss_low: float
    loss_high: float

    @property
    def best(self) -> float:
        """The best throughput, per second."""
        return self.threshold / (1 - self.tolerance)


def plateau(curves: Curves, tolerance: float = TOLERANCE, *, of_grid: bool = False) -> Plateau:
    """Find the plateau on curves over the sizes that were measured, and those between them.

    A size that came close by luck does not make it the answer: what counts is in how many of the curves it is within
    the tolerance of the best. of_grid: somebody chose the sizes, so that what lies between won't be measured.
    """
    efficiency = curves.efficiency()
    place = _answer(curves, efficiency, tolerance, of_grid=of_grid)
    size = curves.sizes[place]
    first, last = 2 ** np.quantile(curves.crossing(1 - tolerance), RANGE)
    losses = np.maximum(0, np.quantile(1 - efficiency[:, place], TAILS))
    mean = curves.mean
    return Plateau(
        pool_size=size,
        low=min(size, ceil(first - ROUNDING)),
        high=max(size, ceil(last - ROUNDING)),
        threshold=(1 - tolerance) * float(mean[curves.sizes.index(curves.best_size)]),
        tolerance=tolerance,
        throughput=float(mean[place]),
        loss_low=float(losses[0]),
        loss_high=float(losses[1]),
    )


def _answer(curves: Curves, efficiency: Matrix, tolerance: float, *, of_grid: bool) -> int:
    """The place of the first size that is likely enough.

    If that was not measured on a grid that somebody chose, a measured size below it will do that is as likely within
    the tolerance as not: what speaks against it is mostly how the curve was drawn between the two.
    """
    likely = (efficiency >= 1 - tolerance).mean(axis=0)
    place = int(np.argmax(likely >= min(CERTAINTY, float(likely.max()))))
    if not of_grid or curves.sizes[place] in curves.measured:
        return place
    below = (one for one in range(place) if curves.sizes[one] in curves.measured)
    return next((one for one in below if likely[one] >= 1 / 2), place)


def carrier(sizes: Sequence[int], rate: float, tolerance: float = TOLERANCE) -> Plateau:
    """The same for transactions that arrive at a rate: the smallest of the sizes that were seen to carry it.

    How much more than the rate a size happened to do is chance, and tells nothing. sizes: ascending, not empty.
    """
    return Plateau(sizes[0], sizes[0], sizes[0], (1 - tolerance) * rate, tolerance, rate, 0.0, 0.0)
