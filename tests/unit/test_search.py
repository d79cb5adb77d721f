"""What a search measures next, on curves whose answer is known."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.plateau import Plateau
from poolsize.errors import BadInput
from poolsize.runs.check import Check
from poolsize.runs.plan import PlannedStep, Search, SearchEnd, SweepPlan
from poolsize.runs.run import CheckResult, Run, Step
from poolsize.sweep.search import next_of_search
from tests.conftest import a_setting, a_step

SEARCH = Search(start=17, smallest=1, largest=136)
PLAN = SweepPlan((), 300, "scan", warm_up_seconds=1, step_seconds=10, search=SEARCH)
A_STEP = replace(a_step(1, [100] * 10), latencies=None, checks=())
Curve = Callable[[int], float]


def decide(plan: SweepPlan, steps: tuple[Step, ...]) -> PlannedStep | SearchEnd:
    assert plan.search is not None
    return next_of_search(plan, plan.search, steps)


def saturating(size: int) -> float:
    """Rises to its plateau, which begins at 20, where 21 would be the full rate."""
    return 1000 * min(1.0, size / 21)


def measured(
    planned: PlannedStep, curve: Curve, random: np.random.Generator, dips: Mapping[int, float] | None = None
) -> Step:
    """A step with 2 % noise of its own beside that of its seconds; dips: order -> what chance leaves of it."""
    level = curve(planned.pool_size) * (1 + 0.02 * random.standard_normal()) * (dips or {}).get(planned.order, 1.0)
    counted = tuple(level * (1 + 0.02 * random.standard_normal()) for _ in range(10))
    return replace(
        A_STEP, pool_size=planned.pool_size, order=planned.order, repeat=planned.repeat, throughput=(0, *counted)
    )


def searched(
    curve: Curve,
    plan: SweepPlan = PLAN,
    seed: int = 1,
    dips: Mapping[int, float] | None = None,
    checked: Callable[[Step], Step] = lambda step: step,
) -> tuple[Step, ...]:
    random = np.random.default_rng(seed)
    steps: tuple[Step, ...] = ()
    while isinstance(planned := decide(plan, steps), PlannedStep):
        steps = (*steps, checked(measured(planned, curve, random, dips)))
    return steps


def judged(check: Check, passes: Callable[[Step], bool]) -> Callable[[Step], Step]:
    """What checks a step by one check alone."""
    return lambda step: replace(step, checks=(CheckResult(check, passes(step), {}),))


def filled(wanting: Callable[[int], int]) -> Callable[[Step], Step]:
    """What checks whether users fill a pool. wanting: pool size -> users who want a connection at a time."""

    def check(step: Step) -> Step:
        users = wanting(step.pool_size)
        passed = users >= 1.1 * step.pool_size
        return replace(step, checks=(CheckResult(Check.USERS_LIMITED, passed, {"wanting_users": users}),))

    return check


def ended(plan: SweepPlan, steps: tuple[Step, ...]) -> SearchEnd:
    end = decide(plan, steps)
    assert isinstance(end, SearchEnd)
    return end


def plateau_of(steps: tuple[Step, ...], plan: SweepPlan = PLAN) -> Plateau:
    plateau = analyze(Run(replace(a_setting((1,)), plan=plan), steps, ended=ended(plan, steps))).plateau
    assert plateau is not None
    return plateau


def answer(steps: tuple[Step, ...], plan: SweepPlan = PLAN) -> int:
    return plateau_of(steps, plan).pool_size


@pytest.mark.costly
def test_it_begins_around_the_formula_then_goes_where_the_curve_leads() -> None:
    assert [step.pool_size for step in searched(saturating)[:3]] == [17, 8, 34]
    assert max(step.pool_size for step in searched(lambda size: 1000 * size / (size + 60))) > 68
    assert min(step.pool_size for step in searched(lambda size: 1000 * min(1.0, size / 2))) <= 2


@pytest.mark.costly
def test_the_same_steps_lead_to_the_same_next_one() -> None:
    steps = searched(saturating)
    assert all(decide(PLAN, steps[:number]) == decide(PLAN, steps[:number]) for number in range(len(steps)))
    assert [decide(PLAN, steps[:number]) for number in range(len(steps))] == [
        PlannedStep(step.order, step.pool_size, step.repeat) for step in steps
    ]


@pytest.mark.costly
@pytest.mark.parametrize("curve", [saturating, lambda size: 1000 * size / (size + 8) * (1 - size / 500)])
def test_the_answer_is_near_the_truth_from_any_start(curve: Curve) -> None:
    best = max(map(curve, range(1, 137)))
    truth = next(size for size in range(1, 137) if curve(size) >= 0.95 * best)
    for start in (2, 5, 17, 60, 136):
        plan = replace(PLAN, search=replace(SEARCH, start=start))
        size = answer(searched(curve, plan), plan)
        assert curve(size) >= 0.93 * best
        assert size <= 1.4 * truth


@pytest.mark.long
def test_one_noisy_dip_or_peak_does_not_fool_it() -> None:
    """Whichever step it is that loses or gains a third."""
    for order in range(8):
        for what_is_left in (0.67, 1.33):
            size = answer(searched(saturating, dips={order: what_is_left}))
            assert saturating(size) >= 0.93 * 1000, (order, what_is_left)
            assert size <= 1.7 * 20, (order, what_is_left)


@pytest.mark.costly
def test_it_stops_within_its_budget_and_says_which_it_was() -> None:
    certain = searched(saturating)
    assert ended(PLAN, certain) == "certain"
    assert sum(len(step.throughput) for step in certain) < SEARCH.budget_seconds
    poor = replace(PLAN, search=replace(SEARCH, budget_seconds=50))
    steps = searched(saturating, poor)
    assert sum(len(step.throughput) for step in steps) <= 50
    assert ended(poor, steps) == "budget"
    assert len(searched(saturating, replace(PLAN, search=replace(SEARCH, budget_seconds=1)))) == 1
    verifying = searched(saturating, replace(poor, verify=(70, 80)))
    assert verifying == steps[:-2]  # an open-loop step is as long as one of the search


@pytest.mark.long
def test_it_ends_with_a_wide_range_where_a_wrong_answer_would_hardly_cost() -> None:
    """By the range alone, it would measure on."""
    searches = [searched(saturating, seed=seed) for seed in range(8)]
    assert {ended(PLAN, steps) for steps in searches} == {"certain"}
    plateaus = [plateau_of(steps) for steps in searches]
    assert any(plateau.high > max(plateau.pool_size, SEARCH.interval * plateau.low) for plateau in plateaus)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 2, 4, 5])
def test_a_size_that_was_faster_than_capacity_is_measured_a_third_time_like_the_answer(seed: int) -> None:
    """Two steps in a row, disturbed upwards: with two steps at 128, capacity would be 25 % below their mean."""
    steps = searched(saturating, seed=seed, dips={4: 1.3, 5: 1.25})
    estimate, sizes = plateau_of(steps), Counter(step.pool_size for step in steps)
    means = {size: sum(s.mean_throughput for s in steps if s.pool_size == size) / sizes[size] for size in sizes}
    best = max(means, key=means.__getitem__)
    assert means[best] <= 1.05 * estimate.capacity or min(sizes[best], sizes[estimate.pool_size]) >= 3
    assert sum(len(step.throughput) for step in steps) < SEARCH.budget_seconds


@pytest.mark.costly
def test_a_failed_attempt_confirms_nothing() -> None:
    """Every second step fails, and the answer's size still has two valid ones."""
    steps = searched(saturating, checked=judged(Check.QUIET, lambda step: step.order % 2 == 1))
    size = answer(steps)
    assert sum(step.pool_size == size and step.valid for step in steps) >= 2


