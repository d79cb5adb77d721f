"""Strangers that reach the master's port: they learn nothing, change nothing, and are counted."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it publishes no types
import psutil
import pytest
import zmq
from zmq.utils import z85

from poolsize import load_run
from poolsize.server.connection import database_url
from poolsize.server.private_server import PrivateServer
from poolsize.sweep.secret import VARIABLE, SweepSecret
from tests.conftest import POOLSIZE, ROOT, assert_swept, assert_true_steps, in_ci, measured_again, on_mariadb
from tests.integration.test_workers import TWO_LOCKS, assert_plateau, assert_shared_exactly
from tests.machines import IP, load_machines, server_for
from tests.strangers import wiretap

pytestmark = pytest.mark.server
SECRET = "0123456789abcdef-known-to-workers"  # noqa: S105 (it lives as long as the test)
SWEEP = ("--workload", TWO_LOCKS, "--pool-sizes", "1,2,6", "--users", "12", "--step-time", "8s", "--warm-up", "1s")
NUMBER = 1000


@contextmanager
def _sweeping(run: Path, url: str | None, *options: str) -> Iterator["subprocess.Popen[str]"]:
    environment = {name: value for name, value in os.environ.items() if name != "POOLSIZE_URL"}
    sweep = subprocess.Popen(
        [POOLSIZE, "sweep", *SWEEP, "--output", str(run), *options],
        env=environment | ({"POOLSIZE_URL": url} if url else {}) | {VARIABLE: SECRET},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with sweep:  # its end waits for the process
        try:
            yield sweep
        finally:
            sweep.kill()


@contextmanager
def _worker(
    url: str, address: str, port: int, secret: str = SECRET, within: tuple[str, ...] = ()
) -> Iterator["subprocess.Popen[str]"]:
    """A worker as on another machine, with the secret in its environment. within: words before its command."""
    words = [sys.executable, "-m", "locust", "-f", TWO_LOCKS, "--worker"]
    worker = subprocess.Popen(
        [*within, *words, "--master-host", address, "--master-port", str(port)],
        env=os.environ | {"POOLSIZE_URL": url} | ({VARIABLE: secret} if secret else {}),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield worker
    finally:
        worker.kill()
        worker.communicate()


def _listening_port(sweep: "subprocess.Popen[str]") -> int:
    """The port on which the sweep's master listens to its workers."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(psutil.Error):
            for child in psutil.Process(sweep.pid).children():
                sockets = child.net_connections("tcp")
                ports = [entry.laddr.port for entry in sockets if entry.status == psutil.CONN_LISTEN]
                if ports:
                    return int(ports[0])
        time.sleep(0.1)
    raise AssertionError("the master listens on no port")


