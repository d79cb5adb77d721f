"""Paired differences under recorded noise: 15 s steps cut out of the long recordings beside this checkout."""

from collections.abc import Sequence
from dataclasses import replace
from math import hypot, log

import numpy as np
import pytest

from poolsize.analysis.stats.confidence import standard_error
from poolsize.analysis.stats.paired_differences import Pair, paired
from poolsize.recordings.recording import Recording
from poolsize.sweep.replay import recording_of
from tests.scorecard import RECORDINGS

STEP_SECONDS, WARM_UP_SECONDS = 15, 3
PATHS = sorted(RECORDINGS.glob("*_rw_*.csv*"))
"""The read-write recordings, the noisier half."""

pytestmark = pytest.mark.skipif(not PATHS, reason="the recordings are not part of the project")


@pytest.fixture(scope="module")
def recordings() -> list[Recording]:
    return [recording_of(path) for path in PATHS]


def step(series: Sequence[float], start: int) -> tuple[float, float]:
    return standard_error(series[start : start + STEP_SECONDS])


def equal_pairs(recording: Recording, random: np.random.Generator, repeats: int, *, interleaved: bool) -> list[Pair]:
    """Pairs of steps without a difference: one right after the other, in random order, or at any two moments."""
    pairs = []
    for size, seconds in recording.by_size.items():
        series = seconds.throughput
        last = len(series) - STEP_SECONDS
        for _ in range(repeats):
            first = int(random.integers(last - STEP_SECONDS - WARM_UP_SECONDS))
            starts = (first, first + STEP_SECONDS + WARM_UP_SECONDS)
            if not interleaved:
                starts = (first, int(random.integers(last)))
            (one, error), (other, of_other) = (step(series, starts[place]) for place in random.permutation(2))
            if one > 0 and other > 0:
                pairs.append(Pair(size, log(other / one), hypot(error / one, of_other / other)))
    return pairs


def significant(comparisons: Sequence[Sequence[Pair]]) -> tuple[float, float]:
    """Return the share of comparisons with a significant average, and with a significant size."""
    compared = [paired(pairs) for pairs in comparisons]
    return (
        float(np.mean([average.significant for average, _ in compared])),
        float(np.mean([any(size.significant for size in by_size.values()) for _, by_size in compared])),
    )


@pytest.mark.long
def test_two_steps_of_a_recording_differ_significantly_on_average_in_5_of_100(recordings: list[Recording]) -> None:
    random = np.random.default_rng(1)
    apart = [equal_pairs(recording, random, 1, interleaved=False) for recording in recordings for _ in range(8)]
    assert significant(apart)[0] <= 0.06


@pytest.mark.long
@pytest.mark.parametrize("repeats", [2, 3])
def test_repeats_show_sizes_at_which_the_recording_changes_its_state(recordings: list[Recording], repeats: int) -> None:
    random = np.random.default_rng(2)
    apart = [equal_pairs(recording, random, repeats, interleaved=False) for recording in recordings for _ in range(8)]
    average, some_size = significant(apart)
    assert average <= 0.06
    assert some_size <= 0.06


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ro", "rw"])
def test_steps_in_turn_find_5_percent_and_no_difference_where_there_is_none(kind: str) -> None:
    """At most 5 of 60 comparisons of equal servers; 5 % in 90 of 100, at the load of two sweeps with a step a size."""
    random = np.random.default_rng(3)
    recordings = map(recording_of, sorted(RECORDINGS.glob(f"*_{kind}_*.csv*")))
    pairs = [equal_pairs(recording, random, 1, interleaved=True) for recording in recordings for _ in range(8)]
    average, some_size = significant(pairs)
    assert average <= 5 / 60
    assert some_size <= 5 / 60
    faster = [[replace(pair, log_ratio=pair.log_ratio + log(1.05)) for pair in of_one] for of_one in pairs]
    assert np.mean([paired(of_one)[0].low > 0 for of_one in faster]) >= 0.9
