"""Servers, accounts and machines that change in the middle of a sweep: finished steps stay, and a line says why."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from poolsize import load_run
from poolsize.target.connection import connect, database_url
from poolsize.target.private_server import PrivateServer, private_server
from tests.conftest import FLAVORS, ROOT, Command, assert_swept, measured, mysqld

pytestmark = pytest.mark.server
POOLSIZE = str(Path(sys.executable).with_name("poolsize"))
SWEEP = ("--workload", "select_one", "--pool-sizes", "2,16", "--users", "32", "--think-time", "20ms", "--warm-up", "0")


@pytest.fixture(params=FLAVORS)
def own_server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    """A server of the test's own, which it may spoil, with the account `loader`."""
    with private_server(mysqld(request.param), {}, 100) as server:
        yield server


@pytest.fixture
def cursor(own_server: PrivateServer) -> Iterator[Any]:
    with connect(database_url(own_server.url)) as connection, connection.cursor() as opened:
        opened.execute("CREATE USER loader@'127.0.0.1' IDENTIFIED BY 'not-a-secret'")
        opened.execute("GRANT ALL ON poolsize.* TO loader@'127.0.0.1'")
        yield opened


def url_of(server: PrivateServer) -> str:
    url = database_url(server.url).set(username="loader", password="not-a-secret")
    return url.render_as_string(hide_password=False)


@contextmanager
def sweeping(server: PrivateServer, folder: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """A sweep that has stored a step."""
    run = folder / "a.jsonl"
    with subprocess.Popen(
        [POOLSIZE, "sweep", *SWEEP, "--step-time", "2s", "--repeats", "20", "--output", run.name, *options],
        cwd=folder, env=os.environ | {"POOLSIZE_URL": url_of(server)}, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as sweep:  # fmt: skip
        try:
            assert_soon(lambda: run.exists() and b'{"step"' in run.read_bytes())
            yield sweep
        finally:
            sweep.kill()


def assert_soon(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def assert_ended(sweep: "subprocess.Popen[str]", run: Path, cause: str) -> None:
    """It ended with one line, the cause and the command that resumes, and keeps its steps."""
    _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 1, errors
    (line,) = [line for line in errors.splitlines() if line.startswith("poolsize: error:")]
    assert cause in line
    assert "the measured steps are kept: poolsize sweep --resume a.jsonl" in line
    assert load_run(run, torn_end=True).steps


def test_a_dropped_account_ends_the_sweep(own_server: PrivateServer, cursor: Any, tmp_path: Path) -> None:
    with sweeping(own_server, tmp_path) as sweep:
        cursor.execute("DROP USER loader@'127.0.0.1'")
        assert_ended(sweep, tmp_path / "a.jsonl", "denied")


def test_a_lowered_limit_ends_the_sweep_and_resuming_goes_on(
    own_server: PrivateServer, cursor: Any, tmp_path: Path, poolsize: Command
) -> None:
    run = tmp_path / "a.jsonl"
    with sweeping(own_server, tmp_path, "--repeats", "3") as sweep:
        cursor.execute("SET GLOBAL max_connections = 10")
        assert_ended(sweep, run, "of 16 connections")
    kept = load_run(run).steps if run.exists() else ()
    refused = poolsize("sweep", "--resume", "a.jsonl", url=url_of(own_server))
    assert refused.returncode == 2
    assert "10 connections (max_connections)" in refused.stderr
    cursor.execute("SET GLOBAL max_connections = 100")
    assert_swept(poolsize("sweep", "--resume", "a.jsonl", url=url_of(own_server)))
    assert measured(load_run(run).steps[: len(kept)]) == measured(kept)


@pytest.mark.slow  # the master's port is the same for every sweep
def test_a_worker_ends_when_its_master_is_silent(tmp_path: Path) -> None:
    """As when the master's machine loses its power: no connection is closed."""
    with private_server(None, {}, 60) as server:
        environment = os.environ | {"POOLSIZE_URL": server.url}
        sweep = subprocess.Popen(
            [POOLSIZE, "sweep", *SWEEP, "--step-time", "90s", "--expect-workers", "1", "--output", "a.jsonl"],
            cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        worker = subprocess.Popen(
            [sys.executable, "-m", "locust", "-f", str(ROOT / "locustfiles/select_one.py"), "--worker"],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            run = tmp_path / "a.jsonl"
            assert_soon(lambda: run.exists() and b'{"calibration"' in run.read_bytes())
            time.sleep(3)  # the worker has heard of its master
            (master,) = psutil.Process(sweep.pid).children()
            master.suspend()
            worker.wait(timeout=40)
            master.kill()
        finally:
            for process in (sweep, worker):
                process.kill()
                process.wait()
