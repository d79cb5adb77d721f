"""The noise of a run: how much a second resembles the next, and how much more repeats differ than their seconds show.

A few seconds can't show their own correlation. All steps of a run together can. A step's seconds are modelled as
first-order autoregressive, AR(1), with a mean and a variance of their own and with the run's lag-1 correlation. The
correlation's probability follows from the restricted likelihood of all steps (Patterson and Thompson, 1971; Cheang and
Reinsel, 2000). Repeats of one size may differ by more than that (between-step noise). The factor by which they do is
the scale factor of the Particle Data Group (Birge, 1932).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from poolsize.analysis.vector import Vector

CORRELATIONS = np.linspace(-0.4, 0.95, 28)
"""The lag-1 correlations that a run may have."""
MEMORY = 0.15
"""Exponent a of the prior (1 - r) ** -a of a correlation r; 0 is a flat prior.

In simulation the intervals then contain the true mean 93 to 97 times of 100 (tests/unit/test_noise.py).
"""


@dataclass(frozen=True, eq=False)
class SeriesFit:
    """One series of seconds under each of the CORRELATIONS.

    seconds: their number. mean: in the unit of the series. squares: sum of squares around the mean, weighted for the
    correlation; it estimates `seconds` - 1 variances of a second. log_likelihood: of the correlation, without constant.
    """

    seconds: int
    mean: float
    squares: Vector
    log_likelihood: Vector


@lru_cache(maxsize=8192)  # a comparison and a search analyze the same steps again and again
def series_fit(series: tuple[float, ...]) -> SeriesFit:
    """Return the fit of one series of at least two seconds."""
    seconds, correlations = len(series), CORRELATIONS
    mean = float(np.mean(series))
    deviations = np.asarray(series, float) - mean
    ends = float(deviations[0] + deviations[-1])
    inner = float(deviations[1:-1] @ deviations[1:-1])
    products = float(deviations[1:] @ deviations[:-1])
    independent = 1 - correlations**2
    precision = (seconds - (seconds - 2) * correlations) / (1 + correlations)
    weighted_mean = correlations * ends / (1 + correlations) / precision
    raw = float(deviations @ deviations) + correlations**2 * inner - 2 * correlations * products
    squares = np.maximum(raw / independent - precision * weighted_mean**2, 0.0)
    freedom = seconds - 1
    likelihood = -0.5 * (freedom * np.log(independent) + np.log(precision))
    if max(series) > min(series):
        likelihood -= 0.5 * freedom * np.log(squares / squares.max())
    else:
        likelihood = np.zeros(len(correlations))  # equal seconds show no correlation
    return SeriesFit(seconds, mean, squares, likelihood)


@lru_cache(maxsize=1024)
def inflation(seconds: int) -> Vector:
    """Return the variance of a mean of that many seconds, relative to independent ones, under the CORRELATIONS."""
    return inflation_under(CORRELATIONS, seconds)


def inflation_under(correlation: float | Vector, seconds: int) -> Vector:
    """Return the variance of a mean of correlated seconds, relative to independent ones, under each correlation."""
    lags = np.arange(1, seconds)[:, None]
    return np.asarray(1 + 2 * ((1 - lags / seconds) * np.atleast_1d(correlation) ** lags).sum(axis=0))


def mean_variance(fits: Sequence[SeriesFit], weights: Vector) -> float:
    """Return the variance of the mean over all seconds of some series. weights: probabilities of the CORRELATIONS."""
    seconds = sum(fit.seconds for fit in fits)
    freedom = seconds - len(fits)
    of_a_second = np.sum([fit.squares for fit in fits], axis=0) / freedom
    inflated = np.sum([fit.seconds * inflation(fit.seconds) for fit in fits], axis=0)
    return float(weights @ (of_a_second * inflated)) / seconds**2


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise of a run's series.

    weights: probability of each of the CORRELATIONS; sum 1. scale: factor, at least 1, by which repeats of one size
    differ more than their seconds show; 1 without repeats.
    """

    weights: Vector
    scale: float

    @classmethod
    def of(cls, sizes: Sequence[Sequence[Sequence[float]]]) -> "Noise":
        """Return the noise of a run. sizes: for each pool size its series, one a repeat; short series are left out."""
        groups = [[series_fit(tuple(series)) for series in repeats if len(series) > 1] for repeats in sizes]
        logarithms = -MEMORY * np.log(1 - CORRELATIONS)
        for group in groups:
            for fit in group:
                logarithms = logarithms + fit.log_likelihood
        weights = np.exp(logarithms - logarithms.max())
        weights /= weights.sum()
        return cls(weights, _scale(groups, weights))


def _scale(groups: Sequence[Sequence[SeriesFit]], weights: Vector) -> float:
    """Return the scale factor of the repeats: root mean square of their deviations, in standard errors; at least 1."""
    squares, freedom = 0.0, 0
    for group in groups:
        variances = np.array([mean_variance([fit], weights) for fit in group])
        if len(group) < 2 or not variances.all():
            continue
        means = np.array([fit.mean for fit in group])
        squares += float(np.sum((means - means.mean()) ** 2 / variances.mean()))
        freedom += len(group) - 1
    return max(1.0, sqrt(squares / freedom)) if freedom else 1.0
