"""The start of a sweep with several workers, before the users run: whatever dies then, the rest ends soon."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from poolsize import load_run
from poolsize.sweep.next_step import remaining
from tests.conftest import POOLSIZE

pytestmark = [pytest.mark.server, pytest.mark.long]
ENDED_SECONDS = 60
SLOW_TO_PREPARE = """
import time
from pathlib import Path
from locust import task
from poolsize.locust import PoolUser
class Slow(PoolUser):
    @classmethod
    def prepare(cls, cursor):
        Path("preparing").touch()
        time.sleep(600)
    @task
    def ask(self, cursor):
        cursor.execute("SELECT 1")
"""


@contextmanager
def forked(run: Path) -> Iterator[tuple["subprocess.Popen[str]", list[psutil.Process]]]:
    """A sweep whose Locust has just forked two workers, and the processes: Locust, then the workers."""
    command = [
        POOLSIZE, "sweep", "--workload", "insert", "--pool-sizes", "1,2", "--users", "8", "--step-time", "1s",
        "--warm-up", "0", "--processes", "2", "--output", str(run),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as sweep:
        found: list[psutil.Process] = []
        while len(found) < 3 and sweep.poll() is None:
            with suppress(psutil.Error):
                family = psutil.Process(sweep.pid).children(recursive=True)
                found = [each for each in family if "poolsize.locust" in each.cmdline()]
        try:
            yield sweep, found
        finally:
            sweep.kill()
            for each in found:
                with suppress(psutil.Error):
                    each.kill()


def test_a_worker_that_is_killed_ends_the_sweep_or_costs_nothing(tmp_path: Path) -> None:
    """Killed before Locust knows it, or just after."""
    run = tmp_path / "a.jsonl"
    with forked(run) as (sweep, (_, worker, _)):
        worker.kill()
        _, errors = sweep.communicate(timeout=ENDED_SECONDS)
    assert sweep.returncode in {0, 1}, errors
    if sweep.returncode:
        assert "a worker was killed before the first step" in errors
    else:
        assert remaining(load_run(run)) is None


def test_locust_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """A worker that stands still keeps Locust waiting."""
    with forked(tmp_path / "a.jsonl") as (sweep, (locust, worker, _)):
        worker.suspend()
        time.sleep(3)  # until Locust waits
        sweep.kill()
        assert not psutil.wait_procs([locust], timeout=ENDED_SECONDS)[1]


@pytest.mark.experiment
@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_workers_end_with_a_locust_that_is_killed_before_they_connect(tmp_path: Path, seconds: float) -> None:
    """They would try to connect for five minutes, and keep the command waiting."""
    with forked(tmp_path / "a.jsonl") as (sweep, (locust, *workers)):
        time.sleep(seconds)
        locust.kill()
        _, errors = sweep.communicate(timeout=ENDED_SECONDS)
        assert not psutil.wait_procs(workers, timeout=ENDED_SECONDS)[1]
    assert sweep.returncode == 1
    assert "Locust was killed by SIGKILL" in errors


def test_a_sweep_that_is_killed_while_it_sets_up_leaves_nothing(tmp_path: Path) -> None:
    """The workload makes its tables for ten minutes."""
    (tmp_path / "slow.py").write_text(SLOW_TO_PREPARE)
    command = [POOLSIZE, "sweep", "--workload", "slow.py", "--pool-sizes", "1,2", "--step-time", "1s"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
        while not (tmp_path / "preparing").exists() and sweep.poll() is None:
            time.sleep(0.1)
        family = psutil.Process(sweep.pid).children(recursive=True)
        words = [word for each in family for word in each.cmdline()]
        (data,) = (Path(word.removeprefix("--datadir=")) for word in words if word.startswith("--datadir="))
        sweep.kill()
        ended, alive = psutil.wait_procs(family, timeout=ENDED_SECONDS)
        for each in alive:
            each.kill()
    assert len(ended) >= 3  # Locust, the private server, and its watchdog
    assert not alive
    assert not data.parent.exists()
