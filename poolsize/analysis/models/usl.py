"""The universal scalability law: contention and coherency make a curve bend, and fall.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

Gunther (2007). lambda: throughput of one, per second. sigma: the share of the work that can't go on side by side.
kappa: what keeping N in agreement costs each pair. It peaks at N* = sqrt((1 - sigma) / kappa); without kappa it has
no peak and climbs towards lambda / sigma.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from scipy.optimize import least_squares

from poolsize.analysis.stats.confidence import TAILS
from poolsize.analysis.vector import Vector

DRAWS = 2000
FEWEST = 4
"""Three parameters say nothing of their own uncertainty with fewer sizes."""


@dataclass(frozen=True)
class Usl:
    """A fit. peak: N*, between low and high in 95 of 100 fits that the measurements allow; infinite without kappa."""

    lambda_: float
    sigma: float
    kappa: float
    peak: float
    low: float
    high: float

    def throughput(self, sizes: Sequence[float]) -> Vector:
        """X at these sizes, per second."""
        return _model(np.array([self.lambda_, self.sigma, self.kappa]), np.asarray(sizes, float))


def fit_usl(sizes: Sequence[float], throughput: Sequence[float], errors: Sequence[float] | None = None) -> Usl | None:
    """Fit by least squares, weighted by the standard errors where there are any; None with fewer than 4 sizes.

    sigma and kappa are never below 0, nor sigma above 1: outside of that the law means nothing.
    """
    places, rates = np.asarray(sizes, float), np.asarray(throughput, float)
    if len(set(sizes)) < FEWEST or not (rates > 0).all():
        return None
    weights = np.ones_like(rates) if errors is None else 1 / np.maximum(np.asarray(errors, float), 1e-3 * rates)

    def residuals(parameters: Vector) -> Vector:
        return np.asarray((_model(parameters, places) - rates) * weights)

    start_rate = float((rates / places).max())
    starts = [(start_rate, 0.01, 1e-4), (start_rate, 0.3, 1e-6), (start_rate, 0.03, 1e-2)]
    fits = [
        least_squares(residuals, start, bounds=([0, 0, 0], [inf, 1, inf]), x_scale=[start_rate, 0.01, 1e-4])
        for start in starts
    ]
    best = min(fits, key=lambda fit: float(fit.cost))
    low, high = _peak_interval(best.x, best.jac, float(2 * best.cost), len(rates))
    lambda_, sigma, kappa = map(float, best.x)
    return Usl(lambda_, sigma, kappa, _peak(sigma, kappa), low, high)


def _model(parameters: Vector, sizes: Vector) -> Vector:
    lambda_, sigma, kappa = parameters
    return np.asarray(lambda_ * sizes / (1 + sigma * (sizes - 1) + kappa * sizes * (sizes - 1)))


def _peak(sigma: float, kappa: float) -> float:
    return sqrt(max(0.0, 1 - sigma) / kappa) if kappa > 0 else inf


def _peak_interval(parameters: Vector, jacobian: Vector, squares: float, number: int) -> tuple[float, float]:
    """From draws of the parameters' normal approximation, cut off where they mean nothing."""
    scale = squares / max(1, number - len(parameters))
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * scale
    drawn = np.random.default_rng(0).multivariate_normal(parameters, covariance, DRAWS, method="eigh")
    peaks = [_peak(min(1.0, max(0.0, sigma)), max(0.0, kappa)) for _, sigma, kappa in drawn]
    ends = np.quantile(peaks, TAILS, method="nearest")
    return float(ends[0]), float(ends[1])
