"""The workers that have users, as Locust's runner knows them, and their shares of a pool."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic, sleep

import gevent
import psutil
from locust.runners import MasterRunner, Runner

from poolsize.errors import WorkFailed
from poolsize.load.worker_step import WorkerShare
from poolsize.locust.worker import worker_name
from poolsize.runs.plan import PlannedStep, SweepPlan

PATIENCE_SECONDS = 90
"""The longest time to wait until the workers have started their users."""
ENDING_SECONDS = 2
"""The longest time in which forked workers end, once the master has told them to."""
STOPPING_SECONDS = 5
"""The longest time in which workers stop their users, beside Locust's stop timeout."""


def forked_workers() -> list[psutil.Process]:
    """Return the workers that Locust has forked from this process, and that have not ended."""
    master, forked = psutil.Process(), []
    for child in master.children():
        with suppress(psutil.Error):  # it has ended meanwhile
            # A forked process has its parent's command line, the private server one of its own.
            if child.cmdline() == master.cmdline() and child.status() != psutil.STATUS_ZOMBIE:
                forked.append(child)
    return forked


def end_forked_workers() -> None:
    """End the workers that Locust has forked from this process.

    When the sweep does not begin, Locust does not end them, and they wait a minute for their master.
    """
    for worker in forked_workers():
        with suppress(psutil.Error):
            worker.terminate()


def kill_late_workers() -> None:
    """Kill the forked workers that do not end with the sweep; Locust would wait for a frozen worker without end."""
    deadline = monotonic() + ENDING_SECONDS
    while (workers := forked_workers()) and monotonic() < deadline:
        sleep(0.05)
    for worker in workers:
        with suppress(psutil.Error):
            worker.kill()


class Workers:
    """The workers of a sweep, on this machine or on others."""

    def __init__(self, runner: Runner, users: int) -> None:
        """users: of all workers together."""
        self._runner = runner
        self._users = users
        self._ready = 0

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

    def start_users(self, look: Callable[[], None]) -> None:
        """Start every user, and wait until they run.

        look: called while it waits. Raises WorkFailed when the workers do not start them.
        """
        self._await_workers()
        self._runner.start(self._users, spawn_rate=self._users)
        self._wait("the workers did not start the users; do they run the same locustfile as this process?", look)

    def stop_users(self) -> None:
        """Stop every user, in the middle of a request too unless Locust's option for that says otherwise."""
        self._runner.stop()

    def _await_workers(self) -> None:
        """Wait until the workers of the step before are ready again: Locust gives users only to these."""
        if not isinstance(self._runner, MasterRunner):
            return
        clients = self._runner.clients
        deadline = monotonic() + STOPPING_SECONDS + (self._runner.environment.stop_timeout or 0.0)
        while len(clients.ready) < self._ready and monotonic() < deadline:
            gevent.sleep(0.05)
        self._ready = len(clients.ready)

    def wait_for_users(self) -> None:
        """Wait until every user has started. Raises WorkFailed when the workers do not start them.

        Locust announces the users before a busy worker has reported its own.
        """
        self._wait("the workers did not start the users; do they run the same locustfile as this process?")

    def redistribute_users(self) -> None:
        """Give the users of lost workers to the others. Raises WorkFailed when the others do not start these users."""
        self._runner.start(self._users, spawn_rate=self._users)
        self._wait("the remaining workers did not take over the users of a lost worker")

    def _wait(self, problem: str, look: Callable[[], None] = lambda: None) -> None:
        deadline, missing = monotonic() + PATIENCE_SECONDS, self._missing
        while self._runner.user_count < self._users:
            if monotonic() > deadline:
                raise WorkFailed(problem)
            look()
            if self._missing > missing:  # a worker is lost: the others take over its users
                missing = self._missing
                self._runner.start(self._users, spawn_rate=self._users)
            gevent.sleep(0.1)

    @property
    def _missing(self) -> int:
        """The number of workers of which the master no longer hears."""
        return len(self._runner.clients.missing) if isinstance(self._runner, MasterRunner) else 0


def split(pool_size: int, workers: list[str]) -> dict[str, int]:
    """Return worker -> its connections, as equal as whole numbers can be; they add up to exactly pool_size."""
    base, larger = divmod(pool_size, len(workers))
    return {worker: base + (place < larger) for place, worker in enumerate(workers)}


def worker_shares(
    plan: SweepPlan, schema: str, planned: PlannedStep, connections: Mapping[str, int]
) -> dict[str, WorkerShare]:
    """Return worker -> its share. Arrivals are split like the connections."""
    return {
        worker: WorkerShare(
            connections=part,
            rate=None if planned.rate is None else planned.rate * part / planned.pool_size,
            think_seconds=plan.think_time_ms / 1000,
            timeout_seconds=plan.pool_timeout_seconds,
            pool=plan.pool,
            schema=schema,
        )
        for worker, part in connections.items()
    }
