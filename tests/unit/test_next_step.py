"""The next step of a grid, decided step by step, is that of the whole run, whatever the machine's speed was."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poolsize.runs import store
from poolsize.runs.check import Check, CheckResult
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Run
from poolsize.runs.speed import with_step
from poolsize.runs.store import RunWriter, leaving_steps
from poolsize.sweep.next_step import Decisions, next_step
from tests.conftest import a_setting, a_step, at_speed

SPEEDS = {"usual": 48.0, "slow": 24.0, "unknown": None}
CHECKS = {"good": (), "spoiled": (CheckResult(Check.STEADY_STATE, False, {}),)}
A_STEP = a_step(1, [100] * 10)

outcomes = st.lists(st.tuples(st.sampled_from(sorted(SPEEDS)), st.sampled_from(sorted(CHECKS))), max_size=40)
USUAL, SLOW, UNKNOWN = ("usual", "good"), ("slow", "good"), ("unknown", "good")


def longer(run: Run, planned: PlannedStep, speed: str, result: str) -> Run:
    """Return a run with one more step."""
    step = replace(A_STEP, pool_size=planned.pool_size, repeat=planned.repeat, order=planned.order)
    figure = SPEEDS[speed]
    step = step if figure is None else at_speed(step, figure)
    return with_step(run, replace(step, checks=CHECKS[result]))


@pytest.mark.long
@given(outcomes=outcomes, repeats=st.integers(1, 3), attempts=st.integers(1, 4))
@example(outcomes=[SLOW, USUAL, USUAL, USUAL, USUAL, UNKNOWN], repeats=2, attempts=3)
def test_each_decision_is_that_of_the_whole_run(outcomes: list[tuple[str, str]], repeats: int, attempts: int) -> None:
    setting = a_setting((1, 2, 4), repeats=repeats)
    run = Run(replace(setting, plan=replace(setting.plan, attempts=attempts)), ())
    decisions = Decisions(run)
    for speed, result in outcomes:
        planned = decisions.next_step(run)
        assert planned == next_step(run)
        if not isinstance(planned, PlannedStep):
            break
        assert decisions.latest_attempt(run, planned) == Decisions(run).latest_attempt(run, planned)
        run = longer(run, planned, speed, result)
        decisions.add(run)
    assert decisions.next_step(run) == next_step(run)


@pytest.mark.parametrize("most", range(1, 8))
@pytest.mark.parametrize("last", [USUAL, UNKNOWN])
def test_a_run_that_leaves_its_steps_in_its_file_keeps_its_speed_checks(
    most: int, last: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step without a speed changes no check; the steps before it move to the file with theirs."""
    monkeypatch.setattr(store, "MOST_IN_MEMORY", most)
    path, setting = tmp_path / "a.jsonl", a_setting((1, 2, 4), repeats=2)
    in_memory = in_file = Run(setting, ())
    with RunWriter(path, setting) as writer:
        for speed, result in [USUAL, SLOW, USUAL, last, USUAL, last]:
            planned = next_step(in_memory)
            assert isinstance(planned, PlannedStep)
            in_memory, in_file = longer(in_memory, planned, speed, result), longer(in_file, planned, speed, result)
            writer.append(in_file.steps[-1])
            in_file = leaving_steps(in_file, path)
            assert tuple(in_file.steps) == in_memory.steps
            assert next_step(in_file) == next_step(in_memory)
    assert any(step.had_other_speed for step in in_memory.steps)
