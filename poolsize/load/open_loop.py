"""An open loop: transactions arrive at a rate, whether or not earlier ones have ended.

A transaction's latency counts from the moment it is due. In a closed loop, the users of a stalled server start no
transactions, so the latencies that other arrivals would suffer are never measured. Gil Tene calls this coordinated
omission; see also Schroeder, Wierman and Harchol-Balter, "Open versus closed: a cautionary tale" (2006).
"""

import random
from time import perf_counter_ns

import gevent
from gevent.queue import Queue

from poolsize.load.outstanding import Outstanding, OutstandingSecond
from poolsize.load.transaction import Behavior, Load, transact


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
