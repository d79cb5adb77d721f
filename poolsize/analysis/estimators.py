"""The estimators of a pool size: each returns a size from the observations of a run, and predicts other sizes.

The plateau and the closed network estimate the smallest size within the tolerance of capacity. The USL estimates the
peak of throughput. Kneedle estimates the point where the curve bends most.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import ceil

import numpy as np

from poolsize.analysis.curve import candidates, fit_between
from poolsize.analysis.models.fitted_network import NOTHING_MEASURED, FittedNetwork, MeasuredStations
from poolsize.analysis.models.network_fit import fit_network
from poolsize.analysis.models.usl import Usl, fit_usl
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import ROUNDING, TOLERANCE, plateau
from poolsize.analysis.stats.confidence import TAILS

SAMPLES = 100
"""Sampled curves in Kneedle, from which a 95 % range is read."""
FEWEST_SIZES = 3
"""With fewer sizes a curve has no knee."""


def knee(sizes: Sequence[float], throughput: Sequence[float]) -> int | None:
    """Return the pool size at the knee of a rising, flattening curve, by Kneedle; None where the curve has no knee.

    Both axes are scaled to 0..1. The knee is the point furthest above the diagonal. The curve must then fall towards
    the diagonal by the mean distance of two sizes (sensitivity 1). The knee moves when more sizes are measured.
    Source: Satopaa, Albrecht, Irwin and Raghavan (2011), "Finding a 'Kneedle' in a Haystack".
    sizes: ascending. throughput: one value a size, in any unit.
    """
    numbers, rates = np.asarray(sizes, float), np.asarray(throughput, float)
    if len(numbers) < FEWEST_SIZES or rates.min() == rates.max():
        return None
    above = (rates - rates.min()) / np.ptp(rates) - (numbers - numbers[0]) / np.ptp(numbers)
    before, after = np.r_[above[0], above[:-1]], np.r_[above[1:], above[-1]]
    peak, threshold = None, 0.0
    for place in range(len(above) - 1):
        if above[place] >= max(before[place], after[place]):
            peak, threshold = place, above[place] - 1 / (len(above) - 1)
        if above[place] <= min(before[place], after[place]):
            peak = None  # after a dip, only a later peak can be the knee
        if peak is not None and above[place + 1] < threshold:
            return round(float(numbers[peak]))
    return None


@dataclass(frozen=True)
class SizeRange:
    """An estimated pool size and its 95 % range; None where there is no estimate inside the measured sizes."""

    pool_size: int | None
    low: int | None = None
    high: int | None = None


NO_ANSWER = SizeRange(None)


@dataclass(frozen=True)
class Estimator(ABC):
    """A method of estimating a pool size from observations. All methods take observations ascending in size.

    tolerance: share of capacity by which throughput at the estimate may be lower.
    measured: the service demands that were measured.
    of_grid: whether the user chose the measured sizes, in place of a search.
    """

    tolerance: float = TOLERANCE
    measured: MeasuredStations = NOTHING_MEASURED
    of_grid: bool = True

    @abstractmethod
    def estimate(self, observations: Sequence[Observation]) -> SizeRange:
        """Return the estimate with its 95 % range."""

    @abstractmethod
    def predict(self, observations: Sequence[Observation], size: int) -> float | None:
        """Return the predicted throughput per second at a size; None where the estimator predicts none."""


class PlateauEstimator(Estimator):
    """The start of the fitted curve's plateau: the answer that poolsize gives."""

    def estimate(self, observations: Sequence[Observation]) -> SizeRange:
        """Return the plateau's size and range."""
        answer = plateau(fit_between(observations), self.tolerance, of_grid=self.of_grid)
        return SizeRange(answer.pool_size, answer.low, answer.high)

    def predict(self, observations: Sequence[Observation], size: int) -> float | None:
        """Return the fitted curve's throughput per second."""
        return fit_between(observations).at(size)


