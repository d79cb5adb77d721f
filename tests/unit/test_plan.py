"""The plan: its order, its bounds, and the sizes as a user types them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.errors import BadInput
from poolsize.runs.plan import Search, SweepPlan
from poolsize.sweep.next_step import grid_steps
from poolsize.sweep.readers import pool_sizes, read, seconds


@pytest.mark.costly
@given(
    sizes=st.sets(st.integers(1, 500), min_size=1, max_size=9), repeats=st.integers(1, 4), seed=st.integers(0, 10**15)
)
def test_each_repeat_measures_every_size_once_and_the_seed_fixes_the_order(
    sizes: set[int], repeats: int, seed: int
) -> None:
    plan = SweepPlan(tuple(sorted(sizes)), 9, "scan", repeats=repeats, seed=seed)
    steps = [*grid_steps(plan)]
    assert steps == [*grid_steps(plan)]
    assert [step.order for step in steps] == list(range(len(sizes) * repeats))
    for repeat in range(repeats):
        assert {step.pool_size for step in steps if step.repeat == repeat} == sizes


def test_the_order_is_not_the_curve() -> None:
    orders = {
        tuple(step.pool_size for step in grid_steps(SweepPlan((1, 2, 4, 8), 9, "scan", seed=seed)))
        for seed in range(20)
    }
    assert len(orders) > 5


def test_sizes_are_read_sorted_and_once() -> None:
    assert pool_sizes("8, 1,4,4") == (1, 4, 8)


@pytest.mark.parametrize("text", ["1,0", "1,,2", "a", "-4", "1.5", "", "1 4 8"])
def test_what_is_no_size_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadInput, match="`sizes`"):
        read("sizes", text, pool_sizes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("550ms", 0.55), ("15s", 15), ("2m", 120), ("10h", 36_000), ("1d", 86_400), ("3", 3), ("0", 0), ("1.5s", 1.5)],
)
def test_durations_have_units(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "-1s", "5w", "nan", "inf", "1sm"])
def test_what_is_no_duration_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadInput, match="`pool_timeout_seconds`"):
        read("pool_timeout_seconds", text, seconds)


@pytest.mark.parametrize("field", ["step_seconds", "warm_up_seconds"])
def test_a_step_that_is_too_long_for_a_line_of_a_run_is_refused(field: str) -> None:
    with pytest.raises(BadInput, match=f"`{field}` 7201s: give at most 7,200s"):
        replace(SweepPlan((1,), 9, "scan"), **{field: 7201})  # type: ignore[arg-type]  # the name is a parameter


def test_a_plan_has_5000_steps_at_most() -> None:
    assert SweepPlan((1, 2, 4, 8, 16), 9, "scan", repeats=1000).repeats == 1000
    with pytest.raises(BadInput, match="`repeats` 1000: 6,000 steps, and a run holds 5,000 at most"):
        SweepPlan((1, 2, 4, 8, 16, 32), 9, "scan", repeats=1000)
    search = Search(2, 1, 4, budget_seconds=5_000 * 18)
    assert SweepPlan((), 9, "scan", search=search).search == search
    with pytest.raises(BadInput, match="`budget_seconds` 90001s: a run holds 5,000 steps at most"):
        SweepPlan((), 9, "scan", search=replace(search, budget_seconds=90_001))
