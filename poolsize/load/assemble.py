"""Reports of the workers, seconds and server counters -> Step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hdrh.histogram import HdrHistogram

from poolsize.analysis.stats.percentiles import empty_histogram, encoded, merged, percentiles, with_failures
from poolsize.errors import WorkFailed
from poolsize.load.step_seconds import StepSecond
from poolsize.load.stopping import Ending
from poolsize.load.worker_report import RECORDED, WorkerReport
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import LATENCIES, QUANTILES, Kind, Latencies, Step, StopReason, Worker
from poolsize.server.connection import is_denied


@dataclass(frozen=True)
class ServerRecord:
    """The server's part of a step: counter -> value in each second, and the pool's connections that it counted.

    connections: None where no database was asked.
    """

    counters: Mapping[str, tuple[float | None, ...]]
    connections: int | None


def assemble(
    planned: PlannedStep,
    started: str,
    seconds: Sequence[StepSecond],
    ending: Ending,
    shares: Mapping[str, int],
    reports: Mapping[str, WorkerReport],
    server: ServerRecord,
    timeout_ms: float,
) -> Step:
    """Return the step, without checks.

    planned: the step's place in the plan. started: UTC, ISO 8601. seconds: the step's seconds over all workers.
    ending: which seconds count. shares: worker -> connections, of the workers that began the step.
    reports: worker -> report, of the workers that stayed to the end.
    server: the server's part.
    timeout_ms: how long a user waits for a connection.
    """
    seconds = seconds[: ending.last]
    sections = {name: _sections(name, list(reports.values())) for name in RECORDED}
    histograms = {name: _sum(sections[name]) for name in RECORDED}
    totals = [
        with_failures(total, failed, timeout_ms)
        for total, failed in zip(sections["total"], sections["failed"], strict=True)
    ]
    return Step(
        pool_size=planned.pool_size,
        repeat=planned.repeat,
        order=planned.order,
        started=started,
        users=sum(report.users for report in reports.values()),
        rate=planned.rate,
        warm_up_seconds=ending.first,
        throughput=tuple(second.transactions for second in seconds),
        errors=_errors(seconds),
        p95_ms=tuple(second.p95_ms for second in seconds),
        backlog=() if planned.rate is None else tuple(second.backlog for second in seconds),
        busy=() if planned.rate is None else tuple(second.busy for second in seconds),
        gap_ms=_gap_ms(list(reports.values()), histograms["total"].get_total_count()),
        latencies=_latencies(histograms),
        sections={name: _quantiles(totals if name == "total" else sections[name]) for name in LATENCIES},
        kinds=_kinds(list(reports.values())),
        server=server.counters,
        server_connections=server.connections,
        workers=_workers(shares, reports),
        stopped=ending.stopped,
        checks=(),
    )


def _workers(shares: Mapping[str, int], reports: Mapping[str, WorkerReport]) -> tuple[Worker, ...]:
    return tuple(
        Worker(name, shares[name], report.users, report.cpu, report.cpu_wait, report.loop_lag_ms)
        for name, report in sorted(reports.items())
    )


def _gap_ms(reports: Sequence[WorkerReport], transactions: int) -> float:
    """Return the mean time in ms between a user's transactions; 0 without transactions."""
    gap_seconds = sum(report.gap_seconds for report in reports)
    return 1000 * gap_seconds / transactions if transactions else 0.0


def _errors(seconds: Sequence[StepSecond]) -> dict[str, tuple[int, ...]]:
    """Return error kind -> failed transactions in each second."""
    kinds = sorted({kind for second in seconds for kind in second.errors})
    return {kind: tuple(second.errors[kind] for second in seconds) for kind in kinds}


def _kinds(reports: Sequence[WorkerReport]) -> dict[str, Kind]:
    """Return kind of transaction -> its part of the step, over all workers; empty for a workload with one kind."""
    names = dict.fromkeys(name for report in reports for name in report.kinds)
    if len(names) < 2:
        return {}
    parts = {name: [report.kinds[name] for report in reports if name in report.kinds] for name in names}
    return {
        name: Kind(
            sum(part.transactions for part in kind),
            _latencies({name: merged(part.latencies[name] for part in kind) for name in RECORDED}),
        )
        for name, kind in parts.items()
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
