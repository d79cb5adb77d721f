"""The LoadGenerator that measures with Locust's workers, on this machine or on others, through Locust's messages."""

from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime

import pymysql
from sqlalchemy import URL

from poolsize.errors import WorkFailed
from poolsize.facts.server import connection_ids, difference_between, read_server
from poolsize.load.assemble import ServerRecord, assemble, raise_denied
from poolsize.load.step_seconds import StepSeconds
from poolsize.locust.conversation import Conversation, UserGone
from poolsize.locust.messages import Calibrate, Calibrated, Finish, Open, Opened, Start
from poolsize.locust.patience import Patience
from poolsize.locust.workers import Workers, split, worker_shares
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Calibration, Setting, Step
from poolsize.server.bounded import OWN
from poolsize.server.connection import ServerGone, connect, naming_failures
from poolsize.server.sampler import Sampler
from poolsize.server.sessions import ServerProcess, end_abandoned
from poolsize.sweep.readers import OWN_SCHEMA


class LocustGenerator:
    """Measures planned steps with all connected workers."""

    def __init__(
        self,
        workers: Workers,
        url: URL,
        setting: Setting,
        conversation: Conversation,
        kinds: tuple[str, ...],
        before_step: Callable[[], None],
        load_connections: set[int],
        patience: Patience,
    ) -> None:
        """Connect to the server.

        workers, conversation: the workers that measure, and the conversation with them. url: the database from here.
        kinds: names of the workload's kinds of transactions.
        before_step: called before each step, to restore the workload's tables.
        load_connections: a set that holds the server's ids of the workers' connections while a step is measured.
        patience: with a server that goes away.
        Raises BadInput when the server can't be reached.
        """
        self._workers = workers
        self._plan = setting.plan
        self._schema = setting.schema or OWN_SCHEMA
        self._private_url = url.set(password="").render_as_string() if setting.private else None
        self._conversation = conversation
        self._kinds = kinds
        self._before_step = before_step
        self._load_connections = load_connections
        self._workload_sha256 = setting.workload_sha256
        self._patience = patience
        self._url = url
        self._server = setting.server
        self._monitor = connect(url, bounds=OWN)
        with self._monitor.cursor() as cursor:
            self._process = ServerProcess.of(cursor)
        self._sampler = Sampler(url)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that name figures it can't record, and why; a lost connection may add one in a step."""
        return self._sampler.notes

    def calibrate(self) -> Calibration | None:
        """Return the cost of one worker and the machine's speed, or None when the worker could not measure its cost."""
        worker = self._workers.names()[0]
        self._conversation.begin()
        self._conversation.send(Calibrate(self._private_url, self._schema), worker)
        try:
            replies = self._conversation.collect(Calibrated, {worker})
        except UserGone:
            raise
        except WorkFailed:
            return None
        if not replies:
            return None
        return replace(replies[worker].calibration, speed=self.speed())

    def speed(self) -> float | None:
        """Return the present speed of this machine's cores, or None where it can't be measured."""
        return self._sampler.speed()

    def measure(self, planned: PlannedStep) -> Step:
        """Measure one pool size once, with all workers, and return the step, without checks.

        The loss of a worker ends the step early. When the server goes away, the step is measured again once it is back.
        Raises WorkFailed when a worker or the server fails, and when the server stays away.
        """
        return self._patience.measured(lambda: self._measured(planned), self._reconnect)

    def _measured(self, planned: PlannedStep) -> Step:
        """Measure a step once; without a server, let the workers end it before they find the server again."""
        try:
            return self._measure(planned)
        except ServerGone:
            self._conversation.begin()
            self._conversation.send(Finish(0, 0))  # of no step: it ends the one that the workers are in
            raise

    def _measure(self, planned: PlannedStep) -> Step:
        with naming_failures():
            try:
                self._before_step()
                shares = self._open(planned)
                started = datetime.now(UTC).isoformat(timespec="seconds")
                self._sampler.start()
                self._conversation.send(Start())
                seconds = StepSeconds(shares)
                end = self._conversation.follow(seconds, self._plan, planned)
                with self._monitor.cursor() as cursor:
                    open_connections = connection_ids(cursor)
                reports, end = self._conversation.finish(seconds, shares, end)
                self._load_connections.clear()
            finally:
                self._sampler.stop()
        # Other clients may work in the same schema, so the workers' own connections are counted, by the server's ids.
        own = {identifier for report in reports.values() for identifier in report.connection_ids}
        if len(reports) < len(shares):
            self._workers.redistribute_users()
        server = ServerRecord(self._sampler.series(end.last), len(own & open_connections))
        timeout_ms = 1000 * self._plan.pool_timeout_seconds
        step = assemble(planned, started, seconds.complete, end, shares, reports, server, timeout_ms)
        raise_denied(step)
        return replace(step, programs=self._sampler.programs())

    def _reconnect(self) -> None:
        """Connect to the server anew, and end what it still has of the load.

        Raises BadInput when the server can't be reached, and WorkFailed when another server answers.
        """
        with ExitStack() as stack:
            monitor = stack.enter_context(closing(connect(self._url, bounds=OWN)))
            with naming_failures(), monitor.cursor() as cursor:
                assert self._server is not None
                if difference := difference_between(self._server, read_server(cursor)):
                    raise WorkFailed(f"another server answers than before: {difference}")
                process = ServerProcess.of(cursor)
                end_abandoned(cursor, self._load_connections, self._process)
            self._sampler.reconnect()
            stack.pop_all()
        self._load_connections.clear()
        with suppress(pymysql.MySQLError):  # closed by the server
            self._monitor.close()
        self._monitor, self._process = monitor, process

    def close(self) -> None:
        """Close the connections that watch the server."""
        self._sampler.close()
        with suppress(pymysql.MySQLError):  # closed by the server
            self._monitor.close()

    def _open(self, planned: PlannedStep) -> dict[str, int]:
        """Let every worker open its share of the pool, and return worker -> connections.

        If a worker is lost meanwhile, the others open new shares.
        """
        while True:
            connections = split(planned.pool_size, self._workers.names())
            self._conversation.begin()
            shares = worker_shares(self._plan, self._schema, planned, connections)
            self._conversation.send(Open(shares, self._private_url, self._workload_sha256, self._kinds))
            opened = self._conversation.collect(Opened, set(connections))
            self._load_connections.update(*(reply.connection_ids for reply in opened.values()))
            if set(opened) == set(connections):
                return connections
            self._workers.redistribute_users()
