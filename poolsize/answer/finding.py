"""Finding: a reason, a warning or a refusal, as a record of its figures; and the ways to a better answer.

The module in which a finding arises defines its record: a subclass of Reason, Caution or Refusal. Shares are fractions.
A field `way_out` holds the action that improves the answer, or None. `present.text.sentences` words both.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import pairwise
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from poolsize.quick_record import QuickRecord

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.size_summary import SizeSummary

ROOM = 1.25
"""The load generator's throughput must exceed the server's by this factor, so that the server is the bottleneck."""
ENOUGH_USERS = 10_000
"""With more users, the load generator's own cost disturbs the measurement; shorter pauses make as much load."""
FAR_APART = 3
"""Neighbouring sizes with this ratio or more leave a gap in which the plateau may start anywhere."""
LONGER = 4
"""This multiple of the load makes a range half as wide."""


class Severity(StrEnum):
    """Kinds of findings. REASON explains an answer, WARNING limits its use, REFUSAL explains why there is no answer."""

    REASON = "reason"
    WARNING = "warning"
    REFUSAL = "refusal"


class Figures(QuickRecord):
    """Figures by names with units. code: of the record in JSON; empty where several records share the figures."""

    code: ClassVar[str] = ""

    def __init_subclass__(cls, code: str = "", **marks: bool | Mapping[str, str]) -> None:
        """Make the class a dataclass. marks: class variable -> its value."""
        cls.code = code or cls.code
        for name, value in marks.items():
            setattr(cls, name, value)
        super().__init_subclass__()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return names and values as in JSON: with shared figures, without the way out, and without default values."""
        for name, value in vars(self).items():
            if isinstance(value, Figures) and not value.code:
                yield from value.items()
            elif name != "way_out" and value is not getattr(type(self), name, ...):
                yield name, value


class Finding(Figures):
    """A reason, a warning or a refusal.

    is_doubt: whether it puts the pool size in doubt, so that whoever uses the size must read it.
    leads: whether it must be read before the answer: no verdict shows its doubt, or it is the cause why there is none.
    of_prices: whether it explains the price table, and is read below it.
    of_curve: whether it is about the fitted curve and its sizes, which are noise where the pool is not the limit.
    of_generator: whether it is about the load generator's pool size or range alone, and says nothing of an application.
    """

    severity: ClassVar[Severity]
    is_doubt: ClassVar[bool] = False
    leads: ClassVar[bool] = False
    of_prices: ClassVar[bool] = False
    of_curve: ClassVar[bool] = False
    of_generator: ClassVar[bool] = False

    @property
    def extends(self) -> bool:
        """Whether its way out extends the run."""
        way_out: WayOut | None = getattr(self, "way_out", None)
        return way_out is not None and bool(way_out.extending)


class Reason(Finding):
    """A finding that explains the answer."""

    severity = Severity.REASON


class Caution(Finding):
    """A finding that limits the answer's use: a warning."""

    severity = Severity.WARNING


class ToDivide(Caution):
    """The pool size is the total for all clients of the database; a fleet divides it."""


class Refusal(Finding):
    """A finding that explains why there is no answer."""

    severity = Severity.REFUSAL


class WayOut(Figures):
    """An action that improves an answer; `present.text.sentences` adds the options for it.

    extends: parameter -> text of the option that extends the run, with the names of figures in braces.
    """

    extends: ClassVar[Mapping[str, str]] = {}

    @property
    def extending(self) -> dict[str, str]:
        """Parameter -> text of the options that extend the run, where that is the way out; else empty."""
        return {parameter: text.format(**vars(self)) for parameter, text in self.extends.items()}


class MeasureLonger(WayOut, code="measure_longer", extends={"repeats": "{repeats}"}):
    """Measure each step for longer, or more often: more repeats extend a grid."""

    step_seconds: int
    repeats: int


class SearchLonger(WayOut, code="search_longer", extends={"budget_seconds": "{budget_minutes}m"}):
    """Extend the search by a larger budget."""

    budget_minutes: int


class SearchNarrower(WayOut, code="search_narrower", extends={"interval": "{interval:g}"}):
    """Extend the search to a narrower range: it ended because its answer was certain enough.

    interval: the largest ratio of the range's ends.
    """

    interval: float


class FillGap(WayOut, code="fill_gap"):
    """Measure sizes between two neighbouring measured sizes."""

    below: int
    above: int

    @property
    def extending(self) -> dict[str, str]:
        """The size in the middle of the gap on a logarithmic scale, which extends a grid."""
        return {"sizes": str(round(sqrt(self.below * self.above)))}


class SweepBeyond(WayOut, code="sweep_beyond"):
    """Measure pool sizes beyond the measured sizes.

    shorter_pauses: whether more users would be too many, so that shorter pauses must fill the pools.
    users: that fill the pools; None where the run has enough.
    """

    pool_sizes: tuple[int, ...]
    shorter_pauses: bool
    users: int | None = None


