"""One transaction through the pool, with its wait time and its usage time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import gevent
import pymysql
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from poolsize.load.pool import SHARED, Checkout
from poolsize.load.recorder import Recorder, StepRecorder
from poolsize.server.connection import error_kind

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
