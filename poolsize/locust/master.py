"""The LoadGenerator that measures with Locust's processes, here or on other machines, by Locust's messages."""

from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import gevent
import pymysql
from gevent.queue import Empty, Queue
from locust.runners import MasterRunner, Runner
from sqlalchemy import URL

from poolsize.errors import WorkFailed
from poolsize.facts.server import connections_in
from poolsize.load.assemble import assemble
from poolsize.load.process import Report
from poolsize.load.step_course import StepCourse
from poolsize.load.stopping import Ending, ending
from poolsize.locust import messages
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.worker import worker_name
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Calibration, Setting, Step, Stopped, StopReason
from poolsize.sweep.events import SecondPassed
from poolsize.target.connection import SCHEMA, connect, error_kind
from poolsize.target.sampler import ServerWatch

GRACE_SECONDS = 90
LOOK_SECONDS = 0.5
"""How often to see whether a load process is gone."""


class LocustGenerator:
    """Measures planned steps with every load process that is connected."""

    def __init__(
        self,
        runner: Runner,
        url: URL,
        setting: Setting,
        progress: ProgressPipe,
        before_step: Callable[[], None],
    ) -> None:
        self._runner = runner
        self._plan = setting.plan
        self._private_url = url.render_as_string(hide_password=False) if setting.private else None
        self._progress = progress
        self._before_step = before_step
        self._workload_sha256 = setting.workload_sha256
        self._number = 0
        self._inbox: Queue[tuple[str, dict[str, Any]]] = Queue()
        self._monitor = connect(url)
        self._server = ServerWatch(url)
        self.notes = self._server.notes
        for kind in (messages.CALIBRATED, messages.OPENED, messages.SECOND, messages.FINISHED):
            runner.register_message(kind, self._receiver(kind))

    def calibrate(self) -> Calibration | None:
        """What one load process costs; None where it could not be had."""
        worker = self._workers()[0]
        self._number += 1
        self._send(messages.CALIBRATE, {"private_url": self._private_url}, worker)
        try:
            replies = self._collect(messages.CALIBRATED, {worker})
        except WorkFailed:
            return None
        return Calibration(**replies[worker]["calibration"]) if replies else None

    def measure(self, planned: PlannedStep) -> Step:
        """Measure one pool size once, over all processes. A process that is lost ends the step early."""
        try:
            self._before_step()
            shares = self._open(planned.pool_size)
            started = datetime.now(UTC).isoformat(timespec="seconds")
            self._start(planned, shares)
            course = StepCourse(shares)
            end = self._follow(course, planned)
            with self._monitor.cursor() as cursor:
                counted = connections_in(cursor, SCHEMA)
            self._send(messages.FINISH, {"first": end.first, "last": end.last})
            replies = self._collect(messages.FINISHED, set(course.workers))
        except pymysql.MySQLError as error:
            raise WorkFailed(f"the server failed ({error_kind(error)}): {error.args[-1]}") from None
        finally:
            self._server.stop()
        reports = {name: Report(**reply["report"]) for name, reply in replies.items()}
        if lost := set(shares) - set(reports):
            end = Ending(
                end.first, end.last, Stopped(StopReason.WORKER_LOST, {"lost": len(lost), "workers": len(shares)})
            )
            self._share_users_anew()
        server = self._server.series(end.last)
        return assemble(planned, started, course.seconds, end, shares, reports, server, counted)

    def close(self) -> None:
        """Close the connections that watch the server."""
        self._server.close()
        with closing(self._monitor):
            pass

    def _open(self, pool_size: int) -> dict[str, int]:
        """Have every process open its share of the pool; once more without those that are lost meanwhile."""
        while True:
            shares = split(pool_size, self._workers())
            self._number += 1
            self._send(
                messages.OPEN,
                {
                    "shares": shares,
                    "private_url": self._private_url,
                    "timeout_seconds": self._plan.pool_timeout_seconds,
                    "workload_sha256": self._workload_sha256,
                },
            )
            if set(self._collect(messages.OPENED, set(shares))) == set(shares):
                return shares
            self._share_users_anew()

    def _start(self, planned: PlannedStep, shares: Mapping[str, int]) -> None:
        rates = None
        if planned.rate is not None:
            rates = {name: planned.rate * share / planned.pool_size for name, share in shares.items()}
        self._server.start()
        self._send(messages.START, {"think_seconds": self._plan.think_time_ms / 1000, "rates": rates})

    def _follow(self, course: StepCourse, planned: PlannedStep) -> Ending:
        """Take the seconds as they come until the step may end."""
        told = len(course.seconds)
        heard_at = monotonic()
        while True:
            if (message := self._next_message(course.workers)) and message[0] == messages.SECOND:
                course.add(message[1])
            for second in course.seconds[told:]:
                self._progress.tell(SecondPassed(second.transactions, second.p95_ms))
                told, heard_at = told + 1, monotonic()
            if lost := course.workers - set(self._workers()):
                for worker in lost:
                    course.lose(worker)
                last = len(course.seconds)
                return Ending(min(self._plan.warm_up_seconds, last), last, None)
            if end := ending(self._plan, course.seconds, planned.rate):
                return end
            if monotonic() > heard_at + GRACE_SECONDS:
                raise WorkFailed(f"no load process has told anything for {GRACE_SECONDS} s")

    def _workers(self) -> list[str]:
        """The processes that have callers."""
        if isinstance(self._runner, MasterRunner):
            clients = [*self._runner.clients.running, *self._runner.clients.spawning]
            found = sorted(client.id for client in clients if client.user_count)
            if not found:
                raise WorkFailed("every load process is gone; do they run the same locustfile as this one?")
            return found
        return [worker_name(self._runner)]

    def _share_users_anew(self) -> None:
        """Give the callers of a process that is gone to the others."""
        users = self._plan.users
        self._runner.start(users, spawn_rate=users)
        deadline = monotonic() + GRACE_SECONDS
        while self._runner.user_count < users:
            if monotonic() > deadline:
                raise WorkFailed("the remaining load processes did not take over the users of one that is gone")
            gevent.sleep(0.1)

    def _send(self, kind: str, data: dict[str, Any], worker: str | None = None) -> None:
        self._runner.send_message(kind, {"number": self._number, **data}, worker)

    def _receiver(self, kind: str) -> Callable[..., None]:
        def receive(msg: Any, **_: Any) -> None:
            self._inbox.put((kind, msg.data))

        return receive

    def _next_message(self, workers: set[str]) -> tuple[str, dict[str, Any]] | None:
        """What one of these processes says in this conversation. Raises WorkFailed when it says that it failed."""
        try:
            kind, data = self._inbox.get(timeout=LOOK_SECONDS)
        except Empty:
            return None
        if data["worker"] not in workers or data["number"] != self._number:
            return None
        if "error" in data:
            raise WorkFailed(data["error"])
        return kind, data

    def _collect(self, kind: str, workers: set[str]) -> dict[str, dict[str, Any]]:
        """Wait for a reply of each of these processes, or until it is lost. Raises WorkFailed for one that failed."""
        replies: dict[str, dict[str, Any]] = {}
        deadline = monotonic() + GRACE_SECONDS
        while missing := (workers & set(self._workers())) - set(replies):
            if monotonic() > deadline:
                raise WorkFailed(f"{len(missing)} of {len(workers)} load processes did not answer")
            if (message := self._next_message(workers)) and message[0] == kind:
                replies[message[1]["worker"]] = message[1]
        return replies


def split(pool_size: int, workers: list[str]) -> dict[str, int]:
    """Shares of a pool that add up to exactly pool_size, as equal as whole numbers can be."""
    base, more = divmod(pool_size, len(workers))
    return {name: base + (place < more) for place, name in enumerate(workers)}
