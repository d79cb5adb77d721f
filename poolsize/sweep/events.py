"""The events of a sweep, each a line of JSON on its way from the sweep's process to the command line's.

Pipes carry the events, and turns to measure the other way.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Self, get_args

from pydantic import TypeAdapter

from poolsize.analysis.stats.percentiles import merged, percentiles
from poolsize.runs.run import CheckResult, Step

PROGRESS_DESCRIPTOR, TURNS_DESCRIPTOR = "POOLSIZE_PROGRESS_FD", "POOLSIZE_TURNS_FD"
"""Environment variables with the numbers of the descriptors on which a sweep sends its events, and is given turns."""
LOCUSTFILE_SHA256 = "POOLSIZE_LOCUSTFILE_SHA256"
"""Environment variable with the hash of the text that Locust may execute."""


@dataclass(frozen=True)
class SweepStarted:
    """The sweep begins.

    run: path of the run's file. steps: number of planned steps; a search counts only the steps of its verification.
    to_verify: the part of them that a verification still measures.
    steps_done: number of steps that a resumed run has already. complete: whether no step is left to measure.
    step_seconds: planned length of a step, warm-up included. counted_seconds: the part of it after the warm-up.
    budget_seconds: rest of a search's budget; None for a grid. notes: sentences for the user.
    of_application: whether an application's pool is measured, whose changes of size take time as well.
    users: concurrent users. largest: the largest pool size that may be measured.
    """

    run: str
    steps: int
    steps_done: int
    step_seconds: float
    budget_seconds: int | None = None
    notes: tuple[str, ...] = ()
    to_verify: int = 0
    counted_seconds: float = 0.0
    complete: bool = False
    of_application: bool = False
    users: int = 0
    largest: int = 0


@dataclass(frozen=True)
class StepStarted:
    """A step begins. rate: arrivals per second in an open loop, or None in a closed loop."""

    pool_size: int
    rate: float | None = None


@dataclass(frozen=True)
class SpeedAwaited:
    """The sweep waits before it repeats a step on a slow machine. speed: as a share of that before the first step."""

    pool_size: int
    speed: float


@dataclass(frozen=True)
class ServerAwaited:
    """The server went away, and the sweep waits for it. reason: what failed. seconds: the longest time to wait."""

    reason: str
    seconds: int


@dataclass(frozen=True)
class ServerBack:
    """The server answers again, and the step under way is measured again. seconds: that the server was away."""

    seconds: float


@dataclass(frozen=True)
class SecondPassed:
    """A second of load is over. transactions: those that ended in it. p95_ms: of their total time."""

    transactions: int
    p95_ms: float


@dataclass(frozen=True)
class Noted:
    """Something came up in the sweep. note: a sentence for the user."""

    note: str


@dataclass(frozen=True)
class StepDone:
    """A step is stored.

    throughput: mean transactions per second. p95_ms: of the total time; 0 in a replay. failed_checks: of the step.
    rate: arrivals per second in an open loop, or None. again: whether the step is measured again.
    """

    pool_size: int
    throughput: float
    p95_ms: float
    failed_checks: tuple[CheckResult, ...]
    rate: float | None = None
    again: bool = False

    @classmethod
    def of(cls, step: Step, *, again: bool) -> Self:
        """Return the event of a checked step. again: whether the step is measured again."""
        return cls(
            step.pool_size,
            step.mean_throughput,
            percentiles(merged([step.latencies.total])).p95 if step.latencies else 0.0,
            step.failed_checks,
            step.rate,
            again,
        )


@dataclass(frozen=True)
class TurnAwaited:
    """The sweep waits for a turn. steps: so far, failed attempts included. complete: whether no step is left."""

    steps: int
    complete: bool


@dataclass(frozen=True)
class SweepDone:
    """Every planned step is stored."""


@dataclass(frozen=True)
class SweepFailed:
    """The sweep ended early; the steps so far are stored. message: the reason. exit_code: of the command line."""

    message: str
    exit_code: int


@dataclass(frozen=True)
class EndAsked:
    """The user asked for the end of the sweep; it ends when the step under way is stored."""


class Occasion(StrEnum):
    """When a sweep runs the statements that a dry run shows.

    Not shown is what poolsize reads between steps, its locks, and the list that it keeps of its own tables.
    """

    TABLES = "tables"
    BEFORE_STEP = "before_step"
    TRANSACTION = "transaction"
    SECOND = "second"
    END = "end"


@dataclass(frozen=True)
class StatementGroup:
    """The statements of an occasion, each with how often its form is repeated; " ..." ends one that is longer.

    kind: of transaction; empty for other occasions, and where there is only one kind.
    """

    occasion: Occasion
    statements: tuple[tuple[str, int], ...]
    kind: str = ""


@dataclass(frozen=True)
class DryRun:
    """What a sweep would do to its server; nothing of it was done.

    server: name, version and address. limit: connections that it admits. pool_connections: of the largest pool.
    own_connections: poolsize's own. reserve: connections that stay free. users: concurrent users.
    sizes: of a grid. search: the smallest and the largest pool size of a search, or None.
    load_seconds: planned seconds of load, of a search at most. rate: arrivals per second in an open loop, or None.
    """

    server: str
    limit: int
    pool_connections: int
    own_connections: int
    reserve: int
    users: int
    sizes: tuple[int, ...]
    search: tuple[int, int] | None
    load_seconds: int
    rate: float | None
    groups: tuple[StatementGroup, ...]


Event = (
    SweepStarted | SpeedAwaited | StepStarted | ServerAwaited | ServerBack | SecondPassed | Noted | StepDone
    | TurnAwaited | SweepDone | SweepFailed | EndAsked | DryRun
)  # fmt: skip
_READERS = {event.__name__: TypeAdapter[Event](event) for event in get_args(Event)}
"""Name of an event's class -> what reads and writes its fields."""


def write_event(event: Event) -> bytes:
    """Return an event as a line of JSON, without a newline. The name of a file in it need not be UTF-8."""
    name = type(event).__name__
    return json.dumps([name, _READERS[name].dump_python(event, mode="json")]).encode()


def read_event(line: bytes) -> Event:
    """Return the event in a line of JSON."""
    name, fields = json.loads(line)
    return _READERS[name].validate_python(fields)
