"""Two kinds of transactions in one pool: detected where they are, and not elsewhere."""

import numpy as np
import pytest

from poolsize.analysis.bimodal import BimodalUsage, Mode, bimodal_kinds, bimodal_usage
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
    for connections, sizes in ((20, [4, 17]), (2, [1, 2])):  # 9 x 2 ms against 1 x 100 ms: 3.1 and 16.9 of 20 are busy
        assert [pool.pool_size for pool in modes.pools(connections)] == sizes


@pytest.mark.parametrize("connections", [2, 8, 9, 20, 117])
@pytest.mark.parametrize(("long_share", "long_ms"), [(0.1, 99.0), (0.02, 8.0), (0.5, 8.0), (0.1, 18.0), (0.3, 500.0)])
def test_both_pools_serve_their_transactions(connections: int, long_share: float, long_ms: float) -> None:
    """Every connection of the one pool is busy; in each of the two, one is free now and then."""
    modes = BimodalUsage(Mode(1 - long_share, 2.0), Mode(long_share, long_ms))
    throughput = connections / ((1 - long_share) * 0.002 + long_share * long_ms / 1000)
    pools = modes.pools(connections)
    for pool in pools:
        busy = throughput * pool.kind.share * pool.kind.usage_ms / 1000
        assert pool.pool_size - 1 <= round(busy, 6) < pool.pool_size
    assert connections < sum(pool.pool_size for pool in pools) <= connections + 2


def test_tasks_are_long_or_short_by_their_own_means() -> None:
    kinds = {"report": (100, 90.0), "browse": (600, 2.0), "buy": (300, 3.0), "never": (0, 0.0)}
    modes = bimodal_kinds(kinds)
    assert modes is not None
    assert (modes.short.share, modes.short.kinds) == (0.9, ("browse", "buy"))
    assert modes.short.usage_ms == pytest.approx(7 / 3)
    assert modes.long == Mode(0.1, 90.0, ("report",))


@pytest.mark.parametrize(
    "kinds",
    [
        {"browse": (900, 2.0), "buy": (100, 6.0)},
        {"browse": (300, 2.0), "report": (700, 90.0)},
        {"browse": (999, 2.0), "report": (1, 90.0)},
        {"browse": (90, 2.0), "report": (10, 90.0)},
        {"browse": (900, 2.0)},
        {},
    ],
)
def test_tasks_that_can_share_a_pool_are_not_parted(kinds: dict[str, tuple[int, float]]) -> None:
    assert bimodal_kinds(kinds) is None


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
