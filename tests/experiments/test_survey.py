"""The survey of pools: its figures, its text, and its pools: with a driver that does nothing, and on a real server."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.errors import WorkFailed
from poolsize.experiments.scenario import read_scenario
from poolsize.experiments.survey.measure import (
    JAVA_PROGRAMS,
    MOST_CONNECTIONS,
    JavaLeftOut,
    compiled_java,
    python_commands,
    survey,
    timed,
)
from poolsize.experiments.survey.pools import POOLS
from poolsize.experiments.survey.process import measure_threads
from poolsize.experiments.survey.text import survey_text, survey_values
from poolsize.experiments.survey.timing import (
    ARTIFACTS,
    JAVA,
    MANY_USERS,
    POOL_SIZE,
    USERS,
    Concurrency,
    Survey,
    Timing,
    Work,
    java_versions,
)
from poolsize.present.text.json_text import json_text
from poolsize.server.private_server import private_server
from tests.conftest import FLAVORS, Command, mysqld

SCENARIO = read_scenario("pools")
OF_THREADS = POOLS[Concurrency.THREADS]


def timing(pool: str, work: Work, users: int, transactions: int, served: int, longest_wait_ms: float) -> Timing:
    return Timing(pool, Concurrency.THREADS, work, users, transactions, 1.0, served, longest_wait_ms)


@pytest.mark.costly
@given(st.integers(1, 1000), st.integers(1, 10**7), st.floats(0.1, 10))
def test_the_time_of_a_transaction_and_the_fair_wait_follow_from_the_rate(
    users: int, rate: int, seconds: float
) -> None:
    """Little's law: in a fair pool, users = throughput x the time until each is served again."""
    found = Timing("a", Concurrency.THREADS, Work.SELECT, users, rate, seconds, users, 0.0)
    assert found.time_us == pytest.approx(1e6 * seconds / rate)
    assert found.fair_wait_ms == pytest.approx(users * seconds / rate * 1000)


def test_users_starve_where_the_others_are_served_meanwhile() -> None:
    assert timing("a", Work.SELECT, 64, 5_000, 8, 1000).starves
    assert not timing("a", Work.SELECT, 64, 5_000, 64, 40).starves
    assert not timing("slow", Work.SELECT, 64, 60, 50, 1000).starves
    assert not timing("none", Work.SELECT, 64, 0, 0, 1000).starves


def test_the_text_has_every_work_beside_the_published_survey() -> None:
    found = [timing("A pool", work, 5, 100_000, 5, 1.0) for work in (Work.MOCK, Work.SELECT)]
    found.append(timing("A pool", Work.SELECT, MANY_USERS, 10_000, 8, 990.0))
    text = survey_text(SCENARIO, Survey(tuple(found), ("peewee",)))
    assert "hikari (published)" in text
    assert "prepared and executed" not in text
    assert "Not installed: peewee." in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "A pool threads 10 ? ? ? ?" in lines
    assert "A pool threads 990 ms 6.4 ms 56 yes" in lines


def test_the_json_has_every_figure() -> None:
    timings = (timing("A pool", Work.MOCK, 5, 0, 0, 1000.0),)
    answer = json.loads(json_text(survey_values(SCENARIO, Survey(timings), "a.jsonl")))
    assert (answer["scenario"], answer["pool_size"], answer["file"]) == ("pools", POOL_SIZE, "a.jsonl")
    assert answer["timings"][0]["time_us"] is None
    assert answer["timings"][0]["starves"] is False


@pytest.mark.parametrize("name", ["SQLAlchemy QueuePool", "SQLAlchemy QueuePool, LIFO", "DBUtils PooledDB"])
def test_a_pool_of_threads_is_timed(name: str) -> None:
    """More threads than connections: each returns its connection, and a pool lends a connection once."""
    pool = OF_THREADS[name][0]({}, Work.MOCK)
    measured = measure_threads(pool, POOL_SIZE + 4, 0.05)
    assert measured["transactions"] > 0
    assert 0 < measured["longest_wait_ms"] <= 1000 * measured["seconds"] * (1 + 1e-9)
    again = [pool.borrow() for _ in range(POOL_SIZE)]
    drivers = [getattr(each, "dbapi_connection", None) or each._con for each in again]
    assert len(set(map(id, drivers))) == POOL_SIZE
    for each in again:
        pool.give_back(each)
    pool.close()


def test_the_pools_of_java_are_left_out_for_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaLeftOut, match="not installed: java, javac, mvn"):
        compiled_java(tmp_path)
    for program in JAVA_PROGRAMS:
        (tmp_path / program).write_text("#!/bin/sh\necho Picked up options\necho ERROR: no network\nexit 1\n")
        (tmp_path / program).chmod(0o700)
    with pytest.raises(JavaLeftOut, match="mvn failed: ERROR: no network") as failed:
        compiled_java(tmp_path)
    text = survey_text(SCENARIO, Survey(java_left_out=str(failed.value)))
    assert "Pools of Java are left out: mvn failed: ERROR: no network." in " ".join(text.split())


def test_every_java_pool_has_a_version() -> None:
    for name, version in java_versions().items():
        assert version[0].isdigit(), name


def test_a_user_that_fails_ends_the_survey() -> None:
    pool = OF_THREADS["SQLAlchemy QueuePool"][0]({}, Work.MOCK)

    def fail(_: object) -> None:
        raise OSError("the network is gone")

    with pytest.raises(WorkFailed, match="a user failed: the network is gone"):
        measure_threads(replace(pool, use=fail), 3, 0.05)


def test_a_survey_that_times_nothing_leaves_no_file(poolsize_here: Command, tmp_path: Path) -> None:
    failed = poolsize_here("scenario", "pools", "--mysqld", "nowhere/mysqld", "--output", "a.jsonl")
    assert failed.returncode == 2
    assert "nowhere/mysqld can't be run" in failed.stderr
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.server
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


@pytest.mark.server
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
