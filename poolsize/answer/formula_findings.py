"""The findings of the formula's answer: the facts behind it, and the limits of its use."""

from poolsize.answer.finding import Code, Finding, reason, warning
from poolsize.formula import StartingPoint


def formula_findings(start: StartingPoint) -> tuple[Finding, ...]:
    """Return the reasons of a starting point, then its warnings."""
    return (*_reasons(start), *_warnings(start))


def _reasons(start: StartingPoint) -> list[Finding]:
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


def _warnings(start: StartingPoint) -> list[Finding]:
    findings = [warning(Code.STARTING_POINT), warning(Code.SERVED_AT_ONCE)]
    if start.ssd:
        findings.append(warning(Code.SSD))
    if start.deadlock_floor is not None and start.deadlock_floor > start.connections:
        findings.append(warning(Code.FLOOR_ABOVE_FORMULA))
    return findings
