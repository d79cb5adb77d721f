"""The worker's side of an application's sweep: it counts the requests of Locust's users."""

import traceback
from typing import Any

from locust.env import Environment

from poolsize.load.outstanding import OutstandingSecond
from poolsize.load.recorder import WorkerSecond
from poolsize.load.request_step import RequestStep
from poolsize.load.source_line import located
from poolsize.load.step_seconds import ReportedSecond
from poolsize.locust.messages import (
    ORDERS,
    Failed,
    Finish,
    Finished,
    Message,
    Reply,
    Second,
    Start,
    UserFailed,
    decode,
    encode,
)
from poolsize.locust.worker import worker_name


class RequestWorker:
    """Carries out the master's orders: from Start to Finish it counts every request of this process."""

    def __init__(self, environment: Environment) -> None:
        """Begin to listen to the master, and to the requests and errors of the users."""
        assert environment.runner is not None
        self._runner = environment.runner
        self._name = worker_name(environment.runner)
        self._number = 0
        self._step: RequestStep | None = None
        for kind in ORDERS:
            self._runner.register_message(kind, self._on_message)
        environment.events.request.add_listener(self._on_request)
        environment.events.user_error.add_listener(self._on_user_error)

    def close(self) -> None:
        """Stop counting."""
        if self._step is not None:
            self._step.close()
            self._step = None

    def _on_message(self, msg: Any, **_: Any) -> None:
        message = decode(msg.type, msg.data)
        self._number = message.number
        match message.content:
            case Start():
                self.close()
                self._step = RequestStep(self._runner.user_count, self._on_second)
            case Finish(first, last) if self._step is not None:
                step, self._step = self._step, None
                self._reply(Finished(step.finish(first, last)))

    def _on_request(
        self, request_type: str, name: str, response_time: float, exception: BaseException | None = None, **_: Any
    ) -> None:
        """Record a request. Locust would log an error of a listener and go on, so it is reported here."""
        if self._step is None:
            return
        try:
            error = None if exception is None else error_kind(exception)
            self._step.recorder.record(f"{request_type} {name}", round(1e6 * (response_time or 0)), error)
        except Exception as failure:
            self._reply(Failed(f"a request could not be recorded: {located(failure)}"))

    def _on_user_error(self, exception: Exception, **_: Any) -> None:
        """Count a failed task, after which Locust lets its user go on; a user that fails as it starts is gone."""
        if any(frame.name == "on_start" for frame in traceback.extract_tb(exception.__traceback__)):
            self._reply(UserFailed(f"a user failed as it started: {located(exception)}"))
        elif self._step is not None:
            self._step.recorder.record("task", 0, type(exception).__name__)

    def _on_second(self, index: int, second: WorkerSecond, outstanding: OutstandingSecond, unserved: int) -> None:
        self._reply(Second(ReportedSecond.of(index, second, outstanding, unserved)))

    def _reply(self, content: Reply) -> None:
        self._runner.send_message(*encode(Message(self._number, self._name, content)))


def error_kind(error: BaseException) -> str:
    """Return the kind of a failed request: "status_503", or the name of the exception's class."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(error, "code", None)
    return f"status_{status}" if isinstance(status, int) and status else type(error).__name__
