"""The throughput curve between and beyond what was measured, as many curves that could all be the true one.

Over log2 of the pool size a curve is taken for a smooth line whose slope wanders (an integrated Wiener process, the
prior under a cubic smoothing spline; Wahba, 1978), with a little Brownian motion for its kinks. How much it wanders,
and by how much steps disturb each other beyond what their seconds show, is weighed by how well it explains all steps
together; curves are then drawn from all of these, conditioned on the steps (Matheron's rule).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.stats.confidence import standard_error
from poolsize.analysis.vector import Matrix, Vector
from poolsize.runs.run import Step

DRAWS = 512
PER_DOUBLING = 4
WANDERS = (0.15, 0.3, 0.6, 1.2)
"""Change of slope over one doubling of the size (standard deviation, as a share of the highest throughput)."""
DISTURBANCES = (0.005, 0.01, 0.02, 0.035, 0.06, 0.1)
"""By how much two steps of one size differ though each seems precise (standard deviation, a share)."""
USUAL_WANDER, USUAL_DISTURBANCE, SPREAD = 0.4, 0.015, 1.1
"""Middle of what is expected before anything was measured, and by what factor (its logarithm) it may be missed."""
LEVEL, SLOPE, KINKS = 2.0, 1.0, 0.2
POOLED = 3
"""A size's own noise counts as its steps, that of all sizes together as so many."""
MOST_SIZES, NEIGHBOURS = 64, 1 / 16
"""Of more sizes than that, those within so much of a doubling are taken together."""
LOWEST_SHARE = 0.2
"""Noise is a share of the throughput, but not of less than this share of the highest."""


@dataclass(frozen=True)
class Observation:
    """One step: its pool size, its mean throughput per second, and the standard error that its seconds suggest."""

    pool_size: int
    throughput: float
    error: float

    @classmethod
    def of(cls, step: Step) -> "Observation":
        """Sum up a step's counted seconds."""
        return cls(step.pool_size, *_mean_and_error(step.counted))


@lru_cache(maxsize=4096)  # a planner asks again for every step that it plans
def _mean_and_error(seconds: tuple[float, ...]) -> tuple[float, float]:
    return standard_error([seconds])


@dataclass(frozen=True)
class Curves:
    """Curves that could all be the true one. sizes: ascending. draws: one row a curve, throughput per second.

    noise: standard deviation of one more step at each size. measured: those of the sizes at which there was a step.
    """

    sizes: tuple[int, ...]
    measured: frozenset[int]
    draws: Matrix
    noise: Vector

    @property
    def mean(self) -> Vector:
        """The curve in the middle of all."""
        return np.asarray(self.draws.mean(axis=0))

    def at(self, pool_size: float) -> float:
        """The curve in the middle at any size from the smallest to the largest, straight over log2 between them."""
        return float(np.interp(np.log2(pool_size), np.log2(self.sizes), self.mean))

    def within(self, low: int, high: int) -> "Curves":
        """The part between two sizes."""
        kept = [place for place, size in enumerate(self.sizes) if low <= size <= high]
        return Curves(tuple(self.sizes[place] for place in kept), self.measured, self.draws[:, kept], self.noise[kept])

    @property
    def best_size(self) -> int:
        """The measured size whose mean is highest; that a curve peaks between two is not known before it was seen."""
        means = dict(zip(self.sizes, self.mean, strict=True))
        return max(self.measured.intersection(self.sizes), key=lambda size: means[size])

    def efficiency(self) -> Matrix:
        """Throughput as a share of the best size's on the same curve; more than 1 where another is better there.

        Not of each curve's own maximum: the highest of many uncertain values is too high, and on a flat top by more
        than the tolerance of any answer.
        """
        return np.asarray(self.draws / self.draws[:, [self.sizes.index(self.best_size)]])

    def crossing(self, share: float) -> Vector:
        """For each curve the log2 of the size, between sizes too, at which it first reaches that share of its top.

        Its top is where the mean of all curves is highest, between measured sizes too.
        """
        goal = share * self.draws[:, int(np.argmax(self.mean))]
        above = (self.draws >= goal[:, None]).argmax(axis=1)
        below = np.maximum(above - 1, 0)
        rows = np.arange(len(self.draws))
        rise = self.draws[rows, above] - self.draws[rows, below]
        part = np.where(rise > 0, (goal - self.draws[rows, below]) / np.where(rise > 0, rise, 1), 1.0)
        places = np.log2(self.sizes)
        return np.asarray(places[below] + part * (places[above] - places[below]))


def candidates(low: int, high: int, also: Sequence[int] = ()) -> tuple[int, ...]:
    """Sizes from low to high, four to a doubling (all of them below 8), and those named besides."""
    octaves = range(int(np.ceil(np.log2(high) * PER_DOUBLING)) + 1)
    regular = {round(2 ** (place / PER_DOUBLING)) for place in octaves}
    return tuple(sorted({size for size in regular | {low, high, *also} if low <= size <= high}))


