"""SIGTERM ends a command within 10 s, and Ctrl-C twice within 5 s, wherever its server stalls."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path

import psutil
import pytest

from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer, private_server
from poolsize.server.processes import SERVER_PROGRAMS
from tests.conftest import ENDINGS, POOLSIZE, assert_soon, end_at_once, in_ci
from tests.rogue_server import PASSWORD, USER, Phase, rogue_server

pytestmark = [pytest.mark.long, pytest.mark.server]
STALLS = [
    Phase.SILENCE, Phase.TRICKLED_GREETING, Phase.TLS_SILENCE, Phase.AUTHENTICATION_SILENCE, Phase.LOGIN_SILENCE,
    Phase.QUERY_SILENCE, Phase.HALF_RESULT, Phase.TRICKLED_RESULT,
]  # fmt: skip
COMMANDS = {
    "recommend": ("recommend", "--cores", "2"),
    "config": ("config", "--for", "hikaricp", "--size", "8"),
    "fleet": ("fleet", "--size", "8", "--instances", "2"),
    "scenario": ("scenario", "insert-sweep", "--yes"),
    "sweep": ("sweep", "--workload", "insert", "--yes"),
}
STALLED = list(product(COMMANDS, STALLS, ENDINGS))
STALLED_IN_CI = [
    ("recommend", Phase.SILENCE, "SIGTERM"), ("config", Phase.TRICKLED_GREETING, "Ctrl-C twice"),
    ("fleet", Phase.AUTHENTICATION_SILENCE, "SIGTERM"), ("scenario", Phase.LOGIN_SILENCE, "Ctrl-C twice"),
    ("sweep", Phase.TLS_SILENCE, "Ctrl-C twice"), ("sweep", Phase.HALF_RESULT, "SIGTERM"),
]  # fmt: skip
"""Every command once, and a stall of each part of the protocol; of the process that measures, two."""
START_SECONDS = 60
"""The longest time until a command has reached its server, or its step, on a busy machine."""


@contextmanager
def running(folder: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """A command of poolsize, which is killed at the end if it still runs."""
    command = subprocess.Popen(
        [POOLSIZE, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    with command:
        try:
            yield command
        finally:
            command.kill()


@pytest.mark.parametrize(("command", "phase", "ending"), in_ci(STALLED, *STALLED_IN_CI))
def test_a_signal_ends_a_command_whose_server_stalls(tmp_path: Path, command: str, phase: Phase, ending: str) -> None:
    with rogue_server(phase) as port, running(tmp_path, *COMMANDS[command], "--url", port.url()) as started:
        assert port.reached.wait(START_SECONDS)
        time.sleep(0.5)
        _, errors = end_at_once(started, ending)
    assert started.returncode in {
        -signal.SIGTERM,
        128 + signal.SIGTERM,
        -signal.SIGINT,
        128 + signal.SIGINT,
    }  # negative: by the signal itself
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("command", "ending"),
    in_ci(product(COMMANDS, ENDINGS), ("recommend", "SIGTERM"), ("sweep", "Ctrl-C twice")),
)
def test_a_signal_ends_a_command_that_can_t_connect(tmp_path: Path, command: str, ending: str) -> None:
    """A port whose queue is full answers nothing."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            with suppress(BlockingIOError):
                waiting.connect(listening.getsockname())
        url = f"mysql://{USER}:{PASSWORD}@127.0.0.1:{listening.getsockname()[1]}/"
        started = stack.enter_context(running(tmp_path, *COMMANDS[command], "--url", url))
        time.sleep(4)
        assert started.poll() is None
        _, errors = end_at_once(started, ending)
    assert "Traceback" not in errors


@pytest.mark.parametrize("phase", in_ci([Phase.CLOSE_SILENCE, Phase.CLOSE_FLOOD], Phase.CLOSE_FLOOD))
@pytest.mark.parametrize("command", in_ci(COMMANDS, "sweep"))
def test_a_command_waits_for_no_goodbye(tmp_path: Path, command: str, phase: Phase) -> None:
    with rogue_server(phase) as port, running(tmp_path, *COMMANDS[command], "--url", port.url()) as started:
        started.communicate(timeout=START_SECONDS)
        assert started.returncode in {0, 1, 2}


