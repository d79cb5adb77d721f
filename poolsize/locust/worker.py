"""The worker's side of the conversation with the master."""

from dataclasses import asdict
from typing import Any, NamedTuple

import gevent
from gevent.queue import Queue
from locust.env import Environment
from locust.runners import Runner, WorkerRunner
from sqlalchemy import URL

from poolsize.errors import WorkFailed
from poolsize.load.calibration import calibrate
from poolsize.load.recorder import WorkerSecond
from poolsize.load.step_gate import StepGate
from poolsize.load.worker_step import WorkerShare, WorkerStep
from poolsize.locust import messages, stats
from poolsize.target.connection import database_url, schema_in


def worker_name(runner: Runner) -> str:
    """Return Locust's name of a worker, or "local" where master and worker are a single process."""
    return runner.client_id if isinstance(runner, WorkerRunner) else "local"


class Order(NamedTuple):
    """A message of the master: its kind (messages.ORDERS), the number of its conversation, and its other fields."""

    kind: str
    number: int
    data: dict[str, Any]


class Superseded(Exception):
    """The master began another conversation before the current conversation ended."""


class LocustWorker:
    """Carries out the master's orders, one conversation after another.

    gate: the gate at which this worker's users wait for a step.
    """

    def __init__(self, environment: Environment, workload: str, workload_sha256: str, own_url: str | None) -> None:
        """Begin to listen to the master.

        workload: the workload's name in Locust's statistics. workload_sha256: hash of the locustfile's text.
        own_url: the database's URL from here; None where the master sends the URL of its private server.
        """
        assert environment.runner is not None
        self.gate = StepGate()
        self._environment = environment
        self._runner = environment.runner
        self._workload = workload
        self._workload_sha256 = workload_sha256
        self._own_url = own_url
        self._name = worker_name(environment.runner)
        self._number = 0
        self._orders: Queue[Order] = Queue()
        for kind in messages.ORDERS:
            self._runner.register_message(kind, self._on_message)
        self._serving = gevent.spawn(self._serve)

    def close(self) -> None:
        """End the conversation, and with it the step that is being measured."""
        self._serving.kill()

    def _on_message(self, msg: Any, **_: Any) -> None:
        data = dict(msg.data)
        self._orders.put(Order(msg.type, data.pop("number"), data))

    def _serve(self) -> None:
        """Carry out orders for ever; runs in a greenlet of its own, so that Locust goes on listening."""
        while True:
            order = self._orders.get()
            self._number = order.number
            try:
                if order.kind == messages.CALIBRATE:
                    self._calibrate(**order.data)
                elif order.kind == messages.OPEN and self._name in order.data["shares"]:
                    self._measure(**order.data)
            except Superseded:
                continue
            except WorkFailed as error:
                self._fail(str(error))
            except Exception as error:
                self._fail(f"{type(error).__name__}: {error}")

    def _calibrate(self, private_url: str | None, schema: str) -> None:
        self._reply(messages.CALIBRATED, calibration=asdict(calibrate(self._url(private_url, schema), schema)))

    def _measure(self, shares: dict[str, dict[str, Any]], private_url: str | None, workload_sha256: str) -> None:
        """Measure one step, from OPEN to FINISHED."""
        if workload_sha256 != self._workload_sha256:
            raise WorkFailed(
                f"the load process {self._name} has another workload: start it with the leader's locustfile"
            )
        share = WorkerShare(**shares[self._name])
        with WorkerStep(self._url(private_url, share.schema), share, self.gate, self._on_second, self._fail) as step:
            self._reply(messages.OPENED, connection_ids=step.connection_ids)
            self._wait_for(messages.START)
            step.begin()
            report = step.finish(**self._wait_for(messages.FINISH))
        # Only now, with the pool closed, has the server room for the next step's connections.
        self._reply(messages.FINISHED, report=asdict(report))

    def _wait_for(self, kind: str) -> dict[str, Any]:
        """Wait for the next order of this conversation, and return its fields.

        Raises Superseded when the next order is of another conversation or kind.
        """
        order = self._orders.peek()
        if (order.number, order.kind) != (self._number, kind):
            raise Superseded
        return self._orders.get().data

    def _on_second(self, index: int, second: WorkerSecond, backlog: int) -> None:
        stats.report(self._environment, self._workload, second)
        self._reply(
            messages.SECOND,
            index=index,
            transactions=second.transactions,
            errors=second.errors,
            total_us=[list(second.total), list(second.total.values())],
            backlog=backlog,
        )

    def _url(self, private_url: str | None, schema: str) -> URL:
        """Return the database's URL from here.

        Raises WorkFailed when neither master nor worker has a URL, and when the worker's URL names another schema.
        """
        if not (url := private_url or self._own_url):
            raise WorkFailed(f"the load process {self._name} has no URL: set POOLSIZE_URL where it runs")
        if (named := schema_in(url)) not in {None, schema}:
            raise WorkFailed(
                f"the URL of the load process {self._name} names the schema {named}, and the sweep uses {schema}: "
                "leave it out of POOLSIZE_URL where that process runs"
            )
        return database_url(url)

    def _fail(self, reason: str) -> None:
        self._reply(messages.FAILED, error=reason)

    def _reply(self, kind: str, **data: Any) -> None:
        self._runner.send_message(kind, {"worker": self._name, "number": self._number, **data})
