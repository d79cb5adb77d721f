"""An application whose pages stall, and which is deaf to SIGTERM: every command ends soon after a signal."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from poolsize.runs.store import load_run
from poolsize.server.private_server import free_port
from tests.conftest import ENDINGS, POOLSIZE, ROOT, Command, end_at_once, in_ci
from tests.rogue_page import RoguePage, rogue_page

pytestmark = pytest.mark.long
UNSHARE = shutil.which("unshare")
BEGUN_SECONDS, GONE_SECONDS = 60, 30
SWEEP = ("--pool-sizes=1", "--users=4", "--warm-up=0", "--step-time=2s", "--output=a.jsonl")

SILENT_NAME_SERVER = """\
import socket, subprocess, sys

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
    silent.bind(("127.0.0.1", 53))
    sys.exit(subprocess.call(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Stall:
    """What stalls. ready, metrics: paths of pages; None is the application's own good page. deaf: to SIGTERM."""

    ready: str | None = None
    metrics: str | None = None
    deaf: bool = False


STALLS = {
    "ready silent": Stall(ready="silence"),
    "ready header": Stall(ready="trickled_header"),
    "ready body": Stall(ready="trickled_body"),
    "metrics silent": Stall(metrics="silence"),
    "metrics header": Stall(metrics="trickled_header"),
    "metrics body": Stall(metrics="trickled_body"),
    "application deaf": Stall(metrics="metrics", deaf=True),
    "application deaf, metrics body": Stall(metrics="trickled_body", deaf=True),
}
IN_A_STEP = {
    "metrics silent in a step": Stall(metrics="later/silence"),
    "metrics header in a step": Stall(metrics="later/trickled_header"),
    "metrics body in a step": Stall(metrics="later/trickled_body"),
    "application deaf in a step": Stall(metrics="later/metrics", deaf=True),
}


@pytest.fixture
def rogue() -> Iterator[RoguePage]:
    with rogue_page() as served:
        yield served


@pytest.fixture
def port() -> Iterator[int]:
    """The application's port; whatever listens on it at the end is ended."""
    chosen = free_port()
    yield chosen
    for process in of_application(chosen):
        with suppress(psutil.Error):
            process.kill()


def of_application(port: int) -> list[psutil.Process]:
    words = [str(ROOT / "tests/rogue_page.py"), str(port)]
    return [process for process in psutil.process_iter(["cmdline"]) if (process.info["cmdline"] or [])[1:3] == words]


def file_of(stall: Stall, folder: Path, port: int, rogue: RoguePage, **changed: str) -> str:
    """Write the file of an application whose pages stall, and return its name. changed: key -> value."""
    host = f"http://127.0.0.1:{port}"
    lines = {
        "locustfile": str(ROOT / "tests/applications/tasks_locustfile.py"),
        "host": host,
        "start": f"{sys.executable} {ROOT / 'tests/rogue_page.py'} {port} {{pool_size}}{' deaf' if stall.deaf else ''}",
        "ready": rogue.url(stall.ready) if stall.ready else f"{host}/good",
        "metrics": rogue.url(stall.metrics) if stall.metrics else f"{host}/metrics",
    }
    texts = (f"{name} = {value if value.isdigit() else repr(value)}\n" for name, value in (lines | changed).items())
    (folder / "shop.toml").write_text("".join(texts))
    return "shop.toml"


def ended_by(
    ending: str,
    command: Sequence[str],
    folder: Path,
    rogue: RoguePage,
    requests: int,
    **environment: str,
) -> "subprocess.CompletedProcess[str]":
    """The command, ended by one of ENDINGS once the rogue page had so many requests."""
    with subprocess.Popen(
        [POOLSIZE, *command], cwd=folder, env=os.environ | environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        try:
            deadline = time.monotonic() + BEGUN_SECONDS
            while len(rogue.requests) < requests:
                assert time.monotonic() < deadline
                assert running.poll() is None, running.communicate()
                time.sleep(0.02)
            time.sleep(0.1)
            output, errors = end_at_once(running, ending)
        finally:
            running.kill()
    return subprocess.CompletedProcess(command, running.returncode, output, errors)


def assert_ended(done: "subprocess.CompletedProcess[str]", ending: str, port: int) -> None:
    number = ENDINGS[ending]
    assert done.returncode in {128 + number, -number}, done.stderr  # a command at its end dies of the second Ctrl-C
    assert "poolsize: error: " in done.stderr
    assert "Traceback" not in done.stderr
    deadline = time.monotonic() + GONE_SECONDS
    while of_application(port):
        assert time.monotonic() < deadline, "the application outlives the command"
        time.sleep(0.1)


@pytest.mark.costly
@pytest.mark.parametrize("ending", in_ci(ENDINGS, "SIGTERM"))
@pytest.mark.parametrize("name", in_ci(STALLS | IN_A_STEP, "metrics body in a step"))
def test_a_sweep_ends_soon_whatever_the_application_does(
    name: str, ending: str, tmp_path: Path, rogue: RoguePage, port: int
) -> None:
    file = file_of((STALLS | IN_A_STEP)[name], tmp_path, port, rogue)
    requests = 4 if name in IN_A_STEP else 1
    done = ended_by(ending, ["sweep", "--application", file, *SWEEP, "--step-time=60s"], tmp_path, rogue, requests)
    assert_ended(done, ending, port)


@pytest.mark.costly
@pytest.mark.parametrize("ending", in_ci(ENDINGS, "Ctrl-C twice"))
@pytest.mark.parametrize("name", in_ci(STALLS, "ready header"))
def test_a_check_ends_soon_whatever_the_application_does(
    name: str, ending: str, tmp_path: Path, rogue: RoguePage, port: int
) -> None:
    file = file_of(STALLS[name], tmp_path, port, rogue)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = ended_by(ending, ["application", "check", file], tmp_path, rogue, 1, TMPDIR=str(temporary))
    assert_ended(done, ending, port)
    assert not list(temporary.iterdir())


@pytest.mark.costly
@pytest.mark.parametrize("value", in_ci(["nan", "beyond_the_bounds", "negative"], "nan"))
def test_a_run_with_an_unusable_metric_is_readable_and_names_the_page_once(
    value: str, tmp_path: Path, rogue: RoguePage, port: int, poolsize: Command, poolsize_here: Command
) -> None:
    """Also where the value comes up in a step: the counter is absent in those seconds, and others are there."""
    metrics = rogue.url(f"later/{value}", "u:hunter2@") + "?token=hunter2"
    file = file_of(Stall(), tmp_path, port, rogue, metrics=metrics)
    done = poolsize("sweep", "--application", file, *SWEEP, "--pool-sizes=1,2")
    run = load_run(tmp_path / "a.jsonl")
    assert {step.pool_size for step in run.steps} == {1, 2}, done.stderr
    named = [line for line in done.stderr.splitlines() if "values that no pool can have are not recorded" in line]
    assert len(named) == 1
    assert named[0].startswith(f"poolsize: metrics {rogue.url(f'later/{value}')}: hikaricp_connections_active is ")
    assert any(value == 0.0 for step in run.steps for value in step.server["pool_waiting"])
    for command in (["recommend", "--run", "a.jsonl"], ["analyze", "a.jsonl"], ["sweep", "--resume", "a.jsonl"]):
        read = poolsize_here(*command)
        assert "Traceback" not in read.stderr
        assert "damaged" not in read.stderr
    stored = "".join(path.read_text() for path in tmp_path.glob("a.jsonl*"))
    assert "hunter2" not in done.stdout + done.stderr + stored


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    in_ci(
        ["deep_json", "huge_integer", "many_labels", "escape", "endless_continue", "redirect_to_a_bad_url",
         "gzip_bomb"],
        "escape",
    ),
)  # fmt: skip
def test_no_metrics_page_breaks_a_check(
    name: str, tmp_path: Path, rogue: RoguePage, port: int, poolsize: Command
) -> None:
    done = poolsize("application", "check", file_of(Stall(metrics=name), tmp_path, port, rogue))
    assert done.returncode in {0, 1}
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or f"poolsize: error: metrics {rogue.url(name)}: " in done.stderr
    assert not set(done.stdout + done.stderr) & {"\x1b", "\x07"}


@pytest.mark.experiment
def test_a_page_that_stalls_in_a_step_costs_its_counters_alone(
    tmp_path: Path, rogue: RoguePage, port: int, poolsize: Command
) -> None:
    file = file_of(Stall(metrics="later/trickled_body"), tmp_path, port, rogue)
    poolsize("sweep", "--application", file, *SWEEP)
    (step,) = load_run(tmp_path / "a.jsonl").steps
    assert sum(step.counted) > 0
    assert "machine_cpu" in step.server


@pytest.mark.experiment
@pytest.mark.skipif(UNSHARE is None or os.geteuid() != 0, reason="needs unshare, as root")
def test_a_name_server_that_never_answers_costs_the_deadline_of_the_page(
    tmp_path: Path, rogue: RoguePage, port: int
) -> None:
    file = file_of(Stall(), tmp_path, port, rogue, ready="http://nowhere.example/good", ready_seconds="1")
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    (tmp_path / "silent.py").write_text(SILENT_NAME_SERVER)
    script = 'ip link set lo up && mount --bind resolv.conf /etc/resolv.conf && exec "$@"'
    command = [sys.executable, "silent.py", POOLSIZE, "application", "check", file]
    done = subprocess.run(
        [UNSHARE or "", "--mount", "--net", "sh", "-c", script, "sh", *command],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert (
        "not ready within 1 s: http://nowhere.example/good: the page did not answer completely within 5 s"
        in done.stderr
    )
