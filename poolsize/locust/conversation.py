"""The master's side of the conversation with the workers, through Locust's messages."""

from collections.abc import Callable, Collection
from time import monotonic
from typing import Any, TypeVar

from gevent.queue import Empty, Queue
from locust.runners import Runner

from poolsize.errors import WorkFailed
from poolsize.load.step_seconds import StepSeconds
from poolsize.load.stopping import Ending, ending, ending_now
from poolsize.load.worker_report import WorkerReport
from poolsize.locust.messages import (
    REPLIES,
    Calibrated,
    Failed,
    Finish,
    Finished,
    Message,
    Opened,
    Order,
    Second,
    UserFailed,
    decode,
    encode,
)
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.workers import Workers
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Stopped, StopReason
from poolsize.server.connection import ServerGone
from poolsize.sweep.events import SecondPassed

GRACE_SECONDS = 90
"""The longest time to wait for a worker's reply, or for the next second of a step."""
LOOK_SECONDS = 0.5
"""The longest time between two checks for lost workers."""

R = TypeVar("R", Calibrated, Opened, Finished)


class UserGone(WorkFailed):
    """A user failed as it started or stopped, so the sweep has fewer users than planned."""


class Conversation:
    """Sends orders to the workers and collects their replies, one conversation after another."""

    def __init__(self, runner: Runner, workers: Workers, progress: ProgressPipe) -> None:
        """Begin to listen to the workers. workers: those of the runner. progress: shows the seconds of each step."""
        self._runner = runner
        self._workers = workers
        self._progress = progress
        self._number = 0
        self._inbox: Queue[Message] = Queue()
        for kind in REPLIES:
            runner.register_message(kind, self._on_message)

    def begin(self) -> None:
        """Begin the next conversation; later replies of earlier conversations are ignored."""
        self._number += 1

    def send(self, order: Order, worker: str | None = None) -> None:
        """Send an order to one worker, or to all."""
        self._runner.send_message(*encode(Message(self._number, "", order)), worker)

    def collect(self, kind: type[R], workers: set[str]) -> dict[str, R]:
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

    def follow(
        self, seconds: StepSeconds, plan: SweepPlan, planned: PlannedStep, look: Callable[[], None] = lambda: None
    ) -> Ending:
        """Collect the seconds of the step as they pass, until the step may end, and return its ending.

        look: called several times a second; it may raise WorkFailed to end the step. Raises WorkFailed when no second
        arrives for GRACE_SECONDS.
        """
        shown = 0
        progressed_at = monotonic()
        while True:
            look()
            message = self._next_message(seconds.workers)
            if message and isinstance(message.content, Second):
                seconds.add(message.worker, message.content.second)
            for second in seconds.complete[shown:]:
                self._progress.send(SecondPassed(second.transactions, second.p95_ms))
                shown, progressed_at = shown + 1, monotonic()
            if lost := seconds.workers - set(self._workers.names()):
                for worker in lost:
                    seconds.lose(worker)
                return ending_now(plan, len(seconds.complete), None)
            if end := ending(plan, planned, seconds.complete):
                return end
            if monotonic() > progressed_at + GRACE_SECONDS:
                raise WorkFailed(f"no worker has reported for {GRACE_SECONDS} s")

    def finish(
        self, seconds: StepSeconds, shares: Collection[str], end: Ending
    ) -> tuple[dict[str, WorkerReport], Ending]:
        """End the step, and return worker -> its report, and the ending, which tells of workers that were lost.

        shares: the workers that began the step.
        """
        self.send(Finish(end.first, end.last))
        replies = self.collect(Finished, set(seconds.workers))
        reports = {worker: reply.report for worker, reply in replies.items()}
        if lost := set(shares) - set(reports):
            stopped = Stopped(StopReason.WORKER_LOST, {"lost": len(lost), "workers": len(shares)})
            end = Ending(end.first, end.last, stopped)
        return reports, end

    def raise_failed_users(self) -> None:
        """Raise WorkFailed when a user failed as it stopped."""
        while not self._inbox.empty():
            self._next_message(set())

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
            failure = ServerGone if message.content.server_gone else WorkFailed
            raise failure(message.content.error)
        return message
