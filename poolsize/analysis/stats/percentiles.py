"""Percentiles of a latency, read from the HdrHistograms that a run stores."""

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, log, nan

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from poolsize.analysis.stats.confidence import Interval, Noise, half_width
from poolsize.errors import BadInput
from poolsize.runs.run import QUANTILES, Latencies
from poolsize.units import FloatOrNull

HIGHEST_US = 3_600_000_000
"""The longest time that a histogram records: one hour, in us."""
DIGITS = 3
"""Significant digits of a recorded value."""
ROUNDING = 10.0**-DIGITS
"""Error of a recorded value, a share."""
SHORTEST_MS = 0.001
"""The shortest time that a histogram tells from zero."""
CLASSES, CLASSES_BEGIN = struct.Struct(">iiiiqq"), 8
"""The head of an encoded histogram once it is inflated, and where that begins before (HdrHistogram, encoding V2)."""
MOST_BYTES = 2**18
"""No inflated histogram is longer: poolsize's 23,552 classes have at most 9 bytes each, and a head."""


@dataclass(frozen=True)
class Percentiles:
    """A latency's distribution in milliseconds; all 0 without transactions, all NaN where the latency is not known.

    mean: of successful transactions, as Little's law needs it, also where the percentiles count failed transactions.
    """

    p50: FloatOrNull
    p75: FloatOrNull
    p90: FloatOrNull
    p95: FloatOrNull
    p99: FloatOrNull
    p99_9: FloatOrNull
    mean: FloatOrNull
    max: FloatOrNull


UNKNOWN = Percentiles(nan, nan, nan, nan, nan, nan, nan, nan)


def empty_histogram() -> HdrHistogram:
    """Return an empty histogram of the kind that runs store: 1 us to 1 h with three digits."""
    return HdrHistogram(1, HIGHEST_US, DIGITS)


def merged(encoded: Iterable[str | None]) -> HdrHistogram:
    """Return the sum of encoded histograms; it is exact, because all histograms have the same classes.

    A latency that is not known, None, adds nothing. Raises BadInput for a text that is not an encoded histogram.
    """
    histogram = empty_histogram()
    for text in filter(None, encoded):
        try:
            inflated = zlib.decompressobj().decompress(base64.b64decode(text)[CLASSES_BEGIN:], MOST_BYTES + 1)
            _, _, _, digits, lowest, highest = CLASSES.unpack_from(inflated)
            if (digits, lowest, highest) != (DIGITS, 1, HIGHEST_US) or len(inflated) > MOST_BYTES:
                raise ValueError(text)  # it has other classes, and so may need any amount of memory
            histogram.decode_and_add(text)
        except Exception:  # hdrh raises whatever base64, zlib or ctypes do
            raise BadInput("the run was changed by hand or damaged: a latency histogram can't be decoded") from None
    return histogram


def encoded(histogram: HdrHistogram) -> str:
    """Return a histogram as runs store it; `merged` reads it."""
    return str(histogram.encode(), "ascii")


