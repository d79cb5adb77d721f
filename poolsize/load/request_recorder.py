"""A worker's record of its users' requests to an application, by the second and by the request's name."""

from time import perf_counter_ns
from typing import Any

import gevent

from poolsize.load.recorder import Recorder, WorkerSecond, sum_of_kinds

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
