"""The estimates of all estimators, each tested by leaving measured sizes out.

Where the estimates disagree, the measured curve does not determine the pool size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from poolsize.analysis.estimators import (
    ClosedNetworkEstimator,
    Estimator,
    KneedleEstimator,
    PlateauEstimator,
    UslEstimator,
    means_by_size,
)
from poolsize.analysis.models.fitted_network import NOTHING_MEASURED, MeasuredStations
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import TOLERANCE

PLATEAU = "plateau"
ESTIMATORS: Mapping[str, type[Estimator]] = {
    PLATEAU: PlateauEstimator,
    "usl": UslEstimator,
    "closed_network": ClosedNetworkEstimator,
    "kneedle": KneedleEstimator,
}
"""Every estimator by the name that output and JSON use, in their order. A new estimator is a line here."""

MOVED = 0.2
"""An estimate is unstable if it changes by more than this share without the largest measured size."""
LEFT_OUT = 12
"""The largest number of sizes that are left out, one at a time, to test an estimator."""


@dataclass(frozen=True)
class Estimate:
    """One estimator's pool size and its tests.

    pool_size: connections; None where there is no estimate inside the measured sizes. low, high: its 95 % range.
    error: root mean square error, a share, of the throughput predicted at each size when that size is left out. None
    for an estimator that predicts no throughput.
    moved: share by which pool_size changes without the largest measured size; None without both estimates.
    """

    pool_size: int | None
    low: int | None = None
    high: int | None = None
    error: float | None = None
    moved: float | None = None

    @property
    def unstable(self) -> bool:
        """Whether the estimate changes by more than 20 % without the largest measured size."""
        return self.moved is not None and abs(self.moved) > MOVED


def estimates(
    observations: Sequence[Observation],
    tolerance: float = TOLERANCE,
    measured: MeasuredStations = NOTHING_MEASURED,
    *,
    of_grid: bool = True,
) -> Mapping[str, Estimate]:
    """Return estimator -> its estimate, with its range and its tests.

    observations: ascending in size. tolerance: share of capacity. measured: service demands.
    of_grid: whether the user chose the measured sizes, in place of a search.
    """
    return {
        name: _tested(estimator(tolerance, measured, of_grid), observations) for name, estimator in ESTIMATORS.items()
    }


def _tested(estimator: Estimator, observations: Sequence[Observation]) -> Estimate:
    """Return an estimator's estimate, tested by leaving sizes out: the largest, and up to 12 inner sizes in turn."""
    sizes, rates, _ = means_by_size(observations)
    answer = estimator.estimate(observations)
    shorter = estimator.estimate(_without(observations, sizes[-1])).pool_size if len(sizes) > 2 else None
    moved = shorter / answer.pool_size - 1 if shorter and answer.pool_size else None
    inner = list(zip(sizes, rates, strict=True))[1:-1]
    inner = inner[:: max(1, -(-len(inner) // LEFT_OUT))]
    predictions = [(estimator.predict(_without(observations, size), size), rate) for size, rate in inner]
    errors = [predicted / rate - 1 for predicted, rate in predictions if predicted is not None and rate]
    error = float(np.sqrt(np.mean(np.square(errors)))) if errors else None
    return Estimate(answer.pool_size, answer.low, answer.high, error, moved)


def _without(observations: Sequence[Observation], size: int) -> Sequence[Observation]:
    return [observation for observation in observations if observation.pool_size != size]
