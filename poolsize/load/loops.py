"""The loops that start transactions: each user after a pause (closed), or by a rate of arrivals (open)."""

import random
from time import perf_counter_ns

import gevent
from gevent.event import Event
from gevent.queue import Queue

from poolsize.load.outstanding import Outstanding, OutstandingSecond
from poolsize.load.transaction import Behavior, Load, transact

LONG_PAUSE_SECONDS = 1.0
"""The end of the step interrupts longer pauses. A shorter pause is a plain sleep, which costs less CPU time."""


class ClosedLoop:
    """The loop of a step whose users decide when a transaction starts."""

    def __init__(self, load: Load, think_seconds: float) -> None:
        """think_seconds: mean pause after a transaction, exponentially distributed; 0 for no pause."""
        self._load = load
        self._think_seconds = think_seconds
        self._ended = Event()
        self._ahead = dict.fromkeys(load.checkouts, 0)
        """Name of a pool -> its users, less the transactions that its users ended."""

    def begin(self) -> None:
        """Do nothing: the users start the transactions."""

    def unserved(self) -> int:
        """Return the number of users that wait for the end of their first transaction.

        A pool serves its users in order of arrival, and all arrive when the step begins. So the first transactions of a
        pool that end, failed transactions included, are the first of each of its users.
        """
        return sum(max(0, users) for users in self._ahead.values())

    def run_user(self, behavior: Behavior) -> None:
        """Run one user's transactions until the loop ends.

        The time of a failed transaction counts as part of the gap before the next transaction.
        """
        load, ahead, pool = self._load, self._ahead, behavior.pool
        checkout = load.checkouts[pool]
        pause = behavior.pause or (self._think if self._think_seconds else None)
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
                    self._rest(pause())
                elif yields:
                    gevent.sleep(0)
        finally:
            load.users -= 1
            ahead[pool] -= 1

    def end_second(self) -> OutstandingSecond:
        """Return a second without a backlog: in a closed loop, no transaction is due."""
        return OutstandingSecond(0, 0.0)

    def end(self) -> None:
        """Let no user begin another transaction."""
        self._load.running = False
        self._ended.set()

    def _think(self) -> float:
        return random.expovariate(1 / self._think_seconds)

    def _rest(self, seconds: float) -> None:
        if seconds > LONG_PAUSE_SECONDS:
            self._ended.wait(seconds)
        else:
            gevent.sleep(seconds)


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
        self._outstanding.begin()
        self._arrivals.start()

    def unserved(self) -> int:
        """Return 0: no user asks for a connection before a transaction arrives."""
        return 0

    def run_user(self, behavior: Behavior) -> None:
        """Run one user: take the transactions that are due, in order, until the loop ends."""
        load, next_due, checkout = self._load, self._due.get, self._load.checkouts[behavior.pool]
        tasks = [(load.recorder.of(kind), transaction) for kind, transaction in behavior.tasks]
        load.users += 1
        try:
            while (due_ns := next_due()) is not None:
                recorder, transaction = random.choice(tasks)
                transact(load, checkout, recorder, transaction, due_ns, 0)
                self._outstanding.end()
                if load.yields:
                    gevent.sleep(0)
        finally:
            load.users -= 1

    def end_second(self) -> OutstandingSecond:
        """End the current second, and return its outstanding transactions."""
        return self._outstanding.end_second()

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
            self._outstanding.arrive()
            self._due.put(int(due_ns))
