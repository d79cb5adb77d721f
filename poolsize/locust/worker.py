"""A load process's side of the conversation with the leader of the sweep."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import gevent
from locust.env import Environment
from locust.runners import Runner, WorkerRunner
from sqlalchemy import URL

from poolsize.errors import WorkFailed
from poolsize.load.calibration import calibrate
from poolsize.load.process import LoadProcess
from poolsize.load.recorder import Second
from poolsize.locust import messages, stats
from poolsize.target.connection import database_url


def worker_name(runner: Runner) -> str:
    """What a load process is called: Locust's name of it, or "local" for the leader's own."""
    return runner.client_id if isinstance(runner, WorkerRunner) else "local"


class LocustWorker:
    """Carries out what the leader sends. process: the load process, for its callers to take part in."""

    def __init__(self, environment: Environment, workload: str, workload_sha256: str, own_url: str | None) -> None:
        """Begin to listen.

        workload: the name under which Locust's statistics have it; workload_sha256: of its file. own_url: how the
        database is reached from here; not needed where the leader sends its private server's.
        """
        assert environment.runner is not None
        self._environment = environment
        self._runner = environment.runner
        self._workload = workload
        self._own_url = own_url
        self._name = worker_name(environment.runner)
        self._workload_sha256 = workload_sha256
        self._number = 0
        self.process = LoadProcess(self._tell_second, lambda failure: self._reply(messages.FINISHED, error=failure))
        self._listen(messages.CALIBRATE, messages.CALIBRATED, self._calibrate)
        self._listen(messages.OPEN, messages.OPENED, self._open)
        self._listen(messages.START, None, self._start)
        self._listen(messages.FINISH, messages.FINISHED, self._finish)

    def _calibrate(self, private_url: str | None) -> dict[str, Any]:
        return {"calibration": asdict(calibrate(self._url(private_url)))}

    def _open(
        self, shares: dict[str, int], private_url: str | None, timeout_seconds: float, workload_sha256: str
    ) -> dict[str, Any]:
        if workload_sha256 != self._workload_sha256:
            raise WorkFailed(
                f"the load process {self._name} has another workload: start it with the leader's locustfile"
            )
        self.process.open(self._url(private_url), shares.get(self._name, 0), timeout_seconds)
        return {}

    def _start(self, think_seconds: float, rates: dict[str, float] | None) -> dict[str, Any]:
        self.process.start(think_seconds, rates.get(self._name, 0.0) if rates else None)
        return {}

    def _finish(self, first: int, last: int) -> dict[str, Any]:
        try:
            return {"report": asdict(self.process.finish(first, last))}
        finally:
            self.process.close()

    def _tell_second(self, index: int, second: Second, backlog: int) -> None:
        stats.report(self._environment, self._workload, second)
        self._reply(
            messages.SECOND,
            index=index,
            transactions=second.transactions,
            errors=second.errors,
            total_us=[list(second.total), list(second.total.values())],
            backlog=backlog,
        )

    def _url(self, private_url: str | None) -> URL:
        if not (known := private_url or self._own_url):
            raise WorkFailed(f"the load process {self._name} has no URL: set POOLSIZE_URL where it runs")
        return database_url(known)

    def _reply(self, kind: str, **data: Any) -> None:
        self._runner.send_message(kind, {"worker": self._name, "number": self._number, **data})

    def _listen(self, kind: str, answer_kind: str | None, work: Callable[..., dict[str, Any]]) -> None:
        """Do the work in a greenlet of its own, so that Locust can go on listening, and answer if that is asked."""

        def answer(number: int, data: dict[str, Any]) -> None:
            self._number = number
            try:
                result = work(**data)
            except Exception as error:
                text = str(error) if isinstance(error, WorkFailed) else f"{type(error).__name__}: {error}"
                self._reply(answer_kind or messages.FINISHED, error=text)
            else:
                if answer_kind:
                    self._reply(answer_kind, **result)

        def on_message(msg: Any, **_: Any) -> None:
            gevent.spawn(answer, msg.data["number"], {name: one for name, one in msg.data.items() if name != "number"})

        self._runner.register_message(kind, on_message)