@pytest.mark.costly
def test_a_narrower_interval_takes_more_steps() -> None:
    narrow = replace(PLAN, search=replace(SEARCH, interval=1.05))
    assert len(searched(saturating, narrow)) > len(searched(saturating))


@pytest.mark.costly
def test_pools_that_users_can_not_fill_bound_the_search() -> None:
    limited = judged(Check.USERS_LIMITED, lambda step: step.pool_size <= 40)
    steps = searched(lambda size: 100.0 * size, checked=limited)
    sizes = [step.pool_size for step in steps]
    assert sum(size > 40 for size in sizes) <= 6
    assert answer(steps) in range(34, 41)


def test_users_who_pause_show_at_once_which_pools_they_can_not_fill() -> None:
    """200 users pause for 50 ms after each millisecond of work: from 4 connections on, 4 users want one at a time."""
    limited = filled(lambda size: max(4, 200 - 50 * size))
    steps = searched(lambda size: min(1_000.0 * size, 3_920.0), checked=limited)
    assert sum(not step.valid for step in steps) <= 3
    assert {step.pool_size for step in steps if step.valid} == {2, 3}


def test_a_pool_that_users_just_fill_shows_that_they_fill_no_larger_one() -> None:
    """From 8 connections on, 9 users want one at a time: they fill 8, and not 9."""
    steps = searched(lambda size: 100.0 * size, checked=filled(lambda size: max(9, 80 - 9 * size)))
    assert {step.pool_size for step in steps if not step.valid} <= {17, 9}
    assert max(step.pool_size for step in steps if step.valid) == 8


