"""One step of one worker, from its open connections to its report; and the cost of a worker, before the first step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import monotonic, process_time
from typing import Any

import gevent
from gevent.event import AsyncResult
from sqlalchemy import URL

from poolsize.errors import WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.load.loops import Behavior, ClosedLoop, Load, OpenLoop, Transaction
from poolsize.load.messages import ReportedSecond, WorkerReport, WorkerShare
from poolsize.load.pool import SHARED, Checkout, open_pools
from poolsize.load.recorder import Observer, StepRecorder, WorkerCost, WorkerSecond
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import Calibration
from poolsize.sweep.source_line import located

DRAIN_SECONDS = 60
"""The longest time that users may take to finish their transactions after a step."""
CALIBRATION_SECONDS, SETTLE_SECONDS = 0.2, 0.03
"""Length of a calibration's measurement, and of the load before it that is not counted."""


class StepGate:
    """Holds back a worker's users between steps. A step opens the gate when it begins, and shuts it when it ends."""

    def __init__(self) -> None:
        self._step: AsyncResult[WorkerStep] = AsyncResult()

    def take_part(self, behavior: Behavior) -> None:
        """Wait for a step, and run one user's transactions until the step ends."""
        self._step.get().run_user(behavior)  # type: ignore[union-attr]  # the only value that is ever set is a step

    def open(self, step: "WorkerStep") -> None:
        """Let all users take part in a step, also those that come later."""
        self._step.set(step)

    def shut(self) -> None:
        """Let users wait for the next step."""
        if self._step.ready():
            self._step = AsyncResult()


@dataclass(frozen=True)
class Reporting:
    """The functions by which a step reports.

    on_second: called at the end of each second with its record, and with what the master needs of it.
    on_failure: called with the reason when the step can't go on.
    observe: called with each transaction; None to call nothing.
    """

    on_second: Callable[[WorkerSecond, ReportedSecond], None]
    on_failure: Callable[[str], None]
    observe: Observer | None = None


class WorkerStep:
    """One step of one worker: its pools, its users' loop, its clock and its cost."""

    def __init__(
        self,
        url: URL,
        share: WorkerShare,
        gate: StepGate,
        kinds: Sequence[str],
        pool_shares: Mapping[str, float],
        reporting: Reporting,
    ) -> None:
        """Open every connection of the share, unless the pool is lazy.

        gate: the gate at which the worker's users wait. kinds: names of the workload's kinds of transactions.
        pool_shares: user class -> the part of the connections that is a pool of its own.
        Raises WorkFailed when the server does not admit that many connections.
        """
        self._share = share
        self._gate = gate
        self._reporting = reporting
        self._pools = open_pools(url, share.schema, share.connections, pool_shares, share.timeout_seconds, share.pool)
        recorder = StepRecorder(kinds, reporting.observe)
        self._load = Load(self._pools.checkouts, recorder, yields=share.pool == PoolKind.SQLALCHEMY)
        self._loop = (
            OpenLoop(self._load, share.rate, share.connections)
            if share.rate
            else ClosedLoop(self._load, share.think_seconds)
        )
        self._cost = WorkerCost()
        self._clock = gevent.Greenlet(self._tick)

    @property
    def connection_ids(self) -> list[int]:
        """The server's ids of the connections that the pools have opened."""
        return self._pools.connection_ids

    def begin(self) -> None:
        """Let the users start, and begin the first second."""
        self._loop.begin()
        self._cost.begin()
        if self._share.connections:
            self._gate.open(self)
        self._clock.start()

    def run_user(self, behavior: Behavior) -> None:
        """Run one user's transactions until the step ends. An exception in the workload ends the step for all users."""
        try:
            self._loop.run_user(behavior)
        except Exception as error:
            self._stop()
            is_known = isinstance(error, WorkFailed)
            self._reporting.on_failure(
                str(error) if is_known else f"the workload's transaction failed: {located(error)}"
            )

    def finish(self, first: int, last: int) -> WorkerReport:
        """Stop the load, wait until every user has returned its connection, and return the report.

        The report covers the seconds from first to before last. Raises WorkFailed when a transaction does not end
        within DRAIN_SECONDS.
        """
        users, deadline = self._load.users, monotonic() + DRAIN_SECONDS
        self._stop()
        while self._load.users and monotonic() < deadline:
            gevent.sleep(0.005)
        if self._load.users:
            raise WorkFailed(
                f"{self._load.users} users had not finished their transaction {DRAIN_SECONDS} s after the step's "
                "end: the server hangs, or the workload's transaction is that long"
            )
        counted = self._load.recorder.seconds[first:last]
        return WorkerReport.of(users, self.connection_ids, counted, self._cost.over(first, last))

    def end_last_second(self) -> WorkerSecond:
        """Return the transactions after the last whole second, which count in no figure of the step."""
        return self._load.recorder.end_second()

    def close(self) -> None:
        """Stop the load, and close the pools' connections."""
        self._stop()
        self._pools.close()

    def _tick(self) -> None:
        started, seconds = monotonic(), self._load.recorder.seconds
        while True:
            index = len(seconds)
            gevent.sleep(max(0.0, started + index + 1 - monotonic()))
            self._cost.end_second()
            second = self._load.recorder.end_second()
            self._reporting.on_second(second, ReportedSecond(index, self._loop.end_second(second)))

    def _stop(self) -> None:
        self._gate.shut()
        self._loop.end()
        self._clock.kill()
        self._cost.end()


