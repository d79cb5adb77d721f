"""Warnings of a sweep: data that grow, and so many users that a transaction takes longer than a step."""

from dataclasses import replace

import numpy as np
import pytest

from poolsize.answer.from_run import recommend
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.warnings import DataGrew, LongTotalTimes
from poolsize.present.text.recommendation import recommendation_text
from poolsize.runs.run import Run, Step
from tests.closed_loop_simulation import Network, simulated_run
from tests.conftest import a_run

CURVE = {1: 300, 2: 500, 4: 550, 8: 550}


def measured_twice(first: list[float], second: list[float]) -> Run:
    """A run of two steps at each size, in which a transaction reads so many pages."""
    run = a_run(CURVE)
    again = [replace(step, repeat=1, order=step.order + len(CURVE)) for step in run.steps]
    steps = map(reading, [*run.steps, *again], [*first, *second])
    return Run(replace(run.setting, plan=replace(run.plan, repeats=2)), tuple(steps))


def reading(step: Step, pages: float) -> Step:
    """The step with this number of pages for each transaction."""
    reads = tuple(pages * transactions for transactions in step.throughput)
    return replace(step, server=dict(step.server) | {"Innodb_buffer_pool_read_requests": reads})


def test_an_answer_says_that_the_data_grew() -> None:
    findings = recommend(measured_twice([50, 52, 54, 56], [58, 60, 62, 70])).findings
    (grew,) = [finding for finding in findings if isinstance(finding, DataGrew)]
    assert (grew.pool_size, round(grew.pages), round(grew.later_pages)) == (8, 56, 70)


@pytest.mark.costly
@pytest.mark.parametrize(
    "second",
    [[50, 52, 54, 56], [49, 60, 62, 67], [51, 53, 55, 57]],
    ids=["the same pages", "fewer pages at a size", "hardly more pages"],
)
def test_other_runs_have_no_growth(second: list[float]) -> None:
    findings = recommend(measured_twice([50, 52, 54, 56], second)).findings
    assert not any(isinstance(finding, DataGrew) for finding in findings)


SLOW = Network(users=272, cores=4, client_ms=2.0, cpu_ms=400.0, slowdown=0.0)
"""At most 10 transactions per second: the last of 272 users is served after 27 s."""
SIZES = (1, 2, 4, 8, 16)


def measured(users: int, think_ms: float = 0.0) -> tuple[Run, Recommendation]:
    network = replace(SLOW, users=users, think_ms=think_ms)
    run = simulated_run(network, SIZES, 120, np.random.default_rng(1), 0.0, 0.0)
    run = replace(run, setting=replace(run.setting, plan=replace(run.plan, users=users, think_time_ms=think_ms)))
    return run, recommend(run)


def advice(answer: Recommendation) -> list[LongTotalTimes]:
    return [finding for finding in answer.findings if isinstance(finding, LongTotalTimes)]


@pytest.mark.costly
@pytest.mark.parametrize("think_ms", [0.0, 5_000.0])
def test_fewer_users_are_advised_with_whom_the_answer_stays_and_a_transaction_takes_half_as_long(
    think_ms: float,
) -> None:
    _, answer = measured(272, think_ms)
    (found,) = advice(answer)
    assert found.total_seconds == pytest.approx(272 / 10 - think_ms / 1000, rel=0.1)
    assert f"--users {found.fewer}" in recommendation_text(answer)
    _, again = measured(found.fewer, think_ms)
    assert again.pool_size == answer.pool_size
    assert again.throughput
    assert found.fewer / again.throughput - think_ms / 1000 < 10
    assert not advice(again)


@pytest.mark.costly
def test_no_fewer_are_advised_where_that_would_not_help() -> None:
    assert not advice(measured(64)[1])  # 6 s
    run, _ = measured(272)
    long = replace(run, setting=replace(run.setting, plan=replace(run.plan, step_seconds=60)))
    assert not advice(recommend(long))
