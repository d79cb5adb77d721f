"""Titles of plots: the finding in words where the analysis has a finding, else what the plot shows."""

from collections.abc import Mapping

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.analysis.stats.confidence import TAILS
from poolsize.answer.finding import Finding
from poolsize.answer.latency_limit import LimitBroken, LimitDecides
from poolsize.answer.reasons import LimitedBy, QueueInDatabase
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.verdict import GeneratorLimited, NotTheLimit, SmallestSize, StillRising, UsersLimited
from poolsize.units import count, per_second

LATENCY, BUSY_CORES = "Total time of a transaction", "Busy cores"
UNCHANGED = 1.05
"""Waiting moves into the database only if throughput grows by less than this factor."""
OF_BOTTLENECK = {
    BottleneckName.SERVER_CPU: "The server's CPU is the bottleneck",
    BottleneckName.GENERATOR: "The load generator is the bottleneck",
    BottleneckName.APPLICATION_CPU: "The application's CPU is the bottleneck",
    BottleneckName.SHARED_CPU: "The CPU that all programs share is the bottleneck",
}


OF_FINDINGS: Mapping[type[Finding], str] = {
    NotTheLimit: "The pool is not the limit",
    GeneratorLimited: "The load generator limits throughput",
    StillRising: "Throughput still rises at {largest}",
    UsersLimited: "Throughput still rises at {largest}",
    LimitBroken: "No pool size surely keeps the latency limit",
    LimitDecides: "The latency limit needs {size}",
    SmallestSize: "{size} are enough: fewer were not measured",
}
"""Finding -> the title of the throughput plot, by importance."""


def of_throughput(analysis: Analysis, answer: Recommendation | None) -> str:
    """Return the title of the throughput plot. answer: None for an incomplete run."""
    if answer is None:
        return "The run is incomplete"
    if answer.pool_size is None:
        return "No pool size can be recommended"
    size = count(answer.pool_size, "connection")
    findings = {type(finding): finding for finding in answer.findings}
    for kind, title in OF_FINDINGS.items():
        if kind in findings:
            largest = getattr(findings[kind], "largest", answer.pool_size)
            return title.format(size=size, largest=count(largest, "connection"))
    if answer.in_doubt:
        return "The answer is in doubt"
    rate = analysis.setting.plan.rate
    purpose = f" for {per_second(rate)}" if rate else f": more add {_gain(analysis)}"
    return f"{size} {'is' if answer.pool_size == 1 else 'are'} enough{purpose}"


def _gain(analysis: Analysis) -> str:
    """Return the throughput that pools larger than the plateau's size add: "nothing" where it is not significant."""
    plateau, curve = analysis.plateau, analysis.curve
    assert plateau is not None
    assert curve is not None  # a measured answer in a closed loop has both
    gain = plateau.capacity / plateau.throughput - 1
    is_significant = curve.against(plateau.pool_size).quantile(TAILS[0]).max() > 0
    return f"up to {100 * gain:.0f} %" if is_significant and gain >= 0.005 else "nothing"


def of_wait_and_usage(analysis: Analysis, answer: Recommendation | None) -> str:
    """Return the title of the plot of wait and usage times."""
    if answer and answer.pool_size:
        start, largest = analysis.by_size.nearest(answer.pool_size), analysis.valid_sizes[-1]
        queued = any(isinstance(finding, QueueInDatabase) and finding.in_database for finding in answer.findings)
        no_faster = largest.throughput.mean < UNCHANGED * start.throughput.mean
        if queued and no_faster and largest.wait.mean < start.wait.mean:
            return f"Beyond {count(start.pool_size, 'connection')}, waiting moves into the database"
    return "Wait time and usage time"


def of_processors(answer: Recommendation | None) -> str:
    """Return the title of the plot of busy cores."""
    names = [finding.name for finding in (answer.findings if answer else ()) if isinstance(finding, LimitedBy)]
    return OF_BOTTLENECK.get(names[0], BUSY_CORES) if names else BUSY_CORES