@contextmanager
def _strangers(address: str, port: int, recorded: Path, within: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Let strangers connect during the context; at its end, the dictionary says what became of them."""
    words = [*within, sys.executable, "-m", "tests.strangers", address, str(port), str(NUMBER), str(recorded)]
    strangers = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    report: dict[str, Any] = {}
    try:
        yield report
        assert strangers.poll() is not None, "the sweep ended before the strangers"
        report |= json.loads(strangers.communicate()[0])
    finally:
        strangers.kill()
        strangers.wait()


def _ended(sweep: "subprocess.Popen[str]") -> str:
    """Wait until the sweep has stored its last step, and return what it printed on standard error."""
    out, err = sweep.communicate(timeout=120)
    assert_swept(subprocess.CompletedProcess([], sweep.returncode, out, err))
    return err


def _assert_undisturbed(run: Path) -> None:
    """The answer is that of a sweep that nobody disturbs (test_workers has the same without strangers)."""
    swept = load_run(run)
    assert_true_steps(swept)
    assert_shared_exactly(swept, 2)
    assert_plateau(swept)


def _assert_learned_nothing(report: Mapping[str, Any], err: str) -> None:
    assert report["connections"] >= NUMBER
    assert report["messages"] == 0
    assert "without the sweep's secret" in err


@on_mariadb
@pytest.mark.slow
@pytest.mark.experiment
@pytest.mark.parametrize("is_private", [True, False])
@measured_again
def test_a_thousand_strangers_change_nothing_and_learn_nothing(
    server: PrivateServer, tmp_path: Path, is_private: bool
) -> None:
    """Before the wire was encrypted, the first stranger that spoke as a worker read the URL with its password."""
    path = tmp_path / "a.jsonl"
    with (
        _sweeping(path, None if is_private else server.url, "--processes", "2") as sweep,
        _strangers("127.0.0.1", _listening_port(sweep), tmp_path / "recorded") as report,
    ):
        err = _ended(sweep)
    _assert_learned_nothing(report, err)
    _assert_holds_no_secret(bytes.fromhex(report["answers"]), server.url)
    _assert_undisturbed(path)


@pytest.mark.slow
@pytest.mark.parametrize("place", in_ci(["loopback", "namespaces"], "loopback"))
@measured_again
def test_workers_elsewhere_prove_the_secret_and_nothing_is_in_clear(
    tmp_path: Path, master_port: int, place: str
) -> None:
    """What passes between a worker and its master is recorded, searched, and said again by strangers."""
    path, recorded = tmp_path / "a.jsonl", tmp_path / "recorded"
    with ExitStack() as stack:
        machines = stack.enter_context(load_machines(2)) if place == "namespaces" else []
        server = stack.enter_context(server_for(machines))
        lead_url, port = server.url + "?ssl-mode=off", database_url(server.url).port
        sweep = stack.enter_context(_sweeping(path, lead_url, "--expect-workers", "2"))
        assert _listening_port(sweep) == master_port
        taps = []
        for machine in range(2):
            name, address = machines[machine] if machines else ("", "127.0.0.1")
            within = (IP, "netns", "exec", name) if machines else ()
            tap_port, tap = stack.enter_context(wiretap(master_port, address))
            taps.append(tap)
            url = f"mysql://loader:remote@{address}:{port}/?ssl-mode=off"
            stack.enter_context(_worker(url, address, tap_port, within=within))
        deadline = time.monotonic() + 60
        while not taps[0].sent and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)  # the handshake, and the worker's first messages
        recorded.write_bytes(bytes(taps[0].sent[0]))
        with _strangers(address, master_port, recorded, within) as report:
            err = _ended(sweep)
    _assert_learned_nothing(report, err)
    tapped = b"".join(tap.all_bytes for tap in taps)
    assert len(tapped) > 10_000
    for answers in (bytes.fromhex(report["answers"]), tapped):
        _assert_holds_no_secret(answers, server.url)
    _assert_undisturbed(path)


def _assert_holds_no_secret(passed: bytes, url: str) -> None:
    """No password, no secret, and no message in clear is among bytes that passed on a wire."""
    password = database_url(url).password or ""
    for secret in (SECRET, password, "remote", "poolsize_", "client_ready", "spawn"):
        assert secret.encode() not in passed, secret


@on_mariadb
@pytest.mark.parametrize(
    ("secret", "error"),
    in_ci(
        [("", "this worker has no secret"), ("another-secret-of-32-characters", "the master refuses this worker")],
        ("another-secret-of-32-characters", "the master refuses this worker"),
    ),
)
def test_a_worker_without_the_secret_ends_with_one_line(
    server: PrivateServer, tmp_path: Path, master_port: int, secret: str, error: str
) -> None:
    options = ("--expect-workers", "1")
    with _sweeping(tmp_path / "a.jsonl", server.url, *options) as sweep:
        assert _listening_port(sweep) == master_port
        with _worker(server.url, "127.0.0.1", master_port, secret) as worker:
            _, err = worker.communicate(timeout=60)
        sweep.terminate()
        sweep.communicate(timeout=20)
    assert worker.returncode == 2
    (line,) = [line for line in err.splitlines() if line.startswith("poolsize: error:")]
    assert error in line


def test_a_short_secret_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "locust", "-f", TWO_LOCKS, "--worker"],
        env=os.environ | {VARIABLE: "short"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"poolsize: error: {VARIABLE} has fewer than 16 characters" in done.stderr
    assert "Traceback" not in done.stderr


@on_mariadb
@pytest.mark.parametrize("encrypts", in_ci([False, True], True))
def test_a_worker_says_nothing_to_a_strange_master(server: PrivateServer, encrypts: bool) -> None:
    """A program that took the master's port first is not a master."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as master:
        master.linger = 0
        if encrypts:
            master.curve_publickey, master.curve_secretkey = zmq.curve_keypair()
            master.curve_server = True
        port = master.bind_to_random_port("tcp://127.0.0.1")
        with _worker(server.url, "127.0.0.1", port) as worker:
            _, err = worker.communicate(timeout=60)
        assert not master.poll(0)
    assert worker.returncode == 2
    assert "the master refuses this worker" in err


@on_mariadb
def test_no_message_to_a_worker_holds_a_password(server: PrivateServer, tmp_path: Path, master_port: int) -> None:
    """Not even a worker that knows the secret learns the master's URL: it has one of its own."""
    secret = SweepSecret(SECRET, is_given=True)
    with (
        _sweeping(tmp_path / "a.jsonl", server.url, "--expect-workers", "1") as sweep,
        zmq.Context() as context,
        context.socket(zmq.DEALER) as worker,
    ):
        worker.identity, worker.linger = b"curious", 0
        worker.curve_secretkey = z85.encode(secret.key("worker"))
        worker.curve_publickey = zmq.curve_public(z85.encode(secret.key("worker")))
        worker.curve_serverkey = zmq.curve_public(z85.encode(secret.key("master")))
        assert _listening_port(sweep) == master_port
        worker.connect(f"tcp://127.0.0.1:{master_port}")
        worker.send(msgpack.dumps(("client_ready", "2.47.0", "curious")))
        messages: list[bytes] = []
        while not any(b"parsed_options" in message for message in messages):
            assert worker.poll(30_000), "the master sends no users"
            messages.append(worker.recv())
        sweep.terminate()
        sweep.communicate(timeout=30)
    assert (database_url(server.url).password or "").encode() not in b"".join(messages)
