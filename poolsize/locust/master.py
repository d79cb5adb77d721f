"""The LoadGenerator that measures with Locust's workers, on this machine or on others, through Locust's messages."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any, TypeVar

import pymysql
from gevent.queue import Empty, Queue
from locust.runners import Runner
from sqlalchemy import URL

from poolsize.errors import WorkFailed
from poolsize.facts.server import connection_ids
from poolsize.load.assemble import ServerRecord, assemble
from poolsize.load.step_seconds import StepSeconds
from poolsize.load.stopping import Ending, ending, ending_now
from poolsize.locust.messages import (
    REPLIES,
    Calibrate,
    Calibrated,
    Failed,
    Finish,
    Finished,
    Message,
    Open,
    Opened,
    Order,
    Second,
    Start,
    UserFailed,
    decode,
    encode,
)
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.shares import split, worker_shares
from poolsize.locust.workers import Workers
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Calibration, Setting, Step
from poolsize.runs.stopped import Stopped, StopReason
from poolsize.sweep.events import SecondPassed
from poolsize.sweep.readers import OWN_SCHEMA
from poolsize.target.connection import connect, error_kind
from poolsize.target.sampler import ServerSampler
from poolsize.target.speed_probe import present_speed

GRACE_SECONDS = 90
"""The longest time to wait for a worker's reply, or for the next second of a step."""
LOOK_SECONDS = 0.5
"""The longest time between two checks for lost workers."""


R = TypeVar("R", Calibrated, Opened, Finished)


class UserGone(WorkFailed):
    """A user failed as it started or stopped, so the sweep has fewer users than planned."""


