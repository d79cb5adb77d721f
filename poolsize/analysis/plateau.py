"""The plateau: the smallest pool size whose throughput is within a tolerance of the best."""

from collections.abc import Sequence
from dataclasses import dataclass

from poolsize.analysis.confidence import Interval

TOLERANCE = 0.05


@dataclass(frozen=True)
class Plateau:
    """pool_size: the smallest measured size whose mean throughput reaches the threshold.

    low, high: between them lies every measured size that could be the smallest one, given the intervals.
    threshold: (1 - tolerance) of the best mean throughput, per second.
    """

    pool_size: int
    low: int
    high: int
    threshold: float
    tolerance: float


def plateau(curve: Sequence[tuple[int, Interval]], tolerance: float = TOLERANCE) -> Plateau:
    """Find the plateau on a curve of (pool size, throughput), ascending in size and not empty."""
    threshold = (1 - tolerance) * max(interval.mean for _, interval in curve)

    def first(reached: Sequence[float]) -> int:
        return next(size for (size, _), value in zip(curve, reached, strict=True) if value >= threshold)

    by_mean = first([interval.mean for _, interval in curve])
    certain = [interval.low if size >= by_mean else 0.0 for size, interval in curve]
    return Plateau(
        pool_size=by_mean,
        low=first([interval.high for _, interval in curve]),
        high=first(certain) if max(certain) >= threshold else curve[-1][0],
        threshold=threshold,
        tolerance=tolerance,
    )
