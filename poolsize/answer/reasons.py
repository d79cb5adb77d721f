"""The reasons of a measured answer, and the findings of an answer from the formula."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from poolsize.answer.application import database_finding
from poolsize.answer.finding import Code, Finding, reason, warning
from poolsize.answer.verdict import Highest
from poolsize.formula import StartingPoint
from poolsize.runs.check import Check

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.plateau import Plateau

QUEUES_INSIDE = 1.2
"""Transactions queue in the database if the usage time at the largest size is longer by more than this factor."""


def reasons(analysis: "Analysis", size: int, formula_size: int, highest: Highest) -> tuple[Finding, ...]:
    """Return the reasons why the answer is a pool size, the most important first.

    size: the answer, a size of the plateau or within the latency limits. formula_size: the formula's connections.
    highest: the meaning of the fitted curve's highest throughput.
    """
    plateau = analysis.plateau
    assert plateau is not None
    open_loop = analysis.setting.plan.rate is not None
    findings = [
        _carries_rate(analysis, plateau, size) if open_loop else _plateau(analysis, plateau, highest),
        _wait_and_usage(analysis, size),
        None if highest is Highest.OF_FILLED else bottleneck_reason(analysis),
        *_verified(analysis),
        _queue_in_database(analysis, size),
        None if analysis.setting.application else database_finding(analysis, size),
        _bimodal(analysis, size),
        _job_queue(analysis),
        reason(
            Code.FORMULA,
            cores=analysis.setting.cores,
            disks=analysis.setting.disks,
            connections=formula_size,
            pools=analysis.setting.pools,
        ),
    ]
    return tuple(finding for finding in findings if finding)


def _plateau(analysis: "Analysis", plateau: "Plateau", highest: Highest) -> Finding:
    from poolsize.analysis.plateau import CERTAINTY

    measured = analysis.by_size.is_measured(plateau.pool_size)
    below, above = (None, None) if measured else analysis.by_size.around(plateau.pool_size)
    return reason(
        Code.PLATEAU,
        pool_size=plateau.pool_size,
        throughput=analysis.throughput_at(plateau.pool_size),
        capacity=plateau.capacity,
        highest=highest,
        users=analysis.setting.plan.users,
        best_size=analysis.best_size,
        best_measured=analysis.best_size is not None and analysis.by_size.is_measured(analysis.best_size),
        tolerance=plateau.tolerance,
        probability=CERTAINTY if plateau.probability >= CERTAINTY else 0.5,
        among_measured=measured and analysis.setting.plan.search is None,
        measured_below=below,
        measured_above=above,
    )


def _carries_rate(analysis: "Analysis", plateau: "Plateau", size: int) -> Finding:
    failed = [size.pool_size for size in analysis.sizes if size.failed(Check.ARRIVALS)]
    smaller = [size for size in failed if size < plateau.pool_size]
    return reason(
        Code.CARRIES_RATE,
        pool_size=plateau.pool_size,
        rate=analysis.setting.plan.rate or 0.0,
        utilisation=analysis.at(plateau.pool_size).utilisation,
        smaller_sizes=smaller,
        is_answer=size == plateau.pool_size,
    )


def _wait_and_usage(analysis: "Analysis", size: int) -> Finding | None:
    nearest = analysis.by_size.nearest(size)
    if not nearest.usage.mean > 0:
        return None
    return reason(
        Code.WAIT_AND_USAGE,
        pool_size=size,
        measured_size=nearest.pool_size,
        wait_ms=nearest.wait.mean,
        usage_ms=nearest.usage.mean,
    )


def bottleneck_reason(analysis: "Analysis") -> Finding | None:
    """Return what limits throughput, or None where it is not known."""
    from poolsize.analysis.bottleneck import BottleneckName

    if analysis.bottleneck is None or analysis.bottleneck.name is BottleneckName.UNKNOWN:
        return None
    return reason(Code.BOTTLENECK, **asdict(analysis.bottleneck))


def _verified(analysis: "Analysis") -> list[Finding]:
    assert analysis.plateau is not None
    return [
        reason(
            Code.VERIFIED,
            load=step.load,
            rate=step.rate,
            wait_p95_ms=step.wait.p95,
            total_p95_ms=step.total.p95,
        )
        for step in analysis.verified
        if step.pool_size == analysis.plateau.pool_size and not step.failed_checks
    ]


def _queue_in_database(analysis: "Analysis", size: int) -> Finding | None:
    from poolsize.analysis.bottleneck import BottleneckName

    nearest, largest = analysis.by_size.nearest(size), analysis.valid_sizes[-1]
    open_loop = analysis.setting.plan.rate is not None  # arrivals below capacity need no queue
    if open_loop or not largest.usage.mean > QUEUES_INSIDE * nearest.usage.mean > 0:
        return None
    outside = {BottleneckName.GENERATOR, BottleneckName.APPLICATION_CPU}
    if analysis.setting.application is not None:  # its own threads share the cores with the database
        outside.add(BottleneckName.SHARED_CPU)
    return reason(
        Code.QUEUE_IN_DATABASE,
        largest=largest.pool_size,
        throughput=largest.throughput.mean,
        usage_ms=largest.usage.mean,
        answer_usage_ms=nearest.usage.mean,
        in_database=analysis.bottleneck is None or analysis.bottleneck.name not in outside,
    )


def _bimodal(analysis: "Analysis", size: int) -> Finding | None:
    pools = analysis.models.two_pools(size)
    if pools is None:
        return None
    (short_size, short), (long_size, long) = pools
    return reason(
        Code.BIMODAL,
        pool_size=size,
        short_share=short.share,
        short_usage_ms=short.usage_ms,
        short_pool_size=short_size,
        short_kinds=short.kinds,
        long_share=long.share,
        long_usage_ms=long.usage_ms,
        long_pool_size=long_size,
        long_kinds=long.kinds,
    )


def _job_queue(analysis: "Analysis") -> Finding | None:
    users, setting = analysis.setting.plan.users, analysis.setting
    filled = any(size.pool_size == users for size in analysis.sizes)
    if not filled or setting.recording is not None or setting.application is not None:
        return None
    assert analysis.plateau is not None
    return reason(Code.JOB_QUEUE, users=users, pool_size=analysis.plateau.pool_size)


def formula_findings(start: StartingPoint) -> tuple[Finding, ...]:
    """Return the reasons of a starting point, then its warnings."""
    return (*_formula_reasons(start), *_formula_warnings(start))


def _formula_reasons(start: StartingPoint) -> list[Finding]:
    findings = [
        reason(
            Code.CORES,
            cores=start.cores,
            logical_cpus=start.logical_cpus,
            threads_per_core=start.threads_per_core,
        )
    ]
    if start.disks == 0:
        findings.append(reason(Code.NO_DISKS))
    elif start.cache_hit_rate is None:
        findings.append(reason(Code.DISKS_UNCACHED, disks=start.disks))
    else:
        miss_share = 1 - start.cache_hit_rate
        findings.append(
            reason(Code.DISKS_CACHED, disks=start.disks, miss_share=miss_share, effective_disks=start.effective_disks)
        )
    if start.deadlock_floor is not None:
        findings.append(reason(Code.DEADLOCK_FLOOR, deadlock_floor=start.deadlock_floor, connections=start.connections))
    return findings


def _formula_warnings(start: StartingPoint) -> list[Finding]:
    findings = [warning(Code.STARTING_POINT), warning(Code.SERVED_AT_ONCE)]
    if start.ssd:
        findings.append(warning(Code.SSD))
    if start.deadlock_floor is not None and start.deadlock_floor > start.connections:
        findings.append(warning(Code.FLOOR_ABOVE_FORMULA))
    return findings
