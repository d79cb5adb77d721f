"""The private server: set up as promised, and gone however its owner ends."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import product
from pathlib import Path

import psutil
import pymysql
import pytest

from poolsize.errors import BadInput, WorkFailed
from poolsize.server import watchdog
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import DIRECTORY_BEGINS, ON_DISK, private_server
from poolsize.server.watchdog import WATCHED, clear_abandoned
from tests.conftest import FLAVORS, MARIADB_IN_CI, POOLSIZE, assert_soon, in_ci, mysqld

pytestmark = pytest.mark.server

IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
"""What a script's background job, or one under nohup, ignores."""
OWNER = """
import sys, time
from pathlib import Path
from poolsize.server.private_server import DIRECTORY_BEGINS, ON_DISK, private_server
with private_server(Path(sys.argv[1]) if sys.argv[1] else None, {}, 20) as server:
    print(server.pid, server.directory, flush=True)
    if sys.argv[2] == "error":
        raise RuntimeError
    if sys.argv[2] == "wait":
        time.sleep(60)
"""


@contextmanager
def owned(flavor: str) -> Iterator[tuple["subprocess.Popen[str]", int, Path]]:
    """A process that has a private server, with the server's process id and directory; it is killed at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(mysqld(flavor) or ""), "wait"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as owner:  # fmt: skip
        assert owner.stdout is not None
        pid, directory = owner.stdout.readline().split()
        yield owner, int(pid), Path(directory)
        owner.kill()


def sweeping(folder: Path, *options: str) -> "subprocess.Popen[str]":
    """A sweep on a private server of its own, in the background."""
    return subprocess.Popen(
        [POOLSIZE, "sweep", "--pool-sizes", "1,2", "--output", "a.jsonl", *options],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={name: value for name, value in os.environ.items() if name != "POOLSIZE_URL"},
    )  # fmt: skip


def gone(pid: int, directory: Path) -> bool:
    """Whether both are gone soon; a killed server first ends the writes under way, which a busy disk delays."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not directory.exists() and not psutil.pid_exists(pid):
            return True
        time.sleep(0.05)
    return False


def wait_until_unwatched(directory: Path) -> None:
    """Wait until no thread of the killed watchdog is left: until then it holds its lock, though it is a zombie."""
    with suppress(FileNotFoundError), (directory / WATCHED).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


@pytest.mark.parametrize(
    ("flavor", "ending"),
    in_ci(
        product(FLAVORS, ["end", "error", signal.SIGINT, signal.SIGTERM, signal.SIGKILL]),
        ("mariadb", "error"), ("mariadb", signal.SIGTERM), ("mysql", signal.SIGKILL),
    ),
)  # fmt: skip
def test_it_is_gone_however_its_owner_ends(flavor: str, ending: str | signal.Signals) -> None:
    how = ending if isinstance(ending, str) else "wait"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(mysqld(flavor) or ""), how],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert owner.stdout is not None
    pid, directory = owner.stdout.readline().split()
    if isinstance(ending, signal.Signals):
        assert psutil.pid_exists(int(pid))
        owner.send_signal(ending)
    owner.wait(timeout=30)
    owner.stdout.close()
    assert gone(int(pid), Path(directory))


@pytest.mark.skipif(sys.platform != "linux", reason="reads the process's signals from /proc")
@pytest.mark.parametrize("flavor", MARIADB_IN_CI)
def test_it_ignores_no_signal_that_its_owner_or_its_watchdog_ignores(flavor: str) -> None:
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in IGNORED}
    try:
        with owned(flavor) as (_, pid, _):
            status = Path(f"/proc/{pid}/status").read_text()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    mask = int(next(line for line in status.splitlines() if line.startswith("SigIgn:")).split()[1], 16)
    assert [number.name for number in IGNORED if mask >> (number - 1) & 1] == []


@pytest.mark.parametrize("flavor", MARIADB_IN_CI)
@pytest.mark.parametrize("survivor", ["owner", "watchdog", "server"])
def test_whichever_two_of_three_are_killed_the_third_is_gone(flavor: str, survivor: str) -> None:
    """At once, or when the next private server starts."""
    with owned(flavor) as (owner, pid, directory):
        (watchdog,) = psutil.Process(owner.pid).children()
        killed = {"owner": owner.pid, "watchdog": watchdog.pid, "server": pid}
        del killed[survivor]
        for number in killed.values():
            with suppress(ProcessLookupError):  # the one that survives may have been faster
                os.kill(number, signal.SIGKILL)
        if survivor == "server":
            wait_until_unwatched(directory)
            clear_abandoned(ON_DISK, DIRECTORY_BEGINS)
        assert gone(pid, directory)


