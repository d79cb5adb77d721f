"""Intervals that respect autocorrelation: means of batches of seconds, not of seconds.

Neighbouring seconds of a database's throughput resemble each other (lag-1 about 0.5 on real servers), so an
interval that takes them for independent is too narrow. Means of batches longer than that memory are nearly
independent, and Student's t makes an interval of them (batch means: Law and Carson, 1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

BATCH_SECONDS = 5
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval; low and high equal nothing but themselves when there is too little."""

    mean: float
    low: float
    high: float


def mean_interval(series: Sequence[Sequence[float]]) -> Interval:
    """The mean of several series of seconds, one a repeat, and where it may lie.

    Each series is cut into batches of 5 s (fewer, longer ones rather than a short last one). With fewer than
    two batches in all there is no telling, and the interval is from 0 to infinity.
    """
    batches = [batch for one in series for batch in _batches(one)]
    mean = float(np.mean([value for one in series for value in one])) if any(map(len, series)) else 0.0
    if len(batches) < 2:
        return Interval(mean, 0.0, float("inf"))
    spread = float(np.std(batches, ddof=1)) / len(batches) ** 0.5
    half = float(stdtrit(len(batches) - 1, (1 + CONFIDENCE) / 2)) * spread
    return Interval(mean, max(0.0, mean - half), mean + half)


def _batches(series: Sequence[float]) -> list[float]:
    count = max(1, len(series) // BATCH_SECONDS)
    return [float(np.mean(batch)) for batch in np.array_split(np.asarray(series, float), count) if len(batch)]
