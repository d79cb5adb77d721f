"""The price table: what other pool sizes cost in throughput and latency."""

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from poolsize.answer.finding import Code, Finding, reason

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis

DIGITS = 6
"""Of a loss; further digits are how floats are added."""


@dataclass(frozen=True)
class Price:
    """The cost of a pool size. throughput_loss: share of capacity. p95_ms: of the total time; None where unknown."""

    pool_size: int
    throughput_loss: float
    p95_ms: float | None


def prices(analysis: "Analysis", others: tuple[int | None, ...]) -> tuple[Price, ...]:
    """Return the price of every measured size, and of the others that lie between those; ascending."""
    measured = [size.pool_size for size in analysis.valid_sizes]
    between = [size for size in others if size and measured[0] <= size <= measured[-1]]
    return tuple(price(analysis, size) for size in sorted({*measured, *between}))


def price(analysis: "Analysis", size: int) -> Price:
    """Return the price of one size, by the fitted curve."""
    p95_ms = analysis.by_size.latency_ms("p95", size)
    loss = 0.0
    if analysis.curve is not None and analysis.plateau is not None:
        loss = max(0.0, round(1 - analysis.throughput_at(size) / analysis.plateau.capacity, DIGITS))
    return Price(size, loss, None if isnan(p95_ms) else p95_ms)


def current_size(analysis: "Analysis", size: int, current: int) -> Finding:
    """Return what the user's current size costs against the recommended one."""
    low, high = analysis.valid_sizes[0].pool_size, analysis.valid_sizes[-1].pool_size
    if not low <= current <= high:
        return reason(Code.CURRENT_NOT_MEASURED, current=current, pool_size=size, low=low, high=high)
    ours, theirs = price(analysis, size), price(analysis, current)
    return reason(
        Code.CURRENT_SIZE,
        current=current,
        pool_size=size,
        throughput_loss=theirs.throughput_loss - ours.throughput_loss,
        p95_ratio=theirs.p95_ms / ours.p95_ms if ours.p95_ms and theirs.p95_ms else None,
    )
