"""Two runs or more beside each other: by how much they differ, and whether that is more than chance.

Their steps are paired by pool size, and a curve is drawn through the ratios as one is drawn through throughputs: the
shape that both runs have in common is gone, and how much steps disturb each other shows. What changed on the machine
between the runs is part of the difference, and nobody can tell it apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import exp, hypot, isfinite, log, sqrt
from statistics import fmean

import numpy as np

from poolsize.analysis.confidence import CONFIDENCE, Interval
from poolsize.analysis.curve import Matrix, Observation, Prior, curves
from poolsize.analysis.differences import compared_field, fields
from poolsize.analysis.plateau import RANGE
from poolsize.analysis.summary import Analysis
from poolsize.errors import BadInput, WorkFailed
from poolsize.run import Run, Step

OF_RATIOS = Prior((0.005, 0.02, 0.06, 0.2), usual_wander=0.02, slope=0.1, usual_disturbance=0.02)
"""The ratio of two curves of much the same shape is nearly level; two steps disturb it."""
MACHINE = 0.1
"""A load process whose own loop costs by this share more or less ran on a machine of another speed."""


@dataclass(frozen=True)
class Difference:
    """A share more (0.05 is 5 % more) or less, with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def real(self) -> bool:
        """Whether chance alone does not make it."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class SizeDifference:
    """One pool size. throughput: with an interval that holds at all sizes at once; None at a fixed rate.

    It leans on the sizes beside it, for a single step may be off by some percent. p95: of the total time; None where it
    has no interval.
    """

    pool_size: int
    throughput: Difference | None
    p95: Difference | None


@dataclass(frozen=True)
class Compared:
    """One run against the first. throughput: on average over the sizes, None at a fixed rate. sizes: ascending.

    apart_seconds: between the beginnings of the two. slower: by what share a turn of the load's own loop took longer,
    measured before the first step of each; None where a run does not know it.
    """

    name: str
    analysis: Analysis
    throughput: Difference | None
    sizes: tuple[SizeDifference, ...]
    apart_seconds: float
    slower: float | None

    @property
    def real(self) -> Mapping[int, Difference]:
        """The sizes at which throughput really differs, and by how much."""
        return {size.pool_size: size.throughput for size in self.sizes if size.throughput and size.throughput.real}

    @property
    def other_machine(self) -> bool:
        """Whether the machine itself was another, or of another speed."""
        return self.slower is not None and abs(self.slower) > MACHINE


@dataclass(frozen=True)
class Comparison:
    """What is compared, and how it comes out.

    field: in which the runs differ, or None where they know of nothing. values: each run's, in their order. first: the
    run that the others are compared with.
    """

    field: str | None
    values: tuple[str, ...]
    name: str
    first: Analysis
    others: tuple[Compared, ...]

    @property
    def runs(self) -> tuple[tuple[str, str, Analysis], ...]:
        """Name, value and analysis of each."""
        analyses = (self.first, *(other.analysis for other in self.others))
        names = (self.name, *(other.name for other in self.others))
        return tuple(zip(names, self.values, analyses, strict=True))

    @property
    def title(self) -> str:
        """What is compared, for people."""
        setting, field = self.first.setting, self.field
        same = [] if field == "workload" else [setting.plan.workload]
        same += [] if field == "server" else [f"on {setting.subject}"]
        return f"{' '.join(same)}: {f'{field} compared' if field else 'runs that know of no difference'}"


def compare(analyses: Mapping[str, Analysis], across: str | None = None) -> Comparison:
    """Compare runs with the first of them. analyses: by the names that people know them by, two or more.

    Raises BadInput where they differ in more than one field, or have no sizes in common; WorkFailed for one that is
    incomplete, or tells nothing.
    """
    for name, one in analyses.items():
        if unfinished := one.run.unfinished:
            raise WorkFailed(f"{name} is incomplete: {unfinished}; finish it with poolsize sweep --resume")
        if one.plateau is None:
            raise WorkFailed(f"{name} tells nothing: no size passed the checks that an estimate needs")
    runs: dict[str, Run] = {name: one.run for name, one in analyses.items()}
    field = compared_field(runs, across)
    (name, first), *others = analyses.items()
    values = tuple(fields(run).get(field, "not set") if field else one for one, run in runs.items())
    found = tuple(_compared(name, first, other, analysis) for other, analysis in others)
    return Comparison(field, values, name, first, found)


def _compared(first_name: str, first: Analysis, name: str, other: Analysis) -> Compared:
    sizes = _common(first, other)
    if not sizes:
        raise BadInput(
            f"{first_name} measured {_told(first)} connections and {name} {_told(other)}, no size in both: measure "
            "one of them with --pool-sizes of the other"
        )
    ratios = _ratios(first, other, sizes)
    each = [None] * len(sizes) if ratios is None else _at_each(ratios)
    return Compared(
        name,
        other,
        None if ratios is None else _on_average(ratios),
        tuple(
            SizeDifference(size, difference, _p95(first, other, size))
            for size, difference in zip(sizes, each, strict=True)
        ),
        _seconds_apart(first.run, other.run),
        _slower(first.run, other.run),
    )


def _common(first: Analysis, other: Analysis) -> list[int]:
    """Sizes that both measured, ascending; only they can be paired."""
    ours, theirs = ({size.pool_size for size in one.telling} for one in (first, other))
    return sorted(ours & theirs)


def _ratios(first: Analysis, other: Analysis, sizes: list[int]) -> Matrix | None:
    """Logarithms of other / first: one row a curve of them that the steps allow, one column a size."""
    if first.curves is None or other.curves is None:
        return None
    pairs = [pair for size in sizes for pair in _pairs(first.steps_at(size), other.steps_at(size))]
    return np.asarray(np.log(np.maximum(curves(pairs, sizes, OF_RATIOS).draws, 1e-9)))


def _pairs(ours: Sequence[Step], theirs: Sequence[Step]) -> list[Observation]:
    """The ratios at one size, step by step; where one run has more steps there, several of them make one."""
    number = min(len(ours), len(theirs))
    return [_ratio(_together(ours[place::number]), _together(theirs[place::number])) for place in range(number)]


def _together(steps: Sequence[Step]) -> Observation:
    found = [Observation.of(step) for step in steps]
    error = sqrt(sum(one.error**2 for one in found)) / len(found)
    return Observation(found[0].pool_size, fmean(one.throughput for one in found), error)


def _ratio(ours: Observation, theirs: Observation) -> Observation:
    ratio = theirs.throughput / ours.throughput
    error = ratio * hypot(ours.error / ours.throughput, theirs.error / theirs.throughput)
    return Observation(ours.pool_size, ratio, error)


def _on_average(ratios: Matrix) -> Difference:
    averages = ratios.mean(axis=1)
    low, high = np.quantile(averages, RANGE)
    return _shares(float(averages.mean()), float(low), float(high))


def _at_each(ratios: Matrix) -> list[Difference]:
    """At each size, with intervals that hold at all sizes at once: as wide as the largest deviation of a pair wants."""
    means, spreads = ratios.mean(axis=0), np.maximum(ratios.std(axis=0), 1e-9)
    width = float(np.quantile(np.abs((ratios - means) / spreads).max(axis=1), CONFIDENCE))
    return [
        _shares(float(mean), float(mean - width * spread), float(mean + width * spread))
        for mean, spread in zip(means, spreads, strict=True)
    ]


def _p95(first: Analysis, other: Analysis, size: int) -> Difference | None:
    found = [one.at(size).intervals.get("total", {}).get("p95") for one in (first, other)]
    if any(one is None or not isfinite(one.high) or one.mean <= 0 for one in found):
        return None
    before, after = (one for one in found if one is not None)
    middle = log(after.mean / before.mean)
    half = hypot(_half(before), _half(after))
    return _shares(middle, middle - half, middle + half)


def _half(interval: Interval) -> float:
    """Half of an interval as a share of its mean."""
    return (interval.high - interval.mean) / interval.mean


def _shares(mean: float, low: float, high: float) -> Difference:
    return Difference(exp(mean) - 1, exp(low) - 1, exp(high) - 1)


def _seconds_apart(first: Run, other: Run) -> float:
    ours, theirs = (datetime.fromisoformat(run.setting.created) for run in (first, other))
    return (theirs - ours).total_seconds()


def _slower(first: Run, other: Run) -> float | None:
    before, after = first.calibration, other.calibration
    return after.loop_us / before.loop_us - 1 if before and after and before.loop_us else None


def _told(analysis: Analysis) -> str:
    sizes = [size.pool_size for size in analysis.telling]
    return f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
