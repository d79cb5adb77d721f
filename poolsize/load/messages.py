"""The conversation between the master, which leads the sweep, and the workers, as records in Locust's messages.

    master                                              worker
    Calibrate(private_url, schema)                  ->  Calibration(...)
    Open(shares, private_url, workload_sha256, ...) ->  Opened(connection_ids)
    Start()                                         ->  ReportedSecond(index, second), each second, until
    Finish(first, last)                             ->  WorkerReport(...)
                                                        Failed(error), at any time
                                                        UserFailed(error), at any time, also outside a conversation

Every message carries the number of its conversation: a calibration or the measurement of a step. The master ignores
workers that were not there when the step began, and messages of other conversations: a worker that joins later, or was
lost and comes back, does not count. The master alone decides when a step ends, because it alone knows the load of all
workers. The same messages pass within a single process and between machines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self, get_args

from pydantic import TypeAdapter

from poolsize.analysis.stats.percentiles import encoded
from poolsize.load.recorder import Cost, WorkerSecond, by_kind, histogram, merged_counts
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import LATENCIES, Calibration
from poolsize.sweep.readers import OWN_SCHEMA

RECORDED = (*LATENCIES, "failed")
"""The recorded times of a second: of successful transactions, and the total time of failed transactions."""
SECTIONS = 8
"""Equal parts of the counted seconds that are stored apart; a percentile's interval follows from their scatter."""


@dataclass(frozen=True)
class Calibrate:
    """Measure the cost of a worker.

    private_url: of the private server, without its password; None for the worker's own URL. schema: the schema in
    which the workload runs.
    """

    private_url: str | None
    schema: str


@dataclass(frozen=True)
class WorkerShare:
    """One worker's share of a step.

    connections: its part of the pool. A worker without connections has no users in the step.
    rate: transactions that arrive at this worker per second (open loop), or None in a closed loop.
    think_seconds: mean pause of a user between transactions (closed loop).
    timeout_seconds: how long a user waits for a connection.
    pool: the kind of pool, a PoolKind. schema: the schema in which the workload runs.
    """

    connections: int
    rate: float | None
    think_seconds: float
    timeout_seconds: float
    pool: str = PoolKind.FAIR
    schema: str = OWN_SCHEMA


@dataclass(frozen=True)
class Open:
    """Open the connections of a step.

    shares: worker -> its share. private_url: as in Calibrate. workload_sha256: hash of the locustfile's text.
    kinds: names of the kinds of transactions.
    """

    shares: dict[str, WorkerShare]
    private_url: str | None
    workload_sha256: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Start:
    """Begin the step."""


@dataclass(frozen=True)
class Finish:
    """End the step; its counted seconds are from `first` (included) to `last` (excluded)."""

    first: int
    last: int


@dataclass(frozen=True)
class Opened:
    """The connections of the step are open. connection_ids: as in pool.Pools."""

    connection_ids: list[int]


@dataclass(frozen=True)
class StepSecond:
    """One second of a step, of one worker or summed over the workers.

    transactions: number that ended. errors: kind -> failed transactions. total_us: total time in us -> transactions.
    gap_seconds: sum of the gaps before the transactions, users' pauses included.
    unserved: users of a closed loop whose first transaction had not ended.
    backlog: transactions of an open loop that are due and have no connection at the second's end.
    busy: busy connections of an open loop, their mean over the second, in connection-seconds.
    """

    transactions: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    total_us: dict[int, int] = field(default_factory=dict)
    gap_seconds: float = 0.0
    unserved: int = 0
    backlog: int = 0
    busy: float = 0.0

    @classmethod
    def of(cls, second: WorkerSecond, *, unserved: int = 0, backlog: int = 0, busy: float = 0.0) -> Self:
        """Return what the master needs of a worker's second."""
        return cls(second.transactions, second.errors, second.total, second.gap_seconds, unserved, backlog, busy)

    @classmethod
    def sum_of(cls, parts: Iterable["StepSecond"]) -> Self:
        """Return the sum over the workers. parts: of each worker."""
        parts = list(parts)
        errors, total_us = (merged_counts(getattr(part, name) for part in parts) for name in ("errors", "total_us"))
        numbers = ("transactions", "gap_seconds", "unserved", "backlog", "busy")
        sums = {name: sum(getattr(part, name) for part in parts) for name in numbers}
        return cls(errors=errors, total_us=total_us, **sums)

    @property
    def p95_ms(self) -> float:
        """95th percentile of the total time of this second's transactions, in ms; 0 without any."""
        remaining = 0.95 * sum(self.total_us.values())
        for total_us, number in sorted(self.total_us.items()):
            remaining -= number
            if remaining <= 0:
                return total_us / 1000
        return 0.0


@dataclass(frozen=True)
class ReportedSecond:
    """The worker's part of a second of the step. index: of the second, from 0."""

    index: int
    second: StepSecond


@dataclass(frozen=True)
class WorkerReport:
    """The measurements of one worker in the counted seconds of a step, whose connections are closed.

    users: number of users that took part. connection_ids: as in pool.Pools.
    gap_seconds: sum of the gaps before the transactions.
    sections: for each equal part of the time, wait, usage, total and failed -> encoded histogram.
    kinds: kind of transaction -> the same of all this time; empty for a workload with one kind.
    """

    users: int
    connection_ids: list[int]
    gap_seconds: float
    sections: list[dict[str, str]]
    kinds: dict[str, dict[str, str]]
    cost: Cost

    @classmethod
    def of(cls, users: int, connection_ids: list[int], counted: Sequence[WorkerSecond], cost: Cost) -> Self:
        """Return the report of the counted seconds; of fewer seconds than SECTIONS, each is a section."""
        number = max(1, min(SECTIONS, len(counted)))
        bounds = pairwise(round(len(counted) * place / number) for place in range(number + 1))
        return cls(
            users,
            connection_ids,
            gap_seconds=sum(second.gap_seconds for second in counted),
            sections=[_encoded(counted[start:end]) for start, end in bounds if end > start],
            kinds={name: _encoded(parts) for name, parts in by_kind(second.kinds for second in counted).items()},
            cost=cost,
        )


def _encoded(seconds: Sequence[WorkerSecond]) -> dict[str, str]:
    return {name: encoded(histogram([getattr(second, name) for second in seconds])) for name in RECORDED}


@dataclass(frozen=True)
class Failed:
    """The conversation failed. error: the reason, for the user. server_gone: whether the server went away."""

    error: str
    server_gone: bool = False


@dataclass(frozen=True)
class UserFailed:
    """A user failed as it started or stopped. error: the reason, with the line of the locustfile."""

    error: str


Order = Calibrate | Open | Start | Finish
Reply = Calibration | Opened | ReportedSecond | WorkerReport | Failed | UserFailed
ORDER, REPLY = "poolsize_order", "poolsize_reply"
"""Locust's names of the messages of the master, and of a worker."""
_RECORDS: dict[str, TypeAdapter[Any]] = {
    record.__name__: TypeAdapter(record) for record in (*get_args(Order), *get_args(Reply))
}


def encode(number: int, content: Order | Reply) -> dict[str, Any]:
    """Return the fields of a message, plain values. number: of its conversation."""
    kind = type(content).__name__
    return {"number": number, "kind": kind, "content": _RECORDS[kind].dump_python(content)}


def decode(fields: dict[str, Any]) -> tuple[int, Any]:
    """Return the number of a message's conversation, and its content, an Order or a Reply."""
    return fields["number"], _RECORDS[fields["kind"]].validate_python(fields["content"])
