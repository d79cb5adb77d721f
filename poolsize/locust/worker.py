"""The worker's side of the conversation with the master, without which the worker's process ends."""

import logging
import os
import time
from contextlib import closing
from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import gevent
from gevent.queue import Queue
from locust import runners, stats
from locust.env import Environment
from locust.runners import Runner, WorkerRunner
from locust.stats import StatsEntry, StatsError
from sqlalchemy import URL

from poolsize.errors import WorkFailed
from poolsize.load import messages
from poolsize.load.loops import Behavior
from poolsize.load.pool import SHARED
from poolsize.load.recorder import Observer, WorkerSecond
from poolsize.load.worker_step import Reporting, StepGate, WorkerStep, calibrate
from poolsize.locust.user import Tasks, kinds_of, pool_shares_of, sets_wait_time
from poolsize.locust.wire import wire
from poolsize.server.connection import ServerGone, database_url, schema_in
from poolsize.sweep.source_line import located

if TYPE_CHECKING:
    from poolsize.locust.user import PoolUser

LOOK_SECONDS = 1
"""Seconds between two checks that the master lives."""
Ordered = TypeVar("Ordered", messages.Start, messages.Finish)
METHOD = "pool"
"""Locust's request type of a transaction."""
LOCUSTS_OWN = "locust.runners"
"""The module of Locust's own listener, which fills Locust's statistics; a sweep fills them once a second."""

logger = logging.getLogger("poolsize")


def worker_name(runner: Runner) -> str:
    """Return Locust's name of a worker, or "local" where master and worker are a single process."""
    return runner.client_id if isinstance(runner, WorkerRunner) else "local"


class LocustWorker:
    """Carries out the master's orders, one conversation after another, and runs the users of this process."""

    def __init__(self, environment: Environment, tasks: Tasks, workload_sha256: str, own_url: str | None) -> None:
        """Begin to listen to the master.

        tasks: of the user classes. workload_sha256: hash of the locustfile's text.
        own_url: the database's URL from here; None for the private server of the master.
        """
        assert environment.runner is not None
        self._environment, self._runner = environment, environment.runner
        self._tasks, self._kinds, self._pool_shares = tasks, kinds_of(tasks), pool_shares_of(tasks)
        self._workload_sha256, self._own_url = workload_sha256, own_url
        self._name = worker_name(environment.runner)
        self._gate = StepGate()
        self._number = 0
        self._orders: Queue[tuple[int, messages.Order]] = Queue()
        """The number of a conversation, and the order."""
        self._runner.register_message(messages.ORDER, lambda msg, **_: self._orders.put(messages.decode(msg.data)))
        self._serving = gevent.spawn(self._serve)

    def close(self) -> None:
        """End the conversation, and with it the step that is being measured."""
        self._serving.kill()

    def run_user(self, user: "PoolUser") -> NoReturn:
        """Let a user take part in every step, until Locust kills its greenlet."""
        tasks = tuple((kind, MethodType(task, user)) for kind, task in self._tasks[type(user)])
        pool = type(user).__name__ if type(user).__name__ in self._pool_shares else SHARED
        behavior = Behavior(tasks, user.wait_time if sets_wait_time(type(user)) else None, pool)
        while True:
            self._gate.take_part(behavior)

    def user_failed(self, error: str) -> None:
        """Report a user that failed as it started or stopped. error: the reason."""
        self._reply(messages.UserFailed(error))

    def _serve(self) -> None:
        """Carry out orders for ever; runs in a greenlet of its own, so that Locust goes on listening."""
        while True:
            self._number, order = self._orders.get()
            try:
                match order:
                    case messages.Calibrate(private_url, schema):
                        self._reply(calibrate(self._url(private_url, schema), schema))
                    case messages.Open() if self._name in order.shares:
                        self._measure(order)
            except WorkFailed as error:
                self._reply(messages.Failed(str(error), isinstance(error, ServerGone)))
            except Exception as error:
                self._reply(messages.Failed(f"{type(error).__name__}: {error}"))

    def _measure(self, order: messages.Open) -> None:
        if order.workload_sha256 != self._workload_sha256:
            raise WorkFailed(f"the worker {self._name} has another workload: start it with the master's locustfile")
        if order.kinds != self._kinds:
            raise WorkFailed(
                f"the worker {self._name} runs {', '.join(self._kinds)}, and the master "
                f"{', '.join(order.kinds)}: start it with the master's user classes, `tags` and `exclude_tags`"
            )
        observer = request_observer(self._environment)
        reporting = Reporting(self._on_second, lambda reason: self._reply(messages.Failed(reason)), observer)
        share = order.shares[self._name]
        url = self._url(order.private_url, share.schema)
        with closing(WorkerStep(url, share, self._gate, self._kinds, self._pool_shares, reporting)) as step:
            self._reply(messages.Opened(step.connection_ids))
            if not self._next(messages.Start):
                return
            step.begin()
            if not (finish := self._next(messages.Finish)):
                return
            report = step.finish(finish.first, finish.last)
            add_to_stats(self._environment, self._kinds[0], step.end_last_second())
        # Only now, with the pool closed, has the server room for the next step's connections.
        self._reply(report)

    def _next(self, kind: type[Ordered]) -> Ordered | None:
        """Wait for the next order of this conversation; None where the next is of another conversation or kind."""
        number, order = self._orders.peek()
        if number != self._number or not isinstance(order, kind):
            return None
        self._orders.get()
        return order

    def _on_second(self, second: WorkerSecond, reported: messages.ReportedSecond) -> None:
        add_to_stats(self._environment, self._kinds[0], second)
        self._reply(reported)

    def _url(self, private_url: str | None, schema: str) -> URL:
        """Return the database's URL from here. Raises WorkFailed without a URL, and where it names another schema."""
        if private_url:
            return database_url(private_url).set(password=wire().secret.private_password)
        if not (url := self._own_url):
            raise WorkFailed(f"the worker {self._name} has no URL: set POOLSIZE_URL where it runs")
        if (named := schema_in(url)) not in {None, schema}:
            raise WorkFailed(
                f"the URL of the worker {self._name} names the schema {named}, and the sweep uses {schema}: "
                "leave it out of POOLSIZE_URL where that process runs"
            )
        return database_url(url)

    def _reply(self, reply: messages.Reply) -> None:
        self._runner.send_message(messages.REPLY, messages.encode(self._number, reply))


