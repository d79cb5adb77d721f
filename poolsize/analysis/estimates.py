"""Four estimators of the right size, side by side, each with its uncertainty and a test of how far it can be trusted.

They answer slightly different questions: the plateau and the closed network where throughput is within the tolerance of
its best, the USL where it peaks, Kneedle where the curve turns most. Where they disagree, the curve does not say it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, sqrt
from statistics import fmean

import numpy as np

from poolsize.analysis.curve import Curves, Observation, candidates, curves
from poolsize.analysis.models.closed_network import Station
from poolsize.analysis.models.kneedle import knee
from poolsize.analysis.models.network_fit import NO_CLIENT, FittedNetwork, fit_network
from poolsize.analysis.models.usl import fit_usl
from poolsize.analysis.plateau import ROUNDING, TOLERANCE, plateau
from poolsize.analysis.stats.confidence import TAILS

MOVED = 0.2
DRAWS = 100
LEFT_OUT = 12
"""Of more sizes so many are left out to test an estimator, evenly chosen: their errors are averaged anyway."""

Points = Sequence[Observation]


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


def answers(
    points: Sequence[Observation], tolerance: float = TOLERANCE, client: Station = NO_CLIENT
) -> Mapping[str, int | None]:
    """The other estimators' sizes beside the plateau's, without uncertainty or test.

    points: one a step, ascending in size.
    """
    sizes, rates, errors = _by_size(points)
    law = fit_usl(sizes, rates, errors)
    network = fit_network(sizes, rates, errors, client)
    return {
        "usl": _inside(law.peak, sizes) if law else None,
        "closed_network": _reaches(network, sizes, tolerance) if network else None,
        "kneedle": knee(sizes, rates),
    }


def fitted_network(points: Sequence[Observation], client: Station = NO_CLIENT) -> FittedNetwork | None:
    """The closed network that explains the points best, or None with too few sizes."""
    return fit_network(*_by_size(points), client)


def estimates(
    points: Sequence[Observation],
    tolerance: float = TOLERANCE,
    client: Station = NO_CLIENT,
    *,
    of_grid: bool = True,
) -> Mapping[str, Estimate]:
    """What each estimator makes of a curve. points: one a step, ascending in size.

    client: what a transaction takes of the load processes, where that was measured. of_grid: somebody chose the sizes.
    """
    return {
        "plateau": _tested(
            points,
            lambda part: _plateau(part, tolerance, of_grid=of_grid),
            lambda part, size: _drawn(part).at(size),
        ),
        "usl": _tested(points, _usl, _usl_at),
        "closed_network": _tested(
            points,
            lambda part: _network(part, tolerance, client),
            lambda part, size: _network_at(part, size, client),
        ),
        "kneedle": _tested(points, _kneedle, None),
    }


def _tested(
    points: Points, estimate: Callable[[Points], Estimate], predict: Callable[[Points, int], float | None] | None
) -> Estimate:
    """An estimate, with what leaving sizes out makes of it."""
    sizes, rates, _ = _by_size(points)
    whole = estimate(points)
    shorter = estimate(_without(points, sizes[-1])).pool_size if len(sizes) > 2 else None
    moved = shorter / whole.pool_size - 1 if shorter and whole.pool_size else None
    error = None
    if predict is not None:
        inner = list(zip(sizes, rates, strict=True))[1:-1]
        inner = inner[:: max(1, -(-len(inner) // LEFT_OUT))]
        found = [(predict(_without(points, size), size), rate) for size, rate in inner]
        errors = [said / truth - 1 for said, truth in found if said is not None and truth]
        error = float(np.sqrt(np.mean(np.square(errors)))) if errors else None
    return Estimate(whole.pool_size, whole.low, whole.high, error, moved)


def _without(points: Points, size: int) -> Points:
    return [point for point in points if point.pool_size != size]


def _drawn(points: Points) -> Curves:
    sizes = sorted({point.pool_size for point in points})
    return curves(points, candidates(sizes[0], sizes[-1], sizes))


def _plateau(points: Points, tolerance: float, *, of_grid: bool) -> Estimate:
    found = plateau(_drawn(points), tolerance, of_grid=of_grid)
    return Estimate(found.pool_size, found.low, found.high)


def _usl(points: Points) -> Estimate:
    sizes, rates, errors = _by_size(points)
    found = fit_usl(sizes, rates, errors)
    peak = _inside(found.peak, sizes) if found else None
    if found is None or peak is None:
        return Estimate(None)
    low, high = np.clip([found.low, found.high], sizes[0], sizes[-1])
    return Estimate(peak, round(float(low)), round(float(high)))


def _inside(peak: float, sizes: Sequence[int]) -> int | None:
    return round(peak) if sizes[0] <= peak <= sizes[-1] else None


def _usl_at(points: Points, size: int) -> float | None:
    found = fit_usl(*_by_size(points))
    return None if found is None else float(found.throughput([size])[0])


def _network(points: Points, tolerance: float, client: Station) -> Estimate:
    sizes, rates, errors = _by_size(points)
    found = fit_network(sizes, rates, errors, client)
    if found is None:
        return Estimate(None)
    others = [_reaches(other, sizes, tolerance) for other in found.others(DRAWS)]
    low, high = np.quantile(others, TAILS, method="nearest")
    return Estimate(_reaches(found, sizes, tolerance), int(low), int(high))


def _network_at(points: Points, size: int, client: Station) -> float | None:
    found = fit_network(*_by_size(points), client)
    return None if found is None else float(found.throughput([size])[0])


def _reaches(network: FittedNetwork, sizes: Sequence[int], tolerance: float) -> int:
    """The smallest size within the tolerance of the network's best, straight between sizes a quarter octave apart."""
    places = candidates(sizes[0], sizes[-1], sizes)
    rates = network.throughput(places)
    goal = (1 - tolerance) * float(rates.max())
    above = int(np.argmax(rates >= goal))
    if above == 0:
        return places[0]
    return ceil(np.interp(goal, rates[above - 1 : above + 1], places[above - 1 : above + 1]) - ROUNDING)


def _kneedle(points: Points) -> Estimate:
    sizes, rates, errors = _by_size(points)
    found = knee(sizes, rates)
    drawn = rates + np.multiply(errors, np.random.default_rng(0).standard_normal((DRAWS, len(rates))))
    knees = [one for row in drawn if (one := knee(sizes, row.tolist())) is not None]
    if found is None or 2 * len(knees) < DRAWS:
        return Estimate(None)
    low, high = np.quantile(knees, TAILS, method="nearest")
    return Estimate(found, int(low), int(high))


def _by_size(points: Points) -> tuple[list[int], list[float], list[float]]:
    """Sizes, ascending; the mean throughput at each, and its standard error."""
    groups = {size: list(same) for size, same in groupby(points, key=lambda point: point.pool_size)}
    rates = [fmean(point.throughput for point in same) for same in groups.values()]
    errors = [sqrt(sum(point.error**2 for point in same)) / len(same) for same in groups.values()]
    return list(groups), rates, errors
