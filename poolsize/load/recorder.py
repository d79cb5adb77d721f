"""A worker's record of its transactions: counted by the second, timed in microseconds."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from poolsize.analysis.stats.percentiles import HIGHEST_US, empty_histogram

SUB_BUCKET_BITS = 11
"""An HdrHistogram of three digits distinguishes 2**11 values in each doubling."""

Counts = dict[int, int]
"""A time in microseconds -> how many transactions took it."""


@dataclass(frozen=True)
class WorkerSecond:
    """One second of one worker.

    transactions: those that ended in this second. gap_seconds: the sum of the gaps before these transactions.
    wait, usage, total: their times, as coarse as the histogram that stores them. errors: kind -> failed transactions.
    """

    transactions: int
    gap_seconds: float
    wait: Counts
    usage: Counts
    total: Counts
    errors: dict[str, int]


class Recorder:
    """Records the times of transactions at the lowest cost, and sums them up each second.

    Recording a transaction appends three numbers to an array; everything else happens once a second.
    seconds: the seconds that have ended.
    """

    def __init__(self) -> None:
        self.seconds: list[WorkerSecond] = []
        self._times: array[int] = array("q")
        self._errors: Counter[str] = Counter()

    @property
    def record(self) -> Any:
        """Function that records one transaction from (gap_ns, wait_ns, usage_ns)."""
        return self._times.extend

    def failed(self, kind: str) -> None:
        """Count one failed transaction."""
        self._errors[kind] += 1

    def end_second(self) -> WorkerSecond:
        """End the current second, and return its record."""
        times = np.frombuffer(self._times, np.int64).reshape(-1, 3).copy()
        del self._times[:]
        gap, wait, usage = times[:, 0], times[:, 1], times[:, 2]
        second = WorkerSecond(
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


def histogram(counts: Sequence[Counts]) -> HdrHistogram:
    """Return the histogram, in microseconds, of one latency's counts in some seconds."""
    total: defaultdict[int, int] = defaultdict(int)
    for second in counts:
        for time_us, number in second.items():
            total[time_us] += number
    result = empty_histogram()
    for time_us, number in total.items():
        result.record_value(time_us, number)
    return result


def _counts(times_ns: NDArray[np.int64]) -> Counts:
    """Count times, rounded as the histogram would: to 11 binary digits of whole microseconds."""
    times_us = np.clip(times_ns // 1000, 1, HIGHEST_US)
    shift = np.maximum(np.frexp(times_us)[1] - SUB_BUCKET_BITS, 0)
    rounded_us, numbers = np.unique(times_us >> shift << shift, return_counts=True)
    return dict(zip(rounded_us.tolist(), numbers.tolist(), strict=True))
