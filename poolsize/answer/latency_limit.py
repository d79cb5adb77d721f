"""The pool size within the latency limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, isnan

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.plateau import CERTAINTY, Plateau
from poolsize.answer.finding import Caution, Figures, Finding, Reason, WayOut, measure_longer, sweep_beyond
from poolsize.answer.price import throughput_loss
from poolsize.errors import BadInput

UNDECIDED = 0.1
"""From this probability of the likeliest size on, a longer measurement may show that the size keeps the limits.

A probability that is smaller by no more than this is hardly smaller.
"""
DIGITS = 6
"""Decimals of a probability; further decimals are rounding errors."""


@dataclass(frozen=True)
class LatencyLimits:
    """Limits of the total time's p95 and p99, in milliseconds; None for no limit."""

    max_p95_ms: float | None = None
    max_p99_ms: float | None = None

    @property
    def by_quantile(self) -> dict[str, float]:
        """Quantile ("p95", "p99") -> its limit in ms; empty without limits."""
        limits_ms = {"p95": self.max_p95_ms, "p99": self.max_p99_ms}
        return {quantile: limit_ms for quantile, limit_ms in limits_ms.items() if limit_ms is not None}


NO_LIMITS = LatencyLimits()


def limits_of_run(analysis: Analysis) -> LatencyLimits:
    """Return the limits that the run's sweep was given, without those on a quantile that the run does not know."""
    known_ms = {
        f"max_{quantile}_ms": limit_ms
        for quantile, limit_ms in analysis.setting.plan.limits_ms.items()
        if any(getattr(size.total, quantile) > 0 for size in analysis.valid_sizes)
    }
    return LatencyLimits(**known_ms)


class LimitKept(Reason, code="limit_kept"):
    """The plateau's size keeps the limits, in ms by quantile, with this probability."""

    limits_ms: Mapping[str, float]
    probability: float


class LimitDecides(Reason, code="limit_decides"):
    """The limits, in ms by quantile, replace the plateau's size. throughput_loss: share of capacity that they cost."""

    limits_ms: Mapping[str, float]
    probability: float
    plateau_size: int
    throughput_loss: float


class LowestQuantile(Figures):
    """The lowest value of the quantile that misses its limit by the largest factor, and the pool size that has it."""

    quantile: str
    lowest_ms: float
    pool_size: int


class LimitBroken(Caution, code="limit_broken", is_doubt=True, leads=True):
    """No size keeps the limits, in ms by quantile, with enough certainty.

    likeliest_size: the most probable, with its probability. decides: whether the limits replace the plateau's size.
    undecided: whether a longer measurement may show that a size keeps them. users, rate: the load; None where unknown
    and in a closed loop. is_edge: whether a larger size than the measured ones may keep them.
    """

    limits_ms: Mapping[str, float]
    likeliest_size: int
    decides: bool
    probability: float
    certainty: float
    undecided: bool
    users: int | None
    rate: float | None
    is_edge: bool
    lowest: LowestQuantile
    way_out: WayOut | None


@dataclass(frozen=True)
class LimitedSize:
    """The pool size within the latency limits.

    finding: the effect of the limits; None without limits. probability: that the size keeps them; None without limits.
    is_edge: whether no size certainly keeps the limits, and a larger size than the measured ones may.
    """

    pool_size: int
    finding: Finding | None = None
    probability: float | None = None
    is_edge: bool = False


def within_limits(analysis: Analysis, plateau: Plateau, limits: LatencyLimits) -> LimitedSize:
    """Return the plateau's size if it keeps the latency limits, else the best size that keeps them (size_within).

    Where no size keeps the limits, there is a warning (see _not_kept). Raises BadInput for a quantile that the run does
    not know, and for a recording whose noise is unknown.
    """
    limits_ms = limits.by_quantile
    if not limits_ms:
        return LimitedSize(plateau.pool_size)
    for quantile, limit_ms in limits_ms.items():
        if analysis.setting.means_only:
            raise BadInput(
                f"`max_{quantile}_ms` {limit_ms:g}ms: the recording has too few figures of a pool size to show how "
                "probably a size keeps the limit; leave it out"
            )
        if isnan(analysis.by_size.latency_ms(quantile, plateau.pool_size)):
            raise BadInput(f"`max_{quantile}_ms` {limit_ms:g}ms: the run does not know its {quantile}: leave it out")
    size, probabilities = analysis.size_within(limits_ms)
    if size is None:
        return _not_kept(analysis, plateau.pool_size, limits_ms, probabilities)
    if size == plateau.pool_size:
        return LimitedSize(size, LimitKept(limits_ms, probabilities[size]), probabilities[size])
    loss = throughput_loss(analysis, size) - throughput_loss(analysis, plateau.pool_size)
    finding = LimitDecides(limits_ms, probabilities[size], plateau.pool_size, throughput_loss=max(0.0, loss))
    return LimitedSize(size, finding, probabilities[size])


def _not_kept(
    analysis: Analysis, plateau_size: int, limits_ms: Mapping[str, float], probabilities: Mapping[int, float]
) -> LimitedSize:
    """Return the answer where no size keeps the limits with enough probability.

    It is the most probable size if it keeps the limits more probably than not: the measurement was too short to tell.
    The plateau's size replaces it where it is hardly less probable, and where no size is probable enough. At a fixed
    rate, the smallest size whose latency is the lowest but for the noise takes its place there.
    """
    likeliest = max(probabilities, key=lambda size: (round(probabilities[size], DIGITS), -size))
    rate, probability = analysis.setting.plan.rate, probabilities[likeliest]
    lowest_ms = {
        quantile: min(
            (analysis.by_size.latency_ms(quantile, size.pool_size), size.pool_size) for size in analysis.valid_sizes
        )
        for quantile in limits_ms
    }
    quantile = max(limits_ms, key=lambda quantile: lowest_ms[quantile][0] / limits_ms[quantile])
    lowest = LowestQuantile(quantile, *lowest_ms[quantile])
    hardly_less = probabilities[plateau_size] >= probability - UNDECIDED
    if probability >= 1 / 2 and (rate is not None or not hardly_less):
        size = likeliest
    else:
        size = plateau_size if rate is None else _smallest_as_fast(analysis, lowest)
    is_edge = rate is not None and size == analysis.valid_sizes[-1].pool_size
    undecided = probability >= UNDECIDED
    finding = LimitBroken(
        limits_ms=limits_ms,
        likeliest_size=likeliest,
        decides=size != plateau_size,
        probability=probability,
        certainty=CERTAINTY,
        undecided=undecided,
        users=analysis.setting.plan.users if rate is None and analysis.setting.recording is None else None,
        rate=rate,
        is_edge=is_edge,
        lowest=lowest,
        way_out=sweep_beyond(analysis) if is_edge else measure_longer(analysis) if undecided else None,
    )
    return LimitedSize(size, finding, probabilities[size], is_edge)


def _smallest_as_fast(analysis: Analysis, lowest: LowestQuantile) -> int:
    """Return the smallest size whose quantile of the total time lies in the interval of the fastest size's quantile.

    Where that interval is not known, the fastest size itself.
    """
    interval = analysis.at(lowest.pool_size).intervals.get("total", {}).get(lowest.quantile)
    if interval is None or not isfinite(interval.high):
        return lowest.pool_size
    return next(
        size.pool_size for size in analysis.valid_sizes if getattr(size.total, lowest.quantile) <= interval.high
    )
