"""Confidence intervals of a mean that respect autocorrelation.

Neighbouring seconds of a database's throughput are correlated (lag-1 about 0.5 on real servers), so an interval for
independent seconds is too narrow. Here a series is modelled as first-order autoregressive. Its lag-1 correlation,
corrected for the bias of short series (Marriott and Pope, 1954), gives the equivalent number of independent seconds.
The interval is Student's t for that number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.special import stdtrit

from poolsize.analysis.vector import Vector

CONFIDENCE = 0.95
"""Probability of every interval and range."""
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
"""Quantiles at the ends of a 95 % range."""
BIAS_SLOPE = 8
"""Slope b of the bias correction (1 + b r) / n of a correlation r of n values.

Marriott and Pope's 4 is right on average. With 8 the interval also pays for the series whose correlation is
underestimated: in simulation it then contains the true mean 95 times of 100 (tests/unit/test_confidence.py).
"""
FEWEST_SECONDS = 4
"""With fewer seconds, no standard error is estimated."""
FEWEST_FREEDOM = 2.0
"""Degrees of freedom of Student's t, at least."""
UNKNOWN_ERROR = 0.2
"""Standard error, as a share of the mean, where a series is too short to estimate one."""
SHORTEST_MEMORY = 4
"""Seconds: the correlation of n seconds is at most n / (n + 4).

Together with FEWEST_FREEDOM this bounds the interval of a few drifting seconds. In simulation neither costs coverage.
"""


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval, in the unit of the series; from 0 to infinity where too little was measured."""

    mean: float
    low: float
    high: float


def mean_interval(series: Sequence[Sequence[float]]) -> Interval:
    """Return the mean of one or more series of seconds, one series a repeat, with its 95 % interval.

    With fewer than 4 seconds in all, or no series of 2 seconds, the interval is from 0 to infinity.
    """
    mean, error, independent = _mean(series)
    if not independent:
        return Interval(mean, 0.0, inf)
    half = error * float(stdtrit(max(independent - 1, FEWEST_FREEDOM), (1 + CONFIDENCE) / 2)) if error else 0.0
    return Interval(mean, max(0.0, mean - half), mean + half)


def standard_error(series: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the mean of one or more series of seconds and its standard error, both in the unit of the series.

    With too few seconds (see mean_interval) the error is a fifth of the mean.
    """
    mean, error, independent = _mean(series)
    return mean, error if independent else UNKNOWN_ERROR * mean


def _mean(series: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Return the mean, its standard error, and the equivalent number of independent seconds: 0 for too few seconds."""
    repeats = [np.asarray(repeat, float) for repeat in series if len(repeat)]
    seconds = np.concatenate(repeats) if repeats else np.zeros(0)
    mean = float(seconds.mean()) if seconds.size else 0.0
    if seconds.size < FEWEST_SECONDS or max(map(len, repeats)) < 2:
        return mean, 0.0, 0.0
    variance = float(seconds.var())
    if variance == 0:
        return mean, 0.0, float(seconds.size)
    length = round(seconds.size / len(repeats))
    inflation = _inflation(_lag_one([repeat - mean for repeat in repeats], variance, length), length)
    independent = seconds.size / inflation
    unbiased = variance / max(1 - 1 / independent, 0.05)
    return mean, float(np.sqrt(unbiased / independent)), independent


def _lag_one(deviations: Sequence[Vector], variance: float, length: int) -> float:
    """Return the correlation of a second with the next, bias-corrected, at least 0.

    deviations: the repeats' seconds less their common mean. length: seconds of a repeat.
    """
    products = np.concatenate([repeat[1:] * repeat[:-1] for repeat in deviations])
    raw = float(products.mean()) / variance
    highest = length / (length + SHORTEST_MEMORY)
    return float(np.clip(raw + (1 + BIAS_SLOPE * raw) / sum(map(len, deviations)), 0.0, highest))


def _inflation(correlation: float, length: int) -> float:
    """Return the variance of a mean of that many correlated seconds, relative to one of independent seconds."""
    lags = np.arange(1, length)
    return float(1 + 2 * ((1 - lags / length) * correlation**lags).sum())
