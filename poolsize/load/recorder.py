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

    transactions: number that ended in this second. gap_seconds: sum of the gaps before these transactions.
    wait, usage, total: their times, rounded as the stored histograms round. errors: kind -> failed transactions.
    """

    transactions: int
    gap_seconds: float
    wait: Counts
    usage: Counts
    total: Counts
    errors: dict[str, int]


class Recorder:
    """Records the times of transactions, and sums them up once a second.

    To cost little, recording a transaction only appends three numbers to an array. seconds: the seconds that ended.
    """

    def __init__(self) -> None:
        self.seconds: list[WorkerSecond] = []
        self._times: array[int] = array("q")
        self._errors: Counter[str] = Counter()

    @property
    def record(self) -> Any:
        """The function that records one transaction; its argument is (gap_ns, wait_ns, usage_ns)."""
        return self._times.extend

    def failed(self, kind: str) -> None:
        """Count one failed transaction. kind: of the error."""
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
    """Return the histogram, in microseconds, of a latency over several seconds. counts: one a second."""
    total: defaultdict[int, int] = defaultdict(int)
    for second in counts:
        for time_us, number in second.items():
            total[time_us] += number
    result = empty_histogram()
    for time_us, number in total.items():
        result.record_value(time_us, number)
    return result


def _counts(times_ns: NDArray[np.int64]) -> Counts:
    """Return the counts of times, rounded as the histogram rounds: to 11 binary digits of whole microseconds."""
    times_us = np.clip(times_ns // 1000, 1, HIGHEST_US)
    shift = np.maximum(np.frexp(times_us)[1] - SUB_BUCKET_BITS, 0)
    rounded_us, numbers = np.unique(times_us >> shift << shift, return_counts=True)
    return dict(zip(rounded_us.tolist(), numbers.tolist(), strict=True))
