"""What a sweep says while it runs: messages, one JSON line each, through a pipe to whoever started it."""

import os
import signal
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter

from poolsize.analysis.percentiles import merged, percentiles
from poolsize.run import Step

DESCRIPTOR = "POOLSIZE_PROGRESS_FD"
"""Environment variable with the number of the pipe's descriptor."""


@dataclass(frozen=True)
class SweepStarted:
    """The plan stands: where the run is stored, how many steps it has, and how many a resumed one has done."""

    run: str
    steps: int
    steps_done: int
    step_seconds: float
    kind: Literal["sweep_started"] = "sweep_started"


@dataclass(frozen=True)
class StepStarted:
    """A pool of this size is about to be measured."""

    order: int
    pool_size: int
    kind: Literal["step_started"] = "step_started"


@dataclass(frozen=True)
class SecondPassed:
    """One second of load: transactions that ended in it, and their p95 of the total time."""

    transactions: int
    p95_ms: float
    kind: Literal["second_passed"] = "second_passed"


@dataclass(frozen=True)
class StepDone:
    """A step is stored: its size, its mean throughput and p95 (total), and the checks it failed."""

    pool_size: int
    throughput: float
    p95_ms: float
    failed_checks: tuple[str, ...]
    kind: Literal["step_done"] = "step_done"

    @classmethod
    def of(cls, step: Step) -> Self:
        """Sum up a checked step."""
        return cls(
            step.pool_size,
            sum(step.counted) / len(step.counted),
            percentiles(merged([step.latencies.total])).p95,
            tuple(check.name for check in step.failed_checks),
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


Message = SweepStarted | StepStarted | SecondPassed | StepDone | SweepDone | SweepFailed
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="kind")])


class Progress:
    """Tells messages to the process that started the sweep, or to nobody."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @classmethod
    def from_environment(cls) -> Self:
        """The pipe that the starting process left open for us, if it did."""
        descriptor = os.environ.get(DESCRIPTOR)
        return cls(int(descriptor) if descriptor else None)

    def tell(self, message: Message) -> None:
        """Pass a message on. When the process that listened is gone, end this one as if it had said so."""
        if self._descriptor is None:
            return
        try:
            os.write(self._descriptor, _MESSAGE.dump_json(message) + b"\n")
        except BrokenPipeError:
            self._descriptor = None
            signal.raise_signal(signal.SIGTERM)


def read_message(line: bytes) -> Message:
    """The message on one line of the pipe."""
    return _MESSAGE.validate_json(line)
