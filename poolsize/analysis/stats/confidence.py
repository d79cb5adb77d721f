"""Intervals that respect autocorrelation.

Neighbouring seconds of a database's throughput resemble each other (lag-1 about 0.5 on real servers), so an
interval that takes them for independent is too narrow. Here the series is taken for a first-order autoregressive
one: its lag-1 correlation, corrected for the bias that short series have (Marriott and Pope, 1954), says how many
independent seconds it is worth, and Student's t makes an interval of that many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.special import stdtrit

CONFIDENCE = 0.95
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
BIAS_SLOPE = 8
"""Marriott and Pope's correction of a correlation r from n values is (1 + 4 r) / n, right on average; an interval also
pays for the times it is not, and in simulation the slope of 8 makes it hold the truth as often as it says."""
FEWEST_SECONDS = 4
FEWEST_FREEDOM = 2.0
UNKNOWN_ERROR = 0.2
SHORTEST_MEMORY = 4
"""Seconds that bound what a short series may claim: n of them can't show a correlation above n / (n + 4). With two
degrees of freedom at least, this keeps a drift in a handful of seconds from an interval without end; simulation
says that neither costs coverage."""


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval; from 0 to infinity where too little was measured to tell."""

    mean: float
    low: float
    high: float


def mean_interval(series: Sequence[Sequence[float]]) -> Interval:
    """The mean of one or more series of seconds, one a repeat, and where it may lie.

    With fewer than 4 seconds in all, or none beside another, the interval is from 0 to infinity.
    """
    mean, error, independent = _mean(series)
    if not independent:
        return Interval(mean, 0.0, inf)
    half = error * float(stdtrit(max(independent - 1, FEWEST_FREEDOM), (1 + CONFIDENCE) / 2)) if error else 0.0
    return Interval(mean, max(0.0, mean - half), mean + half)


def standard_error(series: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The mean of one or more series of seconds, and its standard error; a fifth of it where it can't be told."""
    mean, error, independent = _mean(series)
    return mean, error if independent else UNKNOWN_ERROR * mean


def _mean(series: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Mean, standard error, and how many independent seconds it is worth: 0 where that can't be told."""
    repeats = [np.asarray(one, float) for one in series if len(one)]
    seconds = np.concatenate(repeats) if repeats else np.zeros(0)
    mean = float(seconds.mean()) if seconds.size else 0.0
    if seconds.size < FEWEST_SECONDS or max(map(len, repeats)) < 2:
        return mean, 0.0, 0.0
    variance = float(seconds.var())
    if variance == 0:
        return mean, 0.0, float(seconds.size)
    length = round(seconds.size / len(repeats))
    inflation = _inflation(_lag_one([one - mean for one in repeats], variance, length), length)
    independent = seconds.size / inflation
    unbiased = variance / max(1 - 1 / independent, 0.05)
    return mean, float(np.sqrt(unbiased / independent)), independent


def _lag_one(away: "Sequence[np.ndarray[tuple[int], np.dtype[np.float64]]]", variance: float, length: int) -> float:
    """Correlation of a second with the next, bias-corrected, at least 0. away: seconds less their common mean."""
    products = np.concatenate([one[1:] * one[:-1] for one in away])
    raw = float(products.mean()) / variance
    highest = length / (length + SHORTEST_MEMORY)
    return float(np.clip(raw + (1 + BIAS_SLOPE * raw) / sum(map(len, away)), 0.0, highest))


def _inflation(correlation: float, length: int) -> float:
    """How many times wider a mean of that many correlated seconds varies than one of independent seconds."""
    lags = np.arange(1, length)
    return float(1 + 2 * ((1 - lags / length) * correlation**lags).sum())