def request_observer(environment: Environment) -> Observer | None:
    """Return a function that calls every listener, and raises WorkFailed for its error; None where nobody listens."""
    # Locust's EventHook.fire would log a listener's error and go on.
    handlers: list[Any] = environment.events.request._handlers
    listeners = [listener for listener in handlers if getattr(listener, "__module__", None) != LOCUSTS_OWN]
    if not listeners:
        return None

    def observe(kind: str, total_ns: int, error: Exception | None) -> None:
        request = {
            "request_type": METHOD,
            "name": kind,
            "response_time": total_ns / 1e6,
            "response_length": 0,
            "response": None,
            "context": {},
            "exception": error,
            "start_time": time.time() - total_ns / 1e9,
            "url": None,
        }
        for listener in listeners:
            try:
                listener(**request)
            except Exception as failure:
                raise WorkFailed(f"a listener on events.request failed: {located(failure)}") from failure

    return observe


def add_to_stats(environment: Environment, name: str, second: WorkerSecond) -> None:
    """Add one second of transactions to Locust's statistics, so that Locust's table and exports show the same load.

    Locust's response time is the total time. name: of the kind of transaction. A second of several kinds is added kind
    by kind, under their own names.
    """
    if second.kinds:
        for kind, part in second.kinds.items():
            add_to_stats(environment, kind, part)
        return
    entry = StatsEntry(environment.stats, name, METHOD)
    now = time.time()
    entry.num_requests = second.transactions
    entry.num_reqs_per_sec[int(now)] = second.transactions
    entry.last_request_timestamp = now
    for total_us, number in second.total.items():
        entry.total_response_time += total_us / 1000 * number  # type: ignore[assignment]  # Locust adds floats too
        entry.response_times[stats.bucket_response_time(total_us / 1000)] += number
    if second.total:
        entry.min_response_time = min(second.total) / 1000  # type: ignore[assignment]  # likewise
        entry.max_response_time = max(second.total) / 1000  # type: ignore[assignment]  # likewise
    for kind, number in second.errors.items():
        entry.num_requests += number
        entry.num_none_requests += number
        entry.num_failures += number
        entry.num_fail_per_sec[int(now)] += number
        key = StatsError.create_key(METHOD, name, kind)
        error = environment.stats.errors.setdefault(key, StatsError(METHOD, name, kind))
        error.occurrences += number
    environment.stats.get(name, METHOD).extend(entry)
    environment.stats.total.extend(entry)


def let_workers_end_with_this_process() -> None:
    """Let each worker that Locust forks from this process end within a second of it."""
    # A worker that is not connected yet would try to connect to a killed master for five minutes.
    master, is_master = os.getpid(), True

    def end_without_master() -> None:
        while os.getppid() == master:
            gevent.sleep(LOOK_SECONDS)
        os._exit(1)

    def watch() -> None:
        nonlocal is_master
        if is_master:  # a process that a worker forks needs no watch
            is_master = False
            gevent.spawn(end_without_master)

    os.register_at_fork(after_in_child=watch)


def watch_master(runner: WorkerRunner, seconds: int) -> None:
    """End the worker once the master was silent for so many seconds, in place of Locust's own watch."""

    def watch() -> None:
        # Locust's watch compares times of day, and a clock that is set forward would end every worker. Looks also stand
        # still while the machine sleeps.
        heard, silent = runner.last_heartbeat_timestamp, 0
        while silent < seconds:
            gevent.sleep(LOOK_SECONDS)
            last = runner.last_heartbeat_timestamp
            silent = silent + LOOK_SECONDS if heard is not None and last == heard else 0
            heard = last
        logger.error("the master has been silent for %d s: this worker ends", seconds)
        runner.quit()

    runners.MASTER_HEARTBEAT_TIMEOUT = 10**9  # Locust has no option for it
    gevent.spawn(watch)
