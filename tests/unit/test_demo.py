"""`poolsize demo`: what a new user sees without a database."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from poolsize.commands import demo
from tests.conftest import EXAMPLES, Command

PNG = b"\x89PNG"


@pytest.mark.long
def test_it_shows_each_step_and_ends_with_the_answer_and_the_plot_of_the_run(
    poolsize_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "SECONDS", 0.0)
    first, second = poolsize_here("demo"), poolsize_here("demo")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "no database is used" in first.stderr
    assert len([line for line in first.stderr.splitlines() if "connection" in line and "p95" in line]) == 17
    answer = poolsize_here("recommend", "--run", str(EXAMPLES["search-mariadb"])).stdout
    assert first.stdout.splitlines()[0] == second.stdout.splitlines()[0] == answer.splitlines()[0]
    runs = sorted(tmp_path.glob("data/runs/*-demo*.jsonl"))
    assert len(runs) == 2
    for run in runs:
        assert run.read_bytes() == EXAMPLES["search-mariadb"].read_bytes()
        assert run.with_suffix(".png").read_bytes().startswith(PNG)
        assert any(f"Stored in {run.relative_to(tmp_path)}\n" in done.stdout for done in (first, second))
        assert poolsize_here("analyze", str(run)).returncode == 0


@pytest.mark.costly
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_and_leaves_no_file(tmp_path: Path, number: signal.Signals) -> None:
    slow = "from poolsize.commands import demo, main; demo.SECONDS = 600; main()"
    command = [sys.executable, "-c", slow, "demo"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stderr
        assert any("a search of" in line for line in started.stderr)
        started.send_signal(number)
        output, errors = started.communicate()
    assert (started.returncode, output) == (128 + number, "")
    assert errors.splitlines()[-1] == "poolsize: error: interrupted"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_folder_that_it_can_not_write_to_is_one_line(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    refused = poolsize_here("demo")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("can't be written (Not a directory): go to a folder of your own\n")
    assert refused.stderr.count("\n") == 1
