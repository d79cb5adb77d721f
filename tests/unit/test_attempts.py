"""Which steps count, which are missing, and which are measured again."""

from dataclasses import replace

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.attempts import retried_places
from poolsize.answer.from_run import recommend
from poolsize.runs.check import Check
from poolsize.runs.plan import MOST_STEPS, PlannedStep, Search, SearchEnd
from poolsize.runs.run import CheckResult, Run, Step
from poolsize.sweep.next_step import grid_steps, is_retried, missing_steps, next_step, remaining, steps_to_verify
from tests.conftest import a_run, a_step, curve_of

WHOLE = a_run({1: 100, 2: 200, 4: 205})
SPOILED = CheckResult(Check.STEADY_STATE, False, {})


def spoiled(step: Step) -> Step:
    return replace(step, checks=(*step.checks[:-1], SPOILED))


def sizes(run: Run) -> list[int]:
    return [step.pool_size for step in missing_steps(run)]


def test_what_has_no_attempt_comes_first_then_what_chance_has_spoiled() -> None:
    assert sizes(replace(WHOLE, steps=())) == [step.pool_size for step in grid_steps(WHOLE.plan)]
    one, two, four = WHOLE.steps
    assert sizes(replace(WHOLE, steps=(spoiled(one), two))) == [4, 1]
    assert sizes(replace(WHOLE, steps=(spoiled(one), two, four))) == [1]
    assert sizes(replace(WHOLE, steps=(spoiled(one), two, four, one))) == []


def test_the_attempt_that_is_not_void_counts_and_the_others_are_kept() -> None:
    one, two, four = WHOLE.steps
    run = replace(WHOLE, steps=(spoiled(one), two, four, one))
    assert curve_of(run) == (two, four, one)
    assert retried_places(run) == [0]


def test_in_a_search_every_attempt_that_passes_counts() -> None:
    """An attempt that failed by the speed that was usual then may pass in the end, and so may the attempt after it."""
    one, two, four = WHOLE.steps
    search = replace(WHOLE.setting, plan=replace(WHOLE.plan, sizes=(), search=Search(2, 1, 4)))
    steps = (one, one, spoiled(two), two, spoiled(four), spoiled(four))
    assert curve_of(Run(search, steps)) == (one, one, two, spoiled(four))
    assert curve_of(replace(WHOLE, steps=steps)) == (one, two, spoiled(four))


def test_a_step_is_given_up_after_three_attempts() -> None:
    one, two, four = WHOLE.steps
    run = replace(WHOLE, steps=(spoiled(one), two, four, spoiled(one), spoiled(one)))
    assert sizes(run) == []
    assert curve_of(run) == (two, four, spoiled(one))
    assert len(retried_places(run)) == 2


def test_an_overload_is_confirmed_once() -> None:
    """Chance may make a queue grow, or leave a step undecided; a second step that shows the same is the answer."""
    one, two, four = WHOLE.steps
    queued = failing(one, Check.ARRIVALS)
    assert sizes(replace(WHOLE, steps=(queued, two, four))) == [1]
    assert curve_of(replace(WHOLE, steps=(queued, two, four, one))) == (two, four, one)
    confirmed = replace(WHOLE, steps=(queued, two, four, queued))
    assert sizes(confirmed) == []
    assert remaining(confirmed) is None
    disturbed = failing(one, Check.QUIET)
    assert sizes(replace(WHOLE, steps=(queued, two, four, disturbed))) == [1]


def test_a_valid_attempt_counts_before_later_ones_that_are_disqualified() -> None:
    one, two, four = WHOLE.steps
    slow = replace(one, checks=(CheckResult(Check.SPEED, False, {}),))
    disturbed = replace(one, checks=(CheckResult(Check.QUIET, False, {}),))
    assert slow.valid
    assert slow.retryable
    assert not disturbed.valid
    for steps in ((slow, disturbed, disturbed), (disturbed, slow, disturbed), (disturbed, disturbed, slow)):
        assert slow in curve_of(replace(WHOLE, steps=(*steps, two, four)))


def test_what_can_not_be_helped_is_not_measured_again() -> None:
    one, two, four = WHOLE.steps
    busy = replace(four, checks=(CheckResult(Check.GENERATOR, False, {}),))
    assert sizes(replace(WHOLE, steps=(one, two, busy))) == []


def test_a_run_that_holds_no_further_step_is_complete() -> None:
    full = replace(WHOLE, steps=(*WHOLE.steps, *[spoiled(WHOLE.steps[0])] * (MOST_STEPS - 3)))
    plan = replace(WHOLE.plan, attempts=1_000, verify=(50,))
    assert next_step(replace(full, setting=replace(WHOLE.setting, plan=plan))) is None
    search = replace(WHOLE.plan, sizes=(), search=Search(2, 1, 4))
    assert next_step(replace(full, setting=replace(WHOLE.setting, plan=search))) is SearchEnd.BUDGET


def verifying(steps: tuple[Step, ...] = ()) -> Run:
    plan = replace(WHOLE.plan, verify=(50, 80))
    return Run(replace(WHOLE.setting, plan=plan), (*WHOLE.steps, *steps))


def test_the_answer_is_verified_at_parts_of_its_throughput() -> None:
    asked = [(step.pool_size, step.rate) for step in steps_to_verify(verifying())]
    assert asked == [(2, 100), (2, 160)]


