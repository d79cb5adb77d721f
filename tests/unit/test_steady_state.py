"""MSER on series whose warm-up is known, and drift where there is one and where there is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.analysis.stats.steady_state import BATCH, drift, warm_up_seconds


def series(length: int, ramp: int, seed: int, lag_one: float = 0.5) -> list[float]:
    """Seconds that climb from nothing for `ramp` of them, with 3 % of autocorrelated noise."""
    random = np.random.default_rng(seed)
    noise = np.zeros(length)
    for second in range(1, length):
        noise[second] = lag_one * noise[second - 1] + random.normal(0, 3 * np.sqrt(1 - lag_one**2))
    climb = np.minimum(1, np.arange(length) / ramp) if ramp else 1.0
    return list(100 * climb + noise)


@pytest.mark.costly
@pytest.mark.parametrize("ramp", [5, 10, 20])
def test_a_ramp_is_cut_to_within_a_batch(ramp: int) -> None:
    cuts = np.array([warm_up_seconds(series(60, ramp, seed), 3) for seed in range(200)])
    assert (cuts >= ramp - BATCH).mean() > 0.99
    assert np.median(cuts) <= ramp + BATCH


@pytest.mark.costly
def test_a_steady_series_keeps_most_of_its_seconds() -> None:
    cuts = np.array([warm_up_seconds(series(60, 0, seed), 3) for seed in range(200)])
    assert np.median(cuts) <= 10


@pytest.mark.costly
@given(st.lists(st.floats(0, 1e6), max_size=80), st.integers(0, 10))
def test_never_less_than_the_floor_nor_more_than_half(seconds: list[float], floor: int) -> None:
    cut = warm_up_seconds(seconds, floor)
    assert cut >= floor
    assert cut <= max(floor, len(seconds) // 2 + BATCH)


@pytest.mark.costly
def test_chance_hardly_ever_looks_like_a_drift() -> None:
    """3 % of noise with a lag-1 correlation of 0.5, as real servers have, in the shortest usual step."""
    assert np.mean([drift(series(15, 0, seed)) != 0 for seed in range(500)]) < 0.01


def test_a_drift_is_seen() -> None:
    fading = 1 - 0.3 * np.arange(30) / 30
    drifts = [drift((np.array(series(30, 0, seed)) * fading).tolist()) for seed in range(200)]
    assert np.mean([share < -0.1 for share in drifts]) > 0.9


def test_a_late_jump_is_a_drift() -> None:
    assert drift([66, 69, 65, 92, 136, 140, 136, 137]) > 0.25
    assert drift([69, 70, 68, 69, 70, 52, 51, 51, 50, 51]) < 0
