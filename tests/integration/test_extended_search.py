"""A finished search on a private server is extended, killed meanwhile, and resumed."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from poolsize import load_run
from poolsize.runs.plan import SearchEnd
from poolsize.sweep.next_step import next_step, remaining
from tests.conftest import POOLSIZE, Command, assert_swept, measured

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.experiment]

SEARCH = (
    "--workload", "scan", "--users", "8", "--step-time", "2s", "--warm-up", "0", "--processes", "2", "--cores", "2",
)  # fmt: skip
EXTENDED = ("--resume", "a.jsonl", "--budget", "40s", "--processes", "2")
LONGEST_SECONDS = 120


def test_a_search_is_extended_killed_and_resumed(poolsize: Command, tmp_path: Path) -> None:
    """Two workers, and a private server that is another for each part of the search."""
    path = tmp_path / "a.jsonl"
    assert_swept(poolsize("sweep", *SEARCH, "--budget", "10s", "--output", "a.jsonl", timeout=LONGEST_SECONDS))
    finished, first = path.read_bytes(), load_run(path)
    assert first.ended is SearchEnd.BUDGET
    assert first.load_seconds <= 10
    with subprocess.Popen(
        [POOLSIZE, "sweep", *EXTENDED],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as sweep:  # fmt: skip
        deadline = time.monotonic() + LONGEST_SECONDS
        while path.read_bytes().count(b"\n") < finished.count(b"\n") + 2 and time.monotonic() < deadline:
            assert path.read_bytes().startswith(finished)
            time.sleep(0.05)
        sweep.send_signal(signal.SIGKILL)
        sweep.communicate(timeout=LONGEST_SECONDS)
    killed = load_run(path, torn_end=True)
    assert killed.plan.search
    assert (killed.ended, killed.plan.search.budget_seconds) == (None, 40)
    assert measured(killed.steps[: len(first.steps)]) == measured(first.steps)
    assert len(killed.steps) > len(first.steps)
    refused = poolsize("recommend", "--run", "a.jsonl")
    assert (refused.returncode, "finish it with: poolsize sweep --resume a.jsonl" in refused.stderr) == (1, True)
    assert_swept(poolsize("sweep", "--resume", "a.jsonl", "--processes", "2", timeout=LONGEST_SECONDS))
    whole = load_run(path)
    assert remaining(whole) is None
    assert measured(whole.steps[: len(killed.steps)]) == measured(killed.steps)
    assert 10 < whole.load_seconds <= 40
    assert next_step(whole) is None
