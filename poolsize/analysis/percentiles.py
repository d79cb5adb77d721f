"""Percentiles of a latency, read from the HdrHistograms that a run stores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan

from hdrh.histogram import HdrHistogram

from poolsize.analysis.confidence import Interval, mean_interval
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


def percentiles(histogram: HdrHistogram) -> Percentiles:
    """Read a histogram of microseconds as milliseconds."""
    if not histogram.get_total_count():
        return Percentiles(0, 0, 0, 0, 0, 0, 0, 0)
    values_ms = {name: histogram.get_value_at_percentile(q) / 1000 for name, q in QUANTILES.items()}
    return Percentiles(**values_ms, mean=histogram.get_mean_value() / 1000, max=histogram.get_max_value() / 1000)


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
