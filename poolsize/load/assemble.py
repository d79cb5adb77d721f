"""Reports of the workers and seconds of a step -> Step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple

from hdrh.histogram import HdrHistogram

from poolsize.analysis.stats.percentiles import empty_histogram, encoded, merged, percentiles, with_failures
from poolsize.errors import WorkFailed
from poolsize.load.messages import RECORDED, StepSecond, WorkerReport
from poolsize.load.recorder import by_kind
from poolsize.load.stopping import Ending
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import LATENCIES, QUANTILES, Kind, Latencies, Step, StopReason, Worker
from poolsize.server.connection import is_denied


def assemble(
    planned: PlannedStep,
    started: str,
    seconds: Sequence[StepSecond],
    ending: Ending,
    shares: Mapping[str, int],
    reports: Mapping[str, WorkerReport],
    timeout_ms: float,
) -> Step:
    """Return the step, without checks and without the server's part.

    planned: the step's place in the plan. started: UTC, ISO 8601. seconds: the step's seconds over all workers.
    ending: which seconds count. shares: worker -> connections, of the workers that began the step.
    reports: worker -> report, of the workers that stayed to the end.
    timeout_ms: how long a user waits for a connection.
    """
    seconds, is_open = seconds[: ending.last], planned.rate is not None
    sections = {name: _sections(name, list(reports.values())) for name in RECORDED}
    histograms = {name: _sum(sections[name]) for name in RECORDED}
    failed = zip(sections["total"], sections["failed"], strict=True)
    sections["total"] = [with_failures(total, failures, timeout_ms) for total, failures in failed]
    transactions = histograms["total"].get_total_count()
    return Step(
        pool_size=planned.pool_size,
        repeat=planned.repeat,
        order=planned.order,
        started=started,
        users=sum(report.users for report in reports.values()),
        rate=planned.rate,
        warm_up_seconds=ending.first,
        throughput=tuple(second.transactions for second in seconds),
        errors={
            kind: tuple(second.errors.get(kind, 0) for second in seconds)
            for kind in sorted({kind for second in seconds for kind in second.errors})
        },
        p95_ms=tuple(second.p95_ms for second in seconds),
        backlog=tuple(second.backlog for second in seconds if is_open),
        busy=tuple(second.busy for second in seconds if is_open),
        gap_ms=1000 * sum(report.gap_seconds for report in reports.values()) / transactions if transactions else 0.0,
        latencies=_latencies(histograms),
        sections={name: _quantiles(sections[name]) for name in LATENCIES},
        kinds=_kinds(reports.values()),
        server={},
        server_connections=None,
        workers=tuple(
            Worker(name, shares[name], report.users, *astuple(report.cost)) for name, report in sorted(reports.items())
        ),
        stopped=ending.stopped,
        checks=(),
    )


def _kinds(reports: Iterable[WorkerReport]) -> dict[str, Kind]:
    """Return kind of transaction -> its part of the step, over all workers; empty for a workload with one kind."""
    kinds = by_kind(report.kinds for report in reports)
    if len(kinds) < 2:
        return {}
    return {
        name: Kind(histograms["total"].get_total_count(), _latencies(histograms))
        for name, parts in kinds.items()
        for histograms in [{latency: merged(part[latency] for part in parts) for latency in RECORDED}]
    }


def _latencies(histograms: Mapping[str, HdrHistogram]) -> Latencies:
    """Return the histograms as runs store them. histograms: of all RECORDED."""
    failed = histograms["failed"]
    return Latencies(
        **{name: encoded(histograms[name]) for name in LATENCIES},
        failed=encoded(failed) if failed.get_total_count() else "",
    )


def _sections(latency: str, reports: Sequence[WorkerReport]) -> list[HdrHistogram]:
    """Return one histogram of a latency, over all workers, for each section of the counted time."""
    number = min((len(report.sections) for report in reports), default=0)
    return [merged(report.sections[place][latency] for report in reports) for place in range(number)]


def _sum(histograms: Sequence[HdrHistogram]) -> HdrHistogram:
    total = empty_histogram()
    for histogram in histograms:
        total.add(histogram)
    return total


def _quantiles(sections: Sequence[HdrHistogram]) -> dict[str, tuple[float, ...]]:
    """Return each quantile's value in ms in each section that has transactions."""
    latencies = [percentiles(section) for section in sections if section.get_total_count()]
    return {quantile: tuple(getattr(latency, quantile) for latency in latencies) for quantile in QUANTILES}


def raise_denied(step: Step) -> None:
    """Raise WorkFailed where most failures of a step that ended early are refusals: no other attempt would pass."""
    if step.stopped is None or step.stopped.reason is not StopReason.TOO_MANY_ERRORS:
        return
    failed = {kind: sum(seconds) for kind, seconds in step.errors.items()}
    refused = {kind: number for kind, number in failed.items() if is_denied(kind)}
    if 2 * sum(refused.values()) > sum(failed.values()):
        kind = max(refused, key=refused.__getitem__)
        raise WorkFailed(
            f"the server refuses the workload's statements ({kind}): give the account its privileges again, or let the "
            "server be written to"
        )
