"""The pool size within the latency limits."""

from dataclasses import dataclass
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Self

from poolsize.answer.finding import Code, Finding, reason, warning
from poolsize.answer.price import price
from poolsize.answer.way_out import sweep_larger
from poolsize.errors import BadInput

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.plateau import Plateau
    from poolsize.runs.plan import SweepPlan


@dataclass(frozen=True)
class LatencyLimits:
    """Limits of the total time's p95 and p99, in milliseconds; None for no limit."""

    max_p95_ms: float | None = None
    max_p99_ms: float | None = None

    @classmethod
    def of_plan(cls, plan: "SweepPlan") -> Self:
        """Return the limits that a sweep was given."""
        return cls(plan.max_p95_ms, plan.max_p99_ms)

    @property
    def by_quantile(self) -> dict[str, float]:
        """Quantile ("p95", "p99") -> its limit in ms; empty without limits."""
        limits_ms = {"p95": self.max_p95_ms, "p99": self.max_p99_ms}
        return {quantile: limit_ms for quantile, limit_ms in limits_ms.items() if limit_ms is not None}


NO_LIMITS = LatencyLimits()


def limits_of_run(analysis: "Analysis") -> LatencyLimits:
    """Return the limits that the run's sweep was given, without those on a quantile that the run does not know."""
    known_ms = {
        f"max_{quantile}_ms": limit_ms
        for quantile, limit_ms in LatencyLimits.of_plan(analysis.setting.plan).by_quantile.items()
        if any(getattr(size.total, quantile) > 0 for size in analysis.valid_sizes)
    }
    return LatencyLimits(**known_ms)


@dataclass(frozen=True)
class LimitedSize:
    """The pool size within the latency limits.

    finding: the effect of the limits; None without limits. is_edge: whether no size is within the limits, and a larger
    size than the measured ones may be.
    """

    pool_size: int
    finding: Finding | None = None
    is_edge: bool = False


def within_limits(analysis: "Analysis", plateau: "Plateau", limits: LatencyLimits) -> LimitedSize:
    """Return the plateau's size if its latencies are within the limits, else the best size within the limits.

    The best size is the smallest whose throughput is within the tolerance of the highest within the limits. Sizes
    between measured sizes count. Where no size is within the limits, the plateau's size stays, with a warning. At a
    fixed rate it is replaced by the smallest size whose latency is the lowest but for the noise.
    Raises BadInput for a quantile that the run does not know.
    """
    limits_ms = limits.by_quantile
    if not limits_ms:
        return LimitedSize(plateau.pool_size)
    for quantile, limit_ms in limits_ms.items():
        if isnan(analysis.by_size.latency_ms(quantile, plateau.pool_size)):
            name = f"max_{quantile}_ms"
            raise BadInput(f"`{name}` {limit_ms:g}ms: the run does not know its {quantile}: leave it out")
    sizes = analysis.curve.sizes if analysis.curve else [size.pool_size for size in analysis.valid_sizes]
    within = [
        size
        for size in sizes
        if all(analysis.by_size.latency_ms(quantile, size) <= limit_ms for quantile, limit_ms in limits_ms.items())
    ]
    if not within:
        return _broken(analysis, plateau.pool_size, limits_ms)
    if plateau.pool_size in within:
        return LimitedSize(plateau.pool_size, reason(Code.LIMIT_KEPT, limits_ms=limits_ms))
    highest = max(map(analysis.fitted_at, within))
    size = next(size for size in within if analysis.fitted_at(size) >= (1 - plateau.tolerance) * highest)
    loss = price(analysis, size).throughput_loss - price(analysis, plateau.pool_size).throughput_loss
    finding = reason(
        Code.LIMIT_DECIDES, limits_ms=limits_ms, plateau_size=plateau.pool_size, throughput_loss=max(0.0, loss)
    )
    return LimitedSize(size, finding)


def _broken(analysis: "Analysis", plateau_size: int, limits_ms: dict[str, float]) -> LimitedSize:
    """Return the answer where no size is within the limits, with the lowest value of the quantile missed furthest."""
    lowest_ms = {
        quantile: min(
            (analysis.by_size.latency_ms(quantile, size.pool_size), size.pool_size) for size in analysis.valid_sizes
        )
        for quantile in limits_ms
    }
    furthest = max(limits_ms, key=lambda quantile: lowest_ms[quantile][0] / limits_ms[quantile])
    values: dict[str, Any] = {
        "limits_ms": limits_ms,
        "quantile": furthest,
        "lowest_ms": lowest_ms[furthest][0],
        "pool_size": lowest_ms[furthest][1],
    }
    plan = analysis.setting.plan
    if plan.rate is None:
        users = None if analysis.setting.recording else plan.users
        return LimitedSize(plateau_size, warning(Code.LIMIT_BROKEN, users=users, rate=None, **values))
    size = _smallest_as_fast(analysis, furthest, lowest_ms[furthest][1])
    is_edge = size == analysis.valid_sizes[-1].pool_size
    way_out = sweep_larger(analysis) if is_edge else None
    return LimitedSize(size, warning(Code.LIMIT_BROKEN, way_out, users=None, rate=plan.rate, **values), is_edge)


def _smallest_as_fast(analysis: "Analysis", quantile: str, fastest: int) -> int:
    """Return the smallest size whose quantile of the total time lies in the interval of the fastest size's quantile.

    Where that interval is not known, the fastest size itself.
    """
    interval = analysis.at(fastest).intervals.get("total", {}).get(quantile)
    if interval is None or not isfinite(interval.high):
        return fastest
    return next(size.pool_size for size in analysis.valid_sizes if getattr(size.total, quantile) <= interval.high)