@pytest.mark.costly
def test_with_a_latency_limit_the_size_within_it_is_verified() -> None:
    """The total times are 640 ms with 1 connection, 320 with 2, and 312 with 4."""
    run, sizes = verifying(), []
    for limit_ms in (640.0, 316.0, 1.0):
        limited = replace(run, setting=replace(run.setting, plan=replace(run.plan, max_p95_ms=limit_ms)))
        sizes.append(recommend(limited).pool_size)
        assert {step.pool_size for step in steps_to_verify(limited)} == {sizes[-1]}
    assert len({*sizes}) > 1


@pytest.mark.costly
def test_a_search_repeats_a_verification_only_within_its_budget() -> None:
    for seconds, repeated in ((60, True), (50, False)):  # three steps of 11 s, and an attempt of 11 s
        plan = replace(WHOLE.plan, sizes=(), verify=(50,), search=Search(2, 1, 4, budget_seconds=seconds))
        run = replace(WHOLE, setting=replace(WHOLE.setting, plan=plan), ended=SearchEnd.CERTAIN)
        first = next_step(run)
        assert isinstance(first, PlannedStep)
        assert (first.pool_size, first.order) == (recommend(run).pool_size, 3)
        spoilt = replace(spoiled(a_step(first.pool_size, [100] * 10, order=3)), rate=first.rate)
        run = replace(run, steps=(*run.steps, spoilt))
        again = next_step(run)
        assert (again is not None) == is_retried(run, again) == repeated


@pytest.mark.parametrize("budget_seconds", [33, 34, 40, 47, 60, 75, 90, 120, 200])
def test_a_search_and_its_verification_take_no_more_than_the_budget(budget_seconds: int) -> None:
    """Every step lasts as long as it may, and every other verification has to be repeated."""
    plan = replace(WHOLE.plan, sizes=(), verify=(50, 80), search=Search(2, 1, 4, budget_seconds=budget_seconds))
    run = Run(replace(WHOLE.setting, plan=plan), ())
    while decision := next_step(run):
        if isinstance(decision, SearchEnd):
            run = replace(run, ended=decision)
            continue
        assert decision.most_seconds
        seconds = min(plan.longest_seconds, decision.most_seconds)
        step = replace(a_step(decision.pool_size, [100] * (seconds - 1), order=decision.order), rate=decision.rate)
        if decision.rate and len(run.steps) % 2:
            step = spoiled(step)
        run = replace(run, steps=(*run.steps, replace(step, repeat=decision.repeat)))
    assert run.load_seconds <= budget_seconds
    assert len({step.rate for step in run.steps if step.rate}) == 2


@pytest.mark.costly
def test_a_resumed_verification_goes_on_and_repeats_what_was_spoiled() -> None:
    first, second = steps_to_verify(verifying())
    done = replace(a_step(2, [100] * 10), rate=first.rate, checks=())
    again = replace(done, rate=second.rate, checks=(SPOILED,))
    queued = failing(again, Check.ARRIVALS)
    assert second.rate in [step.rate for step in steps_to_verify(verifying((done, queued)))]
    assert second.rate not in [step.rate for step in steps_to_verify(verifying((done, queued, queued)))]
    run = verifying((done, again))
    assert [step.rate for step in steps_to_verify(run)] == [second.rate]
    assert curve_of(run) == WHOLE.steps
    left = steps_to_verify(verifying((done, again, again, again)))
    assert second.rate not in [step.rate for step in left]


def failing(step: Step, check: Check, repeat: int = 0) -> Step:
    return replace(step, repeat=repeat, checks=(CheckResult(check, False, {}),))


@pytest.mark.parametrize("check", [check for check in Check if check.disqualifies])
def test_a_repeat_that_failed_takes_nothing_from_the_other_repeats(check: Check) -> None:
    """The size keeps its valid repeat; before, it was left out with all of its repeats."""
    one, two, four = WHOLE.steps
    plan = replace(WHOLE.plan, repeats=2, attempts=1)
    steps = (one, two, four, replace(one, repeat=1), failing(two, check, repeat=1), replace(four, repeat=1))
    analysis = analyze(Run(replace(WHOLE.setting, plan=plan), steps))
    assert [size.pool_size for size in analysis.valid_sizes] == [1, 2, 4]
    assert [size.repeats for size in analysis.valid_sizes] == [2, 1, 2]
    assert analysis.excluded == (steps[4],)
    assert analysis.at(2).throughput.mean == pytest.approx(two.mean_throughput)


def test_a_size_whose_repeats_all_failed_is_left_out_and_still_shown() -> None:
    one, two, four = WHOLE.steps
    analysis = analyze(replace(WHOLE, steps=(one, failing(two, Check.ERRORS), four)))
    assert [size.pool_size for size in analysis.valid_sizes] == [1, 4]
    assert [size.pool_size for size in analysis.sizes] == [1, 2, 4]
    assert analysis.excluded == ()


def test_a_run_without_a_step_at_its_rate_has_no_sizes() -> None:
    run = replace(WHOLE, setting=replace(WHOLE.setting, plan=replace(WHOLE.plan, rate=0.5)))
    assert analyze(run).sizes == ()


def test_next_step_decides_grid_retry_and_verification() -> None:
    one, two, four = WHOLE.steps
    run = verifying()
    assert next_step(replace(run, steps=())) == next(grid_steps(run.plan))
    retried = next_step(replace(run, steps=(spoiled(one), two, four)))
    assert isinstance(retried, PlannedStep)
    assert (retried.pool_size, retried.rate) == (1, None)
    verification = next_step(run)
    assert isinstance(verification, PlannedStep)
    assert verification.rate is not None
    assert next_step(WHOLE) is None
    assert remaining(replace(WHOLE, steps=(one,))) == "2 of 3 steps are missing"
    assert remaining(WHOLE) is None
