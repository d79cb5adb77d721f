"""Runs that leave their steps in their file: the same steps, the same decisions and the same answers as in memory."""

from array import array
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.analysis.analysis import analyze
from poolsize.analysis.attempts import attempt_counts, curve_steps, needed_steps, step_key
from poolsize.answer.recommendation import recommend
from poolsize.errors import BadInput
from poolsize.present.json.analysis import analysis_json
from poolsize.present.text.recommendation import recommendation_text
from poolsize.recordings.recording import Recording, Seconds
from poolsize.runs import store
from poolsize.runs.check import Check, CheckResult
from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Run
from poolsize.runs.speed import with_step
from poolsize.runs.store import RunWriter, leaving_steps, load_run
from poolsize.runs.stored_steps import MOST_IN_MEMORY, StoredSteps
from poolsize.sweep.grid import GridProgress, grid_steps
from poolsize.sweep.loop import sweep
from poolsize.sweep.next_step import remaining
from poolsize.sweep.replay import ReplayGenerator
from tests.conftest import ROOT, a_run, a_setting, a_step

EXAMPLES = sorted((ROOT / "data" / "examples").glob("*.jsonl"))
OLDER = sorted((ROOT / "tests" / "data").glob("*.jsonl"))
FEW = 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "limit"),
    [*((path, "MOST_IN_MEMORY") for path in [*EXAMPLES, *OLDER]), (EXAMPLES[0], "MOST_BYTES_IN_MEMORY")],
    ids=lambda value: getattr(value, "stem", value),
)
def test_steps_in_the_file_give_the_answer_of_steps_in_memory(
    path: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory = load_run(path)
    monkeypatch.setattr(store, limit, FEW)
    stored = load_run(path)
    assert isinstance(stored.steps, StoredSteps)
    assert tuple(stored.steps) == in_memory.steps
    analyses = analyze(in_memory), analyze(stored)
    assert analysis_json(analyses[0]) == analysis_json(analyses[1])
    if remaining(in_memory) is None:
        answers = [recommendation_text(recommend(analysis)) for analysis in analyses]
        assert answers[0] == answers[1]


def test_a_place_a_slice_and_the_last_step() -> None:
    run = a_run({1: 100, 2: 200, 4: 380})
    steps = StoredSteps(Path("unused"), array("Q"), lambda _: run.steps[0], tuple(run.steps))
    assert (steps[0], steps[-1], tuple(steps[1:])) == (run.steps[0], run.steps[2], tuple(run.steps[1:]))
    with pytest.raises(IndexError):
        steps[3]


@pytest.mark.parametrize("path", [EXAMPLES[0], OLDER[0]], ids=lambda path: path.stem)
def test_a_run_that_grows_leaves_its_steps_in_its_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine's speed is known in the first run, and each step may change the checks of all; not in the second."""
    whole, copy = load_run(path), tmp_path / "a.jsonl"
    copy.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    monkeypatch.setattr(store, "MOST_IN_MEMORY", FEW)
    in_memory = growing = replace(whole, steps=())
    with RunWriter(copy, whole.setting, resume=True) as writer:
        for step in whole.steps:
            in_memory, growing = with_step(in_memory, step), with_step(growing, step)
            writer.append(growing.steps[-1])
            growing = leaving_steps(growing, copy)
            assert tuple(growing.steps) == in_memory.steps
    assert isinstance(growing.steps, StoredSteps)
    assert len(growing.steps.latest) <= FEW
    assert tuple(load_run(copy).steps) == in_memory.steps


def test_a_sweep_that_leaves_its_steps_in_its_file_decides_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some steps are retried, and a size is confirmed: its recording has a stretch of half the speed."""
    runs = []
    for few in (MOST_IN_MEMORY, FEW):
        monkeypatch.setattr(store, "MOST_IN_MEMORY", few)
        runs.append(_replayed(tmp_path / f"{few}.jsonl"))
    assert isinstance(runs[1].steps, StoredSteps)
    assert len(runs[0].steps) > len(RECORDED) * runs[0].plan.repeats
    assert tuple(runs[1].steps) == runs[0].steps


RECORDED = {size: 100.0 * min(size, 6) for size in (1, 2, 4, 8, 16)}


def _replayed(path: Path) -> Run:
    by_size = {
        size: Seconds(tuple(rate * (1 + 0.02 * (second % 3)) * (0.5 if second > 70 else 1) for second in range(90)),
                      (10.0,) * 90)
        for size, rate in RECORDED.items()
    }  # fmt: skip
    setting = replace(a_setting(tuple(RECORDED), repeats=3), recording="a.csv", server=None, private=False)
    run = Run(setting, ())
    with RunWriter(path, setting) as writer:
        return sweep(run, (), ReplayGenerator(Recording(by_size), run), writer, lambda _: None)


def test_a_file_that_changes_while_it_is_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(EXAMPLES[0].read_bytes())
    monkeypatch.setattr(store, "MOST_IN_MEMORY", FEW)
    run = load_run(path)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(BadInput, match="has changed while it was read"):
        tuple(run.steps)


RESULTS = {
    "good": (),
    "spoiled": (CheckResult(Check.STEADY_STATE, False, {}),),
    "slow": (CheckResult(Check.SPEED, False, {}),),
    "hopeless": (CheckResult(Check.GENERATOR, False, {}),),
}


@given(
    attempts=st.lists(
        st.tuples(st.sampled_from((1, 2, 4, 3)), st.integers(0, 3), st.sampled_from(sorted(RESULTS))), max_size=40
    ),
    most=st.integers(1, 4),
)
def test_the_progress_of_a_grid_counts_its_steps(attempts: list[tuple[int, int, str]], most: int) -> None:
    """Size 3 and repeat 3 are not planned, as a confirmation's are not."""
    plan = SweepPlan((1, 2, 4), 9, "scan", repeats=3, attempts=most)
    steps = [
        replace(A_STEP, pool_size=size, repeat=repeat, checks=RESULTS[result]) for size, repeat, result in attempts
    ]
    planned = tuple(grid_steps(plan))
    counts = attempt_counts(planned, steps)
    needed = needed_steps(plan, planned, steps, curve_steps(plan, steps))
    expected = sorted(needed, key=lambda step: counts[step_key(step)])
    progress = GridProgress(plan, steps)
    assert [*progress.missing_steps()] == expected
    assert progress.missing_count() == len(expected)
    assert all(progress.attempts_at(step) == counts[step_key(step)] for step in planned)


A_STEP = a_step(1, [100] * 10)
