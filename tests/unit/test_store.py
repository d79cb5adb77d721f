"""The stored run: what is written comes back, what is cut off is named, and nothing measured is lost."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.answer.prediction import predict
from poolsize.answer.what_if import WhatIf
from poolsize.errors import BadInput, WorkFailed
from poolsize.runs.run import Run
from poolsize.runs.stopped import StopReason
from poolsize.runs.store import FORMAT, RunWriter, load_run
from poolsize.sweep.grid import GridProgress
from poolsize.sweep.next_step import remaining
from tests.conftest import ROOT, a_run

RUN = a_run({1: 100, 2: 200, 4: 380})


def written(path: Path, run: Run = RUN) -> Path:
    with RunWriter(path, run.setting) as writer:
        for step in run.steps:
            writer.append(step)
    return path


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    assert load_run(written(tmp_path / "a.jsonl")) == RUN


def test_only_its_owner_may_read_a_run(tmp_path: Path) -> None:
    """Whatever the account's umask would allow."""
    before = os.umask(0)
    try:
        path = written(tmp_path / "a.jsonl")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


HEADER_ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
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
        (b'"pool_size":1,', b'"pool_size":1e30,', "step.pool_size is 1e+30"),
        (b'"users":', b'"users":NaN,"x":', "users is nan"),
        (b'"gap_ms":', b'"gap_ms":1e400,"x":', "step.gap_ms is inf"),
        (b'"wait":"', b'"wait":null,"x":"', "of latencies.wait and latencies.usage, only one is null"),
        (b'"sections":', b'"sections":{"wait":{}},"x":', "sections.wait has no p50"),
    ],
)
def test_a_value_that_nobody_measured_is_named_with_its_line(
    tmp_path: Path, old: bytes, new: bytes, named: str
) -> None:
    path = written(tmp_path / "a.jsonl")
    header, *steps = path.read_bytes().splitlines(keepends=True)
    assert old in steps[0]
    path.write_bytes(header + steps[0].replace(old, new, 1) + b"".join(steps[1:]))
    with pytest.raises(BadInput, match=f"line 2: .*{re.escape(named)}"):
        load_run(path)


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl")
    with pytest.raises(BadInput, match="File exists"):
        RunWriter(path, RUN.setting)
    assert load_run(path) == RUN


@pytest.mark.parametrize("cut", [1, 50, 400])
def test_a_cut_off_line_is_named_and_the_steps_before_it_are_kept(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "a.jsonl")
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(WorkFailed, match="line 4 is cut off after 2 complete") as error:
        load_run(path)
    assert error.value.exit_code == 1
    assert load_run(path, torn_end=True).steps == RUN.steps[:2]


def test_resuming_drops_the_torn_line_and_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl")
    path.write_bytes(path.read_bytes()[:-40])
    run = load_run(path, torn_end=True)
    assert [step.pool_size for step in GridProgress(run.plan, run.steps).missing_steps()] == [4]
    with RunWriter(path, run.setting, resume=True) as writer:
        writer.append(RUN.steps[2])
    assert load_run(path) == RUN


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no complete header"),
        (b'{"format": 1, "sett', "no complete header"),
        (b"a,b,c\n1,2,3\n", "line 1 is not a JSON object"),
        (b"{}\n", "names no format"),
        (b'{"format": %d}\n' % (FORMAT + 1), f"format {FORMAT + 1}"),
        (b'{"format": 1, "setting": {}}\n', "damaged"),
    ],
)
def test_a_file_that_is_no_run_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        load_run(path)


def test_a_damaged_step_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl")
    lines = path.read_text().splitlines()
    lines[2] = "garbage"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput, match="line 3"):
        load_run(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        load_run(tmp_path / "none.jsonl")


def test_a_misspelt_file_is_refused_with_the_nearest_run(tmp_path: Path) -> None:
    written(tmp_path / "insert-mysql.jsonl")
    with pytest.raises(BadInput, match=r"No such file or directory; did you mean insert-mysql\.jsonl\?"):
        load_run(tmp_path / "insert-mysq.jsonl")


def test_a_path_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="File name too long"):
        load_run(tmp_path / f"{'a' * 300}.jsonl")


def test_a_line_is_one_step(tmp_path: Path) -> None:
    lines = written(tmp_path / "a.jsonl").read_text().splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["format", "step", "step", "step"]


def test_a_damaged_histogram_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl")
    path.write_text(path.read_text().replace("HISTFAAAA", "HISTgAAAA"))
    with pytest.raises(BadInput, match="histogram"):
        analyze(load_run(path))


def test_a_run_whose_wait_times_are_empty_is_predicted_without_them() -> None:
    run = load_run(ROOT / "data/examples/insert-mysql.jsonl")
    steps = [replace(step, latencies=replace(step.latencies, wait="")) for step in run.steps if step.latencies]
    assert predict(analyze(replace(run, steps=steps)), WhatIf(cores=8)).sizes