def gathered(observations: Sequence[Observation]) -> Sequence[Observation]:
    """The same steps, or, of very many sizes, neighbours as steps of the one in their middle.

    The first and the last size stay by themselves. observations: ascending in size.
    """
    sizes = sorted({one.pool_size for one in observations})
    if len(sizes) <= MOST_SIZES:
        return observations
    groups = [[sizes[0]]]
    for size in sizes[1:-1]:
        if len(groups) == 1 or size >= groups[-1][0] * 2**NEIGHBOURS:
            groups.append([])
        groups[-1].append(size)
    middle = {size: group[len(group) // 2] for group in [*groups, sizes[-1:]] for size in group}
    return [replace(one, pool_size=middle[one.pool_size]) for one in observations]


def curves(observations: Sequence[Observation], sizes: Sequence[int]) -> Curves:
    """Draw curves over the sizes, which hold all that were observed. At least one throughput must be above 0."""
    places, numbers, means, spreads, errors = _by_size(observations, sizes)
    highest = float(means.max())
    levels, scale = means / highest, np.maximum(means / highest, LOWEST_SHARE)
    own = errors**2 / (highest * scale) ** 2
    together = float(own @ numbers / numbers.sum())
    within = (POOLED * together + numbers * own) / (POOLED + numbers)
    variances = (np.square(DISTURBANCES)[:, None] + within) * scale**2
    prior, ours, noise, order = _prior(tuple(sizes))
    covariances = prior[:, None][:, :, places[:, None], places] + _diagonal(variances / numbers)
    weights = _weights(covariances, levels, numbers, spreads / highest**2, variances)
    ends = np.round(np.cumsum(weights) * DRAWS).astype(int)
    drawn = []
    for which, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        wander, disturbance = divmod(which, len(DISTURBANCES))
        rows = order[first:last]
        free = ours[wander][rows]
        seen = free[:, places] + noise[rows][:, places] * np.sqrt(variances[disturbance] / numbers)
        pull = np.linalg.solve(covariances[wander, disturbance], (levels - seen).T)
        drawn.append(free + pull.T @ prior[wander][places])
    draws = highest * np.concatenate(drawn)
    between = float(weights.reshape(len(WANDERS), -1).sum(axis=0) @ np.square(DISTURBANCES))
    shares = np.full(len(sizes), between + together)
    shares[places] = between + within
    return Curves(
        tuple(sizes),
        frozenset(one.pool_size for one in observations),
        draws,
        np.sqrt(shares) * np.maximum(draws.mean(axis=0), LOWEST_SHARE * highest),
    )


def _by_size(
    observations: Sequence[Observation], sizes: Sequence[int]
) -> tuple[NDArray[np.intp], Vector, Vector, Vector, Vector]:
    """Per observed size: its place, how many steps, their mean, their squared distances from it, their mean error."""
    groups: dict[int, list[Observation]] = {}
    for one in observations:
        groups.setdefault(one.pool_size, []).append(one)
    places = [place for place, size in enumerate(sizes) if size in groups]
    rows = []
    for place in places:
        rates = np.array([one.throughput for one in groups[sizes[place]]])
        squares = [one.error**2 for one in groups[sizes[place]]]
        rows.append((len(rates), rates.mean(), len(rates) * rates.var(), np.sqrt(np.mean(squares))))
    numbers, means, spreads, errors = np.array(rows, float).T
    return np.array(places), numbers, means, spreads, errors


def _weights(covariances: Matrix, levels: Vector, numbers: Vector, spreads: Vector, variances: Matrix) -> Vector:
    """How likely each pair of wander and disturbance is, given all steps; flat, and 1 in sum."""
    explained = np.linalg.solve(covariances, np.broadcast_to(levels[:, None], (*covariances.shape[:-1], 1)))
    fit = -0.5 * (explained[..., 0] @ levels) - 0.5 * np.linalg.slogdet(covariances)[1]
    repeats = (-0.5 * spreads / variances - 0.5 * (numbers - 1) * np.log(variances)).sum(axis=-1)
    usual = (
        -0.5 * (np.log(np.array(WANDERS) / USUAL_WANDER) / SPREAD)[:, None] ** 2
        - 0.5 * (np.log(np.array(DISTURBANCES) / USUAL_DISTURBANCE) / SPREAD) ** 2
    )
    logarithms = (fit + repeats + usual).ravel()
    likely = np.exp(logarithms - logarithms.max())
    return np.asarray(likely / likely.sum())


@lru_cache(maxsize=8)
def _prior(sizes: tuple[int, ...]) -> tuple[Matrix, Matrix, Matrix, NDArray[np.intp]]:
    """For each wander the covariance of the curve before any step, and draws from it; noise; an order of the draws.

    The same numbers every time, so that equal steps give equal answers.
    """
    place = 1 + np.log2(sizes)
    near, far = np.minimum.outer(place, place), np.maximum.outer(place, place)
    covariance = np.array(
        [
            LEVEL**2
            + SLOPE**2 * np.outer(place, place)
            + wander**2 * (near**2 * (3 * far - near) / 6 + KINKS**2 * near)
            for wander in WANDERS
        ]
    )
    random = np.random.default_rng(0)
    normal, noise = random.standard_normal((2, DRAWS, len(sizes)))
    roots = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(sizes)))
    return covariance, normal @ roots.swapaxes(1, 2), noise, random.permutation(DRAWS)


def _diagonal(rows: Matrix) -> Matrix:
    """A diagonal matrix of each row."""
    return np.asarray(rows[:, :, None] * np.eye(rows.shape[1]))
