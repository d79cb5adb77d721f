"""Comparing runs: refused where more than one field differs, right where the difference is known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.comparison.comparison import Comparison, compare
from poolsize.comparison.plots import plot_differences
from poolsize.comparison.text import comparison_text, comparison_values, difference_sentences, run_names
from poolsize.errors import BadInput, WorkFailed
from poolsize.runs.check import Check
from poolsize.runs.compared_field import compared_field
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import QUANTILES, Calibration, CheckResult, Run, Step
from tests.conftest import Command, a_run, a_setting, a_step

CURVE = {1: 100, 2: 195, 4: 360, 8: 500, 16: 520, 32: 515}


def noisy(random: np.random.Generator, factor: float = 1.0, tail: float = 1.0) -> Analysis:
    """A run of 15 s steps whose seconds resemble their neighbours (AR(1), 0.5), and whose steps differ by 1.5 %."""
    steps = []
    for order, (size, rate) in enumerate(CURVE.items()):
        level = rate * factor * (tail if size == 32 else 1.0) * random.normal(1, 0.015)
        noise, seconds = 0.0, []
        for _ in range(15):
            noise = 0.5 * noise + random.normal(0, 0.03 * level)
            seconds.append(max(1, round(level + noise)))
        steps.append(with_sections(a_step(size, seconds, order=order), random))
    setting = a_setting(tuple(CURVE))
    return analyze(Run(setting, tuple(steps)))


def with_sections(step: Step, random: np.random.Generator) -> Step:
    """The p95 in five parts of the step, 2 % apart."""
    p95_ms = step.p95_ms[0]
    parts = tuple((p95_ms * random.normal(1, 0.02, 5)).tolist())
    return replace(step, sections={"total": dict.fromkeys(QUANTILES, parts)})


def with_setting(run: Run, **different: Any) -> Run:
    plan = {name: value for name, value in different.items() if hasattr(run.plan, name)}
    server = {
        name: value for name, value in different.items() if run.setting.server and name in vars(run.setting.server)
    }
    rest = {name: value for name, value in different.items() if name not in plan and name not in server}
    assert run.setting.server is not None
    setting = replace(run.setting, plan=replace(run.plan, **plan), server=replace(run.setting.server, **server), **rest)
    return replace(run, setting=setting)


@pytest.mark.costly
def test_turned_round_every_difference_is_its_inverse() -> None:
    random = np.random.default_rng(6)
    first, second = noisy(random), noisy(random, 1.1, tail=0.6)
    (forward,), (back,) = compare({"a": first, "b": second}).others, compare({"b": second, "a": first}).others
    for there, again in ((forward.throughput, back.throughput), (forward.p95, back.p95), *(
        (ours.throughput, theirs.throughput) for ours, theirs in zip(forward.sizes, back.sizes, strict=True)
    )):  # fmt: skip
        assert there is not None
        assert again is not None
        assert 1 + there.mean == pytest.approx(1 / (1 + again.mean))
        assert 1 + there.low == pytest.approx(1 / (1 + again.high))
        assert there.significant == again.significant


@pytest.mark.costly
def test_every_step_counts_where_one_run_has_more_of_them() -> None:
    once, more = a_run({1: 100, 2: 200, 4: 390}), a_run({1: 110, 2: 220, 4: 429})
    again = tuple(replace(step, repeat=1) for step in a_run({1: 130, 2: 260, 4: 507}).steps)
    twice = replace(more, steps=(*more.steps, *again))
    twice = replace(twice, setting=replace(more.setting, plan=replace(more.plan, repeats=2)))
    (difference,) = compare({"once": analyze(once), "twice": analyze(twice)}).others
    assert difference.throughput is not None
    assert difference.throughput.mean == pytest.approx(0.2, abs=1e-3)


@pytest.mark.costly
def test_a_known_difference_is_found_and_told() -> None:
    random = np.random.default_rng(3)
    comparison = compare({"before": noisy(random), "after": noisy(random, 1.2)})
    (difference,) = comparison.others
    assert difference.throughput is not None
    assert difference.throughput.low < 0.2 < difference.throughput.high
    assert difference.throughput.significant
    assert difference.p95 is not None
    assert difference.p95.high < 0
    text = difference_sentences(comparison, difference)
    assert text[0].startswith("after has ")
    assert text[0].endswith("a significant difference.")


@pytest.mark.costly
def test_a_difference_at_one_size_is_found_there_and_nowhere_else() -> None:
    random = np.random.default_rng(4)
    (difference,) = compare({"before": noisy(random), "after": noisy(random, tail=0.6)}).others
    assert list(difference.significant_sizes) == [32]
    assert difference.significant_sizes[32].low < -0.4 < difference.significant_sizes[32].high


@pytest.mark.costly
def test_equal_runs_do_not_differ() -> None:
    run = noisy(np.random.default_rng(5))
    comparison = compare({"before": run, "after": run})
    assert comparison.field is None
    assert comparison.others[0].throughput is not None
    assert comparison.others[0].throughput.mean == 0
    assert "No significant difference in throughput" in " ".join(comparison_text(comparison).split())


def test_the_one_field_is_found_by_itself() -> None:
    run = a_run({1: 100, 2: 200, 4: 390})
    for different, field in (
        ({"thread_handling": "pool-of-threads"}, "thread_handling"),
        ({"version": "11.4.2-MariaDB"}, "server"),
        ({"workload": "insert"}, "workload"),
        ({"think_time_ms": 5.0}, "think_time"),
        ({"server_options": {"innodb_io_capacity": "100"}}, "innodb_io_capacity"),
        ({"server_options": {"thread_pool_size": "8"}, "thread_handling": "pool-of-threads"}, "thread_handling"),
        ({"pool": PoolKind.SQLALCHEMY}, "pool"),
        ({"schema": "shop"}, "schema"),
        ({"durable": False}, "innodb_flush_log_at_trx_commit"),
        ({"created": "2027-01-01T00:00:00+00:00"}, None),
    ):
        assert compared_field({"a": run, "b": with_setting(run, **different)}) == field


@pytest.mark.parametrize(
    ("across", "different", "message"),
    [
        (
            None,
            {"workload": "insert", "think_time_ms": 5.0},
            "workload is scan in a and insert in b; think_time is 0 ms",
        ),
        ("server", {"version": "11.4", "workload": "insert"}, "workload is scan in a and insert in b"),
        ("server", {"workload": "insert"}, "`across` server: every run has the value MariaDB 10.11.6"),
        ("frob", {}, "`across` frob: a run has no such field"),
    ],
)
def test_a_further_difference_is_refused_by_its_name_and_values(
    across: str | None, different: dict[str, Any], message: str
) -> None:
    run = a_run({1: 100, 2: 200, 4: 390})
    with pytest.raises(BadInput, match=message.replace("(", r"\(")):
        compared_field({"a": run, "b": with_setting(run, **different)}, across)


def test_at_a_fixed_rate_latencies_are_compared() -> None:
    run = a_run({1: 100, 2: 100, 4: 100})
    random = np.random.default_rng(8)
    steps = tuple(with_sections(replace(step, rate=100.0), random) for step in run.steps)
    run = replace(run, setting=replace(run.setting, plan=replace(run.plan, rate=100.0)), steps=steps)
    comparison = compare({"a": analyze(run), "b": analyze(run)})
    (difference,) = comparison.others
    assert difference.throughput is None
    assert [size.pool_size for size in difference.sizes] == [1, 2, 4]
    assert "No significant difference in p95" in " ".join(comparison_text(comparison).split())
    assert plot_differences(Figure().subplots(), comparison).get_ylabel() == "p95 against the first run"
    assert comparison_values(comparison)["differences"][0]["throughput"] is None


def test_what_the_load_itself_limited_is_told() -> None:
    busy = analyze(a_run({1: 100, 2: 200, 4: 390}, cpu=0.99))
    text = comparison_text(compare({"a": analyze(a_run({1: 100, 2: 200, 4: 390})), "b": busy}))
    assert "(the check `generator` failed)" in " ".join(text.split())


def test_a_size_that_a_check_voids_is_left_out_and_told() -> None:
    run = a_run({1: 100, 2: 200, 64: 390})  # as many connections as users
    comparison = compare({"a": analyze(run), "b": analyze(run)})
    assert [size.pool_size for size in comparison.others[0].sizes] == [1, 2]
    assert "Not compared: the pool size 64, because" in " ".join(comparison_text(comparison).split())


def test_sizes_that_do_not_meet_are_refused() -> None:
    with pytest.raises(BadInput, match="a measured 1, 2 connections and b 4, 8, no size in both"):
        compare({"a": analyze(a_run({1: 100, 2: 200})), "b": analyze(a_run({4: 100, 8: 200}))})


def test_an_incomplete_run_is_not_compared() -> None:
    run = a_run({1: 100, 2: 200})
    with pytest.raises(WorkFailed, match="b is incomplete"):
        compare({"a": analyze(run), "b": analyze(replace(run, steps=run.steps[:1]))})


def test_a_run_without_an_answer_is_refused_with_its_cause() -> None:
    run = a_run({1: 100, 2: 200})
    busy = CheckResult(Check.QUIET, False, {"other_cores": 1.2, "cores": 2.0, "busy_cores": 2.0})
    disturbed = replace(run, steps=tuple(replace(step, checks=(busy,)) for step in run.steps) * 3)
    with pytest.raises(WorkFailed, match=r"b has no answer: Other programs used 1\.2") as error:
        compare({"a": analyze(run), "b": analyze(disturbed)})
    assert "measure again" in str(error.value)


def with_loop(run: Run, loop_us: float) -> Analysis:
    return analyze(replace(run, calibration=Calibration(loop_us, 60.0)))


@pytest.mark.costly
def test_a_machine_of_another_speed_is_told() -> None:
    run = a_run({1: 100, 2: 200, 4: 390})

    def compared(loop_us: float) -> Comparison:
        return compare({"a": with_loop(run, 6.0), "b": with_loop(run, loop_us)})

    assert "was slower than in the first run" in comparison_text(compared(7.5))
    assert "than in the first run" not in comparison_text(compared(6.2))


def test_the_command_refuses_what_it_can_not_compare(poolsize_here: Command) -> None:
    for arguments, message in (
        (("a.jsonl",), "1 run given: name two or more"),
        (("a.jsonl", "a.jsonl"), "is named twice"),
    ):
        done = poolsize_here("compare", *arguments)
        assert done.returncode == 2
        assert message in done.stderr


def test_a_shipped_locustfile_with_other_words_is_no_difference() -> None:
    """A docstring that changed with an upgrade must not keep runs apart; a user's own file is compared by its text."""
    first = a_run(CURVE)
    later = with_setting(first, workload_sha256="1" * 64)
    assert compared_field({"first": first, "later": later}) is None
    own = [with_setting(run, own_workload="shop.py") for run in (first, later)]
    assert compared_field({"first": own[0], "later": own[1]}) == "locustfile"


def test_names_are_as_short_as_tells_them_apart() -> None:
    assert run_names(["a/scan.jsonl", "b/insert.jsonl"]) == ["scan", "insert"]
    assert run_names(["/x/before/run.jsonl", "/x/after/run.jsonl"]) == ["before/run", "after/run"]
    assert run_names(["run.jsonl", "after/run.jsonl"]) == ["run", "after/run"]
    assert run_names(["a.jsonl", "b.jsonl"]) == ["a", "b"]
