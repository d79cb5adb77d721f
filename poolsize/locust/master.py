"""The LoadGenerator that measures with Locust's workers; it waits for a server that goes away, and measures again."""

from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from math import ceil
from time import monotonic, sleep

import pymysql

from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.server import connection_ids, difference_between, read_server
from poolsize.load.master_step import raise_denied
from poolsize.load.messages import Calibrate, Finish, Open, Opened, WorkerShare
from poolsize.locust.workers import UserGone, Workers, split
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Calibration, Step, StopReason
from poolsize.server.bounded import OWN
from poolsize.server.connection import NoAnswer, ServerGone, connect, naming_failures
from poolsize.server.preparation import Prepared
from poolsize.server.sampler import Sampler
from poolsize.server.sessions import ServerProcess, end_abandoned
from poolsize.sweep.events import ServerAwaited, ServerBack
from poolsize.sweep.readers import OWN_SCHEMA

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 5.0
"""Before an attempt to connect; each pause is twice as long as the pause before it."""
CRASH_SECONDS = 3
"""Longest time that a server that crashes may take to end, after it closed its connections."""


class LocustGenerator:
    """Measures planned steps with all connected workers."""

    def __init__(
        self,
        workers: Workers,
        ready: Prepared,
        kinds: tuple[str, ...],
        before_step: Callable[[], None],
        load_connections: set[int],
        wait_seconds: int | None,
    ) -> None:
        """Connect to the server.

        workers: the workers that measure. ready: the sweep. kinds: names of the kinds of transactions.
        before_step: called before each step, to restore the workload's tables.
        load_connections: a set that holds the server's ids of the workers' connections while a step is measured.
        wait_seconds: longest time, in each step, to wait for a server that goes away; None for 60 s.
        Raises BadInput when the server can't be reached.
        """
        self._workers, self._kinds, self._before_step = workers, kinds, before_step
        self._url, self._private, self._setting = ready.url, ready.private, ready.run.setting
        self._schema = self._setting.schema or OWN_SCHEMA
        self._private_url = self._url.set(password="").render_as_string() if self._private else None
        self._load_connections = load_connections
        self._wait_seconds = 60 if wait_seconds is None else wait_seconds
        self._monitor = connect(self._url, bounds=OWN)
        with self._monitor.cursor() as cursor:
            self._process = ServerProcess.of(cursor)
        self._sampler = Sampler(self._url)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that name figures it can't record, and why; a lost connection may add one in a step."""
        return self._sampler.notes

    def calibrate(self) -> Calibration | None:
        """Return the cost of one worker and the machine's speed, or None when the worker could not measure its cost."""
        worker = self._workers.names()[0]
        self._workers.begin(Calibrate(self._private_url, self._schema), worker)
        try:
            replies = self._workers.collect(Calibration, {worker})
        except UserGone:
            raise
        except WorkFailed:
            return None
        return replace(replies[worker], speed=self.speed()) if replies else None

    def speed(self) -> float | None:
        """Return the present speed of this machine's cores, or None where it can't be measured."""
        return self._sampler.speed()

    def measure(self, planned: PlannedStep) -> Step:
        """Measure one pool size once, with all workers, and return the step, without checks.

        The loss of a worker ends the step early. When the server goes away, the step is measured again once it is back.
        Raises WorkFailed when a worker or the server fails, and when the server stays away.
        """
        seconds_left = float(self._wait_seconds)
        while True:
            try:
                return self._measured(planned)
            except ServerGone as error:
                seconds_left -= self._wait(error, seconds_left)

    def close(self) -> None:
        """Close the connections that watch the server."""
        self._sampler.close()
        with suppress(pymysql.MySQLError):  # closed by the server
            self._monitor.close()

    def _measured(self, planned: PlannedStep) -> Step:
        """Measure a step once; without a server, let the workers end it before they find the server again."""

        def open_connections() -> set[int]:
            with self._monitor.cursor() as cursor:
                return connection_ids(cursor)

        timeout_ms = 1000 * self._setting.plan.pool_timeout_seconds
        try:
            with naming_failures():
                self._before_step()
                shares = self._open(planned)
                step, own, connections = self._workers.measure(
                    planned, shares, self._sampler, open_connections, timeout_ms=timeout_ms
                )
        except ServerGone:
            self._workers.begin(Finish(0, 0))  # of no step: it ends the one that the workers are in
            raise
        self._load_connections.clear()
        if step.stopped and step.stopped.reason is StopReason.WORKER_LOST:
            self._workers.redistribute_users()
        raise_denied(step)
        # Other clients may work in the same schema, so the workers' own connections are counted, by the server's ids.
        return replace(step, server_connections=len(own & connections))

    def _open(self, planned: PlannedStep) -> dict[str, int]:
        """Let every worker open its share of the pool, anew where one is lost, and return worker -> connections."""
        plan = self._setting.plan
        while True:
            connections = split(planned.pool_size, self._workers.names())
            shares = {
                worker: WorkerShare(
                    connections=part,
                    rate=None if planned.rate is None else planned.rate * part / planned.pool_size,
                    think_seconds=plan.think_time_ms / 1000,
                    timeout_seconds=plan.pool_timeout_seconds,
                    pool=plan.pool,
                    schema=self._schema,
                )
                for worker, part in connections.items()
            }
            self._workers.begin(Open(shares, self._private_url, self._setting.workload_sha256, self._kinds))
            opened = self._workers.collect(Opened, set(connections))
            self._load_connections.update(*(reply.connection_ids for reply in opened.values()))
            if set(opened) == set(connections):
                return connections
            self._workers.redistribute_users()

    def _wait(self, error: ServerGone, seconds_left: float) -> float:
        """Connect anew as soon as the server answers, and return the seconds that it took.

        Raises ServerGone where it takes more than the seconds that are left of the limit, and for a private server,
        with the reason why it ended where its log says so within a moment.
        """
        if self._private is not None:
            deadline = monotonic() + CRASH_SECONDS
            while (ended := self._private.reason_of_end()) is None and monotonic() < deadline:
                sleep(FIRST_PAUSE_SECONDS)
            raise ServerGone(f"{error}; the private server ended: {ended}" if ended else str(error))
        limit = f"{self._wait_seconds} s (`wait_for_server_seconds`)"
        if seconds_left <= 0:
            raise ServerGone(f"{error}; in this step, the waits for the server have reached {limit}")
        began = monotonic()
        self._workers.progress.send(ServerAwaited(str(error), ceil(seconds_left)))
        pause_seconds = FIRST_PAUSE_SECONDS
        while True:
            sleep(pause_seconds)
            try:
                self._reconnect()
                break
            except (BadInput, ServerGone) as refused:
                if monotonic() >= began + seconds_left:
                    reason = refused.reason if isinstance(refused, NoAnswer) else refused
                    raise ServerGone(f"{error}, and did not come back within {limit}: {reason}") from None
            pause_seconds = min(2 * pause_seconds, LONGEST_PAUSE_SECONDS)
        self._workers.progress.send(ServerBack(monotonic() - began))
        return monotonic() - began

    def _reconnect(self) -> None:
        """Connect to the server anew, and end what it still has of the load.

        Raises BadInput when the server can't be reached, and WorkFailed when another server answers.
        """
        with ExitStack() as stack:
            monitor = stack.enter_context(closing(connect(self._url, bounds=OWN)))
            with naming_failures(), monitor.cursor() as cursor:
                assert self._setting.server is not None
                if difference := difference_between(self._setting.server, read_server(cursor)):
                    raise WorkFailed(f"another server answers than before: {difference}")
                process = ServerProcess.of(cursor)
                end_abandoned(cursor, self._load_connections, self._process)
            self._sampler.reconnect()
            stack.pop_all()
        self._load_connections.clear()
        with suppress(pymysql.MySQLError):  # closed by the server
            self._monitor.close()
        self._monitor, self._process = monitor, process
