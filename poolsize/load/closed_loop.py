"""A closed loop: each user runs a transaction, pauses, and runs the next."""

import random
from time import perf_counter_ns

import gevent

from poolsize.load.transaction import Load, Transaction, transact


class ClosedLoop:
    """The loop of a step whose users decide when a transaction starts. backlog: always 0, as no transaction is due."""

    backlog = 0

    def __init__(self, load: Load, think_seconds: float) -> None:
        """think_seconds: mean pause after a transaction, exponentially distributed; 0 for no pause."""
        self._load = load
        self._think_seconds = think_seconds

    def begin(self) -> None:
        """Do nothing: the users start the transactions."""

    def run_user(self, transaction: Transaction) -> None:
        """Run one user's transactions until the loop ends.

        The time of a failed transaction counts as part of the gap before the next transaction.
        """
        load, think_seconds = self._load, self._think_seconds
        yields = load.yields and not think_seconds
        load.users += 1
        try:
            ended_ns = perf_counter_ns()
            while load.running:
                due_ns = perf_counter_ns()
                ended_ns = transact(load, transaction, due_ns, due_ns - ended_ns) or ended_ns
                if think_seconds:
                    gevent.sleep(random.expovariate(1 / think_seconds))
                elif yields:
                    gevent.sleep(0)
        finally:
            load.users -= 1

    def end(self) -> None:
        """Let no user begin another transaction."""
        self._load.running = False
