"""Sweeps on real servers: by `poolsize sweep` and by plain Locust, on MariaDB and on MySQL."""

import json
import os
import sys
from math import ceil
from pathlib import Path

import pytest

from poolsize import analyze, load_run
from poolsize.runs.check import Check
from poolsize.runs.run import Run
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.planning import plan_for
from poolsize.units import milliseconds
from tests.conftest import (
    Command,
    assert_swept,
    assert_true_steps,
    curve_of,
    in_ci,
    locust,
    may_run_on,
    measured,
    measured_again,
    on_mariadb,
)

pytestmark = [pytest.mark.server, pytest.mark.slow]


SERIAL = """\
from poolsize.locust import PoolUser


class Serial(PoolUser):
    def transaction(self, cursor):
        cursor.execute("SELECT GET_LOCK('serial', 10)")
        cursor.execute("SELECT SLEEP(0.02)")
        cursor.execute("SELECT RELEASE_LOCK('serial')")
"""
"""A database that serves a transaction every 20 ms, however fast its cores are."""


def schemas(server: PrivateServer) -> set[str]:
    with connect(database_url(server.url)) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW DATABASES")
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.parametrize(
    ("server", "workload"),
    in_ci([("mariadb", "insert"), ("mariadb", "scan"), ("mysql", "insert")], ("mariadb", "insert")),
    indirect=["server"],
)
@measured_again
def test_poolsize_sweep_measures_and_recommends(
    server: PrivateServer, poolsize: Command, tmp_path: Path, workload: str
) -> None:
    before = schemas(server)
    done = poolsize(
        "sweep", "--workload", workload, "--pool-sizes", "1,4", "--step-time", "3s", "--warm-up", "1s",
        "--output", "a.jsonl", "--json", url=server.url,
    )  # fmt: skip
    assert_swept(done)
    answer = json.loads(done.stdout)
    run = load_run(tmp_path / "a.jsonl")
    assert (answer["basis"], answer["run"], answer["steps"]) == ("measured", "a.jsonl", len(run.steps))
    assert answer["load_seconds"] == sum(len(step.throughput) for step in run.steps) >= 8
    assert_true_steps(run)
    assert schemas(server) == before
    password = database_url(server.url).password
    assert str(password) not in (tmp_path / "a.jsonl").read_text() + done.stdout + done.stderr


@measured_again
def test_plain_locust_does_the_same(server: PrivateServer, tmp_path: Path) -> None:
    done = locust("insert.py", server.url, tmp_path / "a.jsonl", "--pool-sizes=1,4", "--step-time=3s", "--warm-up=1s")
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert_true_steps(run)
    said = done.stdout + done.stderr
    assert "Ramping to" in said
    for untrue in ("No run time limit", "spawn rate is very high", "web interface"):  # Locust says so by itself
        assert untrue not in said
    counted_by_locust = int(next(line for line in said.splitlines() if "Aggregated" in line).split()[1])
    after_the_last_second = counted_by_locust - sum(sum(step.throughput) for step in run.steps)
    assert 0 <= after_the_last_second <= sum(max(step.throughput) for step in run.steps)


@measured_again
def test_a_search_ends_with_the_answer_in_an_open_loop_within_its_budget(
    server: PrivateServer, poolsize: Command, poolsize_here: Command, tmp_path: Path
) -> None:
    """The table has the p95 of that step. Without the step, as after an interruption, --resume measures it again."""
    (tmp_path / "serial.py").write_text(SERIAL)
    done = poolsize(
        "sweep", "--workload", "serial.py", "--users", "16", "--budget", "60s", "--step-time", "4s", "--warm-up", "1s",
        "--output", "a.jsonl", "--json", url=server.url,
    )  # fmt: skip
    assert_swept(done)
    path = tmp_path / "a.jsonl"
    answer, run = json.loads(done.stdout), load_run(path)
    searched, last = [step for step in run.steps if step.rate is None], run.steps[-1]
    assert run.steps[: len(searched)] == tuple(searched)
    assert not last.failed_checks, "disturbed"
    assert run.load_seconds <= 60
    (price,) = (price for price in answer["regret"] if price["pool_size"] == answer["pool_size"])
    assert last.pool_size == answer["pool_size"]
    assert last.rate == pytest.approx(0.7 * answer["throughput"])
    (verified,) = analyze(run).verified
    assert (price["at_rate"]["measured"], price["at_rate"]["total_ms"]["p95"]) == (True, verified.total.p95)
    assert f"{milliseconds(verified.total.p95)} " in poolsize_here("recommend", "--run", "a.jsonl", "--why").stdout

    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if f'"rate":{last.rate}' not in line.replace(" ", "")))
    assert load_run(path).steps == tuple(searched)
    without = poolsize_here("recommend", "--run", "a.jsonl", "--why")
    assert without.returncode == 0
    assert "computed, not measured" in " ".join(without.stdout.split())
    resumed = poolsize("sweep", "--resume", "a.jsonl", "--workload", "serial.py", url=server.url)
    assert_swept(resumed)
    *kept, again = load_run(path).steps
    assert measured(kept) == measured(searched)
    assert (again.pool_size, again.rate) == (last.pool_size, last.rate)


