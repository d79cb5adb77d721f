"""Histograms read at once, against the library that reads them class by class."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolsize.analysis.stats.percentiles import HIGHEST_US, empty_histogram, merged, percentiles, quantiles
from poolsize.runs.run import QUANTILES


@pytest.mark.long
@settings(max_examples=15)  # the library takes a tenth of a second for each
@given(st.lists(st.tuples(st.integers(1, HIGHEST_US), st.integers(1, 1000)), min_size=1, max_size=50))
def test_percentiles_are_the_library_s(values: list[tuple[int, int]]) -> None:
    histogram = empty_histogram()
    for value, number in values:
        histogram.record_value(value, number)
    histogram = merged([histogram.encode()])
    result = percentiles(histogram)
    for name, quantile in QUANTILES.items():
        assert getattr(result, name) == histogram.get_value_at_percentile(quantile) / 1000
    assert result.mean == pytest.approx(histogram.get_mean_value() / 1000, rel=1e-3)
    assert result.max == histogram.get_max_value() / 1000
    assert list(quantiles(histogram, [0.1, 1.0])) == [histogram.get_value_at_percentile(q) for q in (10, 100)]