@contextmanager
def frozen(process: psutil.Process) -> Iterator[None]:
    """A process that stands still for a while; it may be killed meanwhile."""
    process.suspend()
    try:
        yield
    finally:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def private_servers_of(command: "subprocess.Popen[str]") -> list[psutil.Process]:
    """The database servers that a sweep started."""
    family = psutil.Process(command.pid).children(recursive=True)
    return [process for process in family if process.name() in SERVER_PROGRAMS]


def wait_for_step(run: Path) -> None:
    """Wait until the sweep has begun its first step, which is long."""
    assert_soon(run.exists, START_SECONDS)
    time.sleep(4)


def step_words(processes: str) -> list[str]:
    return [
        "sweep", "--workload", "insert", "--pool-sizes", "2,4", "--step-time", "60s", "--warm-up", "1s", "--output",
        "a.jsonl", *(["--processes", processes] if processes else []),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def own_server() -> Iterator[PrivateServer]:
    with private_server(None, {}, 60) as server:
        yield server


@pytest.fixture
def own(own_server: PrivateServer) -> Iterator[PrivateServer]:
    """The user's own server. A schema that stays on it is dropped: the next sweep would wait for signs of life."""
    yield own_server
    with connect(database_url(own_server.url)) as connection, connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS poolsize")


@pytest.mark.experiment
@pytest.mark.parametrize("processes", ["", "2"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_ends_a_sweep_whose_own_server_is_frozen(
    tmp_path: Path, own: PrivateServer, processes: str, ending: str
) -> None:
    with running(tmp_path, *step_words(processes), "--url", own.url) as sweep:
        wait_for_step(tmp_path / "a.jsonl")
        processes_of_sweep = psutil.Process(sweep.pid).children(recursive=True)
        with frozen(psutil.Process(own.pid)):
            _, errors = end_at_once(sweep, ending)
    assert "the schema poolsize stays on the server" in errors or "the clean-up takes more than" in errors
    assert "poolsize sweep --resume" in errors
    assert_all_end(processes_of_sweep)


@pytest.mark.parametrize("processes", in_ci(["", "2"], ""))
@pytest.mark.parametrize("ending", in_ci(ENDINGS, "Ctrl-C twice"))
def test_a_signal_ends_a_sweep_whose_private_server_is_frozen(tmp_path: Path, processes: str, ending: str) -> None:
    with running(tmp_path, *step_words(processes)) as sweep:
        wait_for_step(tmp_path / "a.jsonl")
        processes_of_sweep = psutil.Process(sweep.pid).children(recursive=True)
        (server,) = private_servers_of(sweep)
        with frozen(server):
            _, errors = end_at_once(sweep, ending)
    assert "stays on the server" not in errors  # its files are removed
    assert "poolsize sweep --resume" in errors
    assert_all_end(processes_of_sweep)


@pytest.mark.slow
@pytest.mark.experiment
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_ends_two_sweeps_whose_servers_are_frozen(tmp_path: Path, ending: str) -> None:
    """Both have the same seconds, and not one after the other."""
    words = [*step_words(""), "--against-option", "innodb_buffer_pool_size=64M"]
    with running(tmp_path, *words) as sweep, ExitStack() as stack:
        wait_for_step(tmp_path / "a-other.jsonl")
        processes_of_sweep = psutil.Process(sweep.pid).children(recursive=True)
        first, other = private_servers_of(sweep)
        stack.enter_context(frozen(first))
        stack.enter_context(frozen(other))
        _, errors = end_at_once(sweep, ending)
    assert "poolsize sweep --resume" in errors
    assert_all_end(processes_of_sweep)


@pytest.mark.slow
@pytest.mark.experiment
@pytest.mark.timeout(600)
def test_a_sweep_gives_a_frozen_server_up(tmp_path: Path, own: PrivateServer) -> None:
    """Its own questions wait for 60 s at most, one after another; nobody needs to interrupt it."""
    words = [*step_words(""), "--url", own.url, "--wait-for-server", "5"]
    words[words.index("60s")] = "5s"
    with running(tmp_path, *words) as sweep:
        wait_for_step(tmp_path / "a.jsonl")
        with frozen(psutil.Process(own.pid)):
            _, errors = sweep.communicate(timeout=400)
    assert sweep.returncode == 1
    assert "no complete answer within 60 s, and did not come back within 5 s (--wait-for-server)" in errors
    assert "the schema poolsize stays on the server, and the next sweep will drop it" in errors


def assert_all_end(processes: list[psutil.Process]) -> None:
    """Every process ends within seconds."""
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
