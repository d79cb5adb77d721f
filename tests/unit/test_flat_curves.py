"""Flat and nearly flat curves: any size of a wide range does, so a search answers with a size and its greatest loss."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log2

import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.answer.from_run import recommend
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.warnings import WideRange
from poolsize.present.text.recommendation import recommendation_text
from poolsize.runs.plan import PlannedStep, Search, SearchEnd, SweepPlan
from poolsize.runs.run import Run, Step
from poolsize.sweep.search import next_of_search
from tests.conftest import a_setting, a_step
from tests.simulation import seconds

SEARCH = Search(start=17, smallest=1, largest=136)
PLAN = SweepPlan((), 300, "scan", warm_up_seconds=2, step_seconds=8, search=SEARCH)
A_STEP = replace(a_step(1, [1] * 9), latencies=None, checks=())
DOUBLINGS = log2(SEARCH.largest)
CURVES: Mapping[str, Callable[[int], float]] = {
    "flat": lambda _: 1.0,
    "rises by 2 %": lambda size: 1 + 0.02 * log2(size) / DOUBLINGS,
    "rises by 5 %": lambda size: 1 + 0.05 * log2(size) / DOUBLINGS,
    "rises by 10 %": lambda size: 1 + 0.1 * log2(size) / DOUBLINGS,
    "falls by 5 %": lambda size: 1 - 0.05 * log2(size) / DOUBLINGS,
    "falls by 20 %": lambda size: 1 - 0.2 * log2(size) / DOUBLINGS,
    "a hump of 4 %": lambda size: 1 - 0.04 * (2 * log2(size) / DOUBLINGS - 1) ** 2,
    "90 % at 1": lambda size: 1 - 0.1 / size**1.5,
}
BETWEEN, WITHIN = (0.005, 0.015, 0.03, 0.06), 0.05
SEEDS = 24


def searched(curve: str, between: float, seed: int) -> Run:
    """A search to its end, whose seconds scatter by WITHIN, and whose steps by `between` as well."""
    random = np.random.default_rng([seed, round(1000 * between), [*CURVES].index(curve)])
    steps: tuple[Step, ...] = ()
    while isinstance(planned := next_of_search(PLAN, SEARCH, steps), PlannedStep):
        level = 1000 * CURVES[curve](planned.pool_size) * float(np.exp(between * random.standard_normal()))
        throughput = tuple(seconds(level, WITHIN, PLAN.warm_up_seconds + PLAN.step_seconds, random))
        step = replace(A_STEP, pool_size=planned.pool_size, order=planned.order, repeat=planned.repeat)
        steps = (*steps, replace(step, warm_up_seconds=PLAN.warm_up_seconds, throughput=throughput))
    return Run(replace(a_setting((1,)), plan=PLAN), steps, ended=planned)


def loss(curve: str, size: int) -> float:
    """The true loss of a size, as a share of the highest throughput of all sizes that the search may choose."""
    return 1 - CURVES[curve](size) / max(map(CURVES[curve], range(1, SEARCH.largest + 1)))


def assert_a_loss_is_named(run: Run, answer: Recommendation) -> None:
    """A wide range has a loss below 10 % beside the size, and a search that ended certain needs no larger budget."""
    assert answer.pool_size is not None
    text = recommendation_text(answer)
    headline = next(part for part in text.split("\n\n") if part.startswith("Use "))
    for finding in answer.findings:
        if isinstance(finding, WideRange):
            assert "less throughput than the best size" in headline
    if run.ended is SearchEnd.CERTAIN:
        assert "--budget" not in text


def losses(curves: Sequence[str], noises: Sequence[float], seeds: int) -> list[tuple[float, float]]:
    """The greatest loss that each answer names, and its true loss."""
    pairs = []
    for curve in curves:
        for between in noises:
            for seed in range(seeds):
                run = searched(curve, between, seed)
                analysis = analyze(run)
                answer = recommend(analysis)
                assert_a_loss_is_named(run, answer)
                assert analysis.plateau is not None
                pairs.append((analysis.plateau.greatest_loss, loss(curve, analysis.plateau.pool_size)))
    return pairs


@pytest.mark.long
@pytest.mark.parametrize("curve", ["flat", "rises by 2 %", "a hump of 4 %"])
def test_a_flat_curve_has_an_answer(curve: str) -> None:
    assert all(true <= named for named, true in losses([curve], [0.015], 2))


@pytest.mark.experiment
@pytest.mark.timeout(3600)
def test_every_flat_curve_has_an_answer_whose_loss_is_true() -> None:
    pairs = losses([*CURVES], BETWEEN, SEEDS)
    assert np.mean([true <= named for named, true in pairs]) >= 0.95
