"""The workers of a sweep, on this machine or on others: their users, and the master's conversation with them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from typing import TypeVar

import gevent
from gevent.queue import Empty, Queue
from locust.runners import MasterRunner, Runner

from poolsize.errors import WorkFailed
from poolsize.load import messages
from poolsize.load.master_step import Ending, StepSeconds, assemble, ending, ending_now
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.worker import worker_name
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Calibration, Step, Stopped, StopReason
from poolsize.server.connection import ServerGone
from poolsize.server.sampler import Sampler
from poolsize.sweep.events import SecondPassed

GRACE_SECONDS = 90
"""The longest time to wait until the users have started, for a worker's reply, or for the next second of a step."""
STOPPING_SECONDS = 5
"""The longest time in which workers stop their users, beside Locust's stop timeout."""
LOOK_SECONDS = 0.5
"""The longest time between two checks for lost workers."""

AtEnd = TypeVar("AtEnd")
R = TypeVar("R", Calibration, messages.Opened, messages.WorkerReport)


class UserGone(WorkFailed):
    """A user failed as it started or stopped, so the sweep has fewer users than planned."""


class Workers:
    """The workers of a sweep. progress: shows the seconds of each step."""

    def __init__(self, runner: Runner, plan: SweepPlan, progress: ProgressPipe) -> None:
        self._runner, self._plan, self.progress = runner, plan, progress
        self._ready = self._number = 0
        self._inbox: Queue[tuple[str, int, messages.Reply]] = Queue()
        """A worker's name, the number of a conversation, and the reply."""
        runner.register_message(
            messages.REPLY, lambda msg, **_: self._inbox.put((msg.node_id, *messages.decode(msg.data)))
        )

    @property
    def are_this_process(self) -> bool:
        """Whether the master is the only worker."""
        return not isinstance(self._runner, MasterRunner)

    def names(self) -> list[str]:
        """Return the names of the workers that have users, ascending. Raises WorkFailed when no worker is left."""
        if not isinstance(self._runner, MasterRunner):
            return [worker_name(self._runner)]
        clients = [*self._runner.clients.running, *self._runner.clients.spawning]
        names = sorted(client.id for client in clients if client.user_count)
        if not names:
            raise WorkFailed("every worker is gone; do they run the same locustfile as this process?")
        return names

    def start_users(self) -> None:
        """Start every user, and wait until they run. Raises WorkFailed when they do not start."""
        if isinstance(self._runner, MasterRunner):  # its ready workers alone get users; after a step they need a moment
            clients = self._runner.clients
            deadline = monotonic() + STOPPING_SECONDS + (self._runner.environment.stop_timeout or 0.0)
            while len(clients.ready) < self._ready and monotonic() < deadline:
                gevent.sleep(0.05)
            self._ready = len(clients.ready)
        self._start()
        self.wait_for_users()

    def wait_for_users(
        self, problem: str = "the workers did not start the users; do they run the same locustfile as this process?"
    ) -> None:
        """Wait until every user has started. Raises WorkFailed with the problem when they do not start."""
        # Locust announces the users before a busy worker has reported its own.
        deadline, missing = monotonic() + GRACE_SECONDS, self._missing
        while self._runner.user_count < self._plan.users:
            if monotonic() > deadline:
                raise WorkFailed(problem)
            self.raise_failed_users()
            if self._missing > missing:  # a worker is lost: the others take over its users
                missing = self._missing
                self._start()
            gevent.sleep(0.1)

    def redistribute_users(self) -> None:
        """Give the users of lost workers to the others. Raises WorkFailed when the others do not start these users."""
        self._start()
        self.wait_for_users("the remaining workers did not take over the users of a lost worker")

    def stop_users(self) -> None:
        """Stop every user, in the middle of a request too unless Locust's option for that says otherwise."""
        self._runner.stop()

    def begin(self, order: messages.Order | None = None, worker: str | None = None) -> None:
        """Begin the next conversation, with an order to one worker or to all; replies of earlier ones are ignored."""
        self._number += 1
        if order is not None:
            self._send(order, worker)

    def collect(self, kind: type[R], workers: set[str]) -> dict[str, R]:
        """Return worker -> its reply, for those not lost meanwhile. Raises WorkFailed where one fails or is silent."""
        replies: dict[str, R] = {}
        deadline = monotonic() + GRACE_SECONDS
        while missing := (workers & set(self.names())) - set(replies):
            if monotonic() > deadline:
                raise WorkFailed(f"{len(missing)} of {len(workers)} workers did not reply")
            worker, reply = self._next_reply(workers)
            if isinstance(reply, kind):
                replies[worker] = reply
        return replies

    def measure(
        self,
        planned: PlannedStep,
        shares: Mapping[str, int],
        sampler: Sampler,
        at_end: Callable[[], AtEnd],
        *,
        timeout_ms: float,
        look: Callable[[], None] = lambda: None,
    ) -> tuple[Step, set[int], AtEnd]:
        """Measure a step in this conversation, and return the step, without checks and connections of the server.

        shares: worker -> connections. at_end: called when the last second is over; its result is returned, too, after
        the server's ids of the workers' connections. timeout_ms: how long a user waits for a connection.
        look: called several times a second; it may raise WorkFailed to end the step.
        The loss of a worker ends the step early. Raises WorkFailed when a worker or a user fails.
        """
        started, seconds = datetime.now(UTC).isoformat(timespec="seconds"), StepSeconds(shares)
        try:
            sampler.start()
            self._send(messages.Start())
            end = self._follow(seconds, planned, look)
            result = at_end()
            self._send(messages.Finish(end.first, end.last))
            reports = self.collect(messages.WorkerReport, set(seconds.workers))
        finally:
            sampler.stop()
        if lost := set(shares) - set(reports):
            stopped = Stopped(StopReason.WORKER_LOST, {"lost": len(lost), "workers": len(shares)})
            end = Ending(end.first, end.last, stopped)
        step = assemble(planned, started, seconds.complete, end, shares, reports, timeout_ms)
        step = replace(step, server=sampler.series(end.last), programs=sampler.programs())
        return step, {identity for report in reports.values() for identity in report.connection_ids}, result

    def raise_failed_users(self) -> None:
        """Raise WorkFailed when a user failed as it stopped."""
        while not self._inbox.empty():
            self._next_reply(set())

    def _follow(self, seconds: StepSeconds, planned: PlannedStep, look: Callable[[], None]) -> Ending:
        """Collect the seconds of a step, and return its ending. Raises WorkFailed after GRACE_SECONDS without one."""
        shown, progressed_at = 0, monotonic()
        while True:
            look()
            worker, reply = self._next_reply(seconds.workers)
            if isinstance(reply, messages.ReportedSecond):
                seconds.add(worker, reply)
            for second in seconds.complete[shown:]:
                self.progress.send(SecondPassed(second.transactions, second.p95_ms))
                shown, progressed_at = shown + 1, monotonic()
            if lost := seconds.workers - set(self.names()):
                for worker in lost:
                    seconds.lose(worker)
                return ending_now(self._plan, len(seconds.complete), None)
            if end := ending(self._plan, planned, seconds.complete):
                return end
            if monotonic() > progressed_at + GRACE_SECONDS:
                raise WorkFailed(f"no worker has reported for {GRACE_SECONDS} s")

    def _next_reply(self, workers: set[str]) -> tuple[str, messages.Reply | None]:
        """Return a worker and its next reply, None after LOOK_SECONDS or for another worker's or conversation's.

        Raises WorkFailed for a reply that the worker failed, and UserGone for a failed user of any worker.
        """
        try:
            worker, number, reply = self._inbox.get(timeout=LOOK_SECONDS)
        except Empty:
            return "", None
        if isinstance(reply, messages.UserFailed):
            raise UserGone(reply.error)
        if worker not in workers or number != self._number:
            return worker, None
        if isinstance(reply, messages.Failed):
            failure = ServerGone if reply.server_gone else WorkFailed
            raise failure(reply.error)
        return worker, reply

    def _send(self, order: messages.Order, worker: str | None = None) -> None:
        self._runner.send_message(messages.ORDER, messages.encode(self._number, order), worker)

    def _start(self) -> None:
        self._runner.start(self._plan.users, spawn_rate=self._plan.users)

    @property
    def _missing(self) -> int:
        """The number of workers of which the master no longer hears."""
        return len(self._runner.clients.missing) if isinstance(self._runner, MasterRunner) else 0


def split(pool_size: int, workers: list[str]) -> dict[str, int]:
    """Return worker -> its connections, as equal as whole numbers can be; they add up to exactly pool_size."""
    base, larger = divmod(pool_size, len(workers))
    return {worker: base + (place < larger) for place, worker in enumerate(workers)}
