"""Intervals hold the truth as often as they say, also in short steps whose neighbouring seconds resemble each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from poolsize.analysis.analysis import analyze
from poolsize.analysis.stats.confidence import Interval, Noise, mean_interval, normal_samples, series_fit
from poolsize.analysis.stats.percentiles import log_series, quantile_interval
from poolsize.runs.run import Run
from tests.conftest import a_setting, a_step, in_ci

TRUTH = 1000.0


def autocorrelated(random: np.random.Generator, seconds: int, correlation: float, repeats: int = 1) -> np.ndarray:
    """Series of one size, stationary around TRUTH; each repeat in a row."""
    first = random.standard_normal((repeats, 1))
    shocks = np.sqrt(1 - correlation**2) * random.standard_normal((repeats, seconds - 1))
    series, _ = lfilter([1], [1, -correlation], shocks, axis=1, zi=correlation * first)
    return TRUTH + 30 * np.hstack([first, series])


@pytest.mark.long
@pytest.mark.parametrize("correlation", in_ci([0.0, 0.5, 0.8], 0.8))
@pytest.mark.parametrize(("repeats", "seconds", "most"), [(1, 60, 970), (3, 15, 985), (3, 30, 985)])
def test_a_95_percent_interval_holds_the_truth_without_a_run_to_learn_from(
    correlation: float, repeats: int, seconds: int, most: int
) -> None:
    """Three repeats alone can't tell chance from between-step noise: the interval then allows for both."""
    generator = np.random.default_rng(7)
    covering = 0
    for _ in range(1000):
        interval = mean_interval(autocorrelated(generator, seconds, correlation, repeats).tolist())
        covering += interval.low <= TRUTH <= interval.high
    assert 930 <= covering <= most


def test_a_drift_in_a_few_seconds_makes_no_interval_without_end() -> None:
    interval = mean_interval([[76, 76, 77, 75, 74, 74]])
    assert 70 < interval.low < interval.high < 80


def test_a_constant_is_certain_to_one_transaction_and_too_little_says_nothing() -> None:
    assert mean_interval([[5, 5, 5, 5]]) == Interval(5, 4.75, 5.25)
    assert mean_interval([[5, 6]]).high == float("inf")
    assert mean_interval([[5, 6]]).low == 0


@pytest.mark.costly
def test_the_interval_of_a_percentile_holds_the_truth() -> None:
    """p95 of log-normal transactions, which is exp(1.645), from 8 sections of 50 or 200 in each of 8 steps."""
    truth = float(np.exp(1.6448536))
    random = np.random.default_rng(7)
    for transactions in (50, 200):
        covering = 0
        for _ in range(150):
            steps = np.exp(random.standard_normal((8, 8, transactions)))
            sections = np.quantile(steps, 0.95, axis=2)
            noise = Noise.of([[log_series(step)] for step in sections.tolist()])
            for step, of_step in zip(steps, sections.tolist(), strict=True):
                interval = quantile_interval(float(np.quantile(step, 0.95)), [of_step], noise)
                covering += interval.low <= truth <= interval.high
        assert 0.93 <= covering / 1200 <= 0.97


def test_the_interval_of_a_latency_is_positive_however_much_it_scatters() -> None:
    """A step whose sections had a p95 of 20 to 400 ms had an interval from 0 to 216 ms around 78 ms."""
    interval = quantile_interval(78.0, [[20.0, 31.0, 400.0, 52.0, 25.0, 90.0, 41.0, 140.0]])
    assert 0 < interval.low < 78 < interval.high
    assert interval.high / 78 == pytest.approx(78 / interval.low)
    assert quantile_interval(8.0, [[8.0] * 8]).high > 8.0


def test_repeats_of_different_lengths_go_together() -> None:
    whole = mean_interval([[100, 102, 98, 101, 99, 100, 103, 97], [100, 101, 99, 100]])
    assert whole.mean == 100
    assert whole.low < 100 < whole.high < 104


RUNS = 250
SIZES = 8


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


NUMBER = 20_000


@pytest.mark.costly
@given(st.integers(0, 1000), st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=4))
def test_the_samples_have_mean_and_covariance(seed: int, errors: list[float]) -> None:
    random = np.random.default_rng(seed)
    mixing = random.standard_normal((len(errors), len(errors))) * np.array(errors)
    covariance = mixing.T @ mixing
    deviations = np.sqrt(np.diag(covariance))
    means = random.standard_normal(len(errors)) * deviations
    samples = normal_samples(means, covariance, NUMBER, random)
    scaled = (samples - means) / deviations
    assert scaled.mean(axis=0) == pytest.approx(np.zeros(len(errors)), abs=0.05)
    assert np.cov(scaled.T).reshape(covariance.shape) == pytest.approx(
        covariance / np.outer(deviations, deviations), abs=0.06
    )


@pytest.mark.parametrize("rounded", [0.0, -1e-18])
def test_a_variable_without_an_error_is_the_same_in_all_samples(rounded: float) -> None:
    covariance = np.array([[4.0, 0.0], [0.0, rounded]])
    samples = normal_samples(np.array([1.0, 5.0]), covariance, 100, np.random.default_rng(1))
    assert (samples[:, 1] == 5).all()
    assert samples[:, 0].std() > 1


def test_the_order_of_the_variables_changes_nothing_but_their_order() -> None:
    """Eigenvectors come in another order, and often with other signs; the samples are the same."""
    mixing = np.random.default_rng(2).standard_normal((4, 4))
    covariance, order = mixing.T @ mixing, [2, 0, 3, 1]
    draws = np.random.default_rng(3).standard_normal((50, 4))

    class Drawn(np.random.Generator):
        """Draws that are known, in an order of the variables."""

        def __init__(self, columns: list[int]) -> None:
            super().__init__(np.random.PCG64(0))
            self._columns = columns

        def standard_normal(self, *_: object) -> np.ndarray:  # type: ignore[override]  # NumPy's has overloads
            return draws[:, self._columns]

    plain = normal_samples(np.zeros(4), covariance, 50, Drawn([0, 1, 2, 3]))
    permuted = normal_samples(np.zeros(4), covariance[np.ix_(order, order)], 50, Drawn(order))
    assert permuted == pytest.approx(plain[:, order], abs=1e-12)
