"""Sweeps on real servers: by `poolsize sweep` and by plain Locust, on MariaDB and on MySQL."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from poolsize import analyze, load_run
from poolsize.measure.pool import connect, database_url
from poolsize.measure.private_server import PrivateServer, private_server
from poolsize.run import Run
from tests.conftest import ROOT, Command

pytestmark = [pytest.mark.server, pytest.mark.slow]


def may_run_on(pid: int, cores: set[int]) -> None:
    """Let every thread of a process, and those they start, run on these cores only."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)


def locust(locustfile: str, url: str, run: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """A sweep as any Locust user would start it."""
    return subprocess.run(
        [sys.executable, "-m", "locust", "-f", str(ROOT / "locustfiles" / locustfile), "--headless", "--only-summary",
         f"--output={run}", *options],
        env=os.environ | {"POOLSIZE_URL": url}, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


def assert_true_steps(run: Run) -> None:
    """Every step was measured, counted by the server exactly, and obeys Little's law within 5 %."""
    assert not run.missing
    for step in run.steps:
        assert step.server_connections == step.pool_size
        assert sum(step.counted) > 0
        passed = {check.name: check.passed for check in step.checks}
        assert passed["littles_law"], [check.detail for check in step.checks]
        assert passed["connections"]
        assert passed["errors"]
        assert len(step.throughput) == run.plan.warm_up_seconds + run.plan.step_seconds


def schemas(server: PrivateServer) -> set[str]:
    with connect(database_url(server.url)) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW DATABASES")
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.parametrize("workload", ["insert", "scan"])
def test_poolsize_sweep_measures_and_recommends(
    server: PrivateServer, poolsize: Command, tmp_path: Path, workload: str
) -> None:
    before = schemas(server)
    done = poolsize(
        "sweep", "--workload", workload, "--pool-sizes", "1,2,4", "--step-time", "5s", "--warm-up", "1s",
        "--output", "a.jsonl", "--json", url=server.url,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["basis"], answer["run"], answer["steps"], answer["load_seconds"]) == ("measured", "a.jsonl", 3, 18)
    run = load_run(tmp_path / "a.jsonl")
    assert_true_steps(run)
    assert schemas(server) == before
    password = database_url(server.url).password
    assert str(password) not in (tmp_path / "a.jsonl").read_text() + done.stdout + done.stderr


@pytest.mark.parametrize("workload", ["insert", "scan"])
def test_plain_locust_does_the_same(server: PrivateServer, tmp_path: Path, workload: str) -> None:
    done = locust(
        f"{workload}.py", server.url, tmp_path / "a.jsonl", "--pool-sizes=1,2,4", "--step-time=3s", "--warm-up=1s"
    )
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert_true_steps(run)
    counted_by_locust = int(
        next(line for line in (done.stdout + done.stderr).splitlines() if "Aggregated" in line).split()[1]
    )
    assert counted_by_locust == sum(sum(step.throughput) for step in run.steps)


@pytest.mark.skipif(sys.platform != "linux" or (os.cpu_count() or 1) < 2, reason="pins to the second core")
@pytest.mark.parametrize("cores", [1, 2])
def test_the_plateau_of_scan_is_the_number_of_cores(server: PrivateServer, tmp_path: Path, cores: int) -> None:
    everywhere = os.sched_getaffinity(0)
    first, *_, last = sorted(everywhere)
    may_run_on(server.pid, {first} if cores == 1 else {first, last})
    os.sched_setaffinity(0, {last} if cores == 1 else everywhere)  # the load process inherits it
    try:
        done = locust(
            "scan.py", server.url, tmp_path / "a.jsonl", "--pool-sizes=1,2,4", "--step-time=10s", "--warm-up=1s"
        )
    finally:
        may_run_on(server.pid, everywhere)
        os.sched_setaffinity(0, everywhere)
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert_true_steps(run)
    found = analyze(run).plateau
    assert found is not None
    assert found.pool_size == cores


@pytest.mark.parametrize("private", [True, False])
def test_several_processes_share_the_pool_exactly(poolsize: Command, tmp_path: Path, private: bool) -> None:
    with ExitStack() as stack:
        url = None if private else stack.enter_context(private_server(None, {}, 50)).url
        done = poolsize(
            "sweep", "--workload", "scan", "--processes", "4", "--pool-sizes", "1,2,6", "--users", "40",
            "--step-time", "5s", "--warm-up", "1s", "--output", "a.jsonl", "--json", url=url,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert_true_steps(run)
    for step in run.steps:
        shares = sorted(worker.share for worker in step.workers)
        assert len(shares) == 4
        assert sum(shares) == step.pool_size
        assert shares[-1] - shares[0] <= 1
        assert all((worker.users > 0) == (worker.share > 0) for worker in step.workers)
    assert json.loads(done.stdout)["pool_size"] == 2


def test_think_time_is_part_of_the_loop(server: PrivateServer, tmp_path: Path) -> None:
    done = locust(
        "select_one.py", server.url, tmp_path / "a.jsonl", "--pool-sizes=4", "--users=40", "--think-time=50ms",
        "--step-time=6s", "--warm-up=1s",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert_true_steps(run)
    (step,) = run.steps
    assert 48 < step.gap_ms < 56
    interactive_law = 40 / (0.050 + 0.001)  # users / (think + response)
    assert abs(sum(step.counted) / 6 / interactive_law - 1) < 0.1
