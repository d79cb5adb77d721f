"""One step of one worker of an application's sweep, from its first second to its report."""

from collections.abc import Callable
from time import monotonic, perf_counter_ns
from typing import Any

import gevent

from poolsize.load.outstanding import OutstandingSecond
from poolsize.load.recorder import Recorder, WorkerSecond, sum_of_kinds
from poolsize.load.worker_cost import WorkerCost
from poolsize.load.worker_report import WorkerReport

NOTHING_OUTSTANDING = OutstandingSecond(0, 0.0)
MOST_NAMES, OTHER_NAMES = 40, "other requests"
"""Names of requests that are recorded apart, and the name of the rest. A Locust file groups URLs by `name`."""


class RequestRecorder:
    """Records the requests of a worker in a step. seconds: the seconds that ended.

    served: user, a greenlet -> when its last response came, in ns of perf_counter.
    """

    def __init__(self) -> None:
        """Record nothing yet."""
        self.seconds: list[WorkerSecond] = []
        self.served: dict[Any, int] = {}
        self._recorders: dict[str, Recorder] = {}

    def record(self, name: str, response_ns: int, error_kind: str | None) -> None:
        """Record a request of the current greenlet, which is a user, that has ended now.

        name: of the request. response_ns: its response time. error_kind: None for success.
        """
        user, ended_ns = gevent.getcurrent(), perf_counter_ns()
        began_ns = ended_ns - response_ns
        recorder = self._recorders.get(name) or self._new_recorder(name)
        if error_kind is None:
            recorder.record((max(0, began_ns - self.served.get(user, began_ns)), 0, response_ns))
            self.served[user] = ended_ns
        else:
            recorder.failed(error_kind, None, response_ns)
            self.served.setdefault(user, began_ns)  # the time of a failed request is a part of the next gap

    def _new_recorder(self, name: str) -> Recorder:
        """Return the recorder of a name; names beyond MOST_NAMES share one, for each costs time in every second."""
        if len(self._recorders) >= MOST_NAMES:
            name = OTHER_NAMES
        return self._recorders.setdefault(name, Recorder())

    def end_second(self) -> WorkerSecond:
        """End the current second of every name, and return its record."""
        second = sum_of_kinds({name: recorder.end_second() for name, recorder in self._recorders.items()})
        self.seconds.append(second)
        return second


class RequestStep:
    """Counts the requests of one worker's users, second by second, while Locust runs the users."""

    def __init__(self, users: int, on_second: Callable[[int, WorkerSecond, OutstandingSecond, int], None]) -> None:
        """Begin the first second now. users: of this worker. on_second: as in worker_step.Reporting."""
        self._users = users
        self._on_second = on_second
        self.recorder = RequestRecorder()
        self._cost = WorkerCost()
        self._cost.begin()
        self._clock = gevent.spawn(self._tick)

    def finish(self, first: int, last: int) -> WorkerReport:
        """Stop counting, and return the report of the seconds from first to before last."""
        self.close()
        return WorkerReport.of(self._users, [], self.recorder.seconds[first:last], self._cost.over(first, last))

    def close(self) -> None:
        """Stop counting."""
        self._clock.kill()
        self._cost.end()

    def _tick(self) -> None:
        started = monotonic()
        while True:
            index = len(self.recorder.seconds)
            gevent.sleep(max(0.0, started + index + 1 - monotonic()))
            self._cost.end_second()
            second = self.recorder.end_second()
            unserved = max(0, self._users - len(self.recorder.served))
            self._on_second(index, second, NOTHING_OUTSTANDING, unserved)