class SweepRecordingBeyond(WayOut, code="sweep_recording_beyond"):
    """Replay other pool sizes of the recording."""


class OtherMachine(WayOut, code="other_machine"):
    """Run the load generator on another machine: more steps on a machine without a free core show no more."""


class RestoreData(WayOut, code="restore_data"):
    """Restore the data before each step: more load makes them larger."""


class MoreUsers(WayOut, code="more_users"):
    """Fill the pools with more users, with shorter pauses, or by measuring smaller pools; None for no such way."""

    users: int | None = None
    smaller_sizes: bool | None = None
    shorter_pauses: bool | None = None


class MoreWorkers(WayOut, code="more_workers"):
    """Give the load generator more CPU time."""


class MoreWorkersElsewhere(MoreWorkers):
    """Give the load generator the CPU time of another machine: no core of this machine is free."""


class MoreWorkersByDemands(MoreWorkers):
    """Give the load generator more CPU time: at a pool size, the service demands show how much.

    workers: so many that the database is the bottleneck; None where the run has that many already.
    """

    pool_size: int
    client_ms: float
    server_ms: float
    server_cores: int
    workers: int | None = None


def measure_longer(analysis: "Analysis") -> WayOut:
    """Return the way to a narrower range.

    It is another machine where no core was free, and the restored data where they grew. A search that its budget ended
    goes on. Else the widest gap between the measured sizes there is filled; or the search goes on until its range is
    narrower, or each size is measured longer.
    """
    plan, plateau = analysis.setting.plan, analysis.plateau
    assert plateau is not None
    if analysis.is_crowded:
        return OtherMachine()
    if analysis.data_growth:
        return RestoreData()
    gaps = [
        (above / below, below, above)
        for below, above in pairwise(size.pool_size for size in analysis.valid_sizes)
        if plateau.low < above and below < plateau.high and above >= FAR_APART * below
    ]
    if plan.search is not None and analysis.run.ended != "certain":
        return SearchLonger(max(1, LONGER * plan.search.budget_seconds // 60))
    if gaps:
        return FillGap(*max(gaps)[1:])
    if plan.search is not None:
        return SearchNarrower(max(1.01, round(sqrt(plan.search.interval), 2)))
    return MeasureLonger(step_seconds=max(30, LONGER * plan.step_seconds), repeats=max(3, 2 * plan.repeats))


def sweep_beyond(analysis: "Analysis", size: int | None = None) -> WayOut:
    """Return the way to measure beyond an end of the measured sizes. size: as in sizes_beyond."""
    if analysis.setting.recording is not None:
        return SweepRecordingBeyond()
    if analysis.is_crowded:
        return OtherMachine()
    sizes = sizes_beyond(analysis, size)
    users = users_for(analysis, sizes[-1])
    return SweepBeyond(sizes, users > ENOUGH_USERS, users if users > analysis.setting.plan.users else None)


def sizes_beyond(analysis: "Analysis", size: int | None = None) -> tuple[int, ...]:
    """Return the sizes to measure next, ascending: larger, or smaller ones where size, the answer, is the smallest."""
    smallest, largest = analysis.valid_sizes[0].pool_size, analysis.valid_sizes[-1].pool_size
    if size == smallest < largest:
        return tuple(sorted({max(1, size // 8), max(1, size // 4), max(1, size // 2), size}))
    return largest, 2 * largest, 4 * largest, 8 * largest


def more_workers(analysis: "Analysis", size: "SizeSummary") -> MoreWorkers:
    """Return the way out of a saturated load generator: more workers, or another machine where no core was free.

    size: the summary whose service demands show how many workers make the database the bottleneck.
    """
    demands = size.demands
    if analysis.is_crowded:
        return MoreWorkersElsewhere()
    if demands is None or demands.inferred or not demands.server_ms:
        return MoreWorkers()
    workers = ceil(ROOM * demands.client_ms * demands.server_cores / demands.server_ms)
    figures = (size.pool_size, demands.client_ms, demands.server_ms, demands.server_cores)
    return MoreWorkersByDemands(*figures, workers if workers > demands.client_processes else None)


def users_for(analysis: "Analysis", pool_size: int) -> int:
    """Return a number of users that fills all pools of a size: twice their connections, and those who pause meanwhile.

    At most, connections / usage time transactions end in a unit of time, each followed by a pause (Little's law). The
    usage time is that of the largest valid size, for it hardly falls at larger ones.
    """
    usage_ms = (analysis.valid_sizes or analysis.sizes)[-1].usage.mean
    connections = analysis.setting.connections(pool_size)
    pausing = connections * analysis.run.think_time_ms / usage_ms if usage_ms > 0 else 0.0
    return ceil(2 * connections + pausing)
