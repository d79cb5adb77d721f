"""What the load processes and the server told of a step, put together as one record."""

from collections.abc import Mapping, Sequence

from hdrh.histogram import HdrHistogram

from poolsize.analysis.stats.percentiles import QUANTILES, merged, percentiles
from poolsize.load.process import Report
from poolsize.load.step_course import CourseSecond
from poolsize.load.stopping import Ending
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import LATENCIES, Latencies, Step, Worker


def assemble(
    planned: PlannedStep,
    started: str,
    seconds: Sequence[CourseSecond],
    ending: Ending,
    shares: Mapping[str, int],
    reports: Mapping[str, Report],
    server: Mapping[str, tuple[float | None, ...]],
    server_connections: int,
) -> Step:
    """The step, unchecked. reports: of the processes that stayed; shares: of those that began."""
    whole = seconds[: ending.last]
    parts = {name: _parts(name, list(reports.values())) for name in LATENCIES}
    histograms = {name: _together(parts[name]) for name in LATENCIES}
    transactions = histograms["total"].get_total_count()
    gap_seconds = sum(report.gap_seconds for report in reports.values())
    return Step(
        pool_size=planned.pool_size,
        repeat=planned.repeat,
        order=planned.order,
        started=started,
        users=sum(report.users for report in reports.values()),
        rate=planned.rate,
        warm_up_seconds=ending.first,
        throughput=tuple(second.transactions for second in whole),
        errors={
            kind: tuple(second.errors[kind] for second in whole)
            for kind in sorted({kind for second in whole for kind in second.errors})
        },
        p95_ms=tuple(second.p95_ms for second in whole),
        gap_ms=1000 * gap_seconds / transactions if transactions else 0.0,
        latencies=Latencies(**{name: str(histograms[name].encode(), "ascii") for name in LATENCIES}),
        sections={name: _quantiles(parts[name]) for name in LATENCIES},
        server=server,
        server_connections=server_connections,
        workers=tuple(
            Worker(name, shares[name], report.users, report.cpu, report.cpu_wait, report.loop_lag_ms)
            for name, report in sorted(reports.items())
        ),
        stopped=ending.stopped,
        checks=(),
    )


def _parts(name: str, reports: Sequence[Report]) -> list[HdrHistogram]:
    """For each part of the counted time, the histogram of one latency over all processes."""
    number = min((len(report.sections) for report in reports), default=0)
    return [merged(report.sections[place][name] for report in reports) for place in range(number)]


def _together(parts: Sequence[HdrHistogram]) -> HdrHistogram:
    whole = merged([])
    for part in parts:
        whole.add(part)
    return whole


def _quantiles(parts: Sequence[HdrHistogram]) -> dict[str, tuple[float, ...]]:
    found = [percentiles(part) for part in parts if part.get_total_count()]
    return {quantile: tuple(getattr(one, quantile) for one in found) for quantile in QUANTILES}
