"""Which steps count, which are missing, and which are measured again."""

from dataclasses import replace

import pytest

from poolsize.analysis.checks import check_step
from poolsize.runs.run import Check, Run, Step, missing_steps
from poolsize.sweep.verification import steps_to_verify
from tests.conftest import a_run, a_step

WHOLE = a_run({1: 100, 2: 200, 4: 205})
SPOILED = Check("steady_state", False, "it drifted")


def spoiled(step: Step) -> Step:
    return replace(step, checks=(*step.checks[:-1], SPOILED))


def sizes(run: Run) -> list[int]:
    return [step.pool_size for step in missing_steps(run.plan, run.steps)]


def test_what_has_no_attempt_comes_first_then_what_chance_has_spoiled() -> None:
    assert sizes(replace(WHOLE, steps=())) == [step.pool_size for step in WHOLE.plan.steps()]
    one, two, four = WHOLE.steps
    assert sizes(replace(WHOLE, steps=(spoiled(one), two))) == [4, 1]
    assert sizes(replace(WHOLE, steps=(spoiled(one), two, four))) == [1]
    assert sizes(replace(WHOLE, steps=(spoiled(one), two, four, one))) == []


def test_the_attempt_that_is_not_void_counts_and_the_others_are_kept() -> None:
    one, two, four = WHOLE.steps
    run = replace(WHOLE, steps=(spoiled(one), two, four, one))
    assert run.curve == (two, four, one)
    assert run.void == (spoiled(one),)


def test_a_step_is_given_up_after_three_attempts() -> None:
    one, two, four = WHOLE.steps
    run = replace(WHOLE, steps=(spoiled(one), two, four, spoiled(one), spoiled(one)))
    assert sizes(run) == []
    assert run.curve == (two, four, spoiled(one))
    assert len(run.void) == 2


def test_what_can_not_be_helped_is_not_measured_again() -> None:
    one, two, four = WHOLE.steps
    busy = replace(four, checks=(Check("generator", False, "busy"),))
    assert sizes(replace(WHOLE, steps=(one, two, busy))) == []


def verifying(steps: tuple[Step, ...] = ()) -> Run:
    plan = replace(WHOLE.plan, verify=(50, 80))
    return Run(replace(WHOLE.setting, plan=plan), (*WHOLE.steps, *steps))


def test_the_answer_and_its_neighbours_are_verified_at_parts_of_their_own_capacity() -> None:
    asked = [(step.pool_size, step.rate) for step in steps_to_verify(verifying())]
    assert [size for size, _ in asked] == [1, 1, 2, 2, 4, 4]
    assert [rate for _, rate in asked] == pytest.approx([50, 80, 100, 160, 102.5, 164], rel=0.03)


def test_a_resumed_verification_goes_on_and_repeats_what_was_spoiled() -> None:
    first, second, third, *_ = steps_to_verify(verifying())
    done = replace(a_step(1, [50] * 10), rate=first.rate)
    done = replace(done, checks=check_step(done, 0.01))
    again = replace(done, rate=second.rate, checks=(SPOILED,))
    run = verifying((done, again))
    assert [step.rate for step in steps_to_verify(run)][:2] == [second.rate, third.rate]
    assert run.curve == WHOLE.steps
    left = steps_to_verify(verifying((done, again, again, again)))
    assert second.rate not in [step.rate for step in left]
