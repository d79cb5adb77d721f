"""Two runs or more beside each other: by how much they differ, and whether that is more than chance.

What changed on the machine between the runs is part of the difference, and nobody can tell it apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import hypot, isfinite, log, sqrt
from statistics import fmean

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.curve import Observation
from poolsize.analysis.stats.paired_differences import Difference, Pair, paired
from poolsize.answer.compared_field import compared_field, fields
from poolsize.answer.recommendation import Recommendation, recommend
from poolsize.errors import BadInput, WorkFailed
from poolsize.runs.run import Run, Step
from poolsize.units import count

MACHINE = 0.1
"""A load process whose own loop costs by this share more or less ran on a machine of another speed."""


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs. name: as people know it. value: of the compared field. answer: by itself."""

    name: str
    value: str
    analysis: Analysis
    answer: Recommendation


@dataclass(frozen=True)
class SizeDifference:
    """One pool size, second against first, with intervals that hold at all sizes at once.

    throughput: None at a fixed rate. p95: of the total time, None where it is not known.
    """

    pool_size: int
    throughput: Difference | None
    p95: Difference | None


@dataclass(frozen=True)
class Against:
    """One run against the first. throughput, p95: on average over the sizes; None as in SizeDifference.

    sizes: those that both measured and no check voids, ascending. left_out: every other. apart_seconds: between the
    beginnings of the two. longer_loop: by what share a turn of the load's own loop took longer, measured before the
    first step of each; None where a run does not know it.
    """

    run: ComparedRun
    throughput: Difference | None
    p95: Difference | None
    sizes: tuple[SizeDifference, ...]
    left_out: tuple[int, ...]
    apart_seconds: float
    longer_loop: float | None

    @property
    def real_sizes(self) -> Mapping[int, Difference]:
        """The sizes at which throughput really differs, and by how much."""
        return {size.pool_size: size.throughput for size in self.sizes if size.throughput and size.throughput.real}

    @property
    def other_machine(self) -> bool:
        """Whether the machine itself was another, or of another speed."""
        return self.longer_loop is not None and abs(self.longer_loop) > MACHINE


@dataclass(frozen=True)
class Comparison:
    """What is compared, and how it comes out.

    field: in which the runs differ, or None where they know of nothing. first: what the others are compared with.
    """

    field: str | None
    first: ComparedRun
    others: tuple[Against, ...]

    @property
    def runs(self) -> tuple[ComparedRun, ...]:
        """All of them, in their order."""
        return (self.first, *(other.run for other in self.others))

    @property
    def title(self) -> str:
        """What is compared, and what is the same, for people."""
        setting = self.first.analysis.setting
        same = {"workload": setting.plan.workload, "server": setting.subject}
        if not setting.recording:
            same["users"] = count(setting.plan.users, "user")
        told = ", ".join(value for field, value in same.items() if field != self.field)
        return f"{self.field} compared: {told}" if self.field else f"Runs of one and the same setting: {told}"


def compare(analyses: Mapping[str, Analysis], across: str | None = None) -> Comparison:
    """Compare runs with the first of them. analyses: by the names that people know them by, two or more.

    Raises BadInput for fewer, where they differ in more than one field, or have no sizes in common; WorkFailed for one
    that is incomplete, or tells nothing.
    """
    if len(analyses) < 2:
        raise BadInput(f"{count(len(analyses), 'run')} to compare: give two or more, each by a name of its own")
    for name, one in analyses.items():
        if unfinished := one.run.unfinished:
            raise WorkFailed(f"{name} is incomplete: {unfinished}; finish it with poolsize sweep --resume")
        if one.plateau is None:
            raise WorkFailed(f"{name} tells nothing: no size passed the checks that an estimate needs")
    field = compared_field({name: one.run for name, one in analyses.items()}, across)
    first, *others = (
        ComparedRun(name, fields(one.run).get(field, "not set") if field else name, one, recommend(one))
        for name, one in analyses.items()
    )
    return Comparison(field, first, tuple(_against(first, other) for other in others))


def _against(first: ComparedRun, other: ComparedRun) -> Against:
    ours, theirs = first.analysis, other.analysis
    sizes = [size for size in _telling(ours) if size in _telling(theirs)]
    if not sizes:
        raise BadInput(
            f"{first.name} measured {_told(ours)} connections and {other.name} {_told(theirs)}, no size in both: "
            "measure one of them with --pool-sizes of the other"
        )
    closed = ours.setting.plan.rate is None and theirs.setting.plan.rate is None
    throughputs = [pair for size in sizes for pair in _pairs(ours.steps_at(size), theirs.steps_at(size))]
    latencies = [pair for size in sizes if (pair := _p95(ours, theirs, size))]
    throughput, throughput_at = paired(throughputs) if closed and throughputs else (None, {})
    p95, p95_at = paired(latencies) if latencies else (None, {})
    measured = {size.pool_size for one in (ours, theirs) for size in one.sizes}
    return Against(
        other,
        throughput,
        p95,
        tuple(SizeDifference(size, throughput_at.get(size), p95_at.get(size)) for size in sizes),
        tuple(sorted(measured.difference(sizes))),
        _seconds_apart(ours.run, theirs.run),
        _longer_loop(ours.run, theirs.run),
    )


def _telling(analysis: Analysis) -> list[int]:
    return [size.pool_size for size in analysis.telling]


def _pairs(ours: Sequence[Step], theirs: Sequence[Step]) -> list[Pair]:
    """The ratios at one size, repeat by repeat; where one run has more of them, several of its steps make one."""
    number = min(len(ours), len(theirs))
    observed = [(_together(ours[place::number]), _together(theirs[place::number])) for place in range(number)]
    return [
        Pair(
            first.pool_size,
            log(second.throughput / first.throughput),
            hypot(first.error / first.throughput, second.error / second.throughput),
        )
        for first, second in observed
        if first.throughput > 0 and second.throughput > 0
    ]


def _together(steps: Sequence[Step]) -> Observation:
    found = [Observation.of(step) for step in steps]
    error = sqrt(sum(one.error**2 for one in found)) / len(found)
    return Observation(found[0].pool_size, fmean(one.throughput for one in found), error)


def _p95(ours: Analysis, theirs: Analysis, size: int) -> Pair | None:
    found = [one.at(size).intervals.get("total", {}).get("p95") for one in (ours, theirs)]
    known = [one for one in found if one is not None and isfinite(one.high) and one.mean > 0]
    if len(known) < 2:
        return None
    before, after = known
    errors = [(one.high - one.mean) / one.mean / 2 for one in known]  # an interval reaches about two errors far
    return Pair(size, log(after.mean / before.mean), hypot(*errors))


def _seconds_apart(first: Run, other: Run) -> float:
    ours, theirs = (datetime.fromisoformat(run.setting.created) for run in (first, other))
    return (theirs - ours).total_seconds()


def _longer_loop(first: Run, other: Run) -> float | None:
    before, after = first.calibration, other.calibration
    return after.loop_us / before.loop_us - 1 if before and after and before.loop_us else None


def _told(analysis: Analysis) -> str:
    return ", ".join(map(str, _telling(analysis)))
