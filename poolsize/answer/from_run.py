"""Analysis -> Recommendation: the answer of a measured run."""

from dataclasses import replace

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.plateau import CERTAINTY
from poolsize.answer.application import (
    ClientTimes,
    application_findings,
    application_losses,
    rates_in_use,
    size_for_application,
)
from poolsize.answer.failed_attempts import TooFewValid, mostly_failed
from poolsize.answer.finding import Finding, Severity, sizes_beyond
from poolsize.answer.latency_limit import NO_LIMITS, LatencyLimits, LimitKept, limits_of_run, within_limits
from poolsize.answer.price import (
    CurrentNotMeasured,
    CurrentNotTheLimit,
    Price,
    check_rate,
    current_size,
    operating_point,
    prices,
)
from poolsize.answer.reasons import FormulaCompared, LimitedBy, reasons
from poolsize.answer.recommendation import Formula, Recommendation
from poolsize.answer.verdict import (
    Noisy,
    NothingValid,
    NotTheLimit,
    StillRising,
    Verdict,
    highest,
    known_range,
    not_the_limit,
    verdict_on_size,
    verdict_without_size,
)
from poolsize.answer.warnings import high_utilisation, no_free_core, warnings
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput, WorkFailed
from poolsize.formula import StartingPoint, starting_point
from poolsize.runs.run import Run
from poolsize.sweep.next_step import remaining

KEPT_FOR_APPLICATION = (LimitedBy, FormulaCompared)
"""Reasons of the load generator's pool size that also hold for an application."""


def recommend(
    analysis: Analysis | Run,
    limits: LatencyLimits | None = None,
    current: int | None = None,
    client_times: ClientTimes | None = None,
    rate: float | None = None,
) -> Recommendation:
    """Return the recommendation of a complete run: its plateau's size, or the best size within the latency limits.

    With the times of a client, return the size for the application that has them; no latency limits hold for it.

    analysis: of the run, or the run itself. limits: of the total time; None for the limits that the sweep was given.
    current: the user's pool size today, to compare with, or None. rate: requests per second at which the price table
    has the total times; None for 70 % of the answer's throughput, or for the fixed rate of the run.
    Raises WorkFailed for an incomplete run. Raises BadInput for a limit of a quantile that the run does not know, for a
    current size that no pool has, for another rate than that of a run at a fixed rate, and for an argument that is
    neither an analysis nor a run. Raises BadInput for a usage time with latency limits, below the database's own time,
    or of a run that can't answer it.
    """
    if isinstance(analysis, Run):
        analysis = analyze(analysis)
    if not isinstance(analysis, Analysis):
        kind = type(analysis).__name__
        raise BadInput(f"recommend takes an Analysis or a Run, not a {kind}: write recommend(load_run(path))")
    if current is not None and not 1 <= current <= LARGEST_POOL:
        raise BadInput(f"`current` {current}: a pool has 1 to {LARGEST_POOL:,} connections")
    if client_times is not None and limits not in {None, NO_LIMITS}:
        raise BadInput(
            f"`usage_time_ms` {client_times.usage_time_ms:g}ms: a latency limit holds for the load generator only; "
            "leave one out"
        )
    if rate is not None:
        check_rate(rate, analysis.setting.plan.rate)
    if left := remaining(analysis.run):
        raise WorkFailed(f"the run is incomplete: {left}")
    start = starting_point(analysis.setting.cores, disks=analysis.setting.disks)
    if client_times is None and (answer := _not_the_limit(analysis, start, limits, current)):
        return answer
    if refused := verdict_without_size(analysis):
        verdict, finding = refused
        failed = mostly_failed(analysis, has_size=False, for_noise=isinstance(finding, Noisy | NothingValid))
        first = None if isinstance(finding, TooFewValid) else failed
        findings = tuple(filter(None, (first, finding, *warnings(analysis, has_size=False))))
        return Recommendation("measured", None, None, Formula.of(start), verdict, findings, estimates={"plateau": None})
    if client_times is not None:
        return _of_application(analysis, start, client_times, current, rate)
    return _measured(analysis, start, limits_of_run(analysis) if limits is None else limits, current, rate)


