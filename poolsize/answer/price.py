"""The price table: throughput loss and latency of the other pool sizes."""

from dataclasses import dataclass

from poolsize.analysis.analysis import Analysis
from poolsize.answer.finding import Finding, Reason
from poolsize.answer.operating_point import AtRate, Latency

DIGITS = 6
"""Decimals of a throughput loss; further decimals are rounding errors."""


@dataclass(frozen=True)
class Price:
    """The price of a pool size.

    throughput_loss: share of capacity; negative where the measured throughput is above the fitted curve's capacity.
    fitted_loss: the same by the fitted curve, which decides the answer.
    at_rate: the latency at the operating point; None where unknown.
    """

    pool_size: int
    throughput_loss: float
    fitted_loss: float
    at_rate: AtRate | None


class CurrentSize(Reason, code="current_size"):
    """The price of the user's current pool size, compared with the recommended one.

    throughput_loss: share of capacity that the current size loses compared with pool_size; negative for a gain.
    """

    current: int
    pool_size: int
    throughput_loss: float


class CurrentNotMeasured(Reason, code="current_not_measured"):
    """The user's current pool size lies outside of the measured sizes, from low to high. pool_size: the recommended."""

    current: int
    pool_size: int
    low: int
    high: int


class CurrentNotTheLimit(Reason, code="current_not_the_limit"):
    """The user's current pool size does not limit throughput either."""

    current: int


def prices(analysis: Analysis, further_sizes: tuple[int | None, ...], latency: Latency) -> tuple[Price, ...]:
    """Return the price of every valid size, and of the further sizes between them, ascending in pool size."""
    measured = [size.pool_size for size in analysis.valid_sizes]
    between = [size for size in further_sizes if size and measured[0] <= size <= measured[-1]]
    return tuple(
        Price(size, throughput_loss(analysis, size), _loss(analysis, analysis.fitted_at(size)), latency(size))
        for size in sorted({*measured, *between})
    )


def throughput_loss(analysis: Analysis, size: float) -> float:
    """Return the share of capacity that a size loses, as measured, or by the fitted curve between measured sizes.

    0 at a fixed rate. size: a part of a connection is a mean of several pools.
    """
    return _loss(analysis, analysis.throughput_at(size))


def _loss(analysis: Analysis, throughput: float) -> float:
    if analysis.curve is None or analysis.plateau is None:
        return 0.0
    return round(1 - throughput / analysis.plateau.capacity, DIGITS)


def current_size(analysis: Analysis, size: int, current: int) -> Finding:
    """Return the finding that compares the user's current pool size with the recommended size."""
    low, high = analysis.valid_sizes[0].pool_size, analysis.valid_sizes[-1].pool_size
    if not low <= current <= high:
        return CurrentNotMeasured(current, size, low, high)
    return CurrentSize(current, size, throughput_loss(analysis, current) - throughput_loss(analysis, size))
