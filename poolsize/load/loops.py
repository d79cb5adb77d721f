"""The loops that start transactions, after pauses (closed) or by a rate of arrivals (open); one transaction, timed."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter_ns
from typing import Any

import gevent
import pymysql
from gevent.event import Event
from gevent.queue import Queue
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from poolsize.load.messages import StepSecond
from poolsize.load.pool import SHARED, Checkout
from poolsize.load.recorder import Recorder, StepRecorder, WorkerSecond
from poolsize.server.connection import error_kind

LONG_PAUSE_SECONDS = 1.0
"""The end of the step interrupts longer pauses. A shorter pause is a plain sleep, which costs less CPU time."""
PAUSE_AFTER_LOSS_SECONDS = 0.05
"""A user's pause after it could not connect."""
Transaction = Callable[[Any], None]
"""A workload's transaction: a function of a PyMySQL cursor."""


@dataclass(frozen=True)
class Behavior:
    """What a user does.

    tasks: pairs of a kind's name and its transaction. Each transaction is of a random pair, and a pair that stands
    three times is three times as frequent.
    pause: returns the seconds until the user's next transaction in a closed loop; None for the plan's think time.
    pool: name of the pool that the user takes its connections from, as in Pools.
    """

    tasks: tuple[tuple[str, Transaction], ...]
    pause: Callable[[], float] | None = None
    pool: str = SHARED


@dataclass
class Load:
    """The state that the users of one worker share during one step.

    checkouts: name of a pool -> the function that takes a connection from it. recorder: the record of the transactions.
    yields: whether a user lets the other greenlets run before its next transaction. SQLAlchemy's own queue needs that:
    it wakes a waiter, but the user that has just returned the connection would take the connection again.
    Of several connections that are returned at once, a user that was not waiting may still take one; the waiter that
    was woken for it then goes to the end of the line. So the longest wait exceeds that of the fair pool.
    running: whether users begin further transactions. users: number of users in the loop now.
    """

    checkouts: Mapping[str, Checkout]
    recorder: StepRecorder
    yields: bool = False
    running: bool = True
    users: int = 0


class ClosedLoop:
    """The loop of a step whose users decide when a transaction starts."""

    def __init__(self, load: Load, think_seconds: float) -> None:
        """think_seconds: mean pause after a transaction, exponentially distributed; 0 for no pause."""
        self._load = load
        self._think = partial(random.expovariate, 1 / think_seconds) if think_seconds else None
        self._ended = Event()
        self._ahead = dict.fromkeys(load.checkouts, 0)
        """Name of a pool -> its users, less the transactions that its users ended."""

    def begin(self) -> None:
        """Do nothing: the users start the transactions."""

    def run_user(self, behavior: Behavior) -> None:
        """Run one user's transactions until the loop ends. A failed transaction's time is part of the next gap."""
        load, ahead, pool = self._load, self._ahead, behavior.pool
        checkout = load.checkouts[pool]
        pause = behavior.pause or self._think
        yields = load.yields and not pause
        tasks = [(load.recorder.of(kind), transaction) for kind, transaction in behavior.tasks]
        recorder, transaction = tasks[0]
        several = len(tasks) > 1
        load.users += 1
        ahead[pool] += 1
        try:
            ended_ns = perf_counter_ns()
            while load.running:
                if several:
                    recorder, transaction = random.choice(tasks)
                due_ns = perf_counter_ns()
                ended_ns = transact(load, checkout, recorder, transaction, due_ns, due_ns - ended_ns) or ended_ns
                ahead[pool] -= 1
                if pause:
                    if (seconds := pause()) > LONG_PAUSE_SECONDS:
                        self._ended.wait(seconds)
                    else:
                        gevent.sleep(seconds)
                elif yields:
                    gevent.sleep(0)
        finally:
            load.users -= 1
            ahead[pool] -= 1

    def end_second(self, second: WorkerSecond) -> StepSecond:
        """Return a second that ends now, with the users that wait for the end of their first transaction.

        A pool serves its users in order of arrival, and all arrive when the step begins. So the first transactions of a
        pool that end, failed transactions included, are the first of each of its users.
        """
        return StepSecond.of(second, unserved=sum(max(0, users) for users in self._ahead.values()))

    def end(self) -> None:
        """Let no user begin another transaction."""
        self._load.running = False
        self._ended.set()


