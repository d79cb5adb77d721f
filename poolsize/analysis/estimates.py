"""Every estimator's answer side by side, with a test of how far each can be trusted.

Where the estimators disagree, the curve does not determine the size.
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
from poolsize.analysis.models.closed_network import Station
from poolsize.analysis.models.network_fit import NO_CLIENT
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
"""Share by which an unstable estimate changes."""
LEFT_OUT = 12
"""The most sizes left out to test an estimator, evenly chosen; the test averages their errors anyway."""


@dataclass(frozen=True)
class Estimate:
    """One estimator's answer and its test.

    pool_size: connections; None where there is no answer inside the measured sizes. low, high: its 95 % range.
    error: of the throughput predicted at each size when that size is left out, a share (root mean square); None for
    an estimator that predicts none. moved: share by which pool_size changes without the largest measured size; None
    where either has no answer.
    """

    pool_size: int | None
    low: int | None = None
    high: int | None = None
    error: float | None = None
    moved: float | None = None

    @property
    def unstable(self) -> bool:
        """Whether the answer moves by more than 20 % without the largest measured size."""
        return self.moved is not None and abs(self.moved) > MOVED


def answers(
    observations: Sequence[Observation], tolerance: float = TOLERANCE, client: Station = NO_CLIENT
) -> Mapping[str, int | None]:
    """Return the pool size of every estimator but the plateau, by its name: no ranges, no test.

    observations: ascending in size. tolerance: share of capacity. client: service demand at the load generator.
    """
    others = {name: estimator for name, estimator in ESTIMATORS.items() if name != PLATEAU}
    return {name: estimator(tolerance, client).pool_size(observations) for name, estimator in others.items()}


def estimates(
    observations: Sequence[Observation],
    tolerance: float = TOLERANCE,
    client: Station = NO_CLIENT,
    *,
    of_grid: bool = True,
) -> Mapping[str, Estimate]:
    """Return every estimator's answer with its range and its test, by the estimator's name.

    observations: ascending in size. tolerance: share of capacity. client: service demand at the load generator.
    of_grid: a user chose the sizes.
    """
    return {
        name: _tested(estimator(tolerance, client, of_grid), observations) for name, estimator in ESTIMATORS.items()
    }


def _tested(estimator: Estimator, observations: Sequence[Observation]) -> Estimate:
    """Return an estimator's answer, tested by leaving sizes out: each inner size in turn, and the largest."""
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