def test_a_removal_that_is_killed_is_ended_by_the_next_start(tmp_path: Path) -> None:
    """Before, it could remove first what tells that nobody watches the directory, which then stayed for ever."""
    directory = tmp_path / "poolsize-0123"
    (directory / "data").mkdir(parents=True)
    for name in ("a file", WATCHED, "z file"):
        (directory / name).touch()
    remover = (
        "import os, shutil; from pathlib import Path; from poolsize.server.watchdog import clear; "
        f"shutil.rmtree = lambda *_, **__: os.kill(os.getpid(), 9); clear(Path({str(directory)!r}))"
    )
    assert subprocess.run([sys.executable, "-c", remover], check=False).returncode == -signal.SIGKILL
    assert (directory / WATCHED).exists()
    clear_abandoned(tmp_path, "poolsize-")
    assert not directory.exists()


def test_a_directory_without_a_watchdogs_file_is_abandoned_after_a_while(tmp_path: Path) -> None:
    directory = tmp_path / "poolsize-0123"
    directory.mkdir()
    clear_abandoned(tmp_path, "poolsize-")
    assert directory.exists()
    os.utime(directory, (0, 0))
    clear_abandoned(tmp_path, "poolsize-")
    assert not directory.exists()


def test_a_killed_watchdog_ends_the_server_and_the_sweep(tmp_path: Path) -> None:
    sweep = sweeping(tmp_path, "--workload", "select_one", "--step-time", "2s", "--repeats", "9")
    assert_soon((tmp_path / "a.jsonl").exists)
    family = psutil.Process(sweep.pid).children(recursive=True)
    (watchdog,) = [process for process in family if "poolsize.server.watchdog" in process.cmdline()]
    watchdog.kill()
    _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 1
    assert "the server went away" in errors
    assert "poolsize sweep --resume a.jsonl" in errors
    assert not psutil.wait_procs(family, timeout=10)[1]


VICTIMS = {
    "poolsize.server.data_files": "the private server was killed by SIGKILL as it started",
    "poolsize.server.watchdog": "the process that watches the private server was killed by SIGKILL",
    "poolsize.locust": "Locust was killed by SIGKILL before the first step",
}


@pytest.mark.parametrize("victim", in_ci(VICTIMS, "poolsize.server.data_files"))
def test_what_is_killed_as_it_starts_is_named(tmp_path: Path, victim: str) -> None:
    sweep = sweeping(tmp_path, "--workload", "select_one")
    family, deadline = psutil.Process(sweep.pid), time.monotonic() + 30
    while time.monotonic() < deadline:
        processes = [process for process in family.children(recursive=True) if _readable(process)]
        if named := [process for process in processes if any(word.endswith(victim) for word in process.cmdline())]:
            named[0].kill()
            break
    _, errors = sweep.communicate(timeout=60)
    assert VICTIMS[victim] in errors
    assert sweep.returncode == 1
    assert errors.count("poolsize: error:") == 1


def test_a_watchdog_that_is_killed_before_it_reads_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    killed = tmp_path / "python"
    killed.write_text("#!/bin/sh\nkill -KILL $$\n")
    killed.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(killed))
    longer_than_a_pipe = {"init_connect": " " * 2**20}
    with (
        pytest.raises(WorkFailed, match="the process that watches the private server was killed by SIGKILL"),
        private_server(None, longer_than_a_pipe, 20),
    ):
        raise AssertionError


