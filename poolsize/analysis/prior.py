"""The prior: the assumptions about a throughput curve and the noise of its steps before the first measurement.

A curve is g(x), the natural logarithm of throughput, over x = log2(pool size). So throughput is never negative, and
noise that is proportional to throughput is the same everywhere.

    g(x) = a + t x + r (x - h(x)) + s I(x)
    h(x) = log2(1 + 2^(p (x - c))) / p

    a ~ N(0, level^2),  t ~ N(tail, tail_deviation^2),  r ~ N(rise, rise_deviation^2)

Far below the bend at size 2^c the curve rises by r + t for each doubling of the size, far above it by t alone. With
r = ln 2 and t = 0, throughput is N / (1 + (N / 2^c)^p)^(1/p): proportional to the size N, then flat, with a corner that
is sharper for a larger p. So throughput for each connection hardly rises with the size. I is an integrated Wiener
process, which lets the curve depart from that shape: over one doubling, its slope changes by a normal number of
variance 1. With m = min(x, y) and M = max(x, y), Cov(I(x), I(y)) = m^2 (3 M - m) / 6 (Wahba, 1978, "Improper Priors,
Spline Smoothing and the Problem of Guarding Against Model Errors in Regression").

A step measures g with an error of variance d^2 + w^2: d is the between-step noise, w the within-step noise. A share of
the steps (`disturbed`) is disturbed from outside; their error has the additional variance `disturbance`^2. That is a
contaminated normal distribution (Tukey, 1960, "A survey of sampling from contaminated distributions").

The bend (c, p), s and d are not known. Each has a grid of values; s and d have log-normal priors, all bends the same
probability. The measurements weigh the combinations (see poolsize.analysis.hypotheses).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from poolsize.analysis.vector import Matrix, Vector


@dataclass(frozen=True)
class Prior:
    """The constants of the prior, in natural logarithms of throughput and in doublings of the pool size.

    level: standard deviation of a. tail, tail_deviation: mean and standard deviation of t. rise, rise_deviation: of r.
    sharpness: the grid of p. bends_per_doubling: values of c in each doubling. bends_beyond: doublings by which bends
    may lie below the smallest and above the largest measured size.
    roughness: the grid of s. between_step_noise: the grid of d.
    usual_roughness, usual_between_step_noise: medians of the log-normal priors of s and d.
    roughness_spread, noise_spread: standard deviations of the logarithms of s and of d.
    pooled_steps: weight, in steps, of the mean within-step noise of all sizes against a size's own.
    disturbed: share of the steps that are disturbed. disturbance: standard deviation of their additional error.
    """

    level: float
    tail: float
    tail_deviation: float
    rise: float
    rise_deviation: float
    sharpness: tuple[float, ...]
    bends_per_doubling: int
    bends_beyond: float
    roughness: tuple[float, ...]
    between_step_noise: tuple[float, ...]
    usual_roughness: float
    usual_between_step_noise: float
    roughness_spread: float
    noise_spread: float
    pooled_steps: float
    disturbed: float
    disturbance: float

    def covariances(self, sizes: tuple[int, ...]) -> Matrix:
        """Return the covariance of a + t x + s I(x) for each roughness s: shape (roughness, sizes, sizes)."""
        x = np.log2(sizes)
        near, far = np.minimum.outer(x, x), np.maximum.outer(x, x)
        straight = self.level**2 + self.tail_deviation**2 * np.outer(x, x)
        departure = near**2 * (3 * far - near) / 6
        return np.array([straight + roughness**2 * departure for roughness in self.roughness])

    def log_density(self) -> Matrix:
        """Return the log density of each pair of roughness and between-step noise, up to a constant.

        Shape (roughness, between-step noise).
        """
        rough = np.log(np.array(self.roughness) / self.usual_roughness) / self.roughness_spread
        noise = np.log(np.array(self.between_step_noise) / self.usual_between_step_noise) / self.noise_spread
        return np.asarray(-0.5 * rough[:, None] ** 2 - 0.5 * noise**2)


PRIOR = Prior(
    level=3.0,
    tail=-0.01,
    tail_deviation=0.08,
    rise=0.62,
    rise_deviation=0.15,
    sharpness=(1.0, 2.0, 4.0, 16.0),
    bends_per_doubling=4,
    bends_beyond=2.0,
    roughness=(0.02, 0.05, 0.12, 0.3),
    between_step_noise=(0.003, 0.006, 0.012, 0.025, 0.05, 0.1),
    usual_roughness=0.06,
    usual_between_step_noise=0.015,
    roughness_spread=0.8,
    noise_spread=1.1,
    pooled_steps=3,
    disturbed=0.02,
    disturbance=0.3,
)
"""The prior in use. scripts/calibrate shows the effect of each constant (table 4; of the noise, tables 3 and 5)."""


@lru_cache(maxsize=64)
def bends(prior: Prior, sizes: tuple[int, ...], smallest: int, largest: int) -> Matrix:
    """Return x - h(x) at the sizes for each bend of the prior: shape (bends, sizes).

    smallest, largest: of the measured sizes.
    """
    first = np.ceil((np.log2(smallest) - prior.bends_beyond) * prior.bends_per_doubling)
    last = np.floor((np.log2(largest) + prior.bends_beyond) * prior.bends_per_doubling)
    places = np.arange(first, last + 1) / prior.bends_per_doubling
    bend, sharpness = (grid.reshape(-1, 1) for grid in np.meshgrid(places, prior.sharpness))
    x = np.log2(sizes)
    return np.asarray(x - np.logaddexp(0, sharpness * (x - bend) * np.log(2)) / (sharpness * np.log(2)))


def within_step_variances(prior: Prior, own: Vector, steps: Vector) -> tuple[Vector, float]:
    """Return the variance of the within-step noise at each size, and its mean over all steps; noise is a share.

    A few seconds estimate their own noise badly. So each size's own variance (own) is averaged with the mean of all
    steps, weighted by the size's number of steps and by `pooled_steps`.
    """
    mean = float(own @ steps / steps.sum())
    return (prior.pooled_steps * mean + steps * own) / (prior.pooled_steps + steps), mean
