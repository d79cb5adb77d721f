"""How a sweep behaves towards a server and its user: refusals, interruptions, and what it leaves behind."""

import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from poolsize import load_run
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from poolsize.sweep.next_step import remaining
from tests.conftest import POOLSIZE, Command, assert_soon, assert_swept, has_line, in_ci, measured

pytestmark = pytest.mark.server
SHORT = (
    "--pool-sizes",
    "1,2",
    "--step-time",
    "1s",
    "--warm-up",
    "0",
    "--workload",
    "select_one",
    "--think-time",
    "20ms",
)


@pytest.fixture
def cursor(server: PrivateServer) -> Iterator[Any]:
    """An administrator's cursor; the schema poolsize is gone afterwards."""
    with connect(database_url(server.url)) as connection, connection.cursor() as opened:
        yield opened
        opened.execute("DROP DATABASE IF EXISTS poolsize")


def url_of(server: PrivateServer, **changes: Any) -> str:
    return database_url(server.url).set(**changes).render_as_string(hide_password=False)


def test_a_wrong_password_is_one_line(server: PrivateServer, poolsize: Command, tmp_path: Path) -> None:
    done = poolsize("sweep", *SHORT, url=url_of(server, password="wrong"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "refuses poolsize@127.0.0.1" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_sizes_beyond_max_connections_and_a_reserve_are_refused(server: PrivateServer, poolsize: Command) -> None:
    """Of 100: 4 for poolsize itself, and 5 for administrators. A connection of an earlier test may still be closing."""
    free = "--pool-sizes 92: the server admits 100 connections (max_connections), of which 91 are free"

    def refused() -> bool:
        done = poolsize("sweep", "--pool-sizes", "4,92", "--workload", "select_one", url=server.url)
        assert done.returncode == 2
        return free in done.stderr

    assert_soon(refused)


def test_a_server_that_serves_others_needs_a_word(server: PrivateServer, poolsize: Command, cursor: Any) -> None:
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.01):
            cursor.execute("SELECT 1")

    others = threading.Thread(target=work)
    others.start()
    try:
        refused = poolsize("sweep", *SHORT, url=server.url)
        done = poolsize("sweep", *SHORT, "--yes", url=server.url)
    finally:
        ended.set()
        others.join()
    assert refused.returncode == 2
    assert "serves others now: " in refused.stderr
    assert "add --yes" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert_swept(done)


def test_leftovers_of_a_killed_sweep_are_cleared_and_no_global_variable_is_set(
    server: PrivateServer, poolsize: Command, cursor: Any
) -> None:
    cursor.execute("CREATE DATABASE poolsize")
    cursor.execute("CREATE TABLE poolsize.made_by_poolsize (name VARCHAR(64) PRIMARY KEY)")
    cursor.execute("INSERT INTO poolsize.made_by_poolsize VALUES ('*schema*'), ('task')")
    cursor.execute("CREATE TABLE poolsize.task (id INT)")
    cursor.execute("SET GLOBAL log_output = 'TABLE'")
    cursor.execute("TRUNCATE mysql.general_log")
    cursor.execute("SET GLOBAL general_log = 1")
    try:
        done = poolsize("sweep", *SHORT, url=server.url)
    finally:
        cursor.execute("SET GLOBAL general_log = 0")
    assert_swept(done)
    cursor.execute("SELECT CAST(argument AS CHAR) FROM mysql.general_log")
    statements = [str(statement) for (statement,) in cursor.fetchall()]
    assert any("GET_LOCK" in statement for statement in statements)
    changing = re.compile(r"\s*SET\s+(GLOBAL|PERSIST|@@GLOBAL)", re.IGNORECASE)
    assert list(filter(changing.match, statements)) == ["SET GLOBAL general_log = 0"]
    cursor.execute("SHOW DATABASES LIKE 'poolsize'")
    assert cursor.fetchall() == ()


@pytest.mark.experiment
def test_an_account_without_the_grant_is_told_it(
    server: PrivateServer, poolsize: Command, tmp_path: Path, cursor: Any
) -> None:
    cursor.execute("DROP USER IF EXISTS stranger@'127.0.0.1'")
    cursor.execute("CREATE USER stranger@'127.0.0.1' IDENTIFIED BY 'x'")
    done = poolsize("sweep", *SHORT, "--output", "a.jsonl", url=url_of(server, username="stranger", password="x"))
    assert done.returncode == 2
    assert "GRANT ALL ON poolsize.*" in done.stderr
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.parametrize(
    ("server", "ending"),
    in_ci(
        [("mariadb", signal.SIGINT), ("mariadb", signal.SIGTERM), ("mysql", signal.SIGINT)], ("mariadb", signal.SIGINT)
    ),
    indirect=["server"],
)
def test_an_interrupted_sweep_keeps_its_steps_and_resumes(
    server: PrivateServer,
    poolsize: Command,
    poolsize_here: Command,
    tmp_path: Path,
    cursor: Any,
    ending: signal.Signals,
) -> None:
    path = tmp_path / "a.jsonl"
    sweep = subprocess.Popen(
        [POOLSIZE, "sweep", "--workload", "select_one", "--pool-sizes", "1,2",
         "--step-time", "3s", "--repeats", "2", "--warm-up", "0", "--think-time", "20ms", "--output", "a.jsonl"],
        cwd=tmp_path, env={"POOLSIZE_URL": server.url}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert_soon(lambda: has_line(path))
    sweep.send_signal(ending)
    out, err = sweep.communicate(timeout=30)
    assert (sweep.returncode, out) == (128 + ending, "")
    assert "--resume a.jsonl" in err.splitlines()[-1]
    kept = load_run(path).steps
    assert len(kept) == (2 if ending is signal.SIGINT else 1)  # Ctrl-C ends after the step under way
    assert ("The sweep ends after this step" in err) == (ending is signal.SIGINT)
    cursor.execute("SHOW DATABASES LIKE 'poolsize'")
    assert cursor.fetchall() == ()
    incomplete = poolsize_here("recommend", "--run", "a.jsonl")
    assert incomplete.returncode == 1
    assert "--resume" in incomplete.stderr
    with path.open("ab") as file:
        file.write(b'{"step": {"pool_si')
    refused = poolsize_here("sweep", "--resume", "a.jsonl", "--users", "3", url=server.url)
    assert (refused.returncode, "keeps its plan" in refused.stderr) == (2, True)
    done = poolsize("sweep", "--resume", "a.jsonl", url=server.url)
    assert_swept(done)
    run = load_run(path)
    assert measured(run.steps[: len(kept)]) == measured(kept)
    assert remaining(run) is None


@pytest.mark.usefixtures("cursor")
def test_a_second_ctrl_c_ends_the_step_under_way(server: PrivateServer, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    sweep = subprocess.Popen(
        [POOLSIZE, "sweep", "--workload", "select_one", "--pool-sizes", "1,2",
         "--step-time", "60s", "--warm-up", "0", "--think-time", "20ms", "--output", "a.jsonl"],
        cwd=tmp_path, env={"POOLSIZE_URL": server.url}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert sweep.stderr is not None
    assert_soon(lambda: has_line(path, b'{"calibration"'))  # the first step follows at once
    time.sleep(1)
    sweep.send_signal(signal.SIGINT)
    assert any("To end it now, press Ctrl-C again" in line for line in sweep.stderr)
    sweep.send_signal(signal.SIGINT)
    _, err = sweep.communicate(timeout=30)
    assert sweep.returncode == 130
    assert "interrupted; no step was complete. To go on: poolsize sweep --resume a.jsonl" in err.splitlines()[-1]
    assert load_run(path).steps == ()
