"""The curve through a few noisy steps, and the plateau on it, where the truth is known."""

from collections.abc import Callable
from itertools import pairwise
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolsize.analysis.curve import Observation, candidates, curves
from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.analysis.plateau import plateau
from poolsize.analysis.stats.confidence import standard_error

RUNS = 500
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LAG_ONE = 0.5
Shape = Callable[[np.ndarray], np.ndarray]


def a_shape(random: np.random.Generator) -> Shape:
    """The universal scalability law or a closed network, with parameters as they are met."""
    if random.random() < 0.5:
        sigma, kappa = random.uniform(0.005, 0.1), 10 ** random.uniform(-5, -3)
        return lambda sizes: sizes / (1 + sigma * (sizes - 1) + kappa * sizes * (sizes - 1))
    server = Station(1.0, int(random.integers(2, 33)), 10 ** random.uniform(-4, -1.5))
    rates = throughputs([server], random.uniform(0, 3), SIZES[-1])
    return lambda sizes: np.interp(sizes, np.arange(1, SIZES[-1] + 1), rates)


def true_plateau(shape: Shape) -> int:
    sizes = np.geomspace(SIZES[0], SIZES[-1], 5000)
    rates = shape(sizes)
    return ceil(float(sizes[np.argmax(rates >= 0.95 * rates.max())]))


def seconds(mean: float, noise: float, length: int, random: np.random.Generator) -> list[float]:
    """A first-order autoregressive series, as steady from its first second as later."""
    series = random.standard_normal(length)
    for place in range(1, length):
        series[place] = LAG_ONE * series[place - 1] + np.sqrt(1 - LAG_ONE**2) * series[place]
    return list(mean * (1 + noise * series))


@pytest.mark.parametrize(("length", "repeats", "noise"), [(15, 1, 0.05), (15, 3, 0.05), (60, 3, 0.02)])
def test_the_interval_holds_the_true_plateau_as_often_as_it_says(length: int, repeats: int, noise: float) -> None:
    random = np.random.default_rng(5)
    held = 0
    for _ in range(RUNS):
        shape = a_shape(random)
        points = [
            Observation(size, *standard_error([seconds(float(shape(np.array(size))), noise, length, random)]))
            for size in SIZES
            for _ in range(repeats)
        ]
        found = plateau(curves(points, candidates(SIZES[0], SIZES[-1], SIZES)))
        held += found.low <= true_plateau(shape) <= found.high
    assert 0.93 <= held / RUNS <= 0.97


def test_a_curve_goes_through_what_is_precise_and_smooths_what_is_not() -> None:
    def at(size: int, errors: float, disturbance: float) -> float:
        rates = [400 * one / (one + 8) * (1 + disturbance * (-1) ** place) for place, one in enumerate(SIZES)]
        drawn = curves([Observation(one, rate, errors * rate) for one, rate in zip(SIZES, rates, strict=True)], SIZES)
        return float(drawn.mean[SIZES.index(size)])

    assert at(16, 0.0, 0.0) == pytest.approx(400 * 16 / 24, rel=0.01)
    dip = 400 * 32 / 40
    assert abs(at(32, 0.1, 0.1) / dip - 1) < 0.08  # what was measured is 10 % below


def test_more_steps_make_it_more_certain() -> None:
    def spread(steps: int) -> float:
        points = [Observation(size, 400 * size / (size + 8), 10.0) for size in SIZES for _ in range(steps)]
        return float(curves(points, SIZES).draws.std(axis=0).mean())

    assert spread(8) < spread(2) < spread(1)


def test_equal_steps_give_equal_curves() -> None:
    points = [Observation(size, 100.0 * size, 5.0) for size in SIZES]
    assert (curves(points, SIZES).draws == curves(points, SIZES).draws).all()


@given(st.integers(1, 500), st.integers(0, 1000), st.lists(st.integers(1, 2000), max_size=5))
@settings(max_examples=50)
def test_candidates_hold_both_ends_and_are_never_far_apart(low: int, more: int, also: list[int]) -> None:
    sizes = candidates(low, low + more, also)
    assert (sizes[0], sizes[-1]) == (low, low + more)
    assert list(sizes) == sorted(set(sizes))
    assert all(above <= max(below + 1, 1.3 * below) for below, above in pairwise(sizes))
    assert {size for size in also if low <= size <= low + more} <= set(sizes)
