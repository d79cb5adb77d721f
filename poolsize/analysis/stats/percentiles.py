"""Percentiles of a latency, read from the HdrHistograms that a run stores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from poolsize.analysis.stats.confidence import Interval, mean_interval
from poolsize.errors import BadInput

HIGHEST_US = 3_600_000_000
DIGITS = 3
QUANTILES = {"p50": 50.0, "p75": 75.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9}


@dataclass(frozen=True)
class Percentiles:
    """A latency's distribution in milliseconds; all 0 when nothing was counted, NaN where it is not known."""

    p50: float
    p75: float
    p90: float
    p95: float
    p99: float
    p99_9: float
    mean: float
    max: float


UNKNOWN = Percentiles(nan, nan, nan, nan, nan, nan, nan, nan)


def empty_histogram() -> HdrHistogram:
    """A histogram of the kind that runs store: 1 us to 1 h with three digits."""
    return HdrHistogram(1, HIGHEST_US, DIGITS)


def merged(encoded: Iterable[str]) -> HdrHistogram:
    """Add up encoded histograms without loss: counts of equal buckets are summed."""
    histogram = empty_histogram()
    for one in encoded:
        try:
            histogram.decode_and_add(one)
        except Exception:  # hdrh raises whatever base64, zlib or ctypes do
            raise BadInput("the run was changed by hand or damaged: a latency histogram can't be decoded") from None
    return histogram


def recorded(histogram: HdrHistogram) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every class that has values: its lowest value, the width of the class, and how many it has; ascending.

    The histogram's own layout, read at once; the library goes through it class by class, a thousand times slower.
    """
    counts = np.ctypeslib.as_array(histogram.counts).astype(np.int64)
    index = np.flatnonzero(counts)
    half = histogram.sub_bucket_half_count
    bucket = (index >> histogram.sub_bucket_half_count_magnitude) - 1
    place = (index & (half - 1)) + np.where(bucket < 0, 0, half)
    doublings = np.maximum(bucket, 0) + histogram.unit_magnitude
    return place << doublings, np.left_shift(1, doublings), counts[index]


def quantiles(histogram: HdrHistogram, shares: Sequence[float]) -> NDArray[np.float64]:
    """The values below which these shares (0 to 1) of a histogram's values lie, in its unit; it is not empty."""
    lowest, width, counts = recorded(histogram)
    wanted = np.maximum(1, np.floor(np.asarray(shares) * counts.sum() + 0.5))
    places = np.searchsorted(np.cumsum(counts), wanted)
    return np.asarray(lowest[places] + width[places] - 1, float)


def percentiles(histogram: HdrHistogram) -> Percentiles:
    """Read a histogram of microseconds as milliseconds."""
    if not histogram.get_total_count():
        return Percentiles(0, 0, 0, 0, 0, 0, 0, 0)
    lowest, width, counts = recorded(histogram)
    found = quantiles(histogram, [share / 100 for share in QUANTILES.values()]) / 1000
    mean_us = float(np.average(lowest + width // 2, weights=counts))
    values_ms = dict(zip(QUANTILES, found.tolist(), strict=True))
    return Percentiles(**values_ms, mean=mean_us / 1000, max=histogram.get_max_value() / 1000)


def mean_ms(encoded: Iterable[str]) -> float:
    """The mean of encoded histograms together, in milliseconds; 0 when nothing was counted."""
    return percentiles(merged(encoded)).mean


def quantile_interval(value: float, sections: Sequence[Sequence[float]]) -> Interval:
    """A quantile with its 95 % interval, from its values in sections of the time, one series a repeat.

    Sectioning (Asmussen and Glynn, 2007): the sections say how much it varies, the whole says where it is, for a
    quantile of a few transactions is biased.
    """
    spread = mean_interval(sections)
    half = spread.high - spread.mean
    return Interval(value, max(0.0, value - half), value + half)
