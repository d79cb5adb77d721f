"""The prior: the assumptions about a throughput curve and the noise of its steps before the first measurement.

A curve is f(x), throughput as a share of the highest measured, over x = 1 + log2(pool size):

    f(x) = a + b x + s (I(x) + k B(x)),   a ~ N(0, level^2),  b ~ N(0, slope^2)

I is an integrated Wiener process: over one doubling of the size, its slope changes by a normal number of variance 1.
B is a Brownian motion, which lets the curve have kinks. With m = min(x, y) and M = max(x, y),

    Cov(f(x), f(y)) = level^2 + slope^2 x y + s^2 (m^2 (3 M - m) / 6 + k^2 m)

Without kinks and with a flat prior of a and b, the posterior mean is the cubic smoothing spline (Wahba, 1978,
"Improper Priors, Spline Smoothing and the Problem of Guarding Against Model Errors in Regression").

Two hyperparameters are not known: the slope variance s^2, and the between-step noise d. Between-step noise is the
standard deviation of the throughput of steps of one size, beyond the noise within them. Each hyperparameter has a grid
of values and a log-normal prior; the measurements weigh the pairs of values (see poolsize.analysis.curve).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.vector import Matrix, Vector

SAMPLES = 512
"""Posterior samples: a dozen of them lie beyond either end of a 95 % range."""
JITTER = 1e-9
"""Added to the diagonal, so that rounding leaves the covariance positive definite."""


@dataclass(frozen=True)
class Prior:
    """The constants of the prior, with throughput as a share of the highest measured, and x in doublings of the size.

    level, slope, kinks: level, slope and k of the module's equations (standard deviations).
    slope_deviations: the grid of s, the square roots of the slope variances.
    between_step_noise: the grid of d, shares of the throughput.
    usual_slope_deviation, usual_between_step_noise: medians of the log-normal priors of s and d.
    spread: standard deviation of the logarithms of s and of d.
    pooled_steps: weight, in steps, of the mean within-step noise of all sizes against a size's own.
    """

    level: float
    slope: float
    kinks: float
    slope_deviations: tuple[float, ...]
    between_step_noise: tuple[float, ...]
    usual_slope_deviation: float
    usual_between_step_noise: float
    spread: float
    pooled_steps: float

    def covariances(self, sizes: tuple[int, ...]) -> Matrix:
        """Return Cov(f(x), f(y)) for each slope deviation: shape (slope deviations, sizes, sizes)."""
        x = 1 + np.log2(sizes)
        near, far = np.minimum.outer(x, x), np.maximum.outer(x, x)
        return np.array(
            [
                self.level**2
                + self.slope**2 * np.outer(x, x)
                + deviation**2 * (near**2 * (3 * far - near) / 6 + self.kinks**2 * near)
                for deviation in self.slope_deviations
            ]
        )

    def log_density(self) -> Matrix:
        """Return the log density of each pair of hyperparameters, up to a constant.

        Shape (slope deviations, between-step noises).
        """
        return np.asarray(
            -0.5 * (np.log(np.array(self.slope_deviations) / self.usual_slope_deviation) / self.spread)[:, None] ** 2
            - 0.5 * (np.log(np.array(self.between_step_noise) / self.usual_between_step_noise) / self.spread) ** 2
        )


PRIOR = Prior(
    level=2.0,  # scripts/calibrate, table 4: so wide that it does not influence the plateau's range
    slope=1.0,  # scripts/calibrate, table 4: likewise
    kinks=0.2,  # scripts/calibrate, table 4: a smaller value fits as well; a larger one covers more sharp knees
    slope_deviations=(0.15, 0.3, 0.6, 1.2),  # scripts/calibrate, table 4
    between_step_noise=(0.005, 0.01, 0.02, 0.035, 0.06, 0.1),  # scripts/calibrate, table 3
    usual_slope_deviation=0.4,  # scripts/calibrate, table 4
    usual_between_step_noise=0.015,  # scripts/calibrate, table 3
    spread=1.1,  # scripts/calibrate, tables 3 and 4
    pooled_steps=3,  # scripts/calibrate, table 5: hardly matters
)
"""The prior in use."""


@dataclass(frozen=True)
class PriorSamples:
    """Curves and noise sampled from the prior, with a fixed seed, so that equal steps lead to equal answers.

    covariances: shape (slope deviations, sizes, sizes). curves: shape (slope deviations, SAMPLES, sizes).
    noise: standard normal numbers, shape (SAMPLES, sizes). order: a random order of the SAMPLES rows.
    """

    covariances: Matrix
    curves: Matrix
    noise: Matrix
    order: NDArray[np.intp]


@lru_cache(maxsize=8)
def prior_samples(prior: Prior, sizes: tuple[int, ...]) -> PriorSamples:
    """Return SAMPLES curves for each slope deviation of the prior: shape (slope deviations, SAMPLES, sizes).

    sizes: ascending.
    """
    covariances = prior.covariances(sizes)
    random = np.random.default_rng(0)
    normal, noise = random.standard_normal((2, SAMPLES, len(sizes)))
    roots = np.linalg.cholesky(covariances + JITTER * np.eye(len(sizes)))
    return PriorSamples(covariances, normal @ roots.swapaxes(1, 2), noise, random.permutation(SAMPLES))


def within_step_variances(prior: Prior, own: Vector, steps: Vector) -> tuple[Vector, float]:
    """Return the variance of the within-step noise at each size, and its mean over all sizes; noise is a share.

    A few seconds estimate their own noise badly. So each size's own variance (own) is averaged with the mean of all
    sizes, weighted by the size's number of steps and by `pooled_steps`.
    """
    mean = float(own @ steps / steps.sum())
    return (prior.pooled_steps * mean + steps * own) / (prior.pooled_steps + steps), mean
