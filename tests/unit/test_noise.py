"""The noise of a run: intervals that hold the truth in short steps, because all steps of the run are heard."""

import numpy as np
import pytest
from scipy.signal import lfilter

from poolsize.analysis.analysis import analyze
from poolsize.analysis.stats.confidence import Noise, mean_interval, series_fit
from poolsize.runs.run import Run
from tests.conftest import a_setting, a_step, in_ci

TRUTH = 1000.0
RUNS = 250
SIZES = 8


def autocorrelated(random: np.random.Generator, seconds: int, correlation: float, repeats: int = 1) -> np.ndarray:
    """Series of one size, stationary around TRUTH; each repeat in a row."""
    first = random.standard_normal((repeats, 1))
    shocks = np.sqrt(1 - correlation**2) * random.standard_normal((repeats, seconds - 1))
    series, _ = lfilter([1], [1, -correlation], shocks, axis=1, zi=correlation * first)
    return TRUTH + 30 * np.hstack([first, series])


def coverage(seconds: int, correlation: float, repeats: int = 1, between: float = 0.0) -> float:
    """Return how often the intervals of the sizes of a run hold TRUTH. between: between-step noise, of a second's."""
    random = np.random.default_rng(3)
    covering = 0
    for _ in range(RUNS):
        run = [
            autocorrelated(random, seconds, correlation, repeats) + 30 * between * random.standard_normal((repeats, 1))
            for _ in range(SIZES)
        ]
        noise = Noise.of([size.tolist() for size in run])
        intervals = [mean_interval(size.tolist(), noise) for size in run]
        covering += sum(interval.low <= TRUTH <= interval.high for interval in intervals)
    return covering / RUNS / SIZES


@pytest.mark.long
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("seconds", in_ci([8, 15, 60], 8))
def test_the_interval_of_a_single_step_holds_the_truth_in_93_to_97_of_100(seconds: int, correlation: float) -> None:
    assert 0.93 <= coverage(seconds, correlation) <= 0.97


@pytest.mark.long
@pytest.mark.parametrize("correlation", in_ci([0.0, 0.5], 0.5))
@pytest.mark.parametrize("between", [0.5, 1.0])
def test_repeats_show_the_noise_between_steps(correlation: float, between: float) -> None:
    assert 0.92 <= coverage(15, correlation, repeats=3, between=between) <= 0.98


@pytest.mark.long
def test_the_summaries_of_a_run_learn_from_all_its_steps() -> None:
    """Eight steps of 8 s: alone they hold the truth in 83 of 100 where seconds resemble each other this much."""
    random = np.random.default_rng(5)
    covering = 0
    for _ in range(30):
        steps = [
            a_step(size, np.round(autocorrelated(random, 8, 0.8)[0]).astype(int).tolist(), users=4 * SIZES)
            for size in range(1, SIZES + 1)
        ]
        summaries = analyze(Run(a_setting(tuple(range(1, SIZES + 1))), tuple(steps))).sizes
        covering += sum(size.throughput.low <= TRUTH <= size.throughput.high for size in summaries)
    assert 0.91 <= covering / 30 / SIZES <= 0.99


@pytest.mark.parametrize("length", [7, 8, 9, 15])
def test_equal_logarithms_show_no_correlation(length: int) -> None:
    """The mean of equal decimals differs from them by a rounding error, which is not noise."""
    assert (series_fit((0.1,) * length).log_likelihood == 0).all()
