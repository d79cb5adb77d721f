"""Waits of a real fleet on a real server, beside those that the model of `poolsize.traffic` has."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
import pytest
from sqlalchemy import Engine, create_engine, text

from poolsize.server.private_server import PrivateServer
from poolsize.traffic.finite_source import waits_of_threads
from tests.conftest import measured_again, on_mariadb, undisturbed

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.experiment]
USAGE_S = 0.02
SECONDS, PARTS = 10.0, 4
"""The length of a part of the measurement, and the parts."""
PROCESSES, THREADS = 8, 8


@dataclass
class Measured:
    """Wait and usage times of requests, in seconds."""

    waits: list[float]
    usages: list[float]


def request(engine: Engine, usage: float, measured: Measured) -> None:
    """Wait for a connection of the pool, use it, and give it back."""
    asked = time.perf_counter()
    with engine.connect() as connection:
        got = time.perf_counter()
        connection.execute(text("SELECT SLEEP(:seconds)"), {"seconds": usage})
        connection.rollback()
    measured.waits.append(got - asked)
    measured.usages.append(time.perf_counter() - got)


def at_once(tasks: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@on_mariadb
@pytest.mark.parametrize("busy", [0.3, 0.5, 0.8])
@pytest.mark.timeout(1800)
@measured_again
def test_threads_wait_for_the_pool_of_their_process_as_a_fleet_prints(server: PrivateServer, busy: float) -> None:
    """Processes with a connection each and threads that pause: each pool is that of a process."""
    engines = [create_engine(server.url, pool_size=1, max_overflow=0, pool_timeout=60) for _ in range(PROCESSES)]
    pause, seeds = USAGE_S * (THREADS / busy - 1), count()

    def thread(engine: Engine, seed: int, measured: Measured) -> None:
        random, end = np.random.default_rng(seed), time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            time.sleep(random.exponential(pause))
            request(engine, random.exponential(USAGE_S), measured)

    def part() -> Measured:
        measured = Measured([], [])
        at_once([partial(thread, engine, next(seeds), measured) for engine in engines for _ in range(THREADS)])
        return measured

    parts = undisturbed(part, PARTS)
    waits, usages = (np.concatenate([getattr(each, name) for each in parts]) for name in ("waits", "usages"))
    mean, p99 = waits_of_threads(1, THREADS, THREADS / (1 + pause / usages.mean()))
    assert waits.mean() / usages.mean() == pytest.approx(mean, rel=0.15)
    assert np.quantile(waits, 0.99) / usages.mean() == pytest.approx(p99, rel=0.15)
