"""Two kinds of transactions in one pool: detected where they are, and not elsewhere."""

import numpy as np
import pytest

from poolsize.analysis.bimodal import BimodalUsage, bimodal_usage
from poolsize.analysis.stats.percentiles import empty_histogram


def usage(*kinds: tuple[int, float, float]) -> BimodalUsage | None:
    """Of log-normal kinds: number, median in ms, sigma of the logarithm."""
    random, histogram = np.random.default_rng(1), empty_histogram()
    for number, median_ms, sigma in kinds:
        for value in 1000 * median_ms * np.exp(sigma * random.standard_normal(number)):
            histogram.record_value(int(value))
    return bimodal_usage(histogram)


def test_two_separate_heaps_are_found_and_share_the_pool_by_the_time_they_hold_it() -> None:
    modes = usage((9000, 2.0, 0.3), (1000, 100.0, 0.3))
    assert modes is not None
    assert modes.short.share == pytest.approx(0.9, abs=0.01)
    assert modes.long.usage_ms == pytest.approx(100 * np.exp(0.3**2 / 2), rel=0.05)
    assert modes.pools(20) == (3, 17)  # 9 x 2 ms against 1 x 100 ms
    assert modes.pools(2) == (1, 1)


@pytest.mark.parametrize(
    "kinds",
    [
        [(10_000, 5.0, 0.3)],
        [(10_000, 5.0, 1.2)],  # one wide heap, of which the tail is long
        [(9000, 2.0, 0.3), (1000, 5.0, 0.3)],  # they overlap
        [(9990, 2.0, 0.3), (10, 500.0, 0.1)],  # a few stragglers
        [(1000, 2.0, 0.3), (9000, 100.0, 0.3)],  # the long ones are what the pool is for
        [(50, 2.0, 0.3), (50, 100.0, 0.3)],  # too few to tell
    ],
)
def test_one_kind_is_not_parted(kinds: list[tuple[int, float, float]]) -> None:
    assert usage(*kinds) is None
