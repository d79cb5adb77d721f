"""Two real servers measured in turn: the order of the steps, both runs, their comparison, an interrupted sweep."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from poolsize import load_run
from poolsize.runs.run import Run
from poolsize.runs.store import other_path
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from poolsize.sweep.next_step import remaining
from tests.conftest import POOLSIZE, Command, assert_soon, measured, mysqld, on_mariadb
from tests.servers import administered_server

pytestmark = [pytest.mark.server, pytest.mark.long]

SHORT = (
    "--workload", "select_one", "--pool-sizes", "1,2", "--step-time", "1s", "--warm-up", "0", "--think-time", "20ms",
    "--output", "a.jsonl",
)  # fmt: skip


def both_runs(folder: Path) -> tuple[Run, Run]:
    path = folder / "a.jsonl"
    return load_run(path, torn_end=True), load_run(other_path(path), torn_end=True)


def order(first: Run, other: Run) -> str:
    """The sides of the steps in the order of their time: ABBA..."""
    steps = [(step.started, side) for run, side in ((first, "A"), (other, "B")) for step in run.steps]
    return "".join(side for _, side in sorted(steps))


def assert_compared(done: "subprocess.CompletedProcess[str]") -> None:
    """The sweep ended with the comparison, or, on a busy machine, with the run that has no valid step."""
    assert done.returncode == (1 if "has no answer" in done.stderr else 0), done.stderr
    if done.returncode == 0:
        assert "against" in done.stdout
        assert "The runs were measured in turn" in " ".join(done.stdout.split())
        assert done.stdout.endswith("Stored in a.jsonl and a-other.jsonl\n")


def test_two_private_servers_are_measured_in_turn_compared_and_resumed(poolsize: Command, tmp_path: Path) -> None:
    done = poolsize("sweep", *SHORT, "--against-option", "innodb_io_capacity=300")
    assert_compared(done)
    first, other = both_runs(tmp_path)
    assert order(first, other).startswith("ABBA")
    assert [step.pool_size for step in first.steps[:2]] == [step.pool_size for step in other.steps[:2]]
    assert (first.setting.server_options, other.setting.server_options) == ({}, {"innodb_io_capacity": "300"})
    assert first.plan == other.plan
    assert remaining(first) is remaining(other) is None
    for path in ("a.jsonl", "a-other.jsonl"):
        lines = (tmp_path / path).read_text().splitlines(keepends=True)
        (tmp_path / path).write_text("".join(lines[:-1]))
    assert_compared(poolsize("sweep", "--resume", "a.jsonl", "--against-option", "innodb_io_capacity=300"))
    assert [remaining(run) for run in both_runs(tmp_path)] == [None, None]


def test_servers_that_differ_twice_are_refused_before_the_first_step(poolsize: Command, tmp_path: Path) -> None:
    options = ("--against-option", "innodb_io_capacity=300", "--against-option", "innodb_buffer_pool_size=16777216")
    done = poolsize("sweep", *SHORT, *options)
    assert done.returncode == 2
    assert "the runs differ in more than one field" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.experiment
def test_two_server_programs_are_measured_in_turn_and_resumed(poolsize: Command, tmp_path: Path) -> None:
    other_program = ("--against-mysqld", str(mysqld("mysql")))
    assert_compared(poolsize("sweep", *SHORT, *other_program))
    servers = [run.setting.server for run in both_runs(tmp_path)]
    assert [server and server.title.split()[0] for server in servers] == ["MariaDB", "MySQL"]
    for run in both_runs(tmp_path):
        assert run.setting.cipher is None
        assert all(step.counter("process_cpu") is not None for step in run.steps)  # it may be less than a clock's tick
    for path in ("a.jsonl", "a-other.jsonl"):
        lines = (tmp_path / path).read_text().splitlines(keepends=True)
        (tmp_path / path).write_text("".join(lines[:-1]))
    assert_compared(poolsize("sweep", "--resume", "a.jsonl", *other_program))
    assert [remaining(run) for run in both_runs(tmp_path)] == [None, None]
    assert [run.setting.server for run in both_runs(tmp_path)] == servers


@pytest.fixture
def second_server() -> Iterator[PrivateServer]:
    with administered_server(None, {}, 100) as server:
        yield server


def wait_for_steps(folder: Path, number: int) -> None:
    assert_soon(lambda: other_path(folder / "a.jsonl").exists())
    assert_soon(lambda: sum(len(run.steps) for run in both_runs(folder)) >= number)


@pytest.mark.experiment
@on_mariadb
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_sweep_of_two_servers_resumes_on_both(
    server: PrivateServer, second_server: PrivateServer, poolsize: Command, tmp_path: Path, ending: signal.Signals
) -> None:
    sweep = subprocess.Popen(
        [POOLSIZE, "sweep", *SHORT, "--step-time", "3s"],
        cwd=tmp_path, env={"POOLSIZE_URL": server.url, "POOLSIZE_AGAINST_URL": second_server.url},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for_steps(tmp_path, 2)
    sweep.send_signal(ending)
    _, err = sweep.communicate(timeout=60)
    if ending is signal.SIGINT:
        assert sweep.returncode == 130
        assert "--resume a.jsonl" in err.splitlines()[-1]
    wait_for_no_schema(server, second_server)
    kept = both_runs(tmp_path)
    refused = poolsize("sweep", "--resume", "a.jsonl", url=server.url)
    assert (refused.returncode, "give its --against-url again" in refused.stderr) == (2, True)
    done = poolsize("sweep", "--resume", "a.jsonl", "--against-url", second_server.url, url=server.url)
    assert_compared(done)
    for before, run in zip(kept, both_runs(tmp_path), strict=True):
        assert measured(run.steps[: len(before.steps)]) == measured(before.steps)
        assert remaining(run) is None
    assert order(*both_runs(tmp_path)).startswith("ABBA")
    stored = (tmp_path / "a.jsonl").read_text() + other_path(tmp_path / "a.jsonl").read_text()
    for running in (server, second_server):
        assert str(database_url(running.url).password) not in stored + done.stdout + done.stderr
    compared = poolsize("compare", "a.jsonl", "a-other.jsonl", "--json")
    assert compared.returncode == 1 or json.loads(compared.stdout)["differences"][0]["in_turn"]


def wait_for_no_schema(*servers: PrivateServer) -> None:
    """Wait until an interrupted sweep has cleaned up, also where it was killed."""
    deadline = time.monotonic() + 60
    for server in servers:
        with connect(database_url(server.url)) as connection, connection.cursor() as cursor:
            while cursor.execute("SHOW DATABASES LIKE 'poolsize'") and time.monotonic() < deadline:
                time.sleep(0.1)
            assert cursor.execute("SHOW DATABASES LIKE 'poolsize'") == 0
