"""The lives of the processes of workers: each ends with its master, and the master ends those that it has forked."""

import logging
import os
from contextlib import suppress
from time import monotonic, sleep

import gevent
import psutil
from locust import runners
from locust.runners import WorkerRunner

LOOK_SECONDS = 1
"""Seconds between two checks that the master lives."""
ENDING_SECONDS = 2
"""The longest time in which forked workers end, once the master has told them to."""

logger = logging.getLogger("poolsize")


def forked_workers() -> list[psutil.Process]:
    """Return the workers that Locust has forked from this process, and that have not ended."""
    master, forked = psutil.Process(), []
    for child in master.children():
        with suppress(psutil.Error):  # it has ended meanwhile
            # A forked process has its parent's command line, the private server one of its own.
            if child.cmdline() == master.cmdline() and child.status() != psutil.STATUS_ZOMBIE:
                forked.append(child)
    return forked


def end_forked_workers() -> None:
    """End the workers that Locust has forked from this process.

    When the sweep does not begin, Locust does not end them, and they wait a minute for their master.
    """
    for worker in forked_workers():
        with suppress(psutil.Error):
            worker.terminate()


def kill_late_workers() -> None:
    """Kill the forked workers that do not end with the sweep; Locust would wait for a frozen worker without end."""
    deadline = monotonic() + ENDING_SECONDS
    while (workers := forked_workers()) and monotonic() < deadline:
        sleep(0.05)
    for worker in workers:
        with suppress(psutil.Error):
            worker.kill()


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
    runners.MASTER_HEARTBEAT_TIMEOUT = 10**9  # Locust has no option for it
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
