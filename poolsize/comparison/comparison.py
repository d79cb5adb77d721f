"""The comparison of two or more runs: how much they differ from the first, and whether that is significant.

A change of the machine between the runs is part of the difference; no figure separates the two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import hypot, isfinite, log

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.observation import Observation
from poolsize.analysis.speed import SPEED_TOLERANCE, UsualSpeed, usual_speed
from poolsize.analysis.stats.paired_differences import Difference, Pair, paired
from poolsize.answer.finding import Severity
from poolsize.answer.from_run import recommend
from poolsize.answer.latency_limit import NO_LIMITS
from poolsize.answer.recommendation import Recommendation
from poolsize.errors import BadInput, WorkFailed
from poolsize.present.text.sentences.findings import sentence
from poolsize.runs.compared_field import compared_field, fields
from poolsize.runs.run import Run, Step
from poolsize.sweep.next_step import remaining
from poolsize.units import count

MACHINE = 0.1
"""Where a run did not measure its speed, the machine has another if a worker's loop differs by more than this share."""


@dataclass(frozen=True)
class ComparedRun:
    """name: as the user knows the run. value: of the compared field, as text. answer: the run's recommendation."""

    name: str
    value: str
    analysis: Analysis
    answer: Recommendation


@dataclass(frozen=True)
class SizeDifference:
    """The difference of a run from the first at one pool size; the intervals hold for all sizes at once.

    pairs: number of pairs of steps. throughput: None at a fixed rate. p95: of the total time; None where a run does not
    know it.
    """

    pool_size: int
    pairs: int
    throughput: Difference | None
    p95: Difference | None


@dataclass(frozen=True)
class RunDifference:
    """The difference of a run from the first.

    throughput, p95: mean differences over the sizes, weighted by their precision; None as in SizeDifference.
    sizes: the sizes with valid steps in both runs, ascending. left_out: every other measured size, ascending.
    apart_seconds: from the beginning of the first run to the beginning of this run. in_turn: whether the steps of both
    runs alternate, so that a change of the machine meets both.
    longer_loop: share by which a worker's loop takes more CPU time, by the calibration of each run; None where a run
    has no calibration. faster_machine: share by which the usual speed of the machine is higher; None where a run did
    not measure it.
    """

    run: ComparedRun
    throughput: Difference | None
    p95: Difference | None
    sizes: tuple[SizeDifference, ...]
    left_out: tuple[int, ...]
    apart_seconds: float
    in_turn: bool
    longer_loop: float | None
    faster_machine: float | None

    @property
    def significant_sizes(self) -> Mapping[int, Difference]:
        """Pool size -> difference of throughput, for the sizes at which throughput differs significantly."""
        return {
            each.pool_size: each.throughput for each in self.sizes if each.throughput and each.throughput.significant
        }

    @property
    def has_other_speed(self) -> bool:
        """Whether the machine of the load generator has another speed than in the first run.

        Runs that were measured in turn are corrected to the same speed.
        """
        if self.in_turn:
            return False
        if self.faster_machine is not None:
            return abs(self.faster_machine) > SPEED_TOLERANCE
        return self.longer_loop is not None and abs(self.longer_loop) > MACHINE


@dataclass(frozen=True)
class Comparison:
    """The comparison of runs with the first.

    field: the field in which the runs differ, or None where no recorded field differs. first: the run that every other
    run is compared with. others: their differences from it.
    """

    field: str | None
    first: ComparedRun
    others: tuple[RunDifference, ...]

    @property
    def runs(self) -> tuple[ComparedRun, ...]:
        """All runs, in their order."""
        return (self.first, *(other.run for other in self.others))


def compare(analyses: Mapping[str, Analysis], across: str | None = None) -> Comparison:
    """Return the comparison of runs with the first.

    analyses: name of a run -> its analysis, two or more. across: the field that may differ; None for any one field.
    Raises BadInput for runs that can't be compared, and WorkFailed for a run that is incomplete or without a valid
    step.
    """
    if len(analyses) < 2:
        raise BadInput(f"{count(len(analyses), 'run')} to compare: give two or more, each by a name of its own")
    for name, analysis in analyses.items():
        if left := remaining(analysis.run):
            raise WorkFailed(f"{name} is incomplete: {left}")
        if analysis.plateau is None:
            causes = (each for each in recommend(analysis, NO_LIMITS).findings if each.severity is Severity.REFUSAL)
            raise WorkFailed(f"{name} has no answer: {' '.join(map(sentence, causes))}")
    field = compared_field({name: analysis.run for name, analysis in analyses.items()}, across)
    first, *others = (
        ComparedRun(name, fields(run.run).get(field, "not set") if field else name, run, recommend(run, NO_LIMITS))
        for name, run in analyses.items()
    )
    return Comparison(field, first, tuple(_against(first, other) for other in others))


