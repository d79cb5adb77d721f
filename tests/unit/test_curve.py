"""The fitted curve and the plateau on it, where the truth is known, also of steps in two levels."""

from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolsize.analysis.analysis import analyze
from poolsize.analysis.curve import FittedCurve, candidates, fit_curve
from poolsize.analysis.hypotheses import PRIOR
from poolsize.analysis.observation import MOST_STEPS, Observation, pool_repeats
from poolsize.analysis.plateau import CERTAINTY, RANGE, plateau
from poolsize.answer.from_run import recommend
from poolsize.answer.warnings import TwoLevels
from poolsize.present.text.recommendation import recommendation_text
from tests.calibration import ALTERNATIVES, CERTAINTIES, POOLED_STEPS, RANGES
from tests.conftest import a_run, in_ci
from tests.simulation import SIZES, Case, cases, knee, observed, true_plateau, usual

RUNS = 500
FEW = 60
"""Runs of a simulation in CI, the first of the experiment's."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("length", "repeats", "noise"), in_ci([(15, 1, 0.05), (15, 3, 0.05), (60, 3, 0.02)], (15, 1, 0.05))
)
def test_the_range_holds_the_true_plateau_in_95_of_100_runs(length: int, repeats: int, noise: float) -> None:
    """And hardly more, although the quantiles are those that recorded curves take (plateau.RANGE)."""
    random = np.random.default_rng(5)
    inside = 0
    for _ in range(RUNS):
        shape = usual(random)
        points = observed(shape, random, length=length, repeats=repeats, within=noise)
        estimate = plateau(fit_curve(points, candidates(SIZES[0], SIZES[-1], SIZES)), of_grid=False)
        inside += estimate.low <= true_plateau(shape) <= estimate.high
    assert 0.93 <= inside / RUNS <= 0.985


@pytest.mark.long
@pytest.mark.parametrize(("between", "number"), in_ci([(0.1, FEW), (0.1, 200), (0.2, 200)], (0.1, FEW)))
def test_the_range_holds_the_true_plateau_where_steps_differ_much(between: float, number: int) -> None:
    """90 and 74 of 100 ranges did while all hypotheses had the same best size, and none a noise above 10 %."""
    runs = cases(usual, number, between=between, length=8, repeats=2)
    estimates = [plateau(run.fit(), of_grid=False) for run in runs]
    held = [estimate.low <= run.truth <= estimate.high for run, estimate in zip(runs, estimates, strict=True)]
    assert sum(held) / len(held) >= 0.93


@pytest.mark.long
@pytest.mark.parametrize(("between", "number"), in_ci([(0.015, FEW), (0.005, RUNS), (0.015, RUNS)], (0.015, FEW)))
def test_the_range_holds_a_knee_between_two_doublings(between: float, number: int) -> None:
    """Straight lines with a corner: 73 and 68 of 100 ranges held the corner before the curve had bends."""
    inside = [
        estimate.low <= case.truth <= estimate.high
        for case in cases(knee, number, between=between, length=15)
        for estimate in [plateau(case.fit(), of_grid=False)]
    ]
    assert sum(inside) / number >= 0.93


def test_a_curve_goes_through_exact_steps_and_smooths_noisy_ones() -> None:
    def at(size: int, errors: float, noise: float) -> float:
        rates = [
            400 * pool_size / (pool_size + 8) * (1 + noise * (-1) ** place) for place, pool_size in enumerate(SIZES)
        ]
        points = [Observation(pool_size, rate, errors * rate) for pool_size, rate in zip(SIZES, rates, strict=True)]
        return float(fit_curve(points, SIZES).mean[SIZES.index(size)])

    assert at(16, 0.0, 0.0) == pytest.approx(400 * 16 / 24, rel=0.01)
    dip = 400 * 32 / 40
    assert abs(at(32, 0.1, 0.1) / dip - 1) < 0.08  # the step measured 10 % below


@pytest.mark.costly
def test_more_steps_make_it_more_certain() -> None:
    def spread(steps: int) -> float:
        points = [Observation(size, 400 * size / (size + 8), 10.0) for size in SIZES for _ in range(steps)]
        return float(fit_curve(points, SIZES).moments[1].diagonal().mean())

    assert spread(8) < spread(2) < spread(1)


def test_steps_of_one_size_add_up_whatever_their_length() -> None:
    """Without between-step noise, two steps of 4 s and one of 12 s tell as much as one of 20 s."""
    prior = replace(PRIOR, between_step_noise=(1e-6,))

    def posterior(lengths: list[int]) -> tuple[list[float], list[float]]:
        points = [
            Observation(size, 400 * size / (size + 8), 400 * size / (size + 8) * 0.1 / seconds**0.5, seconds)
            for size in SIZES
            for seconds in lengths
        ]
        curve = fit_curve(points, SIZES, replace(prior, disturbed=1e-9))
        return curve.mean.tolist(), curve.moments[1].diagonal().tolist()

    for together, alone in zip(posterior([4, 12, 4]), posterior([20]), strict=True):
        assert together == pytest.approx(alone, rel=1e-3)
    assert posterior([4])[1][-1] > 2 * posterior([20])[1][-1]


def test_the_calibration_shows_every_constant_in_use() -> None:
    constants = asdict(PRIOR)
    assert constants.pop("pooled_steps") in POOLED_STEPS
    assert RANGE in RANGES
    assert CERTAINTY in CERTAINTIES
    assert constants.keys() == ALTERNATIVES.keys()
    assert all(value in ALTERNATIVES[name] for name, value in constants.items())


def test_equal_steps_give_equal_curves() -> None:
    points = [Observation(size, 100.0 * size, 5.0) for size in SIZES]
    curve, other = fit_curve(points, SIZES), fit_curve(points[::-1], SIZES)
    assert (curve.means == other.means).all()
    assert (curve.covariances == other.covariances).all()


@pytest.mark.costly
@given(st.integers(1, 500), st.integers(0, 1000), st.lists(st.integers(1, 2000), max_size=5))
@settings(max_examples=50)
def test_candidates_hold_both_ends_and_are_never_far_apart(low: int, more: int, also: list[int]) -> None:
    sizes = candidates(low, low + more, also)
    assert (sizes[0], sizes[-1]) == (low, low + more)
    assert list(sizes) == sorted(set(sizes))
    assert all(above <= max(below + 1, 1.3 * below) for below, above in pairwise(sizes))
    assert {size for size in also if low <= size <= low + more} <= set(sizes)


@pytest.mark.costly
def test_many_repeats_are_averaged_in_groups() -> None:
    random = np.random.default_rng(1)
    points = [Observation(size, 100 * size * (1 + 0.02 * random.standard_normal()), size) for size in SIZES * 100]
    pooled = pool_repeats(points)
    assert len(SIZES) <= len(pooled) <= MOST_STEPS + len(SIZES)
    assert pool_repeats(points[:MOST_STEPS]) == points[:MOST_STEPS]
    assert fit_curve(points, SIZES).mean == pytest.approx([100 * size for size in SIZES], rel=0.02)


MEASURED = ((8, 80.0), (17, 100.0), (34, 101.0), (68, 99.0))


def curve(*measured: tuple[int, float]) -> FittedCurve:
    """The curve fitted to steps with noise of 2 %, from 1 connection to 136."""
    steps = [Observation(size, rate, 0.02 * rate) for size, rate in measured]
    return fit_curve(steps, candidates(1, 136, [size for size, _ in measured]))


def test_throughput_is_never_negative() -> None:
    """Not in any part of the posterior, also far below the smallest measured size."""
    low, high = curve(*MEASURED).band(0.9999)
    assert (low > 0).all()
    assert (high > low).all()


def test_throughput_for_each_connection_does_not_rise() -> None:
    fitted = curve(*MEASURED)
    per_connection = fitted.mean / np.array(fitted.sizes)
    assert (np.diff(np.log(per_connection)) < 0.01).all()


@pytest.mark.parametrize("rate", [80.0, 60.0])
def test_a_low_smallest_size_needs_no_smaller_one(rate: float) -> None:
    """Where the smallest size is clearly below 95 % of capacity, the plateau does not start below it."""
    fitted = curve((8, rate), *MEASURED[1:])
    within = fitted.against(fitted.best_size).at_least(0.95)
    assert within[fitted.sizes.index(8)] < 0.01
    assert within[fitted.sizes.index(7)] < 0.01


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
    runs = [in_two_levels(run, level, random) for run in cases(usual, FEW, between=0.015, length=8, repeats=2)]
    curves = [run.fit() for run in runs]
    ranges = [plateau(curve, of_grid=False) for curve in curves]
    assert np.mean([each.low <= run.truth <= each.high for run, each in zip(runs, ranges, strict=True)]) >= 0.9
    shares = [curve.lower_level.share for curve in curves if curve.lower_level]
    assert len(shares) >= 0.3 * FEW
    assert np.median(shares) == pytest.approx(level, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize("between", in_ci([0.03, 0.2], 0.2))
def test_noise_is_no_level(between: float) -> None:
    runs = cases(usual, FEW, between=between, length=8, repeats=2)
    assert sum(run.fit().lower_level is not None for run in runs) <= 0.05 * FEW


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
