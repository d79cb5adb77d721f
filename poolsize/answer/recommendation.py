"""Analysis + facts -> Recommendation: a size, the range it can't be told apart from, and when to say no."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolsize.answer.findings import reasons, warnings
from poolsize.answer.price import Neighbour, Wishes, neighbours, within_limits
from poolsize.answer.verdict import Verdict, sizes_beyond, verdict, why_no_size
from poolsize.errors import WorkFailed
from poolsize.formula import StartingPoint, starting_point

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.bimodal import Kind

NO_WISHES = Wishes()


@dataclass(frozen=True)
class Formula:
    """The formula's answer for the database's host: connections = cores * 2 + effective_disks."""

    cores: int
    effective_disks: float
    connections: int


@dataclass(frozen=True)
class PoolOfTwo:
    """One of two pools, for one kind of transactions; its size is its part of the whole."""

    pool_size: int
    kind: "Kind"


@dataclass(frozen=True)
class Recommendation:
    """The answer.

    basis: "formula" before anything was measured, else "measured".
    pool_size: connections for all clients of the database together; None where the verdict forbids a number.
    range: sizes that can't be told apart from it; for a formula, the sizes to look at first.
    verdict: None for a formula; "measured"; "edge": the best lies at the end of what was swept;
        "users-limited": the curve went flat because callers ran out; "generator-limited": a load process
        was the bottleneck; "noisy": the sizes can't be told apart, so there is no number.
    throughput: transactions per second at pool_size, None for a formula.
    database_size: what the server alone needs, whatever the client, inferred from what a transaction takes of its
        processor; None where something else holds it, or that was not measured. database_range: its smallest and
        largest by the demands at every size.
    two_pools: for short and for long transactions, where one pool holds two kinds; else empty.
    estimates: estimator -> its size. regret: the price of every measured size and of the current one, ascending.
    sweep_sizes: sizes worth measuring next.
    """

    basis: Literal["formula", "measured"]
    pool_size: int | None
    range: tuple[int, int] | None
    formula: Formula
    verdict: Verdict | None
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    throughput: float | None = None
    database_size: int | None = None
    database_range: tuple[int, int] | None = None
    two_pools: tuple[PoolOfTwo, ...] = ()
    estimates: Mapping[str, int | None] | None = None
    regret: tuple[Neighbour, ...] = ()
    sweep_sizes: tuple[int, ...] = ()


def from_formula(start: StartingPoint) -> Recommendation:
    """Recommend the starting point itself: the sizes to sweep are half of it to twice."""
    return Recommendation(
        basis="formula",
        pool_size=start.pool_size,
        range=(max(start.deadlock_floor or 1, start.pool_size // 2), start.pool_size * 2),
        formula=Formula(start.cores, start.effective_disks, start.connections),
        verdict=None,
        reasons=start.reasons,
        warnings=start.warnings,
        sweep_sizes=start.sizes,
    )


def recommend(analysis: "Analysis", wishes: Wishes = NO_WISHES) -> Recommendation:
    """Recommend the plateau of a complete run, or the size that keeps a latency limit.

    Raises WorkFailed for an incomplete run, and BadInput for a limit on a latency that the run does not know.
    """
    if unfinished := analysis.run.unfinished:
        raise WorkFailed(f"the run is incomplete: {unfinished}; finish it with poolsize sweep --resume")
    start = starting_point(analysis.setting.cores, disks=analysis.setting.disks)
    formula = Formula(start.cores, start.effective_disks, start.connections)
    if refusal := why_no_size(analysis):
        why, way_out = refusal
        return Recommendation(
            "measured", None, None, formula, why, (), (way_out, *warnings(analysis)), estimates={"plateau": None}
        )
    found = analysis.plateau
    assert found is not None  # else there is a refusal
    limited = within_limits(analysis, found, wishes)
    size = limited.pool_size
    judged, advice = verdict(analysis)
    database = analysis.database_sizes
    return Recommendation(
        basis="measured",
        pool_size=size,
        range=(min(size, found.low), max(size, found.high)) if size == found.pool_size else (size, size),
        formula=formula,
        verdict=judged,
        reasons=reasons(analysis, limited, formula.connections, wishes.current),
        warnings=(*filter(None, (limited.warning, advice)), *warnings(analysis)),
        throughput=found.throughput if size == found.pool_size else analysis.throughput_at(size),
        database_size=database[0] if database else None,
        database_range=database[1] if database else None,
        two_pools=_two_pools(analysis, size),
        estimates=analysis.answers,
        regret=neighbours(analysis, (size, wishes.current)),
        sweep_sizes=sizes_beyond(analysis) if judged == "edge" else (),
    )


def _two_pools(analysis: "Analysis", size: int) -> tuple[PoolOfTwo, ...]:
    kinds = analysis.two_kinds
    if kinds is None or size < 2:
        return ()
    for_short, for_long = kinds.pools(size)
    return PoolOfTwo(for_short, kinds.short), PoolOfTwo(for_long, kinds.long)