def test_a_run_of_format_1_is_read_as_it_was_meant() -> None:
    """A real one, made before there were counters, sections and open loops."""
    run = load_run(ROOT / "tests/data/scan-format-1.jsonl")
    assert remaining(run) is None
    assert {step.rate for step in run.steps} == {None}
    analysis = analyze(run)
    assert analysis.plateau is not None
    assert analysis.plateau.low == 2
    assert analysis.at(2).throughput.mean == pytest.approx(135.55)
    assert analysis.at(2).intervals == {}


def test_steps_added_to_a_run_of_format_1_keep_what_they_have(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes((ROOT / "tests/data/scan-format-1.jsonl").read_bytes())
    (step, *_) = load_run(ROOT / "data/examples/scan-mariadb.jsonl").steps
    with RunWriter(path, RUN.setting, resume=True) as writer:
        writer.append(step)
    assert load_run(path).steps[-1] == step


def test_a_run_of_format_1_is_complete_whatever_its_checks_say(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    old = (ROOT / "tests/data/scan-format-1.jsonl").read_text()
    path.write_text(old.replace('"name":"littles_law","passed":true', '"name":"littles_law","passed":false', 1))
    assert len(load_run(path).steps[0].failed_checks) == 1
    assert remaining(load_run(path)) is None


def test_up_to_format_4_every_sweep_used_the_fair_pool_and_poolsizes_schema(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl")
    header, *steps = path.read_text().splitlines()
    older = json.loads(header) | {"format": 4}
    assert (older["setting"].pop("schema"), older["setting"]["plan"].pop("pool")) == (None, "fair")
    path.write_text("\n".join([json.dumps(older), *steps, ""]))
    assert load_run(path) == RUN


def test_up_to_format_5_nothing_is_known_of_a_backlog_or_a_limit(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl")
    header, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    header["format"] = 5
    assert [header["setting"]["plan"].pop(name) for name in ("max_p95_ms", "max_p99_ms")] == [None, None]
    for line in lines:
        assert [line["step"].pop(name) for name in ("backlog", "busy")] == [[], []]
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))
    assert load_run(path) == RUN


def test_the_sentences_of_format_3_are_read_as_figures() -> None:
    """Every figure of a stored sentence is in the values, with the same digits."""
    path = ROOT / "tests/data/oltp-format-3.jsonl"
    stored = [
        json.loads(line)["step"]["checks"] for line in path.read_text().splitlines() if "step" in json.loads(line)
    ]
    for step, sentences in zip(load_run(path).steps, stored, strict=True):
        assert [result.check for result in step.checks] == [check["name"] for check in sentences]
        assert [result.passed for result in step.checks] == [check["passed"] for check in sentences]
        assert not any("detail" in result.values for result in step.checks)
        for result, check in zip(step.checks, sentences, strict=True):
            figures = [float(figure) for figure in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", check["detail"])]
            values = [float(value) for value in result.values.values() if isinstance(value, int | float)]
            shown = {round(scale * abs(value), digits) for value in values for scale in (1, 100) for digits in range(3)}
            assert set(figures) <= shown, (check["detail"], result.values)


@pytest.mark.parametrize(
    ("sentence", "reason", "values"),
    [
        ("20 of 220 transactions failed, more than the error budget allows", StopReason.TOO_MANY_ERRORS, [20, 220]),
        (
            "the queue grew to 501 transactions that were due: more arrive than this pool serves",
            StopReason.BACKLOG,
            [501],
        ),
        ("lost 1 of 4 load processes", StopReason.WORKER_LOST, [1, 4]),
    ],
)
def test_an_early_end_of_format_3_is_read_as_figures(
    tmp_path: Path, sentence: str, reason: StopReason, values: list[int]
) -> None:
    path = tmp_path / "a.jsonl"
    text = (ROOT / "tests/data/oltp-format-3.jsonl").read_text()
    path.write_text(text.replace('"stopped":null', f'"stopped":"{sentence}"', 1))
    stopped = load_run(path).steps[0].stopped
    assert stopped is not None
    assert (stopped.reason, list(stopped.values.values())) == (reason, values)


def test_control_characters_of_a_run_reach_no_terminal(tmp_path: Path) -> None:
    """A run that somebody sends may hold escape sequences in any text."""
    run = a_run({1: 100, 2: 200, 4: 205, 8: 206})
    plan = replace(run.setting.plan, workload="scan\x1b[2J\x9b1m\r\n")
    with RunWriter(tmp_path / "a.jsonl", replace(run.setting, plan=plan)) as writer:
        for step in run.steps:
            writer.append(step)
    assert load_run(tmp_path / "a.jsonl").plan.workload == "scan\ufffd[2J\ufffd1m\ufffd\ufffd"


def test_brackets_without_end_are_no_run(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("[" * 90_000 + "\n")
    with pytest.raises(BadInput, match="line 1 is not a JSON object"):
        load_run(path)
