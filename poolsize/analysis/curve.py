"""The fitted curve: throughput at every pool size with its uncertainty, as a mixture of normal distributions.

Under each hypothesis (see poolsize.analysis.hypotheses) the logarithms g of throughput at all sizes are jointly normal.
Their mean and covariance follow from the steps by conditioning (Rasmussen and Williams, 2006, equations 2.23 and 2.24):

    mean = m + K(all, steps) (K + V)^-1 (y - m(steps))
    covariance = K - K(all, steps) (K + V)^-1 K(steps, all)

m, K: the prior's mean and covariance, V: the noise's variances. The probability that throughput at one size is at least
a share of that at another is exact: the mean of normal probabilities, weighted by the hypotheses' probabilities.
Nothing is sampled, so equal steps give equal answers, in any order.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from poolsize.analysis.hypotheses import LARGE_NOISE, PRIOR, Hypotheses, Prior, Steps, bends, weigh
from poolsize.analysis.observation import Observation, pool_repeats
from poolsize.analysis.vector import Matrix, Vector

PER_DOUBLING = 4
"""Candidate pool sizes in each doubling."""
LEAST_LOW = 0.1
"""Fewer steps, as a share, are no level of their own."""
ONE_LEVEL = 1 / 4
"""Steps are of one level if they differ by less than this share of their distance from the curve, on a log scale."""
LEAST_VARIANCE = 1e-12
"""Added to a variance before its root, so that rounding never makes it negative or 0."""


@dataclass(frozen=True)
class LowerLevel:
    """The lower of two levels of throughput: something slowed down whole steps by the same factor.

    low_steps: number of the steps of this level. steps: number of all steps. share: of the throughput of the other
    steps that they reached. of_noise: the curve if the levels are between-step noise.
    """

    low_steps: int
    steps: int
    share: float
    of_noise: "FittedCurve"


@dataclass(frozen=True)
class FittedCurve:
    """Posterior of the throughput curve over pool sizes: a mixture of normal distributions of its logarithm.

    sizes: ascending. measured: the sizes that have a step. probabilities: of the hypotheses, their sum is 1.
    means: natural logarithm of transactions per second under each hypothesis, shape (hypotheses, sizes).
    covariances: of these logarithms, shape (hypotheses, sizes, sizes).
    between_variance: of the between-step noise of one more step. second_variance: of the within-step noise of one more
    step of one second at each size; of longer steps, divided by their seconds. Both of the logarithm.
    disturbed: measured size -> the highest probability that a step of this size was disturbed.
    lower_level: None unless the steps have two levels. The curve is then of the higher level.
    """

    sizes: tuple[int, ...]
    measured: frozenset[int]
    probabilities: Vector
    means: Matrix
    covariances: Matrix
    between_variance: float
    second_variance: Vector
    disturbed: Mapping[int, float]
    lower_level: LowerLevel | None = None

    @cached_property
    def mean(self) -> Vector:
        """The fitted curve: throughput at each size, per second, the geometric mean of the posterior."""
        return np.asarray(np.exp(self.probabilities @ self.means))

    def at(self, pool_size: float) -> float:
        """Return the fitted curve at any size from the smallest to the largest; between sizes, a power law."""
        return float(np.exp(np.interp(np.log2(pool_size), np.log2(self.sizes), np.log(self.mean))))

    def within(self, low: int, high: int) -> "FittedCurve":
        """Return the part of the curve from size low to size high, both included."""
        part = slice(bisect_left(self.sizes, low), bisect_right(self.sizes, high))
        lower = self.lower_level
        return replace(
            self,
            sizes=self.sizes[part],
            means=self.means[:, part],
            covariances=self.covariances[:, part, part],
            second_variance=self.second_variance[part],
            lower_level=lower and replace(lower, of_noise=lower.of_noise.within(low, high)),
        )

    @cached_property
    def best_size(self) -> int:
        """The size at which the fitted curve is highest.

        A size that was not measured counts if it is within a doubling of a measured size. Further away, the curve is
        too uncertain.
        """
        return self.sizes[int(np.argmax(np.where(self._near, self.mean, 0)))]

    @cached_property
    def _near(self) -> NDArray[np.bool_]:
        pairs = np.divide.outer(self.sizes, sorted(self.measured))
        return np.asarray((np.maximum(pairs, 1 / pairs) <= 2).any(axis=1))

    def against(self, pool_size: int) -> "LogRatios":
        """Return the logarithm of throughput at every size as a share of that at one size."""
        return self._against(np.full(len(self.probabilities), self.sizes.index(pool_size)))

    def begun(self, share: float) -> Vector:
        """Return the probability at each size that throughput is at least a share of the highest there or below.

        Each hypothesis has a highest point of its own, among the sizes of best_size. At a size, its probability is the
        highest of this size and all smaller ones; from the highest point on it is 1.
        """
        highest = np.argmax(np.where(self._near, self.means, -np.inf), axis=1)
        reached = np.maximum.accumulate(self._against(highest).reached(share), axis=1)
        return np.asarray(self.probabilities @ np.where(np.arange(len(self.sizes)) >= highest[:, None], 1, reached))

    def _against(self, places: NDArray[np.intp]) -> "LogRatios":
        """Return the logarithm of throughput at every size as a share of that at another; places: its index."""
        rows = np.arange(len(places))
        variances = np.diagonal(self.covariances, axis1=1, axis2=2)
        return LogRatios(
            self.probabilities,
            self.means - self.means[rows, places][:, None],
            np.sqrt(
                variances + (variances[rows, places][:, None] - 2 * self.covariances[rows, places]) + LEAST_VARIANCE
            ),
        )

    @cached_property
    def moments(self) -> tuple[Vector, Matrix]:
        """The mean of the logarithms, and their covariance, over all hypotheses."""
        mean = self.probabilities @ self.means
        apart = self.means - mean
        covariance = (
            np.tensordot(self.probabilities, self.covariances, 1) + (self.probabilities[:, None] * apart).T @ apart
        )
        return np.asarray(mean), np.asarray(covariance)

    def band(self, share: float) -> tuple[Vector, Vector]:
        """Return the ends of the interval that holds a share of the posterior at each size, per second."""
        return np.exp(self.logs.quantile((1 - share) / 2)), np.exp(self.logs.quantile((1 + share) / 2))

    @property
    def logs(self) -> "LogRatios":
        """The logarithm of throughput at each size, per second."""
        deviations = np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2) + LEAST_VARIANCE)
        return LogRatios(self.probabilities, self.means, deviations)


@dataclass(frozen=True)
class LogRatios:
    """Logarithms at each size, each a mixture of normal distributions.

    probabilities: of the hypotheses. means, deviations: under each hypothesis, shape (hypotheses, sizes).
    """

    probabilities: Vector
    means: Matrix
    deviations: Matrix

    def at(self, place: int) -> "LogRatios":
        """Return the logarithm at one size alone. place: its index."""
        return LogRatios(self.probabilities, self.means[:, [place]], self.deviations[:, [place]])

    def reached(self, share: float) -> Matrix:
        """Return the probability, under each hypothesis and at each size, that the ratio is at least a share."""
        return np.asarray(ndtr((self.means - log(share)) / self.deviations))

    def at_least(self, share: float) -> Vector:
        """Return the probability at each size that the ratio is at least a share."""
        return np.asarray(self.probabilities @ self.reached(share))

    def shortfall(self, share: float) -> Vector:
        """Return at each size by how much the logarithm is expected to miss that of a share; 0 where it exceeds it."""
        missing = (log(share) - self.means) / self.deviations
        density = np.exp(-0.5 * missing**2) / np.sqrt(2 * np.pi)
        return np.asarray(self.probabilities @ (self.deviations * (missing * ndtr(missing) + density)))

    def quantile(self, probability: float) -> Vector:
        """Return a quantile of the logarithm at each size, by bisection."""
        low, high = (self.means - 9 * self.deviations).min(axis=0), (self.means + 9 * self.deviations).max(axis=0)
        for _ in range(50):
            middle = (low + high) / 2
            below = self.probabilities @ ndtr((middle - self.means) / self.deviations) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((low + high) / 2)


def candidates(low: int, high: int, also: Sequence[int] = ()) -> tuple[int, ...]:
    """Return pool sizes from low to high, ascending: four in each doubling (all sizes below 8), low, high and `also`.

    Sizes of `also` outside of low to high are left out.
    """
    doublings = range(int(np.ceil(np.log2(high) * PER_DOUBLING)) + 1)
    regular = {round(2 ** (place / PER_DOUBLING)) for place in doublings}
    return tuple(sorted({size for size in regular | {low, high, *also} if low <= size <= high}))


def fit_between(observations: Sequence[Observation]) -> FittedCurve:
    """Return the curve fitted to the observations, over the candidates from their smallest size to their largest."""
    measured = [observation.pool_size for observation in observations]
    return fit_curve(observations, candidates(min(measured), max(measured), measured))


def fit_curve(observations: Sequence[Observation], sizes: Sequence[int], prior: Prior = PRIOR) -> FittedCurve:
    """Return the curve fitted to the observations, over the sizes.

    sizes: ascending, the observed sizes included. At least one throughput must be above 0. Of more than 128 steps, the
    repeats of a size are averaged in groups.
    """
    sizes = tuple(sizes)
    steps = Steps.of(pool_repeats(observations), sizes, prior)
    hypotheses = weigh(steps, sizes, prior)
    curve = _curve(steps, sizes, prior, hypotheses)
    fewest = max(2, LEAST_LOW * len(steps.logs))
    large = np.array(prior.between_step_noise)[hypotheses.noise] >= LARGE_NOISE
    if hypotheses.probabilities @ (large | (hypotheses.disturbed.sum(axis=1) >= fewest)) <= 1 / 2:
        return curve
    hypotheses = weigh(steps, sizes, prior.of_two_levels)
    higher = _curve(steps, sizes, prior.of_two_levels, hypotheses)
    low = hypotheses.probabilities @ hypotheses.disturbed > 1 / 2
    errors = (steps.logs + log(steps.highest) - np.log(higher.mean[steps.places]))[low]
    at_both = np.intersect1d(steps.places[low], steps.places[~low])
    if len(errors) < fewest or not len(at_both) or not _is_a_level(errors):
        return curve
    return replace(higher, lower_level=LowerLevel(len(errors), len(low), exp(float(np.median(errors))), curve))


def _is_a_level(errors: Vector) -> bool:
    """Return whether disturbed steps may be a lower level: all are below the curve, by about the same factor.

    errors: their logarithms less those of the curve, not empty.
    """
    return bool(errors.max() < 0 and errors.std() <= ONE_LEVEL * -errors.mean())


def _curve(steps: Steps, sizes: tuple[int, ...], prior: Prior, hypotheses: Hypotheses) -> FittedCurve:
    means, covariances = _conditioned(steps, sizes, prior, hypotheses)
    disturbed: dict[int, float] = {}
    for place, probability in zip(steps.places, hypotheses.probabilities @ hypotheses.disturbed, strict=True):
        disturbed[sizes[place]] = max(float(probability), disturbed.get(sizes[place], 0.0))
    between = float(hypotheses.probabilities @ np.square(prior.between_step_noise)[hypotheses.noise])
    second_variance = np.full(len(sizes), steps.mean_of_second)
    second_variance[steps.places] = steps.of_second
    return FittedCurve(
        sizes,
        frozenset(disturbed),
        hypotheses.probabilities,
        means + log(steps.highest),
        covariances,
        between,
        second_variance,
        disturbed,
    )


def _conditioned(steps: Steps, sizes: tuple[int, ...], prior: Prior, hypotheses: Hypotheses) -> tuple[Matrix, Matrix]:
    """Return mean and covariance of the logarithms at all sizes under each hypothesis."""
    places = steps.places
    rises = bends(prior, sizes, sizes[places[0]], sizes[places[-1]])[hypotheses.bend]
    covariances = prior.covariances(sizes)[hypotheses.roughness]
    covariances = covariances + prior.rise_deviation**2 * rises[:, :, None] * rises[:, None, :]
    means = prior.tail * np.log2(sizes) + prior.rise * rises
    noise = np.square(prior.between_step_noise)[hypotheses.noise, None] + steps.within
    noise = noise + prior.disturbance**2 * hypotheses.disturbed
    of_steps = covariances[:, places[:, None], places] + noise[:, :, None] * np.eye(len(places))
    to_steps = covariances[:, :, places]
    pull = np.linalg.solve(of_steps, to_steps.swapaxes(1, 2)).swapaxes(1, 2)
    apart = (steps.logs - means[:, places])[:, :, None]
    return means + (pull @ apart)[:, :, 0], covariances - pull @ to_steps.swapaxes(1, 2)
