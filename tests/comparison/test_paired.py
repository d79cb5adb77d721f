"""Paired differences where the truth is known: how often their intervals hold it, and what they find."""

from dataclasses import replace

import numpy as np
import pytest

from poolsize.analysis.stats.paired_differences import Pair, paired
from tests.conftest import in_ci

SIZES = tuple(2**place for place in range(7))
TIMES = 1200
SECONDS = 0.021
"""Standard error of a ratio of two steps of 15 s, as their seconds show it."""


def simulated(random: np.random.Generator, truth: np.ndarray, steps: float, repeats: int = 1) -> list[Pair]:
    """Pairs of steps that differ by `steps` beyond their seconds, which know their own error from six degrees."""
    return [
        Pair(
            size,
            ratio + random.normal(0, np.sqrt(2) * steps) + random.normal(0, SECONDS),
            SECONDS * np.sqrt(random.chisquare(6) / 6),
        )
        for size, ratio in zip(SIZES[: len(truth)], truth, strict=True)
        for _ in range(repeats)
    ]


def coverage(truth: np.ndarray, steps: float, repeats: int = 1) -> tuple[float, float]:
    """Return the share of intervals of the average with the truth, and the share where all sizes have it."""
    random = np.random.default_rng(1)
    average = everywhere = 0
    for _ in range(TIMES):
        average_interval, by_size = paired(simulated(random, truth, steps, repeats))
        average += average_interval.low <= np.expm1(truth.mean()) <= average_interval.high
        everywhere += all(
            interval.low <= np.expm1(ratio) <= interval.high
            for interval, ratio in zip(by_size.values(), truth, strict=True)
        )
    return average / TIMES, everywhere / TIMES


FLAT, DIP = np.zeros(7), np.array([0, 0, 0, np.log(0.7), 0, 0, 0])
CLIFF, SLOPE = np.array([0, 0, 0, 0, *np.log([0.8] * 3)]), np.linspace(0, -0.3, 7)


@pytest.mark.long
@pytest.mark.parametrize("truth", [FLAT, FLAT[:4], FLAT[:3], DIP, CLIFF, SLOPE], ids=str)
@pytest.mark.parametrize("steps", in_ci([0.005, 0.015, 0.03], 0.03))
def test_intervals_hold_the_truth_where_steps_differ_by_up_to_3_percent(truth: np.ndarray, steps: float) -> None:
    average, everywhere = coverage(truth, steps)
    assert average >= 0.91
    assert everywhere >= 0.93


@pytest.mark.costly
def test_repeats_tell_how_much_steps_differ_and_make_it_precise() -> None:
    average, everywhere = coverage(FLAT, 0.03, repeats=3)
    assert average >= 0.93
    assert everywhere >= 0.93
    random = np.random.default_rng(2)
    once, thrice = (paired(simulated(random, FLAT, 0.015, repeats))[0] for repeats in (1, 3))
    assert thrice.high - thrice.low < 0.7 * (once.high - once.low)


@pytest.mark.parametrize(("truth", "place"), [(DIP, 3), (np.array([*FLAT[:6], np.log(0.75)]), 6)], ids=str)
def test_a_difference_at_one_size_is_found(truth: np.ndarray, place: int) -> None:
    random = np.random.default_rng(3)
    intervals = [list(paired(simulated(random, truth, 0.015))[1].values())[place] for _ in range(100)]
    assert sum(interval.significant for interval in intervals) >= 95


def uneven(random: np.random.Generator, repeats: int) -> list[Pair]:
    """Pairs without a difference: between-step noise of 1 % at the median size, of 3 % at one size in seven."""
    return [
        Pair(size, random.normal(0, noise) + random.normal(0, SECONDS), SECONDS * np.sqrt(random.chisquare(6) / 6))
        for size, noise in zip(SIZES, 0.01 * np.sqrt(2) * np.exp(random.normal(0, 1, len(SIZES))), strict=True)
        for _ in range(repeats)
    ]


@pytest.mark.long
@pytest.mark.parametrize("repeats", [1, 3])
def test_equal_servers_whose_noise_differs_by_size_are_not_different(repeats: int) -> None:
    random = np.random.default_rng(5)
    compared = [paired(uneven(random, repeats)) for _ in range(TIMES)]
    assert np.mean([average.significant for average, _ in compared]) <= 0.06
    assert np.mean([any(at.significant for at in by_size.values()) for _, by_size in compared]) <= 0.06


def test_another_state_in_one_of_three_repeats_is_no_difference() -> None:
    """A server that fills its cache during one step is three times slower in it."""
    random = np.random.default_rng(6)
    for _ in range(100):
        pairs = simulated(random, FLAT, 0.005, repeats=3)
        pairs[4] = replace(pairs[4], log_ratio=-np.log(3))
        assert not paired(pairs)[1][SIZES[1]].significant


def test_a_small_difference_everywhere_is_found_on_average() -> None:
    random = np.random.default_rng(4)
    assert sum(paired(simulated(random, FLAT + np.log(1.05), 0.015))[0].low > 0 for _ in range(100)) >= 90
