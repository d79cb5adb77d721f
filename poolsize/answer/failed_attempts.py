"""Findings on attempts that failed a check that may pass another time: how many failed, why, and what to do."""

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from poolsize.answer.finding import Code, Finding, Remedy, WayOut, refusal, warning
from poolsize.runs.check import Check

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.size_summary import SizeSummary
    from poolsize.runs.run import Step

MOST_PROGRAMS, LEAST_CORES = 3, 0.05
MANY, CAUSE = 0.5, 0.2
"""Shares of the attempts: failed attempts put an answer in doubt, and may be the cause why there is none."""


def mostly_failed(analysis: "Analysis", refused: Finding | None = None) -> Finding | None:
    """Return the warning that many attempts failed a check that may pass another time, or None.

    Many are more than half. A fifth is enough to be the cause of a refusal for noise. The finding stands before the
    answer, because it puts the answer in doubt. refused: the refusal of a pool size; None where there is a pool size.
    """
    attempts, failed = analysis.run.steps, analysis.failed_attempts
    noise = refused is not None and refused.code in {Code.NOISY, Code.NOTHING_VALID}
    if len(failed) <= (CAUSE if noise else MANY) * len(attempts):
        return None
    return warning(Code.MOSTLY_FAILED, _way_out(analysis), has_size=refused is None, **_values(analysis))


def too_few_valid(analysis: "Analysis") -> Finding | None:
    """Return the refusal of a run with at most one valid size, where the other sizes may pass another time, or None.

    A single size has none to compare it with. The finding stands before the headline, because it is the cause.
    """
    if len(analysis.valid_sizes) > 1 or not any(map(_may_pass, analysis.sizes)):
        return None
    valid = [size.pool_size for size in analysis.valid_sizes]
    return refusal(Code.TOO_FEW_VALID, _way_out(analysis), valid=valid, **_values(analysis))


def _may_pass(size: "SizeSummary") -> bool:
    """Return whether a size is not valid because of a disturbance."""
    return not size.valid and all(result.check.disturbed for result in size.failed_checks if result.check.disqualifies)


def _values(analysis: "Analysis") -> dict[str, Any]:
    """Return the numbers of attempts, and of failures of each check, the most frequent check first.

    Where other programs disturbed attempts, also the mean of the cores that they used, and of the busiest programs.
    """
    failed = analysis.failed_attempts
    checks = Counter(str(result.check) for step in failed for result in step.failed_checks if result.check.disturbed)
    values = {"failed": len(failed), "attempts": len(analysis.run.steps), "checks": dict(checks.most_common())}
    return values | _others(failed)


def _others(failed: "Sequence[Step]") -> dict[str, Any]:
    disturbed = [
        (step, result.values)
        for step in failed
        for result in step.failed_checks
        if result.check is Check.QUIET and "other_cores" in result.values
    ]
    if not disturbed:
        return {}
    figures = [values for _, values in disturbed]
    return {
        "other_cores": sum(_number(values["other_cores"]) for values in figures) / len(figures),
        "cores": _number(figures[-1]["cores"]),
        "programs": _busiest([step.programs for step, _ in disturbed]),
    }


def _busiest(programs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return name -> mean cores over the steps, of the three busiest programs that used LEAST_CORES."""
    names = {name for of_step in programs for name in of_step}
    cores = {name: sum(of_step.get(name, 0.0) for of_step in programs) / len(programs) for name in sorted(names)}
    used = {name: mean for name, mean in cores.items() if mean >= LEAST_CORES}
    return dict(nlargest(MOST_PROGRAMS, used.items(), key=itemgetter(1)))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _way_out(analysis: "Analysis") -> WayOut:
    """Return the way out: measure again, now if the end of the run was undisturbed, else after the disturbance.

    Where most attempts failed because transactions failed, it is to correct the workload.

    quiet_steps: number of last steps that passed every check that may pass another time.
    """
    steps = analysis.run.steps
    quiet = next((place for place, step in enumerate(reversed(steps)) if step.disturbed), len(steps))
    if next(iter(_values(analysis)["checks"]), None) == Check.ERRORS:
        return WayOut(Remedy.CORRECT_WORKLOAD, {})
    disturbed = any(result.check is Check.QUIET for step in steps for result in step.failed_checks)
    return WayOut(Remedy.END_PROGRAMS if disturbed else Remedy.MEASURE_AGAIN, {"quiet_steps": quiet})
