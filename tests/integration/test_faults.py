"""Servers, accounts and machines that change in the middle of a sweep: finished steps stay, and a line says why."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest
from pymysql.connections import Connection
from sqlalchemy import URL

from poolsize import load_run
from poolsize.errors import BadInput
from poolsize.load.pool import open_pools
from poolsize.server import private_server as servers
from poolsize.server.connection import NoAnswer, ServerGone, connect, database_url
from poolsize.server.private_server import PrivateServer
from poolsize.server.watchdog import TEMPORARY
from poolsize.sweep.next_step import remaining
from poolsize.sweep.secret import VARIABLE
from tests.conftest import (
    MARIADB_IN_CI,
    POOLSIZE,
    ROOT,
    Command,
    assert_soon,
    assert_swept,
    has_line,
    measured,
    mysqld,
    on_both,
)
from tests.servers import administered_server

pytestmark = pytest.mark.server
SWEEP = ("--workload", "select_one", "--pool-sizes", "2,16", "--users", "32", "--think-time", "20ms", "--warm-up", "0")


@pytest.fixture(params=MARIADB_IN_CI)
def own_server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    """A server of the test's own, which it may spoil, with the account `loader`."""
    with administered_server(mysqld(request.param), {}, 100) as server:
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


@dataclass
class RestartedServer:
    """A server of the test's own that goes away and comes back, at the same port with the same data."""

    command: list[str]
    environment: dict[str, str]
    url: str
    process: "subprocess.Popen[bytes] | None" = None

    def start(self, *options: str) -> None:
        """Start, and return once it answers."""
        self.process = subprocess.Popen(
            [*self.command, *options], env=self.environment, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert_soon(lambda: answers(self.url))

    def kill(self) -> None:
        """End as by a loss of power."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def answers(url: str) -> bool:
    with suppress(BadInput):
        connect(database_url(url)).close()
        return True
    return False


@pytest.fixture(params=MARIADB_IN_CI)
def restarted_server(request: pytest.FixtureRequest) -> Iterator[RestartedServer]:
    program = mysqld(request.param) or servers.find_mysqld()
    version = servers.server_version(program)
    mariadb = "MariaDB" in version
    with TemporaryDirectory(dir="/var/tmp") as name:  # its path is short enough for a socket's
        folder, port = Path(name), servers.free_port()
        (folder / TEMPORARY).mkdir()
        (folder / "accounts.sql").write_text(
            "CREATE USER IF NOT EXISTS loader@'127.0.0.1' IDENTIFIED BY 'not-a-secret';\n"
            "GRANT ALL ON poolsize.* TO loader@'127.0.0.1';\n"
        )
        # MariaDB removes temporary tables from its temporary folder as it starts, also those of another running server.
        environment = os.environ | {"TMPDIR": name}
        install = servers._data_command(program, version, folder)
        subprocess.run(install, env=environment, check=True, capture_output=True)
        command = servers._command(program, servers._settings(folder, port, 100, mariadb=mariadb))
        server = RestartedServer(command, environment, f"mysql://loader:not-a-secret@127.0.0.1:{port}/")
        server.start()
        try:
            yield server
        finally:
            server.kill()


@contextmanager
def sweeping(server: PrivateServer | RestartedServer, folder: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """A sweep that has stored a step."""
    url = url_of(server) if isinstance(server, PrivateServer) else server.url
    run = folder / "a.jsonl"
    with subprocess.Popen(
        [POOLSIZE, "sweep", *SWEEP, "--step-time", "2s", "--repeats", "20", "--output", run.name, *options],
        cwd=folder, env=os.environ | {"POOLSIZE_URL": url}, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as sweep:  # fmt: skip
        try:
            assert_soon(lambda: has_line(run))
            yield sweep
        finally:
            sweep.kill()


def assert_ended(sweep: "subprocess.Popen[str]", run: Path, *causes: str) -> None:
    """It ended with one line, one of the causes and the command that resumes, and keeps its steps."""
    _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 1, errors
    (line,) = [line for line in errors.splitlines() if line.startswith("poolsize: error:")]
    assert any(cause in line for cause in causes), line
    assert "the measured steps are kept: poolsize sweep --resume a.jsonl" in line
    assert load_run(run, torn_end=True).steps


@pytest.mark.experiment
def test_a_dropped_account_ends_the_sweep(own_server: PrivateServer, cursor: Any, tmp_path: Path) -> None:
    with sweeping(own_server, tmp_path) as sweep:
        cursor.execute("DROP USER loader@'127.0.0.1'")
        assert_ended(sweep, tmp_path / "a.jsonl", "denied")


@pytest.mark.parametrize(
    ("change", "causes"),
    [
        pytest.param(
            "REVOKE INSERT ON poolsize.* FROM loader@'127.0.0.1'",
            ("refuses the workload's statements (mysql_1142_tableaccess_denied_error)",),
            id="a privilege is revoked",
        ),
        pytest.param(
            "SET GLOBAL read_only = 1",
            ("refuses the workload's statements (mysql_1290_option_prevents_statement)", "read-only"),
            id="the server is read-only",
            marks=pytest.mark.experiment,
        ),
    ],
)
def test_an_account_that_may_no_longer_write_ends_the_sweep(
    own_server: PrivateServer, cursor: Any, tmp_path: Path, change: str, causes: tuple[str, ...]
) -> None:
    """A read-only server refuses the workload's statement, or that with which a step begins."""
    run = tmp_path / "a.jsonl"
    with sweeping(own_server, tmp_path, "--workload", "insert", "--repeats", "2") as sweep:
        cursor.execute(change)
        assert_ended(sweep, run, *causes)
    assert all(step.mean_throughput for step in load_run(run).steps)


@pytest.mark.experiment
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


@pytest.mark.parametrize(
    "workers",
    [pytest.param((), id="alone"), pytest.param(("--processes", "2"), id="two workers", marks=pytest.mark.experiment)],
)
def test_a_server_that_restarts_costs_the_step_under_way(
    restarted_server: RestartedServer, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    run = tmp_path / "a.jsonl"
    with sweeping(restarted_server, tmp_path, "--repeats", "2", "--workload", "insert", *workers) as sweep:
        before = load_run(run, torn_end=True).steps
        restarted_server.kill()
        time.sleep(1)
        restarted_server.start()
        _, errors = sweep.communicate(timeout=100)
    assert sweep.returncode in {0, 1}, errors
    assert "Waiting for the server, 60 seconds at most" in errors
    assert "The step is measured again" in errors
    after = load_run(run)
    assert remaining(after) is None
    assert measured(after.steps[: len(before)]) == measured(before)
    assert not any("server_gone" in step.errors for step in after.steps)


def test_a_server_that_stays_away_ends_the_sweep(restarted_server: RestartedServer, tmp_path: Path) -> None:
    with sweeping(restarted_server, tmp_path, "--wait-for-server", "2s") as sweep:
        restarted_server.kill()
        assert_ended(sweep, tmp_path / "a.jsonl", "and did not come back within 2 s (--wait-for-server)")


def cut(connection: Any) -> None:
    socket.socket.shutdown(connection._sock, socket.SHUT_RDWR)  # below TLS


@on_both
@pytest.mark.parametrize("last", [1, 2, 3])  # the first is the greeting, and others accept the account
@pytest.mark.parametrize("after", [False, True], ids=["before its packet", "after its packet"])
@pytest.mark.parametrize(
    ("opens", "gone"),
    [(connect, NoAnswer), (lambda url: open_pools(url, "mysql", 2, {}, 5, "fair"), ServerGone)],
    ids=["a connection", "a pool"],
)
def test_a_server_that_dies_while_a_connection_opens_is_gone(
    server: PrivateServer,
    monkeypatch: pytest.MonkeyPatch,
    opens: Callable[[URL], object],
    gone: type[Exception],
    after: bool,
    last: int,
) -> None:
    """Whichever packet of the server is its last, the server counts as gone, and no account as refused."""
    read = Connection._read_packet
    packets = 0

    def read_until_cut(connection: Any, *arguments: Any) -> Any:
        nonlocal packets
        packets += 1
        if packets != last:
            return read(connection, *arguments)
        if not after:
            cut(connection)
        packet = read(connection, *arguments)
        cut(connection)
        return packet

    monkeypatch.setattr(Connection, "_read_packet", read_until_cut)
    with pytest.raises(gone) as error:
        opens(database_url(server.url))
    assert "\n" not in str(error.value)


def test_another_server_that_answers_ends_the_sweep(restarted_server: RestartedServer, tmp_path: Path) -> None:
    """As after a failover to a server with other settings, whose figures can't be compared."""
    with sweeping(restarted_server, tmp_path) as sweep:
        restarted_server.kill()
        restarted_server.start("--innodb_flush_log_at_trx_commit=2")
        assert_ended(sweep, tmp_path / "a.jsonl", "another server answers than before: durable was True")


@pytest.mark.usefixtures("master_port")
def test_a_worker_ends_when_its_master_is_silent(tmp_path: Path) -> None:
    """As when the master's machine loses its power: no connection is closed."""
    with administered_server(None, {}, 60) as server:
        environment = os.environ | {"POOLSIZE_URL": server.url, VARIABLE: "known to both of them"}
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
            assert_soon(lambda: has_line(run, b'{"calibration"'))
            time.sleep(3)  # the worker has heard of its master
            (master,) = psutil.Process(sweep.pid).children()
            master.suspend()
            worker.wait(timeout=40)
            master.kill()
        finally:
            for process in (sweep, worker):
                process.kill()
                process.wait()
