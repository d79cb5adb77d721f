"""One step of one worker of an application's sweep, from its first second to its report."""

from collections.abc import Callable
from time import monotonic

import gevent

from poolsize.load.outstanding import OutstandingSecond
from poolsize.load.recorder import WorkerSecond
from poolsize.load.request_recorder import RequestRecorder
from poolsize.load.worker_cost import WorkerCost
from poolsize.load.worker_report import WorkerReport

NOTHING_OUTSTANDING = OutstandingSecond(0, 0.0)


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