class LocustGenerator:
    """Measures planned steps with all connected workers.

    notes: sentences that name the figures it can't record, and why.
    """

    def __init__(
        self,
        runner: Runner,
        workers: Workers,
        url: URL,
        setting: Setting,
        progress: ProgressPipe,
        kinds: tuple[str, ...],
        before_step: Callable[[], None],
        load_connections: set[int],
    ) -> None:
        """Connect to the server, and begin to listen to the workers.

        workers: those of the runner. url: the database from here. kinds: names of the workload's kinds of transactions.
        before_step: called before each step, to restore the workload's tables.
        load_connections: a set that holds the server's ids of the workers' connections while a step is measured.
        Raises BadInput when the server can't be reached.
        """
        self._runner = runner
        self._workers = workers
        self._plan = setting.plan
        self._schema = setting.schema or OWN_SCHEMA
        self._private_url = url.render_as_string(hide_password=False) if setting.private else None
        self._progress = progress
        self._kinds = kinds
        self._before_step = before_step
        self._load_connections = load_connections
        self._workload_sha256 = setting.workload_sha256
        self._number = 0
        self._inbox: Queue[Message] = Queue()
        self._monitor = connect(url)
        self._sampler = ServerSampler(url)
        self.notes = self._sampler.notes
        for kind in REPLIES:
            runner.register_message(kind, self._on_message)

    def calibrate(self) -> Calibration | None:
        """Return the cost of one worker and the machine's speed, or None when the worker could not measure its cost."""
        worker = self._workers.names()[0]
        self._number += 1
        self._send(Calibrate(self._private_url, self._schema), worker)
        try:
            replies = self._collect(Calibrated, {worker})
        except UserGone:
            raise
        except WorkFailed:
            return None
        if not replies:
            return None
        return replace(replies[worker].calibration, speed=self.speed())

    def speed(self) -> float | None:
        """Return the present speed of this machine's cores, or None where it can't be measured."""
        return present_speed(self._sampler.cores)

    def measure(self, planned: PlannedStep) -> Step:
        """Measure one pool size once, with all workers, and return the step, without checks.

        The loss of a worker ends the step early. Raises WorkFailed when a worker, or the server, fails.
        """
        try:
            self._before_step()
            shares = self._open(planned)
            started = datetime.now(UTC).isoformat(timespec="seconds")
            self._sampler.start()
            self._send(Start())
            seconds = StepSeconds(shares)
            end = self._follow(seconds, planned)
            with self._monitor.cursor() as cursor:
                open_connections = connection_ids(cursor)
            self._send(Finish(end.first, end.last))
            replies = self._collect(Finished, set(seconds.workers))
            self._load_connections.clear()
        except pymysql.MySQLError as error:
            raise WorkFailed(f"the server failed ({error_kind(error)}): {error.args[-1]}") from None
        finally:
            self._sampler.stop()
        reports = {worker: reply.report for worker, reply in replies.items()}
        # Other clients may work in the same schema, so the workers' own connections are counted, by the server's ids.
        own = {identifier for report in reports.values() for identifier in report.connection_ids}
        if lost := set(shares) - set(reports):
            stopped = Stopped(StopReason.WORKER_LOST, {"lost": len(lost), "workers": len(shares)})
            end = Ending(end.first, end.last, stopped)
            self._workers.redistribute_users()
        server = ServerRecord(self._sampler.series(end.last), len(own & open_connections))
        timeout_ms = 1000 * self._plan.pool_timeout_seconds
        step = assemble(planned, started, seconds.complete, end, shares, reports, server, timeout_ms)
        return replace(step, programs=self._sampler.programs())

    def raise_failed_users(self) -> None:
        """Raise WorkFailed when a user failed as it stopped."""
        while not self._inbox.empty():
            self._next_message(set())

    def close(self) -> None:
        """Close the connections that watch the server."""
        self._sampler.close()
        self._monitor.close()

    def _open(self, planned: PlannedStep) -> dict[str, int]:
        """Let every worker open its share of the pool, and return worker -> connections.

        If a worker is lost meanwhile, the others open new shares.
        """
        while True:
            connections = split(planned.pool_size, self._workers.names())
            self._number += 1
            shares = worker_shares(self._plan, self._schema, planned, connections)
            self._send(Open(shares, self._private_url, self._workload_sha256, self._kinds))
            opened = self._collect(Opened, set(connections))
            self._load_connections.update(*(reply.connection_ids for reply in opened.values()))
            if set(opened) == set(connections):
                return connections
            self._workers.redistribute_users()

    def _follow(self, seconds: StepSeconds, planned: PlannedStep) -> Ending:
        """Collect the seconds of the step as they pass, until the step may end, and return its ending.

        Raises WorkFailed when no second arrives for GRACE_SECONDS.
        """
        shown = 0
        progressed_at = monotonic()
        while True:
            message = self._next_message(seconds.workers)
            if message and isinstance(message.content, Second):
                seconds.add(message.worker, message.content.second)
            for second in seconds.complete[shown:]:
                self._progress.send(SecondPassed(second.transactions, second.p95_ms))
                shown, progressed_at = shown + 1, monotonic()
            if lost := seconds.workers - set(self._workers.names()):
                for worker in lost:
                    seconds.lose(worker)
                return ending_now(self._plan, len(seconds.complete), None)
            if end := ending(self._plan, planned, seconds.complete):
                return end
            if monotonic() > progressed_at + GRACE_SECONDS:
                raise WorkFailed(f"no worker has reported for {GRACE_SECONDS} s")

    def _send(self, order: Order, worker: str | None = None) -> None:
        self._runner.send_message(*encode(Message(self._number, "", order)), worker)

    def _on_message(self, msg: Any, **_: Any) -> None:
        self._inbox.put(decode(msg.type, msg.data))

    def _next_message(self, workers: set[str]) -> Message | None:
        """Return the next message of this conversation from one of these workers.

        Return None after LOOK_SECONDS without a message, or for a message of another worker or conversation.
        Raises WorkFailed for a message that the worker failed, and UserGone for a failed user of any worker.
        """
        try:
            message = self._inbox.get(timeout=LOOK_SECONDS)
        except Empty:
            return None
        if isinstance(message.content, UserFailed):
            raise UserGone(message.content.error)
        if message.worker not in workers or message.number != self._number:
            return None
        if isinstance(message.content, Failed):
            raise WorkFailed(message.content.error)
        return message

    def _collect(self, kind: type[R], workers: set[str]) -> dict[str, R]:
        """Wait for a reply of every worker that is not lost meanwhile, and return worker -> its reply.

        Raises WorkFailed when a worker fails or does not reply.
        """
        replies: dict[str, R] = {}
        deadline = monotonic() + GRACE_SECONDS
        while missing := (workers & set(self._workers.names())) - set(replies):
            if monotonic() > deadline:
                raise WorkFailed(f"{len(missing)} of {len(workers)} workers did not reply")
            message = self._next_message(workers)
            if message and isinstance(message.content, kind):
                replies[message.worker] = message.content
        return replies
