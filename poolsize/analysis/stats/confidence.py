"""Confidence intervals of a mean that respect autocorrelation, and the noise of a run that they rest on.

Neighbouring seconds of a database's throughput are correlated (lag-1 about 0.5 on real servers), so an interval for
independent seconds is too narrow. Here a series is modelled as first-order autoregressive. An interval has the
correlation of the whole run. A standard error is of one step alone: the lag-1 correlation of the step, corrected for
the bias of short series (Marriott and Pope, 1954), gives the equivalent number of independent seconds.

A few seconds can't show their own correlation. All steps of a run together can. A step's seconds are modelled as
first-order autoregressive, AR(1), with a mean and a variance of their own and with the run's lag-1 correlation. The
correlation's probability follows from the restricted likelihood of all steps (Patterson and Thompson, 1971; Cheang and
Reinsel, 2000). Repeats of one size may differ by more than that (between-step noise). The factor by which they do is
the scale factor of the Particle Data Group (Birge, 1932).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite, sqrt

import numpy as np
from scipy.special import stdtrit

from poolsize.analysis.vector import Matrix, Vector
from poolsize.units import FloatOrNull

CORRELATIONS = np.linspace(-0.4, 0.95, 28)
"""The lag-1 correlations that a run may have."""
MEMORY = 0.15
"""Exponent a of the prior (1 - r) ** -a of a correlation r; 0 is a flat prior.

In simulation the intervals then contain the true mean 93 to 97 times of 100 (tests/unit/test_confidence.py).
"""
CONFIDENCE = 0.95
"""Probability of every interval and range."""
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
"""Quantiles at the ends of a 95 % range."""
BIAS_SLOPE = 8
"""Slope b of the bias correction (1 + b r) / n of a correlation r of n values.

Marriott and Pope's 4 is right on average. With 8 the standard error also allows for series whose correlation is
underestimated.
"""
FEWEST_SECONDS = 4
"""With fewer seconds, no standard error is estimated."""
UNKNOWN_ERROR = 0.2
"""Standard error, as a share of the mean, where a series is too short to estimate one."""
SHORTEST_MEMORY = 4
"""Seconds: the correlation of n seconds is at most n / (n + 4).

This bounds the standard error of a few drifting seconds.
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
        likelihoods = (fit.log_likelihood for group in groups for fit in group)
        logarithms = sum(likelihoods, -MEMORY * np.log(1 - CORRELATIONS))
        weights = np.exp(logarithms - logarithms.max())
        weights /= weights.sum()
        squares, freedom = 0.0, 0  # the scale is the root mean square of the repeats' deviations, in standard errors
        for group in groups:
            variances = np.array([mean_variance([fit], weights) for fit in group])
            if len(group) < 2 or not variances.all():
                continue
            means = np.array([fit.mean for fit in group])
            squares += float(np.sum((means - means.mean()) ** 2 / variances.mean()))
            freedom += len(group) - 1
        return cls(weights, max(1.0, sqrt(squares / freedom)) if freedom else 1.0)


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval, in the unit of the series; from 0 to infinity where too little was measured."""

    mean: float
    low: float
    high: FloatOrNull


def mean_interval(series: Sequence[Sequence[float]], noise: Noise | None = None) -> Interval:
    """Return the mean of one or more series of counts, one count a second and one series a repeat, with its interval.

    noise: of the whole run; None to learn it from these series alone. A count of transactions is certain to one at
    each end of a series, so the interval is at least as wide. With fewer than 4 seconds in all, or no series of 2
    seconds, it is from 0 to infinity.
    """
    repeats = [repeat for repeat in series if len(repeat)]
    mean = float(np.mean(np.concatenate(repeats))) if repeats else 0.0
    half = half_width(repeats, noise)
    if not isfinite(half):
        return Interval(mean, 0.0, inf)
    half = max(half, len(repeats) / sum(map(len, repeats)))
    return Interval(mean, max(0.0, mean - half), mean + half)


def half_width(series: Sequence[Sequence[float]], noise: Noise | None = None) -> float:
    """Return half the width of the interval of mean_interval; infinity for too few seconds."""
    error, freedom = mean_error(series, noise)
    return error * float(stdtrit(freedom, TAILS[1]))


def mean_error(series: Sequence[Sequence[float]], noise: Noise | None = None) -> tuple[float, int]:
    """Return the standard error of the mean of one or more series, in their unit, and its degrees of freedom.

    noise: as of mean_interval. Infinity and 1 for too few seconds.
    """
    fits = [series_fit(tuple(repeat)) for repeat in series if len(repeat) > 1]
    if not fits or sum(map(len, series)) < FEWEST_SECONDS:
        return inf, 1
    noise = noise or Noise.of([series])
    freedom = sum(fit.seconds for fit in fits) - len(fits)
    return noise.scale * sqrt(mean_variance(fits, noise.weights)), freedom


def standard_error(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the mean of a series of seconds and its standard error, both in the unit of the series.

    With fewer than 4 seconds the error is a fifth of the mean.
    """
    series = np.asarray(seconds, float)
    mean = float(series.mean()) if series.size else 0.0
    if series.size < FEWEST_SECONDS:
        return mean, UNKNOWN_ERROR * mean
    variance = float(series.var())
    if variance == 0:
        return mean, 0.0
    raw = float(((series[1:] - mean) * (series[:-1] - mean)).mean()) / variance
    highest = series.size / (series.size + SHORTEST_MEMORY)
    correlation = float(np.clip(raw + (1 + BIAS_SLOPE * raw) / series.size, 0.0, highest))
    independent = series.size / float(inflation_under(correlation, series.size)[0])
    unbiased = variance / max(1 - 1 / independent, 0.05)
    return mean, sqrt(unbiased / independent)


def normal_samples(means: Vector, covariance: Matrix, number: int, random: np.random.Generator) -> Matrix:
    """Return samples of normal variables, shape (number, variables).

    NumPy's own multivariate_normal depends on the signs of eigenvectors, which depend on the processor's kernels.
    The symmetric square root of the correlations is unique.
    covariance: shape (variables, variables); a variable without an error is the same in all samples.
    """
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(errors > 0, errors, 1.0)
    correlations = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
    variances, directions = np.linalg.eigh(correlations)
    root = (directions * np.sqrt(np.maximum(variances, 0.0))) @ directions.T
    return np.asarray(means + random.standard_normal((number, len(means))) @ (root * errors))
