"""A caller in a closed loop: a transaction, a pause, and the next one when that is over."""

import random
from time import perf_counter_ns

import gevent

from poolsize.load.transaction import Load, Transaction, transact


def call(load: Load, transaction: Transaction, think_seconds: float) -> None:
    """Run transactions until the load is switched off, with pauses of that mean length.

    The time of a transaction that failed belongs to the next one's gap.
    """
    load.callers += 1
    try:
        ended_ns = perf_counter_ns()
        while load.on:
            asked_ns = perf_counter_ns()
            ended_ns = transact(load, transaction, asked_ns, asked_ns - ended_ns) or ended_ns
            if think_seconds:
                gevent.sleep(random.expovariate(1 / think_seconds))
    finally:
        load.callers -= 1