def _measured(
    analysis: Analysis, start: StartingPoint, limits: LatencyLimits, current: int | None, rate: float | None
) -> Recommendation:
    plateau = analysis.plateau
    assert plateau is not None  # a run without a plateau has a verdict without a size
    limited = within_limits(analysis, plateau, limits)
    size, limit_finding = limited.pool_size, limited.finding
    at_rate = analysis.setting.plan.rate is not None
    verdict, doubts = verdict_on_size(analysis, size if at_rate else plateau.pool_size)
    if limited.is_edge and verdict in {Verdict.MEASURED, Verdict.MEANS_ONLY}:
        verdict = Verdict.EDGE
    first_reason, *further_reasons = reasons(analysis, size, start.connections, highest(doubts))
    is_warning = limit_finding is not None and limit_finding.severity is Severity.WARNING
    limit_reason, limit_warning = (None, limit_finding) if is_warning else (limit_finding, None)
    current_reason = None if current is None else current_size(analysis, size, current)
    throughput = analysis.throughput_at(size)
    latency_known, latency = operating_point(analysis, size, throughput, rate)
    all_reasons = (first_reason, limit_reason, current_reason, *further_reasons, *latency_known)
    range_, open_end = known_range(analysis, doubts) if size == plateau.pool_size else (None, None)
    if limit_warning:
        doubts = [replace(each, limit_broken=True) if isinstance(each, StillRising) else each for each in doubts]
    busy_warnings = high_utilisation(analysis, (plateau.pool_size, size)) if at_rate else ()
    all_warnings = (limit_warning, *doubts, *busy_warnings, *warnings(analysis, has_size=True))
    findings = (no_free_core(analysis), mostly_failed(analysis, has_size=True), *all_reasons, *all_warnings)
    database = next((row for row in analysis.models.application_sizes if not row.added_ms), None)
    return Recommendation(
        basis="measured",
        pool_size=size,
        range=range_,
        range_open=open_end,
        formula=Formula.of(start),
        verdict=verdict,
        findings=tuple(filter(None, findings)),
        throughput=throughput,
        database_size=database.pool_size if database else None,
        database_range=database.range if database else None,
        application_sizes=analysis.models.application_sizes,
        limit_probability=limited.probability,
        measured_in=analysis.setting.application,
        two_pools=analysis.models.two_pools(size),
        estimates=analysis.models.sizes,
        prices=prices(analysis, (size, current), latency),
        sweep_sizes=sizes_beyond(analysis, size if at_rate else plateau.pool_size) if verdict is Verdict.EDGE else (),
    )


def _not_the_limit(
    analysis: Analysis, start: StartingPoint, limits: LatencyLimits | None, current: int | None
) -> Recommendation | None:
    """Return the smallest pool size that was never full, where the pool is not the limit; else None.

    None also where that size does not keep the latency limits. Throughput at the other sizes differs by noise, which
    makes neither a range nor prices.
    """
    finding = not_the_limit(analysis)
    if finding is None:
        return None
    size, limits_ms = finding.pool_size, (limits_of_run(analysis) if limits is None else limits).by_quantile
    probability = analysis.size_within(limits_ms)[1].get(size, 0.0) if limits_ms else None
    if probability is not None and probability < CERTAINTY:
        return None
    bottleneck, current_known = analysis.bottleneck, None if current is None else _current(analysis, finding, current)
    findings = (
        finding,
        mostly_failed(analysis, has_size=True),
        None if probability is None else LimitKept(limits_ms, probability),
        current_known,
        LimitedBy(bottleneck.name, bottleneck.values) if bottleneck else None,
        *(finding for finding in warnings(analysis, has_size=True) if not finding.of_curve),
    )
    return Recommendation(
        basis="measured",
        pool_size=size,
        range=None,
        formula=Formula.of(start),
        verdict=Verdict.NOT_THE_LIMIT,
        findings=tuple(filter(None, findings)),
        throughput=analysis.at(size).throughput.mean,
        limit_probability=probability,
        measured_in=analysis.setting.application,
        estimates=analysis.models.sizes,
    )


def _current(analysis: Analysis, finding: NotTheLimit, current: int) -> Finding:
    """Return the finding on the user's current pool size where the pool is not the limit."""
    if current >= finding.smallest:
        return CurrentNotTheLimit(current)
    if analysis.valid_sizes:
        return current_size(analysis, finding.pool_size, current)
    return CurrentNotMeasured(current, finding.pool_size, finding.smallest, analysis.sizes[-1].pool_size)


def _of_application(
    analysis: Analysis, start: StartingPoint, client_times: ClientTimes, current: int | None, rate: float | None
) -> Recommendation:
    """Return the load generator's recommendation turned into the recommendation for an application."""
    of_generator = _measured(analysis, start, NO_LIMITS, None, rate)
    size = size_for_application(analysis, client_times)
    kept = [
        replace(finding, measured=size.pool_size) if isinstance(finding, FormulaCompared) else finding
        for finding in of_generator.findings
        if isinstance(finding, KEPT_FOR_APPLICATION)
    ]
    warnings = [
        finding
        for finding in of_generator.findings
        if finding.severity is Severity.WARNING and not finding.of_generator
    ]
    rates = rates_in_use(analysis, size)
    latency_known, latency = operating_point(analysis, size.pool_size, size.throughput, rate, rates)
    losses = application_losses(analysis, size, current)
    own, doubts = application_findings(analysis, size, client_times.usage_time_ms, current)
    return replace(
        of_generator,
        pool_size=size.pool_size,
        range=size.range,
        range_open=None,
        findings=(*own, *kept, *latency_known, *warnings, *doubts),
        throughput=size.throughput,
        application=size,
        two_pools=(),
        prices=tuple(Price(each, loss, loss, latency(each)) for each, loss in losses.items()),
    )
