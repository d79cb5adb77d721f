"""Analysis or StartingPoint -> Recommendation: a pool size, its range, a verdict on it, findings and a price table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from poolsize.answer.application import (
    ClientTimes,
    application_doubts,
    application_findings,
    application_prices,
    size_for_application,
)
from poolsize.answer.failed_attempts import MostlyFailed, TooFewValid, mostly_failed
from poolsize.answer.finding import Finding, Severity, sizes_beyond
from poolsize.answer.latency_limit import NO_LIMITS, LatencyLimits, LimitBroken, limits_of_run, within_limits
from poolsize.answer.price import Price, current_size, prices
from poolsize.answer.reasons import FormulaOverridden, LimitedBy, formula_findings, reasons
from poolsize.answer.verdict import (
    GeneratorLimited,
    Noisy,
    NothingValid,
    OneSize,
    SmallestSize,
    StillRising,
    UsersLimited,
    Verdict,
    highest,
    verdict_on_size,
    verdict_without_size,
)
from poolsize.answer.warnings import BudgetSpent, FewSteps, SizeUnconfirmed, WideRange, high_utilisation, warnings
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput, WorkFailed
from poolsize.formula import StartingPoint, starting_point

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.application_size import ApplicationSize
    from poolsize.analysis.bimodal import Mode
    from poolsize.analysis.plateau import Plateau
    from poolsize.runs.plan import MeasuredApplication
    from poolsize.runs.run import Run


@dataclass(frozen=True)
class Formula:
    """The formula's answer for the database's host: connections = cores * 2 + effective_disks."""

    cores: int
    effective_disks: float
    connections: int


@dataclass(frozen=True)
class TransactionPool:
    """One of two pools, for short or for long transactions.

    pool_size: its connections. kind: share and mean usage time of its transactions.
    """

    pool_size: int
    kind: "Mode"


@dataclass(frozen=True)
class Recommendation:
    """The answer.

    basis: "formula" for a starting point, "measured" for a run.
    pool_size: connections of the pool, or of each of the application's pools that were measured; None where the verdict
        forbids a number. With the usage time of an application, of that application; else of the load generator.
    range: lowest and highest pool size. Of a plateau, the 95 % range of its start; of an application, its 95 % range;
        of a size that a latency limit decides, the size itself; for a formula, half of pool_size (at least the deadlock
        floor) and twice pool_size. None where pool_size is None.
    formula: the formula's answer for the database's host.
    verdict: whether a measured size is usable, and if not, why; None for a formula.
    findings: reasons, warnings and refusals, in the order to read them.
    throughput: transactions per second at pool_size; None for a formula.
    database_size: the pool size that keeps the saturated resource busy when no client adds time: a limit, never what
        to configure; None where it is not known. database_range: its 95 % range.
    application: the pool size for the usage time that was given, or None.
    application_sizes: the pool sizes of applications that add 0, 1, 2, 5 and 20 ms to the time in the database, by the
        fitted closed network; empty where none is known.
    limit_probability: that pool_size keeps the latency limits; None without limits.
    measured_in: the application whose pools were measured; None where the pool was poolsize's own.
    two_pools: for short and for long transactions, where usage times are bimodal; else empty.
    estimates: estimator -> its pool size. prices: the price table, ascending in pool size.
    sweep_sizes: sizes worth measuring next.
    """

    basis: Literal["formula", "measured"]
    pool_size: int | None
    range: tuple[int, int] | None
    formula: Formula
    verdict: Verdict | None
    findings: tuple[Finding, ...]
    throughput: float | None = None
    database_size: int | None = None
    database_range: tuple[int, int] | None = None
    application: "ApplicationSize | None" = None
    application_sizes: "tuple[ApplicationSize, ...]" = ()
    limit_probability: float | None = None
    measured_in: "MeasuredApplication | None" = None
    two_pools: tuple[TransactionPool, ...] = ()
    estimates: Mapping[str, int | None] | None = None
    prices: tuple[Price, ...] = ()
    sweep_sizes: tuple[int, ...] = ()

    @property
    def connections(self) -> int | None:
        """Connections for all clients of the database together; None without a pool size."""
        pools = self.measured_in.pools if self.measured_in else 1
        return None if self.pool_size is None else pools * self.pool_size

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """The findings that put the pool size in doubt: whoever uses the size must read them."""
        return tuple(finding for finding in self.findings if isinstance(finding, DOUBTS))


DOUBTS = (
    MostlyFailed, GeneratorLimited, UsersLimited, OneSize, StillRising, SmallestSize, LimitBroken, SizeUnconfirmed,
)  # fmt: skip
KEPT_FOR_APPLICATION = (LimitedBy, FormulaOverridden)
"""Reasons of the load generator's pool size that also hold for an application."""
OF_GENERATOR_ALONE = (StillRising, SmallestSize, WideRange, FewSteps, BudgetSpent)
"""Warnings about the load generator's pool size and its range, which say nothing of an application's."""