class UslEstimator(Estimator):
    """The peak of the universal scalability law; no estimate where the peak lies beyond the measured sizes."""

    def estimate(self, observations: Sequence[Observation]) -> SizeRange:
        """Return the peak and its range, which is clipped to the measured sizes."""
        sizes, rates, errors = means_by_size(observations)
        law = fit_usl(sizes, rates, errors)
        peak = _peak_inside(law, sizes)
        if law is None or peak is None:
            return NO_ANSWER
        low, high = np.clip([law.low, law.high], sizes[0], sizes[-1])
        return SizeRange(peak, round(float(low)), round(float(high)))

    def predict(self, observations: Sequence[Observation], size: int) -> float | None:
        """Return the law's throughput per second; None with too few sizes."""
        law = fit_usl(*means_by_size(observations))
        return None if law is None else float(law.throughput([size])[0])


class ClosedNetworkEstimator(Estimator):
    """The plateau of the closed network fitted to the observations."""

    def estimate(self, observations: Sequence[Observation]) -> SizeRange:
        """Return the smallest size within the tolerance; its range comes from the samples of the fit."""
        network = fitted_network(observations, self.measured)
        if network is None:
            return NO_ANSWER
        sizes = _candidates(observations)
        sampled = [self._plateau(other, sizes) for other in network.samples]
        low, high = np.quantile(sampled, TAILS, method="nearest")
        return SizeRange(self._plateau(network, sizes), int(low), int(high))

    def predict(self, observations: Sequence[Observation], size: int) -> float | None:
        """Return the network's throughput per second; None with too few sizes."""
        network = fitted_network(observations, self.measured)
        return None if network is None else float(network.throughput([size])[0])

    def _plateau(self, network: FittedNetwork, sizes: Sequence[int]) -> int:
        """Return the smallest size within the tolerance; linear between the sizes."""
        rates = network.throughput(sizes)
        goal = (1 - self.tolerance) * float(rates.max())
        above = int(np.argmax(rates >= goal))
        if above == 0:
            return sizes[0]
        return ceil(np.interp(goal, rates[above - 1 : above + 1], sizes[above - 1 : above + 1]) - ROUNDING)


class KneedleEstimator(Estimator):
    """Kneedle's knee of the measured means."""

    def estimate(self, observations: Sequence[Observation]) -> SizeRange:
        """Return the knee; its range comes from SAMPLES curves, each mean varied by its standard error.

        No estimate where fewer than half of these curves have a knee.
        """
        sizes, rates, errors = means_by_size(observations)
        answer = knee(sizes, rates)
        noise = np.random.default_rng(0).standard_normal((SAMPLES, len(rates)))
        curves = rates + np.multiply(errors, noise)
        knees = [size for curve in curves if (size := knee(sizes, curve.tolist())) is not None]
        if answer is None or 2 * len(knees) < SAMPLES:
            return NO_ANSWER
        low, high = np.quantile(knees, TAILS, method="nearest")
        return SizeRange(answer, int(low), int(high))

    def predict(self, observations: Sequence[Observation], size: int) -> float | None:  # noqa: ARG002 (Kneedle has no model)
        """Return None: Kneedle has no model of throughput."""
        return None


def fitted_network(
    observations: Sequence[Observation], measured: MeasuredStations = NOTHING_MEASURED
) -> FittedNetwork | None:
    """Return the closed network that fits the observations best; None with fewer than 4 sizes or a throughput of 0.

    measured: the service demands that were measured.
    """
    return _fitted_network(tuple(observations), measured)


@lru_cache(maxsize=32)  # an answer needs the network of all observations twice, as an estimator and for applications
def _fitted_network(observations: tuple[Observation, ...], measured: MeasuredStations) -> FittedNetwork | None:
    return fit_network(*means_by_size(observations), measured)


def means_by_size(observations: Sequence[Observation]) -> tuple[list[int], list[float], list[float]]:
    """Return the sizes, ascending, the mean throughput at each (per second), and the mean's standard error."""
    groups = groupby(observations, key=lambda observation: observation.pool_size)
    means = [Observation.mean(list(group)) for _, group in groups]
    sizes = [mean.pool_size for mean in means]
    return sizes, [mean.throughput for mean in means], [mean.standard_error for mean in means]


def _candidates(observations: Sequence[Observation]) -> tuple[int, ...]:
    sizes = sorted({observation.pool_size for observation in observations})
    return candidates(sizes[0], sizes[-1], sizes)


def _peak_inside(law: Usl | None, sizes: Sequence[int]) -> int | None:
    return round(law.peak) if law and sizes[0] <= law.peak <= sizes[-1] else None
