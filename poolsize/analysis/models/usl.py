"""The universal scalability law: contention bends a throughput curve, coherency makes it fall.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

Gunther (2007), "Guerrilla Capacity Planning". lambda: throughput of one connection, per second. sigma: contention,
the share of the work that is serial. kappa: coherency, the cost of agreement between each pair of connections.
The peak is at N* = sqrt((1 - sigma) / kappa). With kappa = 0 there is no peak: X rises towards lambda / sigma.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.models.least_squares import least_squares
from poolsize.analysis.stats.confidence import TAILS, normal_samples
from poolsize.analysis.vector import Matrix, Vector

SAMPLES = 2000
"""Sampled parameters, from which the peak's range is read."""
FEWEST_SIZES = 4
"""With fewer sizes, three parameters leave no residual from which to estimate their uncertainty."""


@dataclass(frozen=True)
class Usl:
    """A fitted law. lambda_: per second. sigma, kappa: shares.

    peak: N* in connections, infinite with kappa = 0. low, high: its 95 % range.
    """

    lambda_: float
    sigma: float
    kappa: float
    peak: float
    low: float
    high: float

    def throughput(self, sizes: Sequence[float]) -> Vector:
        """Return X at these sizes, per second; a value for each size."""
        numbers = np.asarray(sizes, float)
        slowdown = 1 + self.sigma * (numbers - 1) + self.kappa * numbers * (numbers - 1)
        return np.asarray(self.lambda_ * numbers / slowdown)


def fit_usl(sizes: Sequence[float], throughput: Sequence[float], errors: Sequence[float] | None = None) -> Usl | None:
    """Return the law fitted by least squares; None with fewer than 4 sizes or a throughput of 0.

    throughput: means at the sizes, per second. errors: their standard errors, by which the fit is weighted; None for
    equal weights. Bounds: 0 <= sigma <= 1 and 0 <= kappa, outside of which the law has no meaning.
    """
    numbers, rates = np.asarray(sizes, float), np.asarray(throughput, float)
    if len(set(sizes)) < FEWEST_SIZES or not (rates > 0).all():
        return None
    weights = np.ones_like(rates) if errors is None else 1 / np.maximum(np.asarray(errors, float), 1e-3 * rates)

    def residuals(parameters: Matrix, _: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        lambda_, sigma, kappa = (column[:, None] for column in parameters.T)
        slowdown = 1 + sigma * (numbers - 1) + kappa * numbers * (numbers - 1)
        by_lambda = numbers / slowdown
        by_sigma = -lambda_ * by_lambda * (numbers - 1) / slowdown
        derivatives = np.stack([by_lambda, by_sigma, by_sigma * numbers], axis=2)
        return (lambda_ * by_lambda - rates) * weights, derivatives * weights[:, None]

    start_rate = float((rates / numbers).max())
    starts = np.array([(start_rate, 0.01, 1e-4), (start_rate, 0.3, 1e-6), (start_rate, 0.03, 1e-2)])
    minima = least_squares(residuals, starts, np.zeros((3, 3)), np.tile([inf, 1.0, inf], (3, 1)), tolerance=1e-13)
    best = int(minima.costs.argmin())
    parameters, jacobian = minima.parameters[best], minima.derivatives[best]
    scale = 2 * float(minima.costs[best]) / max(1, len(rates) - len(parameters))
    covariance = np.asarray(np.linalg.pinv(jacobian.T @ jacobian) * scale, float)
    sampled = normal_samples(parameters, covariance, SAMPLES, np.random.default_rng(0))
    peaks = [_peak(min(1.0, max(0.0, sigma)), max(0.0, kappa)) for _, sigma, kappa in sampled]
    low, high = np.quantile(peaks, TAILS, method="nearest").tolist()
    lambda_, sigma, kappa = parameters.tolist()
    return Usl(lambda_, sigma, kappa, _peak(sigma, kappa), low, high)


def _peak(sigma: float, kappa: float) -> float:
    return sqrt(max(0.0, 1 - sigma) / kappa) if kappa > 0 else inf
