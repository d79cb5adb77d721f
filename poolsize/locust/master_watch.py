"""A worker's watch over its master: the worker ends with the master, or when it has not heard of it for a while."""

import logging
import os

import gevent
from locust import runners
from locust.runners import WorkerRunner

LOOK_SECONDS = 1
"""Seconds between two checks that the master lives."""
NEVER_SECONDS = 10**9

logger = logging.getLogger("poolsize")


def let_workers_end_with_this_process() -> None:
    """Let each worker that Locust forks from this process end within a second of it.

    A worker that is not connected yet would try to connect to a killed master for five minutes.
    """
    master, is_master = os.getpid(), True

    def watch() -> None:
        nonlocal is_master
        if is_master:  # a process that a worker forks needs no watch
            is_master = False
            gevent.spawn(_end_without, master)

    os.register_at_fork(after_in_child=watch)


def _end_without(master: int) -> None:
    while os.getppid() == master:
        gevent.sleep(LOOK_SECONDS)
    os._exit(1)


def watch_master(runner: WorkerRunner, seconds: int) -> None:
    """End the worker once the master was silent for so many seconds, in place of Locust's own watch.

    Locust's watch compares times of day. A clock that is set forward would end every worker.
    """
    runners.MASTER_HEARTBEAT_TIMEOUT = NEVER_SECONDS  # Locust has no option for it
    gevent.spawn(_watch, runner, seconds)


def _watch(runner: WorkerRunner, seconds: int) -> None:
    """Count the looks, which also stand still while the machine sleeps."""
    heard, silent = runner.last_heartbeat_timestamp, 0
    while silent < seconds:
        gevent.sleep(LOOK_SECONDS)
        last = runner.last_heartbeat_timestamp
        silent = silent + LOOK_SECONDS if heard is not None and last == heard else 0
        heard = last
    logger.error("the master has been silent for %d s: this worker ends", seconds)
    runner.quit()
