"""The plateau: the smallest pool size whose throughput is within a tolerance of the best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from poolsize.analysis.confidence import CONFIDENCE, Interval

TOLERANCE = 0.05
DRAWS = 4000


@dataclass(frozen=True)
class Plateau:
    """pool_size: the smallest measured size whose mean throughput reaches the threshold.

    low, high: the sizes between which it lies in 95 of 100 curves that the intervals allow.
    threshold: (1 - tolerance) of the best mean throughput, per second.
    """

    pool_size: int
    low: int
    high: int
    threshold: float
    tolerance: float


def plateau(curve: Sequence[tuple[int, Interval]], tolerance: float = TOLERANCE) -> Plateau:
    """Find the plateau on a curve of (pool size, throughput), ascending in size and not empty.

    Its range comes from drawing every size's throughput from its interval, again and again, and looking where the
    plateau of each such curve begins: the best is as uncertain as the size that comes close to it.
    """
    sizes = np.array([size for size, _ in curve])
    means = np.array([interval.mean for _, interval in curve])
    threshold = (1 - tolerance) * float(means.max())
    low, high = _range(sizes, curve, tolerance)
    return Plateau(int(sizes[np.argmax(means >= threshold)]), low, high, threshold, tolerance)


def carrier(sizes: Sequence[int], rate: float, tolerance: float = TOLERANCE) -> Plateau:
    """The same for transactions that arrive at a rate: the smallest of the sizes that were seen to carry it.

    How much more than the rate a size happened to do is chance, and tells nothing. sizes: ascending, not empty.
    """
    return Plateau(sizes[0], sizes[0], sizes[0], (1 - tolerance) * rate, tolerance)


def _range(
    sizes: "np.ndarray[tuple[int], np.dtype[np.int64]]", curve: Sequence[tuple[int, Interval]], tolerance: float
) -> tuple[int, int]:
    if any(interval.high == float("inf") for _, interval in curve):
        return int(sizes[0]), int(sizes[-1])
    means = np.array([interval.mean for _, interval in curve])
    half_widths = np.array([interval.high - interval.mean for _, interval in curve])
    deviations = half_widths / float(ndtri((1 + CONFIDENCE) / 2))
    draws = means + deviations * np.random.default_rng(0).standard_normal((DRAWS, len(means)))
    reached = draws >= (1 - tolerance) * draws.max(axis=1, keepdims=True)
    starts = np.sort(sizes[reached.argmax(axis=1)])
    tail = int(DRAWS * (1 - CONFIDENCE) / 2)
    return int(starts[tail]), int(starts[-1 - tail])
