"""The step in an open loop that ends a search: what it adds to an answer, and what it leaves as it is."""

from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poolsize import analyze, recommend
from poolsize.answer.application import ClientTimes
from poolsize.answer.price import ModelledTimes, Price, TotalTimes
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.warnings import NothingVerified
from poolsize.present.text.json_text import json_text
from poolsize.present.text.recommendation import recommendation_text, recommendation_values
from poolsize.present.text.tables import price_table
from poolsize.runs.check import Check
from poolsize.runs.plan import PlannedStep, Search, SearchEnd
from poolsize.runs.run import CheckResult, Run, Step
from poolsize.runs.store import RunWriter, load_run
from poolsize.sweep.next_step import next_step, steps_to_verify
from poolsize.units import milliseconds, per_second
from tests.closed_loop_simulation import Network, simulated_run
from tests.conftest import EXAMPLES, in_ci

NETWORK = Network(users=64, cores=2, client_ms=2.0, cpu_ms=4.0, slowdown=0.0)
SIZES = (1, 2, 4, 8, 16)
ARRIVING = 20_000
"""With so many users, who pause long, arrivals are random."""


def planning(run: Run, **changes: Any) -> Run:
    """The run, with the step as the last of its plan."""
    return replace(run, setting=replace(run.setting, plan=replace(run.plan, verify=(70,), **changes)))


@cache
def simulated() -> tuple[Run, Step]:
    """A run whose last step is missing, and that step."""
    random = np.random.default_rng(3)
    run = simulated_run(NETWORK, SIZES, 40, random, 0.0, 0.0)
    run = replace(planning(run, sizes=(), search=Search(4, 1, 16)), ended=SearchEnd.CERTAIN)
    (planned,) = steps_to_verify(run)
    assert planned.rate
    arriving = replace(NETWORK, users=ARRIVING, think_ms=1000 * ARRIVING / planned.rate)
    (step,) = simulated_run(arriving, (planned.pool_size,), 20, random, 0.0, 0.0).steps
    return run, replace(step, rate=planned.rate, order=len(run.steps), users=run.plan.users)


def whole() -> Run:
    run, last = simulated()
    return replace(run, steps=(*run.steps, last))


def of_answer(answer: Recommendation) -> tuple[bool, TotalTimes]:
    """Whether the p95 of the answer was measured, and its total times."""
    (at_rate,) = (price.at_rate for price in answer.prices if price.pool_size == answer.pool_size)
    assert at_rate
    assert at_rate.total_ms
    return at_rate.measured, at_rate.total_ms


def others(answer: Recommendation) -> list[Price]:
    return [price for price in answer.prices if price.pool_size != answer.pool_size]


def text_of(answer: Recommendation) -> str:
    return " ".join(recommendation_text(answer).split())


@pytest.mark.costly
def test_the_table_has_the_total_times_of_the_step_and_says_so() -> None:
    recorded, _ = simulated()
    computed, answer = recommend(recorded), recommend(whole())
    (step,) = analyze(whole()).verified
    (_, by_model), (is_measured, total_ms) = of_answer(computed), of_answer(answer)
    assert is_measured
    assert total_ms == TotalTimes(step.total.p95, step.total.p99_9)
    assert total_ms.p95 == pytest.approx(by_model.p95, rel=0.15)
    assert others(answer) == others(computed)
    assert not any(price.at_rate and price.at_rate.measured for price in others(answer))
    text, size = text_of(answer), answer.pool_size
    assert f"{milliseconds(total_ms.p95)} {milliseconds(total_ms.p99_9)} measured" in text
    assert "no end no end computed" in text
    assert f"The total times of {size} connections are measured: requests arrive at random, at 70 %" in text
    assert "outside of" not in text
    assert f"The 95 % interval of the measured p95 is {milliseconds(step.total_p95.low)} to" in text
    assert "The total times are computed, not measured" in text_of(computed)
    assert "no end computed" not in text_of(computed)
    findings = {each["code"]: each["values"] for each in recommendation_values(answer)["findings"]}
    assert findings["modelled_total_times"]["p95_ms"] == step.total.p95


@pytest.mark.costly
def test_a_computed_p95_beyond_the_noise_stands_beside_the_measured_one() -> None:
    recorded, last = simulated()
    slow = replace(last, latencies=recorded.steps[0].latencies, sections=recorded.steps[0].sections)
    computed, answer = recommend(recorded), recommend(replace(recorded, steps=(*recorded.steps, slow)))
    (_, total_ms), (_, by_model) = of_answer(answer), of_answer(computed)
    assert total_ms.p95 > 2 * by_model.p95
    (finding,) = (each for each in answer.findings if isinstance(each, ModelledTimes))
    assert finding.measured
    assert finding.measured.computed_p95_ms == by_model.p95
    computed_ms = milliseconds(finding.measured.computed_p95_ms or 0.0)
    assert f"the computed p95, {computed_ms}, is outside of it" in text_of(answer)
    table = price_table(answer)
    sizes = [row[0] for row in table.rows]
    assert table.chosen is not None
    assert sizes[table.chosen : table.chosen + 2] == [str(answer.pool_size)] * 2
    measured, beside = table.rows[table.chosen : table.chosen + 2]
    assert (measured[-1], beside[-1]) == ("measured", "computed")
    assert computed_ms in beside
    assert len(sizes) == len(answer.prices) + 1


