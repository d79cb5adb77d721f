"""Processes of a sweep that are frozen (SIGSTOP) in a step: the sweep ends all the same, and none of them stays."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path

import psutil
import pytest

from poolsize import load_run
from poolsize.sweep.next_step import remaining
from tests.conftest import ENDINGS, POOLSIZE, assert_soon, assert_swept, end_at_once, has_line, in_ci, measured_again

pytestmark = [pytest.mark.server, pytest.mark.long]
Sweep = tuple["subprocess.Popen[str]", psutil.Process, list[psutil.Process]]


def _leader(processes: Sweep) -> psutil.Process:
    return processes[1]


def _worker(processes: Sweep) -> psutil.Process:
    return processes[2][0]


@contextmanager
def _sweeping(folder: Path, *options: str) -> Iterator[Sweep]:
    """A sweep with two workers, in a step: its own process, its leader's, and those of its workers."""
    sweep = subprocess.Popen(
        [POOLSIZE, "sweep", "--workload", "scan", "--processes", "2", "--users", "20", "--warm-up", "1s",
         "--output", "a.jsonl", *options],
        cwd=folder, env={name: value for name, value in os.environ.items() if name != "POOLSIZE_URL"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    family: list[psutil.Process] = []
    try:
        run = folder / "a.jsonl"
        assert_soon(lambda: has_line(run, b'{"calibration"'))
        time.sleep(1.5)
        family = psutil.Process(sweep.pid).children(recursive=True)
        leader = next(process for process in family if process.ppid() == sweep.pid)
        workers = [process for process in leader.children() if process.cmdline() == leader.cmdline()]
        yield sweep, leader, workers
        _, alive = psutil.wait_procs(family, timeout=10)
        assert not alive
    finally:
        sweep.kill()
        for process in family:
            with suppress(psutil.Error):
                process.kill()
        sweep.communicate()


@pytest.mark.parametrize(
    ("frozen", "ending"),
    in_ci(product([_leader, _worker], ENDINGS), (_leader, "SIGTERM")),
)
@measured_again
def test_a_signal_ends_a_sweep_with_a_frozen_process(
    tmp_path: Path, frozen: Callable[[Sweep], psutil.Process], ending: str
) -> None:
    with _sweeping(tmp_path, "--pool-sizes", "2,4", "--step-time", "60s") as processes:
        sweep = processes[0]
        frozen(processes).suspend()
        _, err = end_at_once(sweep, ending)
    assert sweep.returncode in {128 + signal.SIGTERM, 128 + signal.SIGINT}
    assert "Traceback" not in err


def test_a_frozen_worker_costs_at_most_its_step(tmp_path: Path) -> None:
    with _sweeping(tmp_path, "--pool-sizes", "2,4", "--step-time", "3s") as processes:
        sweep = processes[0]
        _worker(processes).suspend()
        out, err = sweep.communicate(timeout=120)
    assert_swept(subprocess.CompletedProcess([], sweep.returncode, out, err))
    run = load_run(tmp_path / "a.jsonl")
    assert remaining(run) is None
    assert {len(step.workers) for step in run.steps[1:]} == {1}