def calibrate(url: URL, schema: str) -> Calibration:
    """Return the cost of one worker: of the users' loop without a server, and of the smallest statement.

    It takes less than a second. Both use the fair pool, whichever pool the sweep measures, so that the figures of all
    runs compare. url: the database. schema: the schema that the connections use.
    Raises WorkFailed when the server does not admit the connections.
    """
    creator: Any = IdleConnection  # the loop uses no more of a connection than this class has
    # More users than connections, so that users wait for each other.
    idle_pool = FairQueuePool(creator, pool_size=2, max_overflow=0, reset_on_return=None)
    # A real transaction lets other users run while it waits for the server.
    loop_us, _ = _measure(idle_pool.lease, 4, lambda _: gevent.sleep(0))
    pools = open_pools(url, schema, 2, {}, timeout_seconds=30.0, kind=PoolKind.FAIR)
    try:
        _, usage_us = _measure(pools.checkouts[SHARED], 1, lambda cursor: cursor.execute("DO 1"))
    finally:
        pools.close()
    return Calibration(loop_us=round(loop_us, 2), round_trip_us=round(usage_us, 2))


class IdleConnection:
    """A connection that does nothing, and is its own cursor."""

    def cursor(self) -> "IdleConnection":
        """Return the connection itself."""
        return self

    def close(self) -> None:
        """Do nothing."""


def _measure(checkout: Checkout, users: int, transaction: Transaction) -> tuple[float, float]:
    """Return a transaction's CPU time in this process and its median usage time, both in microseconds."""
    load = Load({SHARED: checkout}, StepRecorder(["calibration"]))
    loop = ClosedLoop(load, think_seconds=0.0)
    behavior = Behavior((("calibration", transaction),))
    greenlets = [gevent.spawn(loop.run_user, behavior) for _ in range(users)]
    gevent.sleep(SETTLE_SECONDS)
    load.recorder.end_second()
    cpu_seconds = process_time()
    gevent.sleep(CALIBRATION_SECONDS)
    second = load.recorder.end_second()
    cpu_seconds = process_time() - cpu_seconds
    loop.end()
    gevent.joinall(greenlets, raise_error=True)
    usages_us = [usage_us for usage_us, number in second.usage.items() for _ in range(number)]
    return 1e6 * cpu_seconds / max(1, second.transactions), median(usages_us or [0])
