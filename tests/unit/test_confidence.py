"""Intervals: they hold the truth as often as they say, also where neighbouring seconds resemble each other."""

import numpy as np
import pytest

from poolsize.analysis.stats.confidence import mean_interval
from poolsize.analysis.stats.percentiles import quantile_interval

TRUTH = 1000.0


def autocorrelated(generator: np.random.Generator, seconds: int, correlation: float) -> list[float]:
    """A stationary series around TRUTH with this lag-1 correlation."""
    value = generator.standard_normal() / np.sqrt(1 - correlation**2)
    series = []
    for _ in range(seconds):
        series.append(TRUTH + 20 * value)
        value = correlation * value + generator.standard_normal()
    return series


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
@pytest.mark.parametrize(("repeats", "seconds"), [(1, 60), (3, 15), (3, 30)])
def test_a_95_percent_interval_holds_the_truth_in_93_to_97_of_100_runs(
    correlation: float, repeats: int, seconds: int
) -> None:
    generator = np.random.default_rng(7)
    covering = 0
    for _ in range(1000):
        interval = mean_interval([autocorrelated(generator, seconds, correlation) for _ in range(repeats)])
        covering += interval.low <= TRUTH <= interval.high
    assert 930 <= covering <= 970


def test_a_drift_in_a_few_seconds_makes_no_interval_without_end() -> None:
    interval = mean_interval([[76, 76, 77, 75, 74, 74]])
    assert 70 < interval.low < interval.high < 80


def test_a_constant_has_no_spread_and_too_little_says_nothing() -> None:
    assert mean_interval([[5, 5, 5, 5]]).high == 5
    assert mean_interval([[5, 6]]).high == float("inf")
    assert mean_interval([[5, 6]]).low == 0


def test_the_interval_of_a_percentile_holds_the_truth() -> None:
    """p95 of log-normal transactions, which is exp(1.645), from 8 sections of 200."""
    truth, covering = float(np.exp(1.6448536)), 0
    random = np.random.default_rng(7)
    for _ in range(400):
        sections = np.exp(random.standard_normal((8, 200)))
        interval = quantile_interval(float(np.quantile(sections, 0.95)), [np.quantile(sections, 0.95, axis=1).tolist()])
        covering += interval.low <= truth <= interval.high
    assert 0.92 <= covering / 400 <= 0.99


def test_repeats_of_different_lengths_go_together() -> None:
    whole = mean_interval([[100, 102, 98, 101, 99, 100, 103, 97], [100, 101, 99, 100]])
    assert whole.mean == 100
    assert whole.low < 100 < whole.high < 104
