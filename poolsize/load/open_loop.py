"""An open loop: transactions arrive by the clock, whatever has become of the earlier ones.

Their latency counts from the moment they were due. A closed loop can't do that: when the server stalls, its callers
stall with it and ask for nothing, so that the transactions that would have suffered are never seen (Tene calls that
coordinated omission; Schroeder, Wierman and Harchol-Balter, "Open versus closed: a cautionary tale", 2006).
"""

import random
from time import perf_counter_ns

import gevent
from gevent.queue import Queue

from poolsize.load.transaction import Load, Transaction, transact


class Arrivals:
    """Transactions due at random moments (a Poisson process), for the callers to take in their order."""

    def __init__(self, rate: float) -> None:
        """Begin now. rate: per second, on average."""
        self._rate = rate
        self._due: Queue[int | None] = Queue()
        self._clock = gevent.spawn(self._arrive)

    @property
    def backlog(self) -> int:
        """Transactions that are due and that no caller is free to take."""
        return self._due.qsize()

    def take(self) -> int | None:
        """Wait for the next one; returns when it was due, in nanoseconds of perf_counter, or None at the end."""
        return self._due.get()

    def end(self, callers: int) -> None:
        """Let no more arrive, and send the callers home."""
        self._clock.kill()
        while not self._due.empty():
            self._due.get()
        for _ in range(callers):
            self._due.put(None)

    def _arrive(self) -> None:
        due_ns = float(perf_counter_ns())
        while True:
            due_ns += random.expovariate(self._rate) * 1e9
            gevent.sleep(max(0.0, (due_ns - perf_counter_ns()) / 1e9))
            self._due.put(int(due_ns))


def serve(load: Load, transaction: Transaction, arrivals: Arrivals) -> None:
    """Run transactions as they arrive, until there are no more."""
    load.callers += 1
    try:
        while (due_ns := arrivals.take()) is not None:
            transact(load, transaction, due_ns, 0)
    finally:
        load.callers -= 1
