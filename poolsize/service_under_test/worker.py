"""A worker of an application's sweep: from Start to Finish it counts every request of Locust's users in its process."""

import traceback
from collections.abc import Callable
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING, Any

import gevent

from poolsize.load import messages
from poolsize.load.messages import Failed, Finish, ReportedSecond, Start, StepSecond, UserFailed, WorkerReport
from poolsize.load.recorder import Recorder, WorkerCost, WorkerSecond, sum_of_kinds
from poolsize.sweep.source_line import located

if TYPE_CHECKING:
    from locust.env import Environment

MOST_NAMES, OTHER_NAMES = 40, "other requests"
"""Names of requests that are recorded apart, and the name of the rest. A Locust file groups URLs by `name`."""


class RequestStep:
    """Counts the requests of one worker's users, second by second, while Locust runs the users.

    seconds: the seconds that ended. served: user, a greenlet -> when its last response came, in ns of perf_counter.
    """

    def __init__(self, users: int, on_second: Callable[[ReportedSecond], None]) -> None:
        """Count nothing yet. users: of this worker. on_second: called at the end of each second."""
        self.seconds: list[WorkerSecond] = []
        self.served: dict[Any, int] = {}
        self._users = users
        self._on_second = on_second
        self._recorders: dict[str, Recorder] = {}
        self._cost = WorkerCost()
        self._clock = gevent.Greenlet(self._tick)

    def begin(self) -> None:
        """Begin the first second now."""
        self._cost.begin()
        self._clock.start()

    def record(self, name: str, response_ns: int, error_kind: str | None) -> None:
        """Record a request of the current greenlet, which is a user, that has ended now.

        name: of the request; names beyond MOST_NAMES share one, for each costs time in every second.
        response_ns: its response time. error_kind: None for success.
        """
        user, ended_ns = gevent.getcurrent(), perf_counter_ns()
        began_ns = ended_ns - response_ns
        if name not in self._recorders and len(self._recorders) >= MOST_NAMES:
            name = OTHER_NAMES
        recorder = self._recorders.get(name) or self._recorders.setdefault(name, Recorder())
        if error_kind is None:
            recorder.record((max(0, began_ns - self.served.get(user, began_ns)), 0, response_ns))
            self.served[user] = ended_ns
        else:
            recorder.failed(error_kind, None, response_ns)
            self.served.setdefault(user, began_ns)  # the time of a failed request is a part of the next gap

    def end_second(self) -> WorkerSecond:
        """End the current second of every name, and return its record."""
        second = sum_of_kinds({name: recorder.end_second() for name, recorder in self._recorders.items()})
        self.seconds.append(second)
        return second

    def finish(self, first: int, last: int) -> WorkerReport:
        """Stop counting, and return the report of the seconds from first to before last."""
        self.close()
        return WorkerReport.of(self._users, [], self.seconds[first:last], self._cost.over(first, last))

    def close(self) -> None:
        """Stop counting."""
        self._clock.kill()
        self._cost.end()

    def _tick(self) -> None:
        started = monotonic()
        while True:
            index = len(self.seconds)
            gevent.sleep(max(0.0, started + index + 1 - monotonic()))
            self._cost.end_second()
            second, unserved = self.end_second(), max(0, self._users - len(self.served))
            self._on_second(ReportedSecond(index, StepSecond.of(second, unserved=unserved)))


class RequestWorker:
    """Carries out the master's orders."""

    def __init__(self, environment: "Environment") -> None:
        assert environment.runner is not None
        self._runner = environment.runner
        self._number = 0
        self._step: RequestStep | None = None
        self._runner.register_message(messages.ORDER, self._on_order)
        environment.events.request.add_listener(self._on_request)
        environment.events.user_error.add_listener(self._on_user_error)

    def close(self) -> None:
        """Stop counting."""
        if self._step is not None:
            self._step.close()
            self._step = None

    def _on_order(self, msg: Any, **_: Any) -> None:
        self._number, order = messages.decode(msg.data)
        match order:
            case Start():
                self.close()
                self._step = RequestStep(self._runner.user_count, self._reply)
                self._step.begin()
            case Finish(first, last) if self._step is not None:
                step, self._step = self._step, None
                self._reply(step.finish(first, last))

    def _on_request(
        self, request_type: str, name: str, response_time: float, exception: BaseException | None = None, **_: Any
    ) -> None:
        """Record a request. Locust would log an error of a listener and go on, so it is reported here."""
        if self._step is None:
            return
        try:
            error = None if exception is None else error_kind(exception)
            self._step.record(f"{request_type} {name}", round(1e6 * (response_time or 0)), error)
        except Exception as failure:
            self._reply(Failed(f"a request could not be recorded: {located(failure)}"))

    def _on_user_error(self, exception: Exception, **_: Any) -> None:
        """Count a failed task, after which Locust lets its user go on; a user that fails as it starts is gone."""
        if any(frame.name == "on_start" for frame in traceback.extract_tb(exception.__traceback__)):
            self._reply(UserFailed(f"a user failed as it started: {located(exception)}"))
        elif self._step is not None:
            self._step.record("task", 0, type(exception).__name__)

    def _reply(self, reply: messages.Reply) -> None:
        self._runner.send_message(messages.REPLY, messages.encode(self._number, reply))


def error_kind(error: BaseException) -> str:
    """Return the kind of a failed request: "status_503", or the name of the exception's class."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(error, "code", None)
    return f"status_{status}" if isinstance(status, int) and status else type(error).__name__
