"""What happens during a sweep: events, each one line of JSON on its way to another process."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter

from poolsize.analysis.stats.percentiles import merged, percentiles
from poolsize.runs.check import Check
from poolsize.runs.run import Step


@dataclass(frozen=True)
class SweepStarted:
    """The plan stands: where the run is stored, how many steps it has, how many a resumed one has done, and notes.

    budget_seconds: what is left of a search's, whose steps are not known before; None for a grid.
    """

    run: str
    steps: int
    steps_done: int
    step_seconds: float
    budget_seconds: int | None = None
    notes: tuple[str, ...] = ()
    kind: Literal["sweep_started"] = "sweep_started"


@dataclass(frozen=True)
class StepStarted:
    """A pool of this size is about to be measured, at this rate of arrivals or, without one, as fast as it goes."""

    pool_size: int
    rate: float | None = None
    kind: Literal["step_started"] = "step_started"


@dataclass(frozen=True)
class SecondPassed:
    """One second of load: transactions that ended in it, and their p95 of the total time."""

    transactions: int
    p95_ms: float
    kind: Literal["second_passed"] = "second_passed"


@dataclass(frozen=True)
class StepDone:
    """A step is stored: its size, its mean throughput and p95 (total), and the checks it failed.

    rate: at which transactions arrived, or None. again: it is void, and will be measured again.
    """

    pool_size: int
    throughput: float
    p95_ms: float
    failed_checks: tuple[Check, ...]
    rate: float | None = None
    again: bool = False
    kind: Literal["step_done"] = "step_done"

    @classmethod
    def of(cls, step: Step, *, again: bool) -> Self:
        """Sum up a checked step."""
        return cls(
            step.pool_size,
            step.mean_throughput,
            percentiles(merged([step.latencies.total])).p95 if step.latencies else 0.0,
            tuple(result.check for result in step.failed_checks),
            step.rate,
            again,
        )


@dataclass(frozen=True)
class SweepDone:
    """Every planned step is stored."""

    kind: Literal["sweep_done"] = "sweep_done"


@dataclass(frozen=True)
class SweepFailed:
    """The sweep ended early, and why; what was measured is stored."""

    message: str
    exit_code: int
    kind: Literal["sweep_failed"] = "sweep_failed"


Event = SweepStarted | StepStarted | SecondPassed | StepDone | SweepDone | SweepFailed
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def write_event(event: Event) -> bytes:
    """Return an event as one line of JSON, without the line's end."""
    return _EVENT.dump_json(event)


def read_event(line: bytes) -> Event:
    """Return the event on one line of JSON."""
    return _EVENT.validate_json(line)
