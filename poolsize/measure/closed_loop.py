"""One caller in a closed loop: take a connection, run a transaction, give it back, pause, again."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import gevent
import pymysql
from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from poolsize.measure.pool import error_kind
from poolsize.measure.recorder import Recorder

PAUSE_AFTER_LOSS_SECONDS = 0.05

Transaction = Callable[[Any], None]


@dataclass
class Load:
    """What the callers of one process share during one step.

    on: whether they go on with another transaction. callers: how many are in the loop.
    """

    engine: Engine
    recorder: Recorder
    think_seconds: float
    on: bool = True
    callers: int = 0


def call(load: Load, transaction: Transaction) -> None:
    """Run transactions until the load is switched off.

    Timed apart: the gap since this caller's last transaction, the wait for a connection, and its usage. Database
    errors are counted by kind, and their time belongs to the next gap; any other exception is raised.
    """
    checkout, record, now = load.engine.raw_connection, load.recorder.record, perf_counter_ns
    think_seconds, sleep = load.think_seconds, gevent.sleep
    load.callers += 1
    try:
        ended = now()
        while load.on:
            asked = now()
            try:
                connection = checkout()
            except PoolTimeout:
                load.recorder.failed("pool_timeout")
                continue
            except (pymysql.MySQLError, DBAPIError) as error:
                load.recorder.failed(error_kind(error))
                sleep(PAUSE_AFTER_LOSS_SECONDS)  # a server that is away must not be asked in a tight loop
                continue
            got = now()
            if not load.on:
                connection.close()
                break
            try:
                cursor = connection.cursor()
                transaction(cursor)
                cursor.close()
                connection.close()
            except pymysql.MySQLError as error:
                load.recorder.failed(error_kind(error))
                _recover(connection)
            else:
                released = now()
                record((asked - ended, got - asked, released - got))
                ended = released
            if think_seconds:
                sleep(random.expovariate(1 / think_seconds))
    finally:
        load.callers -= 1


def _recover(connection: PoolProxiedConnection) -> None:
    """Leave no transaction open; a connection that can't even roll back is replaced by a new one."""
    try:
        connection.rollback()
    except pymysql.MySQLError:
        connection.invalidate()
    connection.close()