@pytest.mark.experiment
@on_mariadb
def test_small_pools_are_true_with_the_users_of_a_large_machine(server: PrivateServer, tmp_path: Path) -> None:
    """All users ask at once: they wait ever longer until each was served, here for 27, 7 and 0.4 seconds.

    It asks every attempt: a busy machine does not change how long a server sleeps.
    """
    users = plan_for(SweepOptions.parse({"cores": 8}), "nap").users
    assert users == 272
    nap = tmp_path / "nap.py"
    nap.write_text(
        "from poolsize.locust import PoolUser\n\n\nclass Nap(PoolUser):\n"
        '    def transaction(self, cursor):\n        cursor.execute("SELECT SLEEP(0.1)")\n'
    )
    done = locust(
        nap, server.url, tmp_path / "a.jsonl", "--pool-sizes=1,4,64", f"--users={users}", "--step-time=4s",
        "--warm-up=2s",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert {step.pool_size for step in run.steps} == {1, 4, 64}
    for step in run.steps:
        (little,) = [result for result in step.checks if result.check is Check.LITTLES_LAW]
        assert little.passed, little
        assert step.warm_up_seconds >= ceil(users / (10 * step.pool_size))


@pytest.mark.experiment
@pytest.mark.skipif(sys.platform != "linux" or (os.cpu_count() or 1) < 2, reason="pins to the second core")
@pytest.mark.parametrize(("server", "cores"), [("mariadb", 1), ("mariadb", 2), ("mysql", 2)], indirect=["server"])
@measured_again
def test_the_plateau_of_scan_is_the_number_of_cores(server: PrivateServer, tmp_path: Path, cores: int) -> None:
    """Or one connection more, where a core rests for 5 % of a scan until the load generator asks for the next."""
    run = scanned(server, tmp_path / "a.jsonl", cores)
    assert_true_steps(run)
    plateau = analyze(run).plateau
    assert plateau is not None
    assert cores <= plateau.pool_size <= cores + 1
    assert plateau.low <= cores
    assert not [check for step in run.steps for check in step.failed_checks if check.check == "generator"]


def scanned(server: PrivateServer, path: Path, cores: int) -> Run:
    """Three sizes, each twice in random order, with the server on so many cores."""
    everywhere = os.sched_getaffinity(0)
    first, *_, last = sorted(everywhere)
    may_run_on(server.pid, {first} if cores == 1 else {first, last})
    os.sched_setaffinity(0, {last} if cores == 1 else everywhere)  # the load generator inherits it
    try:
        done = locust(
            "scan.py", server.url, path, "--pool-sizes=1,2,4", "--repeats=2", "--step-time=4s", "--warm-up=1s"
        )
    finally:
        may_run_on(server.pid, everywhere)
        os.sched_setaffinity(0, everywhere)
    assert done.returncode == 0, done.stderr
    return load_run(path)


@on_mariadb  # it is the client that thinks
@measured_again
def test_think_time_is_part_of_the_loop(server: PrivateServer, tmp_path: Path) -> None:
    done = locust(
        "select_one.py", server.url, tmp_path / "a.jsonl", "--pool-sizes=4", "--users=40", "--think-time=50ms",
        "--step-time=4s", "--warm-up=1s",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert_true_steps(run)
    (step,) = curve_of(run)
    assert 48 < step.gap_ms < 56
    interactive_law = 40 / (0.050 + 0.001)  # users / (think + response)
    assert abs(step.mean_throughput / interactive_law - 1) < 0.1