def recorded(histogram: HdrHistogram) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest value, the width and the count of each class that has values; three arrays, ascending.

    The function reads the histogram's layout directly: the library's iterator is a thousand times slower.
    """
    counts = np.ctypeslib.as_array(histogram.counts).astype(np.int64)
    index = np.flatnonzero(counts)
    half = histogram.sub_bucket_half_count
    bucket = (index >> histogram.sub_bucket_half_count_magnitude) - 1
    place = (index & (half - 1)) + np.where(bucket < 0, 0, half)
    doublings = np.maximum(bucket, 0) + histogram.unit_magnitude
    return place << doublings, np.left_shift(1, doublings), counts[index]


def quantiles(histogram: HdrHistogram, shares: Sequence[float]) -> NDArray[np.float64]:
    """Return the quantiles of a histogram, in the histogram's unit, one value a share.

    histogram: not empty. shares: from 0 to 1; that share of the histogram's values is at most the quantile.
    """
    lowest, width, counts = recorded(histogram)
    ranks = np.maximum(1, np.floor(np.asarray(shares) * counts.sum() + 0.5))
    places = np.searchsorted(np.cumsum(counts), ranks)
    return np.asarray(lowest[places] + width[places] - 1, float)


def percentiles(histogram: HdrHistogram) -> Percentiles:
    """Return the percentiles, in milliseconds, of a histogram of microseconds; all 0 for an empty histogram."""
    if not histogram.get_total_count():
        return Percentiles(0, 0, 0, 0, 0, 0, 0, 0)
    lowest, width, counts = recorded(histogram)
    quantiles_ms = quantiles(histogram, [share / 100 for share in QUANTILES.values()]) / 1000
    mean_us = float(np.average(lowest + width // 2, weights=counts))
    values_ms = dict(zip(QUANTILES, quantiles_ms.tolist(), strict=True))
    return Percentiles(**values_ms, mean=mean_us / 1000, max=histogram.get_max_value() / 1000)


def with_failures(
    succeeded: HdrHistogram, failed: HdrHistogram, timeout_ms: float, *, untimed: int = 0
) -> HdrHistogram:
    """Return the total times, in us, of all transactions; a failed transaction took the pool timeout, or longer.

    Whoever asked for a failed transaction has nothing, however soon it failed. So it counts as a transaction that is
    as slow as the slowest that the pool allows.
    succeeded, failed: total times in us. untimed: number of failed transactions whose time is not known.
    """
    if untimed <= 0 and not failed.get_total_count():
        return succeeded
    everyone, timeout_us = empty_histogram(), min(round(1000 * timeout_ms), HIGHEST_US)
    everyone.add(succeeded)
    lowest, width, counts = recorded(failed)
    for time_us, number in zip((lowest + width // 2).tolist(), counts.tolist(), strict=True):
        everyone.record_value(min(max(time_us, timeout_us), HIGHEST_US), number)
    if untimed > 0:
        everyone.record_value(timeout_us, untimed)
    return everyone


def mean_ms(encoded: Iterable[str | None]) -> float:
    """Return the mean, in milliseconds, over several encoded histograms of microseconds; 0 without transactions.

    Raises BadInput for a text that is not an encoded histogram.
    """
    return percentiles(merged(encoded)).mean


def log_series(sections_ms: Sequence[float]) -> tuple[float, ...]:
    """Return the natural logarithms of a quantile in each section of a step. sections_ms: ms; at least 1 us counts."""
    return tuple(log(max(value_ms, SHORTEST_MS)) for value_ms in sections_ms)


def quantile_interval(value_ms: float, sections_ms: Sequence[Sequence[float]], noise: Noise | None = None) -> Interval:
    """Return a quantile with its 95 % interval, in ms.

    value_ms: the quantile over the whole time. sections_ms: the quantile in each section of the time, one series a
    repeat. noise: of the logarithms in the whole run; None to learn it from these sections alone.
    Source: sectioning (Asmussen and Glynn, 2007). The sections determine the interval's width. The whole time
    determines its middle, because a quantile of the few transactions of a section is biased. A latency scatters by
    factors, so the interval is of its logarithm.
    """
    half = max(half_width([log_series(repeat) for repeat in sections_ms], noise), ROUNDING)
    return Interval(value_ms, value_ms * exp(-half), max(value_ms, SHORTEST_MS) * exp(half) if isfinite(half) else inf)


def total_times(latencies: Sequence[Latencies], timeout_ms: float, failed: int) -> HdrHistogram:
    """Return the histogram, in us, of the total times; a failed transaction took at least the timeout (with_failures).

    failed: number of failed transactions, timed or not: the times of a lost worker's failures are not known.
    """
    timed = merged(stored.failed for stored in latencies)
    succeeded = merged(stored.total for stored in latencies)
    return with_failures(succeeded, timed, timeout_ms, untimed=failed - timed.get_total_count())


def total_percentiles(latencies: Sequence[Latencies], timeout_ms: float, failed: int = 0) -> Percentiles:
    """Return the percentiles of total_times in ms, failed transactions included; the mean is without them."""
    succeeded = percentiles(merged(stored.total for stored in latencies))
    if not failed and not any(stored.failed for stored in latencies):
        return succeeded
    return replace(percentiles(total_times(latencies, timeout_ms, failed)), mean=succeeded.mean)
