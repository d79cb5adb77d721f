"""Intervals: they hold the truth as often as they say, also where neighbouring seconds resemble each other."""

import numpy as np
import pytest

from poolsize.analysis.stats.confidence import Interval, Noise, mean_interval
from poolsize.analysis.stats.percentiles import log_series, quantile_interval
from tests.conftest import in_ci

TRUTH = 1000.0


def autocorrelated(generator: np.random.Generator, seconds: int, correlation: float) -> list[float]:
    """A stationary series around TRUTH with this lag-1 correlation."""
    value = generator.standard_normal() / np.sqrt(1 - correlation**2)
    series = []
    for _ in range(seconds):
        series.append(TRUTH + 20 * value)
        value = correlation * value + generator.standard_normal()
    return series


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
        interval = mean_interval([autocorrelated(generator, seconds, correlation) for _ in range(repeats)])
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
