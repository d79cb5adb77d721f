"""The LoadGenerator of an application's sweep: it sets the pool size, and Locust's users send their requests."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from poolsize.load.assemble import ServerRecord, assemble, of_requests
from poolsize.load.step_seconds import StepSeconds
from poolsize.load.stopping import Ending
from poolsize.locust.conversation import Conversation
from poolsize.locust.messages import Finish, Finished, Start
from poolsize.locust.workers import Workers, split
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Calibration, Step, Stopped, StopReason
from poolsize.server.application.service import Service
from poolsize.server.sampler import Sampler
from poolsize.server.speed_probe import present_speed


class RequestGenerator:
    """Measures planned steps: one pool size of the application, driven by all users of Locust."""

    def __init__(
        self,
        workers: Workers,
        plan: SweepPlan,
        conversation: Conversation,
        service: Service,
        sampler: Sampler,
        count_connections: Callable[[], int | None],
    ) -> None:
        """Make the generator of a sweep that can begin.

        conversation: with the workers. service: the application. sampler: of the database, if it is known, and of this
        machine. count_connections: returns the application's connections by the database's count, or None.
        """
        self._workers = workers
        self._plan = plan
        self._conversation = conversation
        self._service = service
        self._sampler = sampler
        self._count_connections = count_connections

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that name figures it can't record, and why; a metrics page may add one in a step."""
        return (*self._sampler.notes, *self._service.notes)

    def calibrate(self) -> Calibration | None:
        """Return None: what a request costs the load generator, the user's Locust file decides."""
        return None

    def speed(self) -> float | None:
        """Return the present speed of this machine's cores, or None where it can't be measured."""
        return present_speed(self._sampler.cores)

    def measure(self, planned: PlannedStep) -> Step:
        """Give the application this pool size, measure it once with all users, and return the step, without checks.

        Raises WorkFailed when the application, a user or every worker fails.
        """
        change_seconds = self._service.set_pool_size(planned.pool_size)
        self._workers.start_users(self._conversation.raise_failed_users)
        try:
            step = self._measure(planned)
        finally:
            self._sampler.stop()
            self._workers.stop_users()
        self._service.require_alive()
        return replace(step, change_seconds=round(change_seconds, 3), programs=self._sampler.programs())

    def raise_failed_users(self) -> None:
        """Raise WorkFailed when a user failed as it stopped."""
        self._conversation.raise_failed_users()

    def close(self) -> None:
        """Close the connections that watch the database."""
        self._sampler.close()

    def _measure(self, planned: PlannedStep) -> Step:
        shares = split(planned.pool_size, self._workers.names())
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self._sampler.start()
        self._conversation.begin()
        self._conversation.send(Start())
        seconds = StepSeconds(shares)
        end = self._conversation.follow(seconds, self._plan, planned, self._service.require_alive)
        connections = self._count_connections()
        self._conversation.send(Finish(end.first, end.last))
        replies = self._conversation.collect(Finished, set(seconds.workers))
        reports = {worker: reply.report for worker, reply in replies.items()}
        if lost := set(shares) - set(reports):
            stopped = Stopped(StopReason.WORKER_LOST, {"lost": len(lost), "workers": len(shares)})
            end = Ending(end.first, end.last, stopped)
        server = ServerRecord(self._sampler.series(end.last), connections)
        # No pool timeout is known, so a failed request counts with its own time.
        return of_requests(assemble(planned, started, seconds.complete, end, shares, reports, server, timeout_ms=0.0))