def from_formula(start: StartingPoint) -> Recommendation:
    """Return the recommendation of a starting point, with a range from half of its pool size to twice.

    The range begins at the deadlock floor or above.
    """
    return Recommendation(
        basis="formula",
        pool_size=start.pool_size,
        range=(max(start.deadlock_floor or 1, start.pool_size // 2), start.pool_size * 2),
        formula=_formula(start),
        verdict=None,
        findings=formula_findings(start),
        sweep_sizes=start.sizes,
    )


def recommend(
    analysis: "Analysis | Run",
    limits: LatencyLimits | None = None,
    current: int | None = None,
    client_times: ClientTimes | None = None,
) -> Recommendation:
    """Return the recommendation of a complete run: its plateau's size, or the best size within the latency limits.

    With the times of a client, return the size for the application that has them; no latency limits hold for it.

    analysis: of the run, or the run itself. limits: of the total time; None for the limits that the sweep was given.
    current: the user's pool size today, to compare with, or None.
    Raises WorkFailed for an incomplete run. Raises BadInput for a limit of a quantile that the run does not know, for a
    current size that no pool has, and for an argument that is neither an analysis nor a run. Raises BadInput for a
    usage time with latency limits, below the database's own time, or of a run that can't answer it.
    """
    analysis = _analysis_of(analysis)
    if current is not None and not 1 <= current <= LARGEST_POOL:
        raise BadInput(f"`current` {current}: a pool has 1 to {LARGEST_POOL:,} connections")
    if client_times is not None and limits not in {None, NO_LIMITS}:
        raise BadInput(
            f"`usage_time_ms` {client_times.usage_time_ms:g}ms: a latency limit holds for the load generator only; "
            "leave one out"
        )
    _require_complete(analysis)
    start = starting_point(analysis.setting.cores, disks=analysis.setting.disks)
    if refused := verdict_without_size(analysis):
        verdict, finding = refused
        failed = mostly_failed(analysis, has_size=False, for_noise=isinstance(finding, Noisy | NothingValid))
        return Recommendation(
            "measured",
            None,
            None,
            _formula(start),
            verdict,
            _known(
                (
                    None if isinstance(finding, TooFewValid) else failed,
                    finding,
                    *warnings(analysis, has_size=False),
                )
            ),
            estimates={"plateau": None},
        )
    assert analysis.plateau is not None  # a run without a plateau has a verdict without a size
    if client_times is not None:
        of_generator = _measured(analysis, analysis.plateau, start, NO_LIMITS, None)
        return _of_application(analysis, of_generator, client_times, current)
    return _measured(analysis, analysis.plateau, start, limits_of_run(analysis) if limits is None else limits, current)


def _analysis_of(measured: object) -> "Analysis":
    """Return an analysis as it is, and the analysis of a run. Raises BadInput for anything else."""
    from poolsize.analysis.analysis import Analysis, analyze
    from poolsize.runs.run import Run

    if isinstance(measured, Run):
        return analyze(measured)
    if not isinstance(measured, Analysis):
        kind = type(measured).__name__
        raise BadInput(f"recommend takes an Analysis or a Run, not a {kind}: write recommend(load_run(path))")
    return measured


def _require_complete(analysis: "Analysis") -> None:
    """Raise WorkFailed for a run that has steps left to measure."""
    from poolsize.sweep.next_step import remaining

    if left := remaining(analysis.run):
        raise WorkFailed(f"the run is incomplete: {left}")


def _measured(
    analysis: "Analysis", plateau: "Plateau", start: StartingPoint, limits: LatencyLimits, current: int | None
) -> Recommendation:
    limited = within_limits(analysis, plateau, limits)
    size, limit_finding = limited.pool_size, limited.finding
    at_rate = analysis.setting.plan.rate is not None
    verdict, verdict_warning = verdict_on_size(analysis, size if at_rate else plateau.pool_size)
    if limited.is_edge and verdict is Verdict.MEASURED:
        verdict = Verdict.EDGE
    first_reason, *further_reasons = reasons(analysis, size, start.connections, highest(verdict_warning))
    limit_reason = limit_finding if limit_finding and limit_finding.severity == "reason" else None
    limit_warning = limit_finding if limit_finding and limit_finding.severity == "warning" else None
    current_reason = None if current is None else current_size(analysis, size, current)
    all_reasons = (first_reason, limit_reason, current_reason, *further_reasons)
    if limit_warning and isinstance(verdict_warning, StillRising):
        verdict_warning = replace(verdict_warning, limit_broken=True)
    busy_warnings = high_utilisation(analysis, (plateau.pool_size, size)) if at_rate else ()
    all_warnings = (limit_warning, verdict_warning, *busy_warnings, *warnings(analysis, has_size=True))
    findings = (mostly_failed(analysis, has_size=True), *all_reasons, *all_warnings)
    database = next((row for row in analysis.models.application_sizes if not row.added_ms), None)
    return Recommendation(
        basis="measured",
        pool_size=size,
        range=(plateau.low, plateau.high) if size == plateau.pool_size else (size, size),
        formula=_formula(start),
        verdict=verdict,
        findings=_known(findings),
        throughput=analysis.throughput_at(size),
        database_size=database.pool_size if database else None,
        database_range=database.range if database else None,
        application_sizes=analysis.models.application_sizes,
        limit_probability=limited.probability,
        measured_in=analysis.setting.application,
        two_pools=_two_pools(analysis, size),
        estimates=analysis.models.sizes,
        prices=prices(analysis, (size, current)),
        sweep_sizes=sizes_beyond(analysis, size if at_rate else plateau.pool_size) if verdict is Verdict.EDGE else (),
    )


def _of_application(
    analysis: "Analysis", of_generator: Recommendation, client_times: ClientTimes, current: int | None
) -> Recommendation:
    """Return the load generator's recommendation turned into the recommendation for an application."""
    size = size_for_application(analysis, client_times)
    kept = [finding for finding in of_generator.findings if isinstance(finding, KEPT_FOR_APPLICATION)]
    warnings = [
        finding
        for finding in of_generator.findings
        if finding.severity is Severity.WARNING and not isinstance(finding, OF_GENERATOR_ALONE)
    ]
    doubts = application_doubts(analysis, size, client_times.usage_time_ms)
    findings = (*application_findings(analysis, size, current), *kept, *warnings, *doubts)
    return replace(
        of_generator,
        pool_size=size.pool_size,
        range=size.range,
        findings=_known(findings),
        throughput=size.throughput,
        application=size,
        two_pools=(),
        prices=application_prices(analysis, size, current),
    )


def _known(findings: Iterable[Finding | None]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding)


def _formula(start: StartingPoint) -> Formula:
    return Formula(start.cores, start.effective_disks, start.connections)


def _two_pools(analysis: "Analysis", size: int) -> tuple[TransactionPool, ...]:
    pools = analysis.models.two_pools(size)
    return tuple(TransactionPool(pool_size, mode) for pool_size, mode in pools) if pools else ()
