"""The survey of pools on a real server: every library's pool, in threads, in greenlets and in asyncio."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from poolsize.experiments.survey.measure import JAVA_PROGRAMS, MOST_CONNECTIONS, python_commands, survey, timed
from poolsize.experiments.survey.pools import POOLS
from poolsize.experiments.survey.timing import ARTIFACTS, JAVA, MANY_USERS, USERS, Concurrency, Timing, Work
from poolsize.server.private_server import private_server
from tests.conftest import FLAVORS, mysqld

pytestmark = pytest.mark.server


def test_every_pool_of_asyncio_is_timed() -> None:
    with private_server(None, {}, MOST_CONNECTIONS) as server:
        timings, _ = timed(python_commands(0.02)[Concurrency.ASYNCIO], server, lambda _: None)
    assert_timed(timings, Concurrency.ASYNCIO)
    assert all(timing.served <= min(timing.users, timing.transactions) for timing in timings)


def assert_timed(timings: Sequence[Timing], concurrency: Concurrency) -> None:
    """Every pool of Python was timed with each number of users."""
    of_python = [timing for timing in timings if not timing.pool.endswith(JAVA)]
    selects = [timing for timing in of_python if (timing.concurrency, timing.work) == (concurrency, Work.SELECT)]
    assert {timing.pool for timing in selects} == set(POOLS[concurrency])
    assert {timing.users for timing in selects} == {*USERS, MANY_USERS}


@pytest.mark.slow
@pytest.mark.experiment
@pytest.mark.parametrize("flavor", FLAVORS)
def test_every_pool_is_timed(flavor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown: list[Timing] = []
    with private_server(mysqld(flavor), {}, MOST_CONNECTIONS) as server:
        done = survey(server, 0.02, shown.append)
    timings = done.timings
    assert list(timings) == shown
    assert not done.missing
    for concurrency in Concurrency:
        assert_timed(timings, concurrency)
    assert {timing.work for timing in timings} == set(Work)
    if done.java_left_out is None:
        of_java = {(timing.pool, timing.work, timing.users) for timing in timings if timing.pool.endswith(JAVA)}
        every = {(pool + JAVA, work, users) for pool in ARTIFACTS.values() for work in Work for users in USERS}
        assert of_java == every | {(pool, Work.SELECT, MANY_USERS) for pool, _, _ in every}
        working = {(pool, work) for pool, work, _ in every}  # a single timing of 20 ms may have no transaction
        assert {(timing.pool, timing.work) for timing in timings if timing.transactions} >= working
    else:
        assert not all(map(shutil.which, JAVA_PROGRAMS)) or "mvn" in done.java_left_out
    assert all(timing.served <= min(timing.users, timing.transactions) for timing in timings)
    fair_pool = "poolsize's fair pool, no ROLLBACK"
    (fair,) = (timing for timing in timings if timing.pool == fair_pool and timing.users == MANY_USERS)
    assert (fair.served, fair.starves) == (MANY_USERS, False)
