"""Two runs or more beside each other: how much they differ, and whether that is significant.

A change of the machine between the runs is part of the difference, and can't be told apart from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import hypot, isfinite, log

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.observation import Observation
from poolsize.analysis.stats.paired_differences import Difference, Pair, paired
from poolsize.answer.compared_field import compared_field, fields
from poolsize.answer.recommendation import Recommendation, recommend
from poolsize.errors import BadInput, WorkFailed
from poolsize.runs.run import Run, Step
from poolsize.sweep.next_step import remaining
from poolsize.units import count

MACHINE = 0.1
"""A worker whose own loop costs by this share more or less ran on a machine of another speed."""


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs. name: as people know it. value: of the compared field. answer: the run's own."""

    name: str
    value: str
    analysis: Analysis
    answer: Recommendation


@dataclass(frozen=True)
class SizeDifference:
    """One pool size, second run against the first, with intervals that hold at all sizes at once.

    throughput: None at a fixed rate. p95: of the total time; None where it is not known.
    """

    pool_size: int
    throughput: Difference | None
    p95: Difference | None


@dataclass(frozen=True)
class Against:
    """One run against the first. throughput, p95: on average over the sizes; None as in SizeDifference.

    sizes: those with valid steps in both runs, ascending. left_out: every other measured size.
    apart_seconds: between the beginnings of the runs. longer_loop: by what share a turn of a worker's loop took longer,
    by the calibration of each run; None where a run has none.
    """

    run: ComparedRun
    throughput: Difference | None
    p95: Difference | None
    sizes: tuple[SizeDifference, ...]
    left_out: tuple[int, ...]
    apart_seconds: float
    longer_loop: float | None

    @property
    def significant_sizes(self) -> Mapping[int, Difference]:
        """The sizes at which throughput differs significantly, and by how much."""
        return {
            size.pool_size: size.throughput for size in self.sizes if size.throughput and size.throughput.significant
        }

    @property
    def other_machine(self) -> bool:
        """Whether the machine was another, or of another speed."""
        return self.longer_loop is not None and abs(self.longer_loop) > MACHINE


@dataclass(frozen=True)
class Comparison:
    """The compared runs.

    field: in which the runs differ, or None where they know of no difference. first: what the others are compared with.
    """

    field: str | None
    first: ComparedRun
    others: tuple[Against, ...]

    @property
    def runs(self) -> tuple[ComparedRun, ...]:
        """All runs, in their order."""
        return (self.first, *(other.run for other in self.others))


def compare(analyses: Mapping[str, Analysis], across: str | None = None) -> Comparison:
    """Return the comparison of runs with the first of them. analyses: by the runs' names, two or more.

    Raises BadInput for fewer, and for runs that differ in more than one field or have no size in common; WorkFailed for
    a run that is incomplete or has no valid step.
    """
    if len(analyses) < 2:
        raise BadInput(f"{count(len(analyses), 'run')} to compare: give two or more, each by a name of its own")
    for name, analysis in analyses.items():
        if left := remaining(analysis.run):
            raise WorkFailed(f"{name} is incomplete: {left}")
        if analysis.plateau is None:
            raise WorkFailed(f"{name} tells nothing: no size passed the checks that an estimate needs")
    field = compared_field({name: analysis.run for name, analysis in analyses.items()}, across)
    first, *others = (
        ComparedRun(name, fields(analysis.run).get(field, "not set") if field else name, analysis, recommend(analysis))
        for name, analysis in analyses.items()
    )
    return Comparison(field, first, tuple(_against(first, other) for other in others))


def _against(first: ComparedRun, other: ComparedRun) -> Against:
    ours, theirs = first.analysis, other.analysis
    sizes = [size for size in _valid_sizes(ours) if size in _valid_sizes(theirs)]
    if not sizes:
        raise BadInput(
            f"{first.name} measured {_listed(ours)} connections and {other.name} {_listed(theirs)}, no size in both: "
            "measure one of them with `sizes` of the other"
        )
    closed = ours.setting.plan.rate is None and theirs.setting.plan.rate is None
    throughput_pairs = [pair for size in sizes for pair in _pairs(ours.by_size.steps[size], theirs.by_size.steps[size])]
    p95_pairs = [pair for size in sizes if (pair := _p95_pair(ours, theirs, size))]
    throughput, throughput_at = paired(throughput_pairs) if closed and throughput_pairs else (None, {})
    p95, p95_at = paired(p95_pairs) if p95_pairs else (None, {})
    measured = {size.pool_size for analysis in (ours, theirs) for size in analysis.sizes}
    return Against(
        other,
        throughput,
        p95,
        tuple(SizeDifference(size, throughput_at.get(size), p95_at.get(size)) for size in sizes),
        tuple(sorted(measured.difference(sizes))),
        _seconds_apart(ours.run, theirs.run),
        _longer_loop(ours.run, theirs.run),
    )


def _valid_sizes(analysis: Analysis) -> list[int]:
    return [size.pool_size for size in analysis.valid_sizes]


def _pairs(ours: Sequence[Step], theirs: Sequence[Step]) -> list[Pair]:
    """The ratios at one size, repeat by repeat; of a run with more repeats, several of its steps make one."""
    number = min(len(ours), len(theirs))
    observed = [(_mean(ours[place::number]), _mean(theirs[place::number])) for place in range(number)]
    return [
        Pair(
            first.pool_size,
            log(second.throughput / first.throughput),
            hypot(first.standard_error / first.throughput, second.standard_error / second.throughput),
        )
        for first, second in observed
        if first.throughput > 0 and second.throughput > 0
    ]


def _mean(steps: Sequence[Step]) -> Observation:
    return Observation.mean([Observation.of(step) for step in steps])


def _p95_pair(ours: Analysis, theirs: Analysis, size: int) -> Pair | None:
    intervals = [analysis.at(size).intervals.get("total", {}).get("p95") for analysis in (ours, theirs)]
    known = [
        interval for interval in intervals if interval is not None and isfinite(interval.high) and interval.mean > 0
    ]
    if len(known) < 2:
        return None
    before, after = known
    # an interval reaches about two errors far
    errors = [(interval.high - interval.mean) / interval.mean / 2 for interval in known]
    return Pair(size, log(after.mean / before.mean), hypot(*errors))


def _seconds_apart(first: Run, other: Run) -> float:
    ours, theirs = (datetime.fromisoformat(run.setting.created) for run in (first, other))
    return (theirs - ours).total_seconds()


def _longer_loop(first: Run, other: Run) -> float | None:
    before, after = first.calibration, other.calibration
    return after.loop_us / before.loop_us - 1 if before and after and before.loop_us else None


def _listed(analysis: Analysis) -> str:
    return ", ".join(map(str, _valid_sizes(analysis)))