@pytest.mark.costly
def test_without_a_model_the_times_of_the_answer_are_known_all_the_same() -> None:
    """Three sizes determine no closed network."""
    recorded, last = simulated()
    run = replace(recorded, steps=recorded.steps[1:4])
    assert all(price.at_rate is None for price in recommend(run).prices)
    (planned,) = steps_to_verify(run)
    answer = recommend(replace(run, steps=(*run.steps, replace(last, pool_size=planned.pool_size, rate=planned.rate))))
    is_measured, total_ms = of_answer(answer)
    assert is_measured
    assert all(price.at_rate is None for price in others(answer))
    assert f"and total times at {per_second(planned.rate or 0.0)}:" in text_of(answer)
    assert f"{milliseconds(total_ms.p95)} {milliseconds(total_ms.p99_9)}" in text_of(answer)
    assert f"The total times of {answer.pool_size} connections are measured" in text_of(answer)


@pytest.mark.costly
def test_a_step_too_short_for_an_interval_is_measured_as_well() -> None:
    recorded, last = simulated()
    short = replace(last, sections={})
    answer = recommend(replace(recorded, steps=(*recorded.steps, short)))
    assert of_answer(answer)[0]
    assert "Infinity" not in json_text(recommendation_values(answer))
    assert "outside of" not in text_of(answer)


@pytest.mark.costly
def test_what_the_step_does_not_show_is_computed() -> None:
    """At another rate, for an application with other usage times, and where the step failed a check."""
    recorded, last = simulated()
    assert last.rate
    assert of_answer(recommend(whole(), rate=1.005 * last.rate))[0]
    assert not of_answer(recommend(whole(), rate=1.1 * last.rate))[0]
    application = recommend(whole(), client_times=ClientTimes(30.0))
    assert not any(price.at_rate and price.at_rate.measured for price in application.prices)
    failed = replace(last, checks=(CheckResult(Check.ARRIVALS, False, {}),))
    assert not of_answer(recommend(replace(recorded, steps=(*recorded.steps, failed, failed))))[0]


@pytest.mark.costly
def test_an_interrupted_sweep_answers_without_the_step_and_says_how_to_measure_it() -> None:
    recorded, _ = simulated()
    answer = recommend(recorded)
    assert NothingVerified() in answer.findings
    assert "`poolsize sweep --resume` measures it" in text_of(answer)
    assert NothingVerified() not in recommend(whole()).findings
    (step,), planned = steps_to_verify(recorded), next_step(recorded)
    assert isinstance(planned, PlannedStep)
    assert replace(planned, most_seconds=None) == step
    assert next_step(whole()) is None


@pytest.mark.costly
def test_a_stored_step_is_read_again(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "a.jsonl", whole().setting) as writer:
        for step in whole().steps:
            writer.append(step)
        writer.append_end(SearchEnd.CERTAIN)
    read = load_run(tmp_path / "a.jsonl")
    assert recommend(read) == recommend(whole())
    assert next_step(read) is None


@pytest.mark.long
@pytest.mark.parametrize("name", in_ci(EXAMPLES, "oltp_read_write-mariadb"))
def test_a_measured_run_has_the_same_answer_with_the_step(name: str) -> None:
    """Whatever the step shows: here twice the throughput, the usage times of 1 connection, and a failed check."""
    run = load_run(EXAMPLES[name])
    without = recommend(run)
    (planned,) = steps_to_verify(planning(run))
    smallest = min(run.steps, key=lambda step: step.pool_size)
    absurd = replace(
        smallest,
        pool_size=planned.pool_size,
        order=planned.order,
        rate=planned.rate,
        throughput=tuple(2 * number for number in smallest.throughput),
    )
    for checks in ((), (CheckResult(Check.QUIET, False, {}),)):
        steps = (*run.steps, replace(absurd, checks=checks))
        answer = recommend(planning(replace(run, steps=steps)))
        assert figures(answer) == figures(without)
        assert others(answer) == others(without)


def figures(answer: Recommendation) -> dict[str, object]:
    """All of an answer but the latency at its rate, and the findings."""
    return asdict(replace(answer, findings=(), prices=()))
