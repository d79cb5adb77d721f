"""Findings on attempts that failed a check that may pass another time: how many failed, why, and what to do."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING

from poolsize.answer.finding import Caution, Figures, Finding, Refusal, WayOut
from poolsize.runs.check import Check

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis

MOST_PROGRAMS, LEAST_CORES = 3, 0.05
MANY, CAUSE = 0.5, 0.2
"""Shares of the attempts: failed attempts put an answer in doubt, and may be the cause why there is none."""
OWN_FAULTS = (Check.ERRORS, Check.CONNECTIONS)
"""Checks that other programs do not make fail. In half of the failed attempts, they are the cause."""


class FailedAttempts(Figures):
    """Failed attempts, and how often each check failed, the cause first, then the most frequent check.

    other_cores: mean of the cores that other programs used, of this machine's cores; programs: name -> mean cores of
    the busiest programs. All three are None where other programs are not the cause.
    """

    failed: int
    attempts: int
    checks: Mapping[str, int]
    other_cores: float | None = None
    cores: float | None = None
    programs: Mapping[str, float] | None = None


class MostlyFailed(Caution, code="mostly_failed", is_doubt=True, leads=True):
    """Many attempts failed a check that may pass another time, so the answer, or its absence, is in doubt."""

    has_size: bool
    attempts: FailedAttempts
    way_out: WayOut


class TooFewValid(Refusal, code="too_few_valid", leads=True):
    """At most one size is valid, and the other sizes may pass another time."""

    valid: Sequence[int]
    attempts: FailedAttempts
    way_out: WayOut


class EndPrograms(WayOut, code="end_programs"):
    """End other programs, or wait for their end. quiet_steps: number of last steps that passed every check."""

    quiet_steps: int


class MeasureAgain(WayOut, code="measure_again"):
    """Measure again. quiet_steps: see EndPrograms."""

    quiet_steps: int


class CorrectWorkload(WayOut, code="correct_workload"):
    """Find out why transactions fail, and correct the workload or the server."""


class CorrectSize(WayOut, code="correct_size"):
    """Find out why the application does not have the pool size that is set, and correct its description."""


def mostly_failed(analysis: "Analysis", *, has_size: bool, for_noise: bool = False) -> Finding | None:
    """Return the warning that many attempts failed a check that may pass another time, or None.

    Many are more than half. A fifth is enough to be the cause of a refusal for noise. The finding stands before the
    answer, because it puts the answer in doubt. for_noise: whether there is no pool size because of noise.
    """
    if len(analysis.failed_attempts) <= (CAUSE if for_noise else MANY) * len(analysis.run.steps):
        return None
    return MostlyFailed(has_size, _failed_attempts(analysis), _way_out(analysis))


def too_few_valid(analysis: "Analysis") -> Finding | None:
    """Return the refusal of a run with at most one valid size, where the other sizes may pass another time, or None.

    An answer compares two sizes or more. The finding stands before the headline, because it is the cause.
    """
    may_pass = any(all(check.disturbed for check in size.disqualified_by) for size in analysis.sizes if not size.valid)
    if len(analysis.valid_sizes) > 1 or not may_pass:
        return None
    valid = [size.pool_size for size in analysis.valid_sizes]
    return TooFewValid(valid, _failed_attempts(analysis), _way_out(analysis))


def _failed_attempts(analysis: "Analysis") -> FailedAttempts:
    failed = analysis.failed_attempts
    checks = Counter(str(result.check) for step in failed for result in step.failed_checks if result.check.disturbed)
    causes = [check for check in OWN_FAULTS if checks[str(check)] >= MANY * len(failed)]
    in_order = dict(sorted(checks.most_common(), key=lambda counted: counted[0] not in causes))
    counts = FailedAttempts(len(failed), len(analysis.run.steps), in_order)
    if causes:
        return counts
    disturbed = [
        (step.programs, result.values)
        for step in failed
        for result in step.failed_checks
        if result.check is Check.QUIET and "other_cores" in result.values
    ]
    if not disturbed:
        return counts
    names = sorted({name for programs, _ in disturbed for name in programs})
    cores = {name: sum(programs.get(name, 0.0) for programs, _ in disturbed) / len(disturbed) for name in names}
    used = {name: mean for name, mean in cores.items() if mean >= LEAST_CORES}
    return replace(
        counts,
        other_cores=sum(_number(values["other_cores"]) for _, values in disturbed) / len(disturbed),
        cores=_number(disturbed[-1][1]["cores"]),
        programs=dict(nlargest(MOST_PROGRAMS, used.items(), key=itemgetter(1))),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _way_out(analysis: "Analysis") -> WayOut:
    """Return the way out: measure again, now if the end of the run was undisturbed, else after the disturbance.

    Where most attempts failed because transactions did, or because an application did not have the pool size, it is to
    correct the workload or the description of the application.
    """
    steps = analysis.run.steps
    quiet = next((place for place, step in enumerate(reversed(steps)) if step.disturbed), len(steps))
    cause = next(iter(_failed_attempts(analysis).checks), None)
    if cause == Check.ERRORS:
        return CorrectWorkload()
    if cause == Check.CONNECTIONS and analysis.setting.application is not None:
        return CorrectSize()
    disturbed = any(result.check is Check.QUIET for step in steps for result in step.failed_checks)
    return EndPrograms(quiet) if disturbed else MeasureAgain(quiet)
