"""A worker's watch over its master: the worker ends when it has not heard of the master for a while."""

import logging

import gevent
from locust import runners
from locust.runners import WorkerRunner

LOOK_SECONDS = 1
"""Between two looks whether the master has sent a sign of life."""
NEVER_SECONDS = 10**9

logger = logging.getLogger("poolsize")


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
