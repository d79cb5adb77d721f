"""Intervals: they hold the truth as often as they say, also where neighbouring seconds resemble each other."""

import numpy as np
import pytest

from poolsize.analysis.confidence import mean_interval

TRUTH = 1000.0


def autocorrelated(generator: np.random.Generator, seconds: int, correlation: float) -> list[float]:
    """A stationary series around TRUTH with this lag-1 correlation."""
    value = generator.standard_normal() / np.sqrt(1 - correlation**2)
    series = []
    for _ in range(seconds):
        series.append(TRUTH + 20 * value)
        value = correlation * value + generator.standard_normal()
    return series


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_a_95_percent_interval_of_two_minutes_holds_the_truth_in_93_to_97_of_100(correlation: float) -> None:
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(1000):
        interval = mean_interval([autocorrelated(generator, 120, correlation)])
        held += interval.low <= TRUTH <= interval.high
    assert 930 <= held <= 970


def test_a_constant_has_no_spread_and_too_little_says_nothing() -> None:
    assert mean_interval([[5, 5, 5, 5]]).high == 5
    assert mean_interval([[5, 6]]).high == float("inf")
    assert mean_interval([[5, 6]]).low == 0