def _against(first: ComparedRun, other: ComparedRun) -> RunDifference:
    before, after = first.analysis, other.analysis
    valid = [[size.pool_size for size in analysis.valid_sizes] for analysis in (before, after)]
    sizes = [size for size in valid[0] if size in valid[1]]
    if not sizes:
        first_sizes, other_sizes = (", ".join(map(str, measured)) for measured in valid)
        raise BadInput(
            f"{first.name} measured {first_sizes} connections and {other.name} {other_sizes}, no size in both: "
            "measure one of them with `sizes` of the other"
        )
    closed = before.setting.plan.rate is None and after.setting.plan.rate is None
    steps_at = {size: (before.by_size.steps[size], after.by_size.steps[size]) for size in sizes}
    in_turn = _in_turn(before.run, after.run)
    usual = UsualSpeed.of(before.run, after.run) if in_turn else None
    throughput_pairs = [pair for steps in steps_at.values() for pair in _throughput_pairs(*steps, usual)]
    p95_pairs = [pair for size in sizes if (pair := _p95_pair(before, after, size))]
    throughput, throughput_at = paired(throughput_pairs) if closed and throughput_pairs else (None, {})
    p95, p95_at = paired(p95_pairs) if p95_pairs else (None, {})
    measured = {size.pool_size for analysis in (before, after) for size in analysis.sizes}
    begun, other_begun = (datetime.fromisoformat(analysis.setting.created) for analysis in (before, after))
    calibrations = [run.calibration for run in (before.run, after.run)]
    return RunDifference(
        other,
        throughput,
        p95,
        tuple(
            SizeDifference(size, min(map(len, steps)), throughput_at.get(size), p95_at.get(size))
            for size, steps in steps_at.items()
        ),
        tuple(sorted(measured.difference(sizes))),
        (other_begun - begun).total_seconds(),
        in_turn,
        _more(*(calibration.loop_us if calibration else None for calibration in calibrations)),
        _more(usual_speed(before.run), usual_speed(after.run)),
    )


def _more(before: float | None, after: float | None) -> float | None:
    """Return the share by which a figure grew; None where it is not known of both runs."""
    return None if not before or after is None else after / before - 1


def _throughput_pairs(before: Sequence[Step], after: Sequence[Step], usual: UsualSpeed | None) -> list[Pair]:
    """Return a pair for each repeat at a pool size. In the run with more repeats, a pair has the mean of several steps.

    usual: speed of the machine over both runs, where they were measured in turn.
    """

    def mean(steps: Sequence[Step]) -> Observation:
        return Observation.mean([Observation.of(step, usual.correction(step) if usual else None) for step in steps])

    number = min(len(before), len(after))
    observed = [(mean(before[place::number]), mean(after[place::number])) for place in range(number)]
    return [
        Pair(
            first.pool_size,
            log(second.throughput / first.throughput),
            hypot(first.standard_error / first.throughput, second.standard_error / second.throughput),
        )
        for first, second in observed
        if first.throughput > 0 and second.throughput > 0
    ]


def _p95_pair(before: Analysis, after: Analysis, size: int) -> Pair | None:
    """Return the pair of the p95 of the total time at one size, or None where a run does not know its interval."""
    intervals = [analysis.at(size).intervals.get("total", {}).get("p95") for analysis in (before, after)]
    known = [interval for interval in intervals if interval and isfinite(interval.high) and interval.mean > 0]
    if len(known) < 2:
        return None
    # half of a 95 % interval is about two standard errors
    errors = [log(interval.high / interval.mean) / 2 for interval in known]
    return Pair(size, log(known[1].mean / known[0].mean), hypot(*errors))


def _in_turn(first: Run, other: Run) -> bool:
    """Return whether steps of both runs alternate, and no step begins before the other run's step has ended.

    A replay's steps have no time of their own.
    """
    if first.setting.recording or other.setting.recording:
        return False
    steps = sorted(
        (datetime.fromisoformat(step.started), len(step.throughput), side)
        for side, run in enumerate((first, other))
        for step in run.steps
    )
    changes = [(earlier, later) for earlier, later in pairwise(steps) if earlier[2] != later[2]]
    ended = all(later[0] - earlier[0] >= timedelta(seconds=earlier[1] - 1) for earlier, later in changes)
    return ended and 2 * len(changes) >= len(steps) - 1
