"""The recorder: every transaction is counted once, and its time is told to three digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.analysis.stats.percentiles import merged, percentiles
from poolsize.load.recorder import Recorder, histogram
from poolsize.runs.run import QUANTILES

TIMES_NS = st.lists(st.tuples(*[st.integers(0, 10**12)] * 3), min_size=1, max_size=200)


@pytest.mark.costly
@given(TIMES_NS)
def test_nothing_is_lost_and_values_keep_three_digits(times: list[tuple[int, int, int]]) -> None:
    recorder = Recorder()
    for times_ns in times:
        recorder.record(times_ns)
    second = recorder.end_second()
    assert second.transactions == len(times) == sum(second.total.values())
    for kept, exact in zip(
        sorted(value for value, number in second.usage.items() for _ in range(number)),
        sorted(max(1, usage // 1000) for _, _, usage in times),
        strict=True,
    ):
        assert kept <= exact <= kept * 1.001 + 1
    assert recorder.end_second().transactions == 0


def test_percentiles_agree_with_the_exact_ones() -> None:
    generator = np.random.default_rng(1)
    times_us = generator.lognormal(7, 1.2, 50_000)
    recorder = Recorder()
    for time_us in times_us:
        recorder.record((0, 0, int(time_us * 1000)))
    second = recorder.end_second()
    result = percentiles(histogram([second.usage]))
    for name, quantile in QUANTILES.items():
        exact_ms = float(np.percentile(times_us, quantile)) / 1000
        assert abs(getattr(result, name) / exact_ms - 1) < 0.003, name
    assert abs(result.mean / (times_us.mean() / 1000) - 1) < 0.001


def test_histograms_merge_without_loss() -> None:
    first, second = {100: 3, 2_000_000: 1}, {100: 2, 7: 5}
    both = merged(str(histogram([counts]).encode(), "ascii") for counts in (first, second))
    together = histogram([first, second])
    assert both.get_total_count() == 11
    assert percentiles(both) == percentiles(together)


def test_errors_are_counted_by_kind_and_second() -> None:
    recorder = Recorder()
    recorder.failed("deadlock", ValueError(), 1)
    recorder.failed("deadlock", ValueError(), 1)
    assert recorder.end_second().errors == {"deadlock": 2}
    assert recorder.end_second().errors == {}