class OpenLoop:
    """The loop of a step in which transactions arrive at random (a Poisson process) and users take them in order."""

    def __init__(self, load: Load, rate: float, connections: int) -> None:
        """rate: mean arrivals per second at this worker. connections: this worker's part of the pool."""
        self._load = load
        self._rate = rate
        self._outstanding = Outstanding(connections)
        self._due: Queue[int | None] = Queue()
        self._arrivals = gevent.Greenlet(self._arrive)

    def begin(self) -> None:
        """Let transactions arrive from now on."""
        self._arrivals.start()

    def run_user(self, behavior: Behavior) -> None:
        """Run one user: take the transactions that are due, in order, until the loop ends."""
        load, next_due, checkout = self._load, self._due.get, self._load.checkouts[behavior.pool]
        tasks = [(load.recorder.of(kind), transaction) for kind, transaction in behavior.tasks]
        load.users += 1
        try:
            while (due_ns := next_due()) is not None:
                recorder, transaction = random.choice(tasks)
                transact(load, checkout, recorder, transaction, due_ns, 0)
                self._outstanding.add(-1)
                if load.yields:
                    gevent.sleep(0)
        finally:
            load.users -= 1

    def end_second(self, second: WorkerSecond) -> StepSecond:
        """Return a second that ends now, with its outstanding transactions."""
        backlog, busy = self._outstanding.end_second()
        return StepSecond.of(second, backlog=backlog, busy=busy)

    def end(self) -> None:
        """Stop the arrivals, drop the transactions that are due, and end the loop of every user."""
        self._load.running = False
        self._arrivals.kill()
        while not self._due.empty():
            self._due.get()
        for _ in range(self._load.users):
            self._due.put(None)

    def _arrive(self) -> None:
        due_ns = float(perf_counter_ns())
        while True:
            due_ns += random.expovariate(self._rate) * 1e9
            gevent.sleep(max(0.0, (due_ns - perf_counter_ns()) / 1e9))
            self._outstanding.add(1)
            self._due.put(int(due_ns))


class Outstanding:
    """Counts the transactions of one worker that are due and not ended, and the time of its busy connections.

    A connection is busy from the moment that a transaction is due for it, until the transaction ends. So the time in
    which the event loop hands a connection over counts: no other transaction can use the connection then.
    """

    def __init__(self, connections: int) -> None:
        """connections: this worker's part of the pool."""
        self._connections = connections
        self._number = 0
        self._busy_ns = 0
        self._changed_ns = 0

    def add(self, number: int) -> None:
        """Count a transaction that is due now (1), or one that has ended or failed now (-1)."""
        now_ns = perf_counter_ns()
        self._busy_ns += min(self._number, self._connections) * (now_ns - self._changed_ns)
        self._changed_ns = now_ns
        self._number += number

    def end_second(self) -> tuple[int, float]:
        """End the current second, and return its backlog and its busy time, as in StepSecond."""
        self.add(0)
        backlog, busy = max(0, self._number - self._connections), self._busy_ns / 1e9
        self._busy_ns = 0
        return backlog, busy


def transact(
    load: Load, checkout: Checkout, recorder: Recorder, transaction: Transaction, due_ns: int, gap_ns: int
) -> int | None:
    """Run and record one transaction, and return its end in ns of perf_counter; None if it did not succeed.

    checkout: of the user's pool. recorder: of the transaction's kind.
    due_ns: moment at which the transaction was due, in ns of perf_counter; its wait time begins there.
    gap_ns: time since the end of the user's previous transaction.
    Database errors are counted by kind, and not raised; any other exception is raised.
    A transaction whose user gets its connection after the step's end is neither run nor recorded.
    """
    try:
        connection = checkout()
    except PoolTimeout as error:
        recorder.failed("pool_timeout", error, perf_counter_ns() - due_ns)
        return None
    except (pymysql.MySQLError, DBAPIError) as error:
        recorder.failed(error_kind(error), error, perf_counter_ns() - due_ns)
        gevent.sleep(PAUSE_AFTER_LOSS_SECONDS)  # reconnecting in a tight loop would flood a server that restarts
        return None
    obtained_ns = perf_counter_ns()
    if not load.running:
        connection.close()
        return None
    try:
        cursor = connection.cursor()
        transaction(cursor)
        cursor.close()
        connection.close()
    except pymysql.MySQLError as error:
        failed_ns = perf_counter_ns()
        try:
            connection.rollback()
        except pymysql.MySQLError:
            connection.invalidate()  # the pool replaces it
        connection.close()
        recorder.failed(error_kind(error), error, failed_ns - due_ns)
        return None
    ended_ns = perf_counter_ns()
    recorder.record((gap_ns, obtained_ns - due_ns, ended_ns - obtained_ns))
    return ended_ns
