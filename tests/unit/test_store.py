"""The stored run: what is written comes back, what is cut off is named, and nothing measured is lost."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.errors import BadInput, WorkFailed
from poolsize.predict.prediction import WhatIf, predict
from poolsize.runs.line_file import MOST_BYTES, run_lines
from poolsize.runs.plan import MOST_STEPS
from poolsize.runs.store import FORMAT, RunWriter, load_run
from poolsize.sweep.next_step import missing_steps
from tests.conftest import ROOT, a_run, written

RUN = a_run({1: 100, 2: 200, 4: 380})


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    assert load_run(written(tmp_path / "a.jsonl", RUN)) == RUN


def test_only_its_owner_may_read_a_run(tmp_path: Path) -> None:
    """Whatever the account's umask would allow."""
    before = os.umask(0)
    try:
        path = written(tmp_path / "a.jsonl", RUN)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


HEADER_ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from unittest.mock import Mock
from poolsize.errors import WorkFailed
from poolsize.runs.store import RunWriter
from tests.conftest import a_setting

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    RunWriter(Path(sys.argv[1]), a_setting((1, 2)))
except WorkFailed as error:
    print(error)
"""


@pytest.mark.long
def test_a_header_that_the_disk_does_not_take_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    words = [sys.executable, "-c", HEADER_ON_A_FULL_DISK, str(path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"{path} can't be written: File too large\n"
    assert not path.exists()


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (b'"pool_size":1,', b'"pool_size":-4,', "pool_size is -4"),
        (b'"pool_size":1,', b'"pool_size":1e30,', "pool_size is 1e+30"),
        (b'"users":', b'"users":NaN,"x":', "users is nan"),
        (b'"gap_ms":', b'"gap_ms":1e400,"x":', "gap_ms is inf"),
        (b'"wait":"', b'"wait":null,"x":"', "of latencies.wait and latencies.usage, only one is null"),
        (b'"sections":', b'"sections":{"wait":{}},"x":', "sections.wait has no p50"),
    ],
)
def test_a_value_that_nobody_measured_is_named_with_its_line(
    tmp_path: Path, old: bytes, new: bytes, named: str
) -> None:
    path = written(tmp_path / "a.jsonl", RUN)
    header, *steps = path.read_bytes().splitlines(keepends=True)
    assert old in steps[0]
    path.write_bytes(header + steps[0].replace(old, new, 1) + b"".join(steps[1:]))
    with pytest.raises(BadInput, match=f"line 2: .*{re.escape(named)}"):
        load_run(path)


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_step_that_is_not_stored_whole_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    path = tmp_path / "a.jsonl"
    with RunWriter(path, RUN.setting) as writer:
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", Mock(side_effect=failure))
            with pytest.raises((KeyboardInterrupt, WorkFailed)):
                writer.append(RUN.steps[0])
        writer.append(RUN.steps[1])
    assert load_run(path).steps == RUN.steps[1:2]


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", RUN)
    with pytest.raises(BadInput, match="File exists"):
        RunWriter(path, RUN.setting)
    assert load_run(path) == RUN


@pytest.mark.parametrize("cut", [1, 50, 400])
def test_a_cut_off_line_is_named_and_the_steps_before_it_are_kept(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "a.jsonl", RUN)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(WorkFailed, match="line 4 is cut off after 2 complete") as error:
        load_run(path)
    assert error.value.exit_code == 1
    assert load_run(path, torn_end=True).steps == RUN.steps[:2]


def test_resuming_drops_the_torn_line_and_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", RUN)
    path.write_bytes(path.read_bytes()[:-40])
    run = load_run(path, torn_end=True)
    assert [step.pool_size for step in missing_steps(run)] == [4]
    with RunWriter(path, run.setting, resume=True) as writer:
        writer.append(RUN.steps[2])
    assert load_run(path) == RUN


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no complete header"),
        (b'{"format": 8, "sett', "no complete header"),
        (b"a,b,c\n1,2,3\n", "line 1 is not a JSON object"),
        (b"[" * 90_000 + b"\n", "line 1 is not a JSON object"),
        (b'{"\\u001b": ' + b"[" * 990 + b"]" * 990 + b"}\n", "line 1 is not a JSON object"),
        (b"{}\n", "names no format"),
        (b'{"format": %d}\n' % (FORMAT + 1), "pip install --upgrade poolsize"),
        (b'{"format": %d}\n' % (FORMAT - 1), f"has format {FORMAT - 1}, .* reads format {FORMAT} only: measure again"),
        (b'{"format": {}}\n', "has format {}, .* measure again"),
        (b'{"format": %d, "setting": {}}\n' % FORMAT, "damaged"),
    ],
)
def test_a_file_that_is_no_run_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        load_run(path)


@pytest.mark.long
def test_a_run_of_more_steps_than_a_run_holds_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", RUN)
    header, step, *_ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + MOST_STEPS * step)
    assert len(load_run(path).steps) == MOST_STEPS
    path.write_bytes(header + (MOST_STEPS + 1) * step)
    with pytest.raises(BadInput, match=r"a\.jsonl has more than 5,000 steps"):
        load_run(path)


@pytest.mark.long
def test_a_file_that_is_longer_than_a_run_is_neither_read_nor_written(tmp_path: Path) -> None:
    """The holes of the file take no room on the disk."""
    path = written(tmp_path / "a.jsonl", RUN)
    content = path.read_bytes()
    with RunWriter(path, RUN.setting, resume=True) as writer:
        os.truncate(path, MOST_BYTES - 10)
        with pytest.raises(WorkFailed, match="is as long as a run may be, and keeps its steps"):
            writer.append(RUN.steps[0])
    path.write_bytes(content + (b" " * (2**20 - 1) + b"\n") * 128)
    with pytest.raises(BadInput, match="is longer than 128 MiB"):
        list(run_lines(path))


def test_a_damaged_step_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", RUN)
    lines = path.read_text().splitlines()
    lines[2] = "garbage"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput, match="line 3"):
        load_run(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.jsonl", r"No such file or directory$"),
        ("insert-mysq.jsonl", r"No such file or directory; did you mean insert-mysql\.jsonl\?"),
        (f"{'a' * 300}.jsonl", "File name too long"),
    ],
)
def test_a_missing_file_is_refused_with_the_nearest_run(tmp_path: Path, name: str, message: str) -> None:
    written(tmp_path / "insert-mysql.jsonl", RUN)
    with pytest.raises(BadInput, match=message):
        load_run(tmp_path / name)


def test_a_line_is_one_step(tmp_path: Path) -> None:
    lines = written(tmp_path / "a.jsonl", RUN).read_text().splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["format", "step", "step", "step"]


def test_a_damaged_histogram_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", RUN)
    path.write_text(path.read_text().replace("HISTFAAAA", "HISTgAAAA"))
    with pytest.raises(BadInput, match="histogram"):
        analyze(load_run(path))


@pytest.mark.costly
def test_a_run_whose_wait_times_are_empty_is_predicted_without_them() -> None:
    run = load_run(ROOT / "data/examples/insert-mysql.jsonl")
    steps = [replace(step, latencies=replace(step.latencies, wait="")) for step in run.steps if step.latencies]
    assert predict(analyze(replace(run, steps=steps)), WhatIf(cores=8)).sizes


def test_control_characters_of_a_run_reach_no_terminal(tmp_path: Path) -> None:
    """A run that somebody sends may hold escape sequences in any text."""
    run = a_run({1: 100, 2: 200, 4: 205, 8: 206})
    plan = replace(run.setting.plan, workload="scan\x1b[2J\x9b1m\r\n")
    written(tmp_path / "a.jsonl", replace(run, setting=replace(run.setting, plan=plan)))
    assert load_run(tmp_path / "a.jsonl").plan.workload == "scan\ufffd[2J\ufffd1m\ufffd\ufffd"
