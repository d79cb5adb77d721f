"""The price table: throughput loss and latency of the other pool sizes."""

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from poolsize.answer.finding import Finding, Reason

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis

DIGITS = 6
"""Decimals of a throughput loss; further decimals are rounding errors."""


@dataclass(frozen=True)
class Price:
    """The price of a pool size.

    throughput_loss: share of capacity; negative where the measured throughput is above the fitted curve's capacity.
    p95_ms: of the total time; None where unknown.
    """

    pool_size: int
    throughput_loss: float
    p95_ms: float | None


class CurrentSize(Reason, code="current_size"):
    """The price of the user's current pool size, compared with the recommended one. p95 in ms: None where unknown.

    throughput_loss: share of capacity that the current size loses compared with pool_size; negative for a gain.
    """

    current: int
    pool_size: int
    throughput_loss: float
    p95_ms: float | None
    recommended_p95_ms: float | None


class CurrentNotMeasured(Reason, code="current_not_measured"):
    """The user's current pool size lies outside of the measured sizes, from low to high. pool_size: the recommended."""

    current: int
    pool_size: int
    low: int
    high: int


def prices(analysis: "Analysis", further_sizes: tuple[int | None, ...]) -> tuple[Price, ...]:
    """Return the price of every valid size, and of the further sizes between them, ascending in pool size."""
    measured = [size.pool_size for size in analysis.valid_sizes]
    between = [size for size in further_sizes if size and measured[0] <= size <= measured[-1]]
    return tuple(price(analysis, size) for size in sorted({*measured, *between}))


def price(analysis: "Analysis", size: int) -> Price:
    """Return the price of a size."""
    p95_ms = analysis.by_size.latency_ms("p95", size)
    return Price(size, throughput_loss(analysis, size), None if isnan(p95_ms) else p95_ms)


def throughput_loss(analysis: "Analysis", size: float) -> float:
    """Return the share of capacity that a size loses, by the fitted curve; at a fixed rate 0.

    size: a part of a connection is a mean of several pools.
    """
    if analysis.curve is None or analysis.plateau is None:
        return 0.0
    return round(1 - analysis.throughput_at(size) / analysis.plateau.capacity, DIGITS)


def current_size(analysis: "Analysis", size: int, current: int) -> Finding:
    """Return the finding that compares the user's current pool size with the recommended size."""
    low, high = analysis.valid_sizes[0].pool_size, analysis.valid_sizes[-1].pool_size
    if not low <= current <= high:
        return CurrentNotMeasured(current, size, low, high)
    recommended, now = price(analysis, size), price(analysis, current)
    loss = now.throughput_loss - recommended.throughput_loss
    return CurrentSize(current, size, loss, now.p95_ms, recommended.p95_ms)