@pytest.mark.slow  # looks at every private server of this machine, as does the last one here
def test_it_is_gone_when_its_owner_is_killed_while_it_is_being_made() -> None:
    before = set(ON_DISK.glob("poolsize-*"))
    owner = subprocess.Popen([sys.executable, "-c", OWNER, "", "wait"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not (made := set(ON_DISK.glob("poolsize-*")) - before) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.3)
    owner.kill()
    owner.wait()
    (directory,) = made
    assert gone(owner.pid, directory)


@pytest.mark.parametrize("flavor", FLAVORS)
def test_it_is_durable_local_and_takes_options(flavor: str) -> None:
    with private_server(mysqld(flavor), {"innodb_buffer_pool_size": "64M"}, 33) as server:
        with connect(database_url(server.url)) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES")
            variables = dict(cursor.fetchall())
        assert variables["innodb_flush_log_at_trx_commit"] == "1"
        assert variables["innodb_buffer_pool_size"] == str(64 * 2**20)
        assert variables["max_connections"] == "33"
        assert Path(variables["tmpdir"]) == server.directory / "tmp"
        listening = [
            socket for socket in psutil.Process(server.pid).net_connections() if socket.status == psutil.CONN_LISTEN
        ]
        assert {socket.laddr.ip for socket in listening} <= {"127.0.0.1"}
        commands = [" ".join(process.cmdline()) for process in psutil.process_iter() if _readable(process)]
        with pytest.raises(pymysql.err.OperationalError):
            pymysql.connect(host="127.0.0.1", port=database_url(server.url).port or 0, user="root", password="")
        password = str(database_url(server.url).password)
        assert not [command for command in commands if password in command]
        assert (server.directory / "accounts.sql").stat().st_mode & 0o077 == 0


def _readable(process: psutil.Process) -> bool:
    try:
        return bool(process.cmdline())
    except psutil.Error:
        return False


def test_the_thread_pool_is_one_option_away() -> None:
    with (
        private_server(None, {"thread_handling": "pool-of-threads"}, 20) as server,
        connect(database_url(server.url)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT @@thread_handling")
        assert cursor.fetchone() == ("pool-of-threads",)


@pytest.mark.parametrize(
    ("options", "cause"), [({"frobnicate": "1"}, "frobnicate"), ({"innodb_log_group_home_dir": "/nowhere"}, "nowhere")]
)
def test_a_server_that_does_not_start_tells_why_in_its_own_words(options: dict[str, str], cause: str) -> None:
    with pytest.raises(BadInput, match=cause), private_server(None, options, 20):
        pass


@pytest.mark.slow
@pytest.mark.experiment
def test_a_sweep_killed_hard_leaves_no_process_behind(tmp_path: Path) -> None:
    before = {process.pid for process in psutil.process_iter()}
    sweep = sweeping(tmp_path, "--workload", "scan", "--step-time", "30s")
    assert_soon((tmp_path / "a.jsonl").exists)
    time.sleep(2)
    mine = [process for process in psutil.process_iter() if process.pid not in before and _readable(process)]
    mine = [p for p in mine if any(word in " ".join(p.cmdline()) for word in ("locust", "mariadbd", "watchdog"))]
    assert len(mine) >= 3
    sweep.kill()
    sweep.wait()
    _, alive = psutil.wait_procs(mine, timeout=15)
    assert not alive
    sweep.communicate()


@pytest.mark.parametrize("flavor", FLAVORS)
def test_the_account_of_a_private_server_reaches_no_file(flavor: str, tmp_path: Path) -> None:
    """Before, as root, its INTO OUTFILE wrote a file as root, and its account could make other accounts."""
    written = tmp_path / "written"
    with (
        private_server(mysqld(flavor), {}, 20) as server,
        closing(connect(database_url(server.url))) as connection,
        connection.cursor() as cursor,
    ):
        for statement in (
            f"SELECT 1 INTO OUTFILE '{written}'",
            "CREATE USER other@'127.0.0.1'",
            "GRANT ALL ON *.* TO poolsize@'127.0.0.1'",
            "SET GLOBAL local_infile = 1",
        ):
            with pytest.raises(pymysql.MySQLError, match=r"denied|need"):
                cursor.execute(statement)
        cursor.execute("SELECT LOAD_FILE('/etc/passwd'), @@global.local_infile")
        assert cursor.fetchone() == (None, 0)
        cursor.execute("CREATE DATABASE poolsize")
    assert not written.exists()


def test_a_server_program_that_can_t_be_started_ends_the_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the system has no further processes, or where no program of the system watches the server."""
    monkeypatch.setattr(watchdog, "WATCHED_BY_SYSTEM", [])
    watchdog._run([[str(tmp_path / "mysqld")]], tmp_path, [], threading.Lock())
    assert (tmp_path / "exited").read_text() == "127"
    assert (tmp_path / "log").read_text() == f"[ERROR] {tmp_path}/mysqld: No such file or directory\n"
