"""Steps in two levels: something slows down whole steps by the same factor, and leaves the others alone."""

from dataclasses import replace

import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.curve import candidates, fit_curve
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import plateau
from poolsize.answer.from_run import recommend
from poolsize.answer.warnings import TwoLevels
from poolsize.present.text.recommendation import recommendation_text
from tests.conftest import a_run, in_ci
from tests.simulation import Case, cases, usual

RUNS = 60
RISING = {1: 100, 2: 200, 4: 300, 8: 400, 16: 405, 32: 402}
CLIFF = {1: 100, 2: 200, 4: 400, 8: 405, 16: 240, 32: 235}


def in_two_levels(case: Case, level: float, random: np.random.Generator) -> Case:
    """The case with 30 % of its steps at a share of their throughput."""
    shares = np.where(random.random(len(case.observations)) < 0.3, level, 1.0).tolist()
    return replace(case, observations=[slower(*pair) for pair in zip(case.observations, shares, strict=True)])


def slower(step: Observation, share: float) -> Observation:
    return Observation(step.pool_size, share * step.throughput, share * step.standard_error)


@pytest.mark.long
@pytest.mark.parametrize("level", in_ci([0.6, 0.75], 0.6))
def test_the_range_holds_the_plateau_and_the_levels_are_recognized(level: float) -> None:
    """The range held it in 75 and 90 of 100 runs while no between-step noise was above 10 %."""
    random = np.random.default_rng(5)
    runs = [in_two_levels(run, level, random) for run in cases(usual, RUNS, between=0.015, length=8, repeats=2)]
    curves = [run.fit() for run in runs]
    ranges = [plateau(curve, of_grid=False) for curve in curves]
    assert np.mean([each.low <= run.truth <= each.high for run, each in zip(runs, ranges, strict=True)]) >= 0.9
    shares = [curve.lower_level.share for curve in curves if curve.lower_level]
    assert len(shares) >= 0.3 * RUNS
    assert np.median(shares) == pytest.approx(level, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize("between", in_ci([0.03, 0.2], 0.2))
def test_noise_is_no_level(between: float) -> None:
    runs = cases(usual, RUNS, between=between, length=8, repeats=2)
    assert sum(run.fit().lower_level is not None for run in runs) <= 0.05 * RUNS


def test_a_cliff_is_no_level() -> None:
    points = [Observation(size, rate, 2.0) for size, rate in CLIFF.items() for _ in range(2)]
    assert fit_curve(points, candidates(1, 32, tuple(CLIFF))).lower_level is None


@pytest.mark.costly
def test_the_answer_is_for_the_higher_level_and_says_so() -> None:
    run = a_run(RISING)
    again = [replace(step, repeat=1, throughput=tuple(0.6 * rate for rate in step.throughput)) for step in run.steps]
    steps = (*run.steps, *(replace(step, repeat=2) for step in run.steps), *again[1:5:2])
    analysis = analyze(replace(run, steps=steps))
    answer = recommend(analysis)
    assert analysis.plateau is not None
    assert analysis.plateau.capacity == pytest.approx(405, rel=0.02)
    assert answer.pool_size == 8
    assert answer.throughput == pytest.approx(400, rel=0.02)
    (level,) = [finding for finding in answer.findings if isinstance(finding, TwoLevels)]
    assert (level.low_steps, level.steps) == (2, 14)
    text = " ".join(recommendation_text(answer).split())
    assert "The steps fall into two levels: 2 of 14 steps reached 60 % of the throughput of the others" in text
