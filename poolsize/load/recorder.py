"""What a load process sees of its transactions: counted by the second, timed in microseconds."""

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from poolsize.analysis.stats.percentiles import HIGHEST_US, empty_histogram

SUB_BUCKET_BITS = 11
"""An HdrHistogram of three digits tells 2**11 values apart in each doubling."""

Counts = dict[int, int]


@dataclass(frozen=True)
class Second:
    """One second of one process: transactions that ended in it, and their times in microseconds.

    wait, usage, total: value -> how often, values as coarse as the histogram that stores them.
    gap_seconds: the sum of the gaps before these transactions. errors: kind -> failed transactions.
    """

    transactions: int
    gap_seconds: float
    wait: Counts
    usage: Counts
    total: Counts
    errors: dict[str, int]


class Recorder:
    """Takes the times of transactions at the lowest cost there is, and sums them up each second.

    A transaction costs one append of three numbers to an array; everything else happens once a second.
    """

    def __init__(self) -> None:
        self.seconds: list[Second] = []
        self._times: array[int] = array("q")
        self._errors: Counter[str] = Counter()

    @property
    def record(self) -> Any:
        """Callable that takes one transaction as (gap_ns, wait_ns, usage_ns)."""
        return self._times.extend

    def failed(self, kind: str) -> None:
        """Count one transaction that failed."""
        self._errors[kind] += 1

    def end_second(self) -> Second:
        """Close the current second and return it."""
        times = np.frombuffer(self._times, np.int64).reshape(-1, 3).copy()
        del self._times[:]
        gap, wait, usage = times[:, 0], times[:, 1], times[:, 2]
        second = Second(
            transactions=len(times),
            gap_seconds=float(gap.sum()) / 1e9,
            wait=_counts(wait),
            usage=_counts(usage),
            total=_counts(wait + usage),
            errors=dict(self._errors),
        )
        self._errors.clear()
        self.seconds.append(second)
        return second


def histogram(counts: list[Counts]) -> HdrHistogram:
    """The seconds' counts of one latency as a histogram of microseconds."""
    together: defaultdict[int, int] = defaultdict(int)
    for second in counts:
        for value, number in second.items():
            together[value] += number
    result = empty_histogram()
    for value, number in together.items():
        result.record_value(value, number)
    return result


def _counts(times_ns: NDArray[np.int64]) -> Counts:
    """Count times, rounded as the histogram would: to 11 binary digits of whole microseconds."""
    times_us = np.clip(times_ns // 1000, 1, HIGHEST_US)
    shift = np.maximum(np.frexp(times_us)[1] - SUB_BUCKET_BITS, 0)
    values, numbers = np.unique(times_us >> shift << shift, return_counts=True)
    return dict(zip(values.tolist(), numbers.tolist(), strict=True))
