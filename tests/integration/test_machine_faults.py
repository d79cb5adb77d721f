"""The machine of a sweep: its clock jumps, it sleeps, its disk is full."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from poolsize import load_run
from poolsize.server.private_server import ON_DISK
from poolsize.sweep.next_step import remaining
from tests.conftest import POOLSIZE, assert_soon, curve_of, has_line

pytestmark = pytest.mark.server
FAKE_TIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
UNSHARE = shutil.which("unshare")


@contextmanager
def sweeping(folder: Path, *options: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """A sweep of a private server that has stored a step."""
    run = folder / "a.jsonl"
    with subprocess.Popen(
        [POOLSIZE, "sweep", "--workload", "select_one", "--think-time", "20ms", "--users", "32", "--warm-up", "0",
         "--output", run.name, *options],
        cwd=folder, env=os.environ | environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as sweep:  # fmt: skip
        try:
            assert_soon(lambda: has_line(run))
            yield sweep
        finally:
            sweep.kill()


@pytest.mark.skipif(FAKE_TIME is None, reason="needs libfaketime")
@pytest.mark.parametrize(
    "workers",
    [pytest.param((), id="alone"), pytest.param(("--processes", "2"), id="two workers", marks=pytest.mark.experiment)],
)
def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """An hour forward, and a day back: time is measured by clocks that only go forward."""
    offset = tmp_path / "offset"
    offset.write_text("+0")
    environment = {
        "LD_PRELOAD": str(FAKE_TIME), "FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }  # fmt: skip
    sizes = ("--pool-sizes", "2,4,8", "--step-time", "2s")
    with sweeping(tmp_path, *sizes, *workers, **environment) as sweep:
        for jump in ("+3600", "-86400"):
            offset.write_text(jump)
            time.sleep(1)
        _, errors = sweep.communicate(timeout=100)
    assert sweep.returncode in {0, 1}, errors
    run = load_run(tmp_path / "a.jsonl")
    assert remaining(run) is None, errors
    assert len({step.started[:10] for step in run.steps}) > 1, "the clock did not jump"
    for step in curve_of(run):
        assert 2 <= len(step.throughput) <= 8
        assert step.error_count == 0
        assert min(step.throughput) > 0


@pytest.mark.experiment
@pytest.mark.parametrize("workers", [(), ("--processes", "2")], ids=["alone", "two workers"])
def test_a_machine_that_sleeps_costs_the_step_under_way(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """All processes stand still for a while, the server, too."""
    with sweeping(tmp_path, "--pool-sizes", "2,4", "--repeats", "3", "--step-time", "3s", *workers) as sweep:
        processes = [psutil.Process(sweep.pid), *psutil.Process(sweep.pid).children(recursive=True)]
        for act in (psutil.Process.suspend, psutil.Process.resume):
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    act(process)
            time.sleep(8)
        _, errors = sweep.communicate(timeout=100)
    assert sweep.returncode in {0, 1}, errors
    run = load_run(tmp_path / "a.jsonl")
    assert remaining(run) is None, errors
    assert not any(step.error_count for step in run.steps)
    for step in curve_of(run):
        if not step.retryable:
            assert min(step.counted) > 0, step


FILLS_DISK = """\
from poolsize.locust import PoolUser

class Fills(PoolUser):
    @classmethod
    def prepare(cls, cursor):
        cursor.execute("CREATE TABLE filled (text LONGTEXT)")

    def transaction(self, cursor):
        cursor.execute("INSERT INTO filled VALUES (REPEAT('0123456789', 50000))")
"""


def on_small_disk(folder: Path, megabytes: int, mount_at: str, *command: str) -> "subprocess.CompletedProcess[str]":
    """A command for which a folder is a disk of its own with so much room."""
    if UNSHARE is None or os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    mounted = f'mount -t tmpfs -o size={megabytes}m tmpfs {mount_at} && exec "$0" "$@"'
    return subprocess.run(
        [UNSHARE, "--mount", "sh", "-c", mounted, *command],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_full_disk_under_the_private_server_is_named(tmp_path: Path) -> None:
    (tmp_path / "fills.py").write_text(FILLS_DISK)
    done = on_small_disk(
        tmp_path, 260, str(ON_DISK), POOLSIZE, "sweep", "--workload", "fills.py", "--pool-sizes", "2,4",
        "--step-time", "10s", "--output", "a.jsonl",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert re.search(r"the private server ended: .*(No space left|disk space)", done.stderr), done.stderr


def test_a_disk_too_small_for_the_private_server_is_named(tmp_path: Path) -> None:
    done = on_small_disk(
        tmp_path, 20, str(ON_DISK), POOLSIZE, "sweep", "--workload", "select_one", "--pool-sizes", "1,2"
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "No space left on device" in line


def test_a_full_disk_under_the_run_is_named_and_the_steps_stay(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    done = on_small_disk(
        tmp_path, 1, str(small), "sh", "-c",
        'head -c 1020000 /dev/zero > small/others; "$0" "$@"; code=$?; cp small/a.jsonl .; exit $code',
        POOLSIZE, "sweep", "--workload", "select_one", "--pool-sizes", "1,2,4", "--step-time", "1s", "--repeats", "20",
        "--warm-up", "0", "--output", "small/a.jsonl",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "No space left on device" in done.stderr.splitlines()[-1]
    assert load_run(tmp_path / "a.jsonl", torn_end=True).steps
