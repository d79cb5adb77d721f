"""Data that grow during a sweep: a transaction reads more pages, the later the step."""

from dataclasses import replace

import pytest

from poolsize.answer.from_run import recommend
from poolsize.answer.warnings import DataGrew
from poolsize.runs.run import Run, Step
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
