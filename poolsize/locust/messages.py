"""The conversation between the master, which leads the sweep, and the workers, as records in Locust's messages.

    master                                              worker
    Calibrate(private_url, schema)                  ->  Calibrated(calibration)
    Open(shares, private_url, workload_sha256, ...) ->  Opened(connection_ids)
    Start()                                         ->  Second(second), each second, until
    Finish(first, last)                             ->  Finished(report)
                                                        Failed(error), at any time
                                                        UserFailed(error), at any time, also outside a conversation

Every message carries the number of its conversation. A conversation is a calibration or the measurement of a step.
Every message of a worker carries the worker's name. The master ignores workers that were not there when the step
began, and messages of other conversations: a worker that joins later, or was lost and comes back, does not count. The
master alone decides when a step ends, because it alone knows the load of all workers. The same messages pass within a
single process and between machines.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from poolsize.load.step_seconds import ReportedSecond
from poolsize.load.worker_report import WorkerReport
from poolsize.load.worker_step import WorkerShare
from poolsize.runs.run import Calibration


@dataclass(frozen=True)
class Calibrate:
    """Measure the cost of a worker.

    private_url: of the private server, without its password; None for the worker's own URL. schema: the schema in
    which the workload runs.
    """

    private_url: str | None
    schema: str


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
class Calibrated:
    """The cost of the worker."""

    calibration: Calibration


@dataclass(frozen=True)
class Opened:
    """The connections of the step are open. connection_ids: as in pool.OpenPool."""

    connection_ids: list[int]


@dataclass(frozen=True)
class Second:
    """The worker's part of a second of the step."""

    second: ReportedSecond


@dataclass(frozen=True)
class Finished:
    """The step is over, and its connections are closed."""

    report: WorkerReport


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
Reply = Calibrated | Opened | Second | Finished | Failed | UserFailed


@dataclass(frozen=True)
class Message:
    """An order or a reply. number: of its conversation. worker: the sender's name; "" for the master."""

    number: int
    worker: str
    content: Order | Reply


_PREFIX = "poolsize_"
_CONTENTS: dict[str, TypeAdapter[Any]] = {
    _PREFIX + record.__name__: TypeAdapter(record)
    for record in (Calibrate, Open, Start, Finish, Calibrated, Opened, Second, Finished, Failed, UserFailed)
}
ORDERS = tuple(_PREFIX + record.__name__ for record in (Calibrate, Open, Start, Finish))
"""Locust's names of the messages that the master sends."""
REPLIES = tuple(name for name in _CONTENTS if name not in ORDERS)
"""Locust's names of the messages that a worker sends."""


def encode(message: Message) -> tuple[str, dict[str, Any]]:
    """Return Locust's name of a message, and its fields as plain values."""
    name = _PREFIX + type(message.content).__name__
    content = _CONTENTS[name].dump_python(message.content)
    return name, {"number": message.number, "worker": message.worker, "content": content}


def decode(name: str, fields: dict[str, Any]) -> Message:
    """Return the message of Locust's name and plain values."""
    return Message(fields["number"], fields["worker"], _CONTENTS[name].validate_python(fields["content"]))