@pytest.mark.costly
def test_an_attempt_that_failed_for_another_reason_tells_nothing_of_the_users() -> None:
    def failing_first(step: Step) -> Step:
        failed = step.order == 0
        errors = CheckResult(Check.ERRORS, not failed, {})
        filling = CheckResult(Check.USERS_LIMITED, not failed, {"wanting_users": 0.0 if failed else 100.0})
        return replace(step, checks=(errors, filling))

    assert [step.pool_size for step in searched(saturating, checked=failing_first)[:4]] == [17, 17, 8, 34]


@pytest.mark.costly
def test_a_size_that_is_spoiled_again_and_again_is_given_up() -> None:
    steps = searched(saturating, checked=judged(Check.ERRORS, lambda step: step.pool_size != 17))
    assert sum(step.pool_size == 17 for step in steps) == PLAN.attempts
    assert answer(steps) in range(19, 28)


@pytest.mark.costly
def test_a_repeat_that_is_spoiled_takes_nothing_from_the_size() -> None:
    """Neither does a larger size that was measured vanish, nor is the search capped below it."""
    for spoil in (8, 17, 34, 68):
        seen: list[Step] = []

        def every_second(step: Step, spoil: int = spoil, seen: list[Step] = seen) -> bool:
            seen.append(step)
            at_it = sum(step.pool_size == spoil for step in seen)
            return step.pool_size != spoil or at_it % 2 == 1

        assert answer(searched(saturating, checked=judged(Check.QUIET, every_second))) in range(19, 30)


@pytest.mark.costly
def test_a_size_that_always_drifts_does_not_take_the_whole_budget() -> None:
    steady = judged(Check.STEADY_STATE, lambda step: step.pool_size not in {17, 23})
    steps = searched(saturating, checked=steady)
    assert max(sum(step.pool_size == size for step in steps) for size in (17, 23)) <= PLAN.attempts + 1


def test_users_too_few_for_any_pool_end_the_search() -> None:
    plan = replace(PLAN, search=replace(SEARCH, start=1, largest=1))
    steps = searched(saturating, plan, checked=judged(Check.USERS_LIMITED, lambda _: False))
    assert len(steps) == 1
    assert ended(plan, steps) == "failed"


def test_nothing_but_failures_ends_the_search() -> None:
    steps = searched(lambda _: 1.0, checked=lambda step: replace(step, throughput=(0,) * 11))
    assert len(steps) <= 10
    assert ended(PLAN, steps) == "failed"


@pytest.mark.parametrize(("field", "value"), [("interval", 1), ("budget_seconds", 0)])
def test_a_search_that_can_not_be_is_refused(field: str, value: float) -> None:
    with pytest.raises(BadInput, match=str(value)):
        replace(SEARCH, **{field: value})  # type: ignore[arg-type]  # by name
