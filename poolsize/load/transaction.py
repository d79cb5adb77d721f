"""One transaction through the pool, timed: the wait for a connection, and its usage."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

import gevent
import pymysql
from sqlalchemy import PoolProxiedConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from poolsize.load.recorder import Recorder
from poolsize.target.connection import error_kind

PAUSE_AFTER_LOSS_SECONDS = 0.05

Transaction = Callable[[Any], None]


@dataclass
class Load:
    """What the callers of one process share during one step.

    checkout: takes a connection from the pool. on: whether they go on with another transaction.
    callers: how many are in the loop.
    """

    checkout: Callable[[], PoolProxiedConnection]
    recorder: Recorder = field(default_factory=Recorder)
    on: bool = True
    callers: int = 0


def transact(load: Load, transaction: Transaction, since_ns: int, gap_ns: int) -> int | None:
    """Run one transaction and record it; returns when it ended, or None if it did not succeed.

    since_ns: when it was wanted; the wait counts from there. gap_ns: since the caller's last one ended.
    Database errors are counted by kind; any other exception is raised. A load that was switched off while this
    caller waited is left as it is.
    """
    try:
        connection = load.checkout()
    except PoolTimeout:
        load.recorder.failed("pool_timeout")
        return None
    except (pymysql.MySQLError, DBAPIError) as error:
        load.recorder.failed(error_kind(error))
        gevent.sleep(PAUSE_AFTER_LOSS_SECONDS)  # a server that is away must not be asked in a tight loop
        return None
    got_ns = perf_counter_ns()
    if not load.on:
        connection.close()
        return None
    try:
        cursor = connection.cursor()
        transaction(cursor)
        cursor.close()
        connection.close()
    except pymysql.MySQLError as error:
        load.recorder.failed(error_kind(error))
        _recover(connection)
        return None
    ended_ns = perf_counter_ns()
    load.recorder.record((gap_ns, got_ns - since_ns, ended_ns - got_ns))
    return ended_ns


def _recover(connection: PoolProxiedConnection) -> None:
    """Leave no transaction open; a connection that can't even roll back is replaced by a new one."""
    try:
        connection.rollback()
    except pymysql.MySQLError:
        connection.invalidate()
    connection.close()
