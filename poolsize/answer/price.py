"""The price of other sizes, and the size that keeps a latency limit."""

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from poolsize.errors import BadInput
from poolsize.units import count, milliseconds, percent

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.plateau import Plateau

DIGITS = 6
"""Of a loss; what is left beyond them is how floats are added."""
PROBABLY_SAME = 1.1
"""Latencies that differ by less than this factor are told as about the same."""


@dataclass(frozen=True)
class Wishes:
    """What the user wants besides throughput. current: the pool's size today. max_p95_ms, max_p99_ms: of the total."""

    current: int | None = None
    max_p95_ms: float | None = None
    max_p99_ms: float | None = None

    def __post_init__(self) -> None:
        """Raise BadInput for what nobody can have."""
        if self.current is not None and self.current < 1:
            raise BadInput(f"--current {self.current}: a pool has at least 1 connection")

    @property
    def limits(self) -> tuple[tuple[str, float], ...]:
        """Quantile and its limit in ms."""
        wanted = (("p95", self.max_p95_ms), ("p99", self.max_p99_ms))
        return tuple((quantile, limit) for quantile, limit in wanted if limit is not None)


@dataclass(frozen=True)
class Neighbour:
    """What another size would cost: a share of the best throughput lost, and callers' p95 (total) there.

    p95_ms: None where nothing tells it.
    """

    pool_size: int
    throughput_loss: float
    p95_ms: float | None


def neighbours(analysis: "Analysis", others: tuple[int | None, ...]) -> tuple[Neighbour, ...]:
    """Every size that was measured, and the others that lie between those; ascending."""
    measured = [size.pool_size for size in analysis.telling]
    between = [size for size in others if size and measured[0] <= size <= measured[-1]]
    return tuple(neighbour(analysis, size) for size in sorted({*measured, *between}))


def neighbour(analysis: "Analysis", size: int) -> Neighbour:
    """What one size costs, by the curve through all that was measured."""
    p95_ms = analysis.latency_ms_at("p95", size)
    loss = 0.0
    if analysis.curves is not None and analysis.plateau is not None:
        loss = max(0.0, round(1 - analysis.throughput_at(size) / analysis.plateau.best, DIGITS))
    return Neighbour(size, loss, None if isnan(p95_ms) else p95_ms)


def compared(analysis: "Analysis", size: int, current: int) -> str:
    """What the user's current size costs against the recommended one, in a sentence."""
    low, high = analysis.telling[0].pool_size, analysis.telling[-1].pool_size
    if not low <= current <= high:
        return (
            f"Your {current} lies outside of the sizes measured ({low} to {high}), so its cost is not known: "
            f"measure it with --pool-sizes {size},{current}."
        )
    ours, theirs = neighbour(analysis, size), neighbour(analysis, current)
    lost = theirs.throughput_loss - ours.throughput_loss
    throughput = f"costs {percent(lost)} throughput" if lost >= 0 else f"gains {percent(-lost)} throughput"
    if current == size:
        return f"Your {current} is the recommended size."
    if not ours.p95_ms or not theirs.p95_ms:
        return f"Your {current} {throughput} against {size}."
    times = theirs.p95_ms / ours.p95_ms
    latency = f"{times:.2g}x p95" if not 1 / PROBABLY_SAME < times < PROBABLY_SAME else "about the same p95"
    return f"Your {current} {throughput} and has {latency} against {size}."


@dataclass(frozen=True)
class Limited:
    """The size under the latency limits. reason: what they made of it; warning: if no size keeps them. Or empty."""

    pool_size: int
    reason: str = ""
    warning: str = ""


def within_limits(analysis: "Analysis", found: "Plateau", wishes: Wishes) -> Limited:
    """The plateau's size if it keeps the latency limits, else the best of those that do.

    That is the smallest within the tolerance of the most throughput that they allow; sizes between measured ones count.
    Raises BadInput for a latency that the run does not have.
    """
    if not wishes.limits:
        return Limited(found.pool_size)
    told = " and ".join(f"{quantile} within {milliseconds(limit)}" for quantile, limit in wishes.limits)
    for quantile, limit in wishes.limits:
        if isnan(analysis.latency_ms_at(quantile, found.pool_size)):
            raise BadInput(f"--max-{quantile} {limit:g}ms: the run does not know its {quantile}: leave it out")
    sizes = analysis.curves.sizes if analysis.curves else [size.pool_size for size in analysis.telling]
    kept = [
        size
        for size in sizes
        if all(analysis.latency_ms_at(quantile, size) <= limit for quantile, limit in wishes.limits)
    ]
    if not kept:
        return Limited(found.pool_size, warning=_unkept(analysis, told, wishes))
    if found.pool_size in kept:
        return Limited(found.pool_size, f"It keeps {told}.")
    most = max(map(analysis.throughput_at, kept))
    size = next(size for size in kept if analysis.throughput_at(size) >= (1 - found.tolerance) * most)
    lost = neighbour(analysis, size).throughput_loss - neighbour(analysis, found.pool_size).throughput_loss
    does = f", which does {percent(lost)} more" if lost > 0 else ""
    return Limited(size, f"It is what keeps {told}: for throughput alone it would be {found.pool_size}{does}.")


def _unkept(analysis: "Analysis", told: str, wishes: Wishes) -> str:
    """That no size keeps the limits, and how near the one that is missed furthest comes."""
    measured = [size.pool_size for size in analysis.telling]
    lowest = {
        quantile: min((analysis.latency_ms_at(quantile, size), size) for size in measured)
        for quantile, _ in wishes.limits
    }
    quantile, _ = max(wishes.limits, key=lambda limit: lowest[limit[0]][0] / limit[1])
    lowest_ms, fastest = lowest[quantile]
    callers = "" if analysis.setting.recording else f" with {count(analysis.setting.plan.users, 'caller')}"
    return (
        f"No size kept {told}{callers}: the lowest {quantile} was {milliseconds(lowest_ms)}, at "
        f"{count(fastest, 'connection')}. A pool's size can't do that: it takes fewer callers, or less work in a "
        "transaction."
    )
