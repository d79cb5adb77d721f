"""Several workers, here and on machines of their own: the same answer, and a lost worker costs one step."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from poolsize import analyze, load_run
from poolsize.analysis.attempts import retried_places
from poolsize.runs.run import Run
from poolsize.server.connection import database_url
from poolsize.sweep.next_step import remaining
from poolsize.sweep.secret import VARIABLE
from tests.conftest import (
    POOLSIZE,
    Command,
    assert_soon,
    assert_swept,
    assert_true_steps,
    curve_of,
    has_line,
    measured_again,
    page_line,
)
from tests.machines import IP, load_machines, server_for
from tests.servers import administered_server

pytestmark = [pytest.mark.server, pytest.mark.slow]
PAGE = "docs/how-to/distributed-load.md"
TWO_LOCKS = str(Path(__file__).with_name("two_locks.py"))
PLATEAU = 2
"""Of TWO_LOCKS, whoever makes the load."""


def assert_shared_exactly(run: Run, processes: int) -> None:
    for step in curve_of(run):
        shares = sorted(worker.share for worker in step.workers)
        assert len(shares) == processes
        assert sum(shares) == step.pool_size
        assert shares[-1] - shares[0] <= 1
        assert all((worker.users > 0) == (worker.share > 0) for worker in step.workers)


def assert_plateau(run: Run) -> None:
    """Its range holds the true one, and the answer is at most the next size: steps of 4 s leave 5 % of doubt."""
    plateau = analyze(run).plateau
    assert plateau is not None
    assert plateau.low == PLATEAU
    assert PLATEAU <= plateau.pool_size <= PLATEAU + 1


@pytest.mark.experiment
@measured_again
def test_four_processes_find_the_plateau_that_one_finds(poolsize: Command, tmp_path: Path) -> None:
    done = poolsize(
        "sweep", "--workload", TWO_LOCKS, "--processes", "4", "--pool-sizes", "1,2,6", "--users", "12",
        "--step-time", "4s", "--warm-up", "1s", "--output", "a.jsonl",
    )  # fmt: skip
    assert_swept(done)
    run = load_run(tmp_path / "a.jsonl")
    assert_true_steps(run)
    assert_shared_exactly(run, 4)
    assert_plateau(run)


def lost_step(run: Run) -> int:
    """The place of the only step that lost a worker, in a run that is complete."""
    assert remaining(run) is None
    failed = {place: {result.check for result in run.steps[place].failed_checks} for place in retried_places(run)}
    (place,) = [place for place, checks in failed.items() if "workers" in checks]
    return place


@measured_again
def test_a_worker_that_is_killed_costs_at_most_its_step(tmp_path: Path) -> None:
    with administered_server(None, {}, 60) as server:
        path = tmp_path / "a.jsonl"
        sweep = subprocess.Popen(
            [POOLSIZE, "sweep", "--workload", "scan", "--processes", "4", "--pool-sizes", "4,8",
             "--step-time", "2s", "--warm-up", "1s", "--output", str(path)],
            env=os.environ | {"POOLSIZE_URL": server.url}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert_soon(lambda: has_line(path))
        time.sleep(1.5)
        (leader,) = psutil.Process(sweep.pid).children()
        leader.children()[0].kill()
        out, err = sweep.communicate(timeout=120)
    assert_swept(subprocess.CompletedProcess([], sweep.returncode, out, err))
    run = load_run(path)
    place = lost_step(run)
    assert {len(step.workers) for step in run.steps[:place]} == {4}
    assert {len(step.workers) for step in run.steps[place + 1 :]} == {3}
    assert not any(step.retryable for step in curve_of(run))
    assert "will be retried" in err


def replaced(words: list[str], others: dict[str, str]) -> list[str]:
    """A command of the README, with what this test needs in place of its examples."""
    assert set(others) <= set(words)
    return [others.get(word, word) for word in words]


@contextmanager
def sweeping_from_two_machines(run: Path, sizes: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A sweep with a worker on each of two machines, and the name of one machine's cable."""
    with ExitStack() as stack:
        machines = stack.enter_context(load_machines(2))
        server = stack.enter_context(server_for(machines))
        port = database_url(server.url).port

        def url(host: str) -> dict[str, str]:
            own = {"POOLSIZE_URL": f"mysql://loader:remote@{host}:{port}/?ssl-mode=off"}
            return os.environ | own | {VARIABLE: "known to all of them"}

        lead = replaced(
            page_line(PAGE, "poolsize sweep", "--expect-workers"), {"poolsize": POOLSIZE, "oltp_read_write": TWO_LOCKS}
        )
        sweep = subprocess.Popen(
            [*lead,
             "--pool-sizes", sizes, "--users", "12", "--step-time", "4s", "--warm-up", "1s", "--output", str(run)],
            env=url("127.0.0.1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        workers = [
            subprocess.Popen(
                [IP, "netns", "exec", name, *replaced(page_line(PAGE, "locust", "--worker"), {
                    "locust": str(Path(sys.executable).with_name("locust")),
                    "locustfiles/oltp_read_write.py": TWO_LOCKS,
                    "master.example.com": address,
                })],
                env=url(address), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            for name, address in machines
        ]  # fmt: skip
        try:
            yield sweep, machines[0][0]
            for worker in workers:
                worker.wait(timeout=40)
        finally:
            sweep.kill()
            for worker in workers:
                worker.kill()
                worker.wait()


@pytest.mark.experiment
@pytest.mark.skipif(not IP, reason="needs the command ip")
@pytest.mark.usefixtures("master_port")
@measured_again
def test_workers_on_two_machines_find_the_same_plateau(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with sweeping_from_two_machines(path, "1,2,6") as (sweep, _):
        out, err = sweep.communicate(timeout=120)
    assert_swept(subprocess.CompletedProcess([], sweep.returncode, out, err))
    assert "poolsize0" not in err
    run = load_run(path)
    assert_true_steps(run)
    assert_shared_exactly(run, 2)
    assert_plateau(run)


@pytest.mark.experiment
@pytest.mark.skipif(not IP, reason="needs the command ip")
@pytest.mark.usefixtures("master_port")
@measured_again
def test_a_machine_that_vanishes_costs_at_most_its_step(tmp_path: Path) -> None:
    """Its cable is cut: no connection is closed. Its worker ends by itself."""
    path = tmp_path / "a.jsonl"
    with sweeping_from_two_machines(path, "2,4,6,8") as (sweep, cable):
        assert_soon(lambda: has_line(path))
        time.sleep(1.5)
        subprocess.run([IP, "link", "set", cable, "down"], check=True)
        out, err = sweep.communicate(timeout=120)
    assert_swept(subprocess.CompletedProcess([], sweep.returncode, out, err))
    run = load_run(path)
    assert {len(step.workers) for step in run.steps[lost_step(run) + 1 :]} == {1}
