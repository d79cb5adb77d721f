"""Four estimators of the right size, side by side, each with its uncertainty and a test of how far it can be trusted.

They answer slightly different questions: the plateau and the closed network where throughput is within the tolerance of
its best, the USL where it peaks, Kneedle where the curve turns most. Where they disagree, the curve does not say it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from poolsize.analysis.closed_network import Station
from poolsize.analysis.confidence import CONFIDENCE, Interval
from poolsize.analysis.kneedle import knee
from poolsize.analysis.network_fit import NO_CLIENT, FittedNetwork, fit_network
from poolsize.analysis.plateau import TOLERANCE, plateau
from poolsize.analysis.usl import fit_usl

MOVED = 0.2
DRAWS = 100

Vector = NDArray[np.float64]
Curve = Sequence[tuple[int, Interval]]


@dataclass(frozen=True)
class Estimate:
    """What one estimator says.

    pool_size: None where it has no answer inside what was measured. low, high: between which it lies in 95 of 100
    curves that the intervals allow; None likewise. error: of the throughput it predicts at sizes that it was not shown,
    one at a time, as a share (root mean square); None for one that predicts none. moved: by what share the size
    changes when the largest one measured is left out; None where either has no answer.
    """

    pool_size: int | None
    low: int | None = None
    high: int | None = None
    error: float | None = None
    moved: float | None = None

    @property
    def unstable(self) -> bool:
        """Whether it moves by more than 20 % when the sweep is a size shorter."""
        return self.moved is not None and abs(self.moved) > MOVED


def estimates(curve: Curve, tolerance: float = TOLERANCE, client: Station = NO_CLIENT) -> Mapping[str, Estimate]:
    """What each estimator makes of a curve of (pool size, throughput), ascending in size.

    client: what a transaction takes of the load processes, where that was measured.
    """
    return {
        "plateau": _tested(curve, lambda part: _plateau(part, tolerance), _between),
        "usl": _tested(curve, _usl, _usl_at),
        "closed_network": _tested(
            curve,
            lambda part: _network(part, tolerance, client),
            lambda part, size: _network_at(part, size, client),
        ),
        "kneedle": _tested(curve, _kneedle, None),
    }


def _tested(
    curve: Curve, estimate: Callable[[Curve], Estimate], predict: Callable[[Curve, int], float | None] | None
) -> Estimate:
    """An estimate, with what leaving sizes out makes of it."""
    whole = estimate(curve)
    shorter = estimate(curve[:-1]).pool_size if len(curve) > 2 else None
    moved = shorter / whole.pool_size - 1 if shorter and whole.pool_size else None
    error = None
    if predict is not None:
        inner = range(1, len(curve) - 1)
        found = [(predict([*curve[:one], *curve[one + 1 :]], curve[one][0]), curve[one][1].mean) for one in inner]
        errors = [said / truth - 1 for said, truth in found if said is not None and truth]
        error = float(np.sqrt(np.mean(np.square(errors)))) if errors else None
    return Estimate(whole.pool_size, whole.low, whole.high, error, moved)


def _plateau(curve: Curve, tolerance: float) -> Estimate:
    found = plateau(curve, tolerance)
    return Estimate(found.pool_size, found.low, found.high)


def _between(curve: Curve, size: int) -> float:
    """A straight line over the logarithm of the size."""
    sizes, rates, _ = _split(curve)
    return float(np.interp(np.log2(size), np.log2(sizes), rates))


def _usl(curve: Curve) -> Estimate:
    sizes, rates, errors = _split(curve)
    found = fit_usl(sizes.tolist(), rates.tolist(), errors.tolist())
    if found is None or not sizes[0] <= found.peak <= sizes[-1]:
        return Estimate(None)
    low, high = np.clip([found.low, found.high], sizes[0], sizes[-1])
    return Estimate(round(found.peak), round(float(low)), round(float(high)))


def _usl_at(curve: Curve, size: int) -> float | None:
    sizes, rates, errors = _split(curve)
    found = fit_usl(sizes.tolist(), rates.tolist(), errors.tolist())
    return None if found is None else float(found.throughput([size])[0])


def _network(curve: Curve, tolerance: float, client: Station) -> Estimate:
    sizes, rates, errors = _split(curve)
    found = fit_network([int(size) for size in sizes], rates.tolist(), errors.tolist(), client)
    if found is None:
        return Estimate(None)
    best, others = found
    every = range(int(sizes[0]), int(sizes[-1]) + 1)
    low, high = np.quantile([_reaches(other, every, tolerance) for other in others], _tails(), method="nearest")
    return Estimate(_reaches(best, every, tolerance), int(low), int(high))


def _network_at(curve: Curve, size: int, client: Station) -> float | None:
    sizes, rates, errors = _split(curve)
    found = fit_network([int(one) for one in sizes], rates.tolist(), errors.tolist(), client)
    return None if found is None else float(found[0].throughput([size])[0])


def _reaches(network: FittedNetwork, sizes: range, tolerance: float) -> int:
    rates = network.throughput(sizes)
    return int(sizes[int(np.argmax(rates >= (1 - tolerance) * rates.max()))])


def _kneedle(curve: Curve) -> Estimate:
    sizes, rates, errors = _split(curve)
    found = knee(sizes.tolist(), rates.tolist())
    drawn = rates + errors * np.random.default_rng(0).standard_normal((DRAWS, len(rates)))
    knees = [one for row in drawn if (one := knee(sizes.tolist(), row.tolist())) is not None]
    if found is None or 2 * len(knees) < DRAWS:
        return Estimate(None)
    low, high = np.quantile(knees, _tails(), method="nearest")
    return Estimate(found, int(low), int(high))


def _split(curve: Curve) -> tuple[Vector, Vector, Vector]:
    """Sizes, mean throughputs and their standard errors; where an interval is unknown, so is the error: a fifth."""
    sizes = np.array([size for size, _ in curve], float)
    rates = np.array([interval.mean for _, interval in curve])
    half = np.array([interval.high - interval.mean for _, interval in curve])
    errors = np.where(np.isfinite(half), half / float(ndtri((1 + CONFIDENCE) / 2)), rates / 5)
    return sizes, rates, errors


def _tails() -> tuple[float, float]:
    return (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
