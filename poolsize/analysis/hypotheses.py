"""The prior of a throughput curve, and the hypotheses about a run, each with its posterior probability.

The prior is what is assumed about a curve, and about the noise of its steps, before the first measurement. A curve is
g(x), the natural logarithm of throughput, over x = log2(pool size). So throughput is never negative, and
noise that is proportional to throughput is the same everywhere.

    g(x) = a + t x + r (x - h(x)) + s I(x)
    h(x) = log2(1 + 2^(p (x - c))) / p

    a ~ N(0, level^2),  t ~ N(tail, tail_deviation^2),  r ~ N(rise, rise_deviation^2)

Far below the bend at size 2^c the curve rises by r + t for each doubling of the size, far above it by t alone. With
r = ln 2 and t = 0, throughput is N / (1 + (N / 2^c)^p)^(1/p): proportional to the size N, then flat, with a corner that
is sharper for a larger p. So throughput for each connection hardly rises with the size. I is an integrated Wiener
process, which lets the curve depart from that shape: over one doubling, its slope changes by a normal number of
variance 1. With m = min(x, y) and M = max(x, y), Cov(I(x), I(y)) = m^2 (3 M - m) / 6 (Wahba, 1978, "Improper Priors,
Spline Smoothing and the Problem of Guarding Against Model Errors in Regression").

A step measures g with an error of variance d^2 + w^2: d is the between-step noise, w the within-step noise. A share of
the steps (`disturbed`) is disturbed from outside; their error has the additional variance `disturbance`^2. That is a
contaminated normal distribution (Tukey, 1960, "A survey of sampling from contaminated distributions").

The bend (c, p), s and d are not known. Each has a grid of values; s and d have log-normal priors, all bends the same
probability. The measurements weigh the combinations.

A hypothesis names the curve's roughness s, the between-step noise d, the bend, and the steps that were disturbed. Under
each, curve and noise are normal, so its probability and the curve are exact. With K the covariance of
a + t x + s I(x) at the steps, V the diagonal matrix of the noise's variances, C = K + V, and u the bend's x - h(x) at
the steps, the likelihood of the steps' logarithms y is

    N(y; mean + rise u, C + rise_deviation^2 u u')

A rank-one update (Sherman and Morrison, 1950) gives it for all bends from one inverse of C. With A the inverse of the
updated matrix and q = A (y - mean), step i alone has the error q_i / A_ii, of variance 1 / A_ii, when all other steps
predict it. The likelihood with step i disturbed as well follows from these two (Rasmussen and Williams, 2006, "Gaussian
Processes for Machine Learning", section 5.4.2). Steps are added to the disturbed ones as long as that is more probable
than not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.observation import Observation
from poolsize.analysis.vector import Matrix, Vector

LOWEST_SHARE = 1e-3
"""A lower share of the highest throughput counts as this share, so that its logarithm stays finite."""
LARGE_NOISE = 0.1
"""With a between-step noise as large as this, the steps may have two levels.

A larger noise explains any disturbed step, so it does not decide whether to look for further ones.
"""
MOST_KEPT, KEPT = 96, 0.999
"""The most probable hypotheses are kept: so many at most, or those that have this probability together."""


@dataclass(frozen=True)
class Prior:
    """The constants of the prior, in natural logarithms of throughput and in doublings of the pool size.

    level: standard deviation of a. tail, tail_deviation: mean and standard deviation of t. rise, rise_deviation: of r.
    sharpness: the grid of p. bends_per_doubling: values of c in each doubling. bends_beyond: doublings by which bends
    may lie below the smallest and above the largest measured size.
    roughness: the grid of s. between_step_noise: the grid of d.
    usual_roughness, usual_between_step_noise: medians of the log-normal priors of s and d.
    roughness_spread, noise_spread: standard deviations of the logarithms of s and of d.
    pooled_steps: weight, in steps, of the mean within-step noise of all sizes against a size's own.
    disturbed: share of the steps that are disturbed. disturbance: standard deviation of their additional error.
    most_disturbed: at most this share of the steps is taken for disturbed.

    scripts/calibrate shows the effect of each constant (table 4; of the noise, tables 3 and 5).
    """

    level: float = 3.0
    tail: float = -0.01
    tail_deviation: float = 0.08
    rise: float = 0.62
    rise_deviation: float = 0.15
    sharpness: tuple[float, ...] = (1.0, 2.0, 4.0, 16.0)
    bends_per_doubling: int = 4
    bends_beyond: float = 2.0
    roughness: tuple[float, ...] = (0.02, 0.05, 0.12, 0.3)
    between_step_noise: tuple[float, ...] = (0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2)
    usual_roughness: float = 0.06
    usual_between_step_noise: float = 0.015
    roughness_spread: float = 0.8
    noise_spread: float = 1.1
    pooled_steps: float = 3
    disturbed: float = 0.02
    disturbance: float = 0.3
    most_disturbed: float = 1 / 3

    @property
    def of_two_levels(self) -> "Prior":
        """The prior of steps that often fall to a lower level, and otherwise differ by less than LARGE_NOISE."""
        small = tuple(noise for noise in self.between_step_noise if noise < LARGE_NOISE)
        return replace(self, between_step_noise=small, disturbed=0.2, disturbance=0.5, most_disturbed=1 / 2)

    def covariances(self, sizes: tuple[int, ...]) -> Matrix:
        """Return the covariance of a + t x + s I(x) for each roughness s: shape (roughness, sizes, sizes)."""
        x = np.log2(sizes)
        near, far = np.minimum.outer(x, x), np.maximum.outer(x, x)
        straight = self.level**2 + self.tail_deviation**2 * np.outer(x, x)
        departure = near**2 * (3 * far - near) / 6
        return np.array([straight + roughness**2 * departure for roughness in self.roughness])

    def log_density(self) -> Matrix:
        """Return the log density, up to a constant, of each pair: shape (roughness, between-step noise)."""
        rough = np.log(np.array(self.roughness) / self.usual_roughness) / self.roughness_spread
        noise = np.log(np.array(self.between_step_noise) / self.usual_between_step_noise) / self.noise_spread
        return np.asarray(-0.5 * rough[:, None] ** 2 - 0.5 * noise**2)


PRIOR = Prior()
"""The prior in use."""


@lru_cache(maxsize=64)
def bends(prior: Prior, sizes: tuple[int, ...], smallest: int, largest: int) -> Matrix:
    """Return x - h(x) at the sizes for each bend: shape (bends, sizes). smallest, largest: of the measured sizes."""
    first = np.ceil((np.log2(smallest) - prior.bends_beyond) * prior.bends_per_doubling)
    last = np.floor((np.log2(largest) + prior.bends_beyond) * prior.bends_per_doubling)
    places = np.arange(first, last + 1) / prior.bends_per_doubling
    bend, sharpness = (grid.reshape(-1, 1) for grid in np.meshgrid(places, prior.sharpness))
    x = np.log2(sizes)
    return np.asarray(x - np.logaddexp(0, sharpness * (x - bend) * np.log(2)) / (sharpness * np.log(2)))


@dataclass(frozen=True)
class Steps:
    """The steps of a curve; every array has one value a step, ascending in size, then in throughput.

    places: index of the step's size among all sizes. logs: logarithm of the throughput as a share of the highest.
    within: variance of the within-step noise, in the mean of a step's seconds. of_second: that of a step of one second.
    mean_of_second: the mean of `of_second` over all steps.
    highest: the highest throughput, per second.
    """

    places: NDArray[np.intp]
    logs: Vector
    within: Vector
    of_second: Vector
    mean_of_second: float
    highest: float

    @classmethod
    def of(cls, observations: Sequence[Observation], sizes: Sequence[int], prior: Prior) -> Self:
        """Return the steps of the observations. sizes: all sizes, ascending, the observed sizes included.

        A few seconds estimate their own noise badly. So each size's own variance of the noise of a second is averaged
        with the mean of all steps, weighted by the size's number of steps and by `pooled_steps`.
        """
        ordered = sorted(
            observations, key=lambda step: (step.pool_size, step.throughput, step.standard_error, step.seconds)
        )
        seconds = np.array([step.seconds for step in ordered])
        highest = max(step.throughput for step in ordered)
        rates = np.maximum([step.throughput / highest for step in ordered], LOWEST_SHARE)
        own = np.minimum(np.array([step.standard_error / highest for step in ordered]) / rates, 1) ** 2 * seconds
        places = np.searchsorted(sizes, [step.pool_size for step in ordered])
        _, groups, counts = np.unique(places, return_inverse=True, return_counts=True)
        of_sizes, numbers = np.bincount(groups, own) / counts, counts.astype(float)
        mean = float(of_sizes @ numbers / numbers.sum())
        pooled = ((prior.pooled_steps * mean + numbers * of_sizes) / (prior.pooled_steps + numbers))[groups]
        return cls(places, np.log(rates), pooled / seconds, pooled, mean, highest)


@dataclass(frozen=True)
class Hypotheses:
    """The most probable hypotheses; every array has one row a hypothesis.

    probabilities: their sum is 1. roughness, noise: indices into the prior's grids. bend: index into `bends`.
    disturbed: whether each step is disturbed, shape (hypotheses, steps).
    """

    probabilities: Vector
    roughness: NDArray[np.intp]
    noise: NDArray[np.intp]
    bend: NDArray[np.intp]
    disturbed: NDArray[np.bool_]


@dataclass(frozen=True)
class _Weighed:
    """Log probabilities, up to a common constant, of all hypotheses with the same disturbed steps, or with one more.

    same: shape (roughness, noise, bends). one_more: shape (roughness, noise, steps, bends).
    """

    disturbed: NDArray[np.bool_]
    same: Matrix
    one_more: Matrix


def weigh(steps: Steps, sizes: tuple[int, ...], prior: Prior) -> Hypotheses:
    """Return the most probable hypotheses about the steps. sizes: all sizes, ascending."""
    number, usual = len(steps.logs), np.array(prior.between_step_noise) <= LARGE_NOISE
    disturbed = np.zeros(number, bool)
    weighed = []
    while True:
        latest = _weigh(steps, sizes, prior, disturbed)
        weighed.append(latest)
        likelier = _logsumexp(latest.one_more[:, usual], (0, 1, 3))
        worst = int(np.argmax(likelier))
        is_enough = likelier[worst] <= _logsumexp(latest.same[:, usual], None)
        if is_enough or disturbed.sum() + 1 > prior.most_disturbed * number:
            return _most_probable(weighed)
        latest.one_more[:, :, worst] = -np.inf  # the next round holds these hypotheses
        disturbed = disturbed | (np.arange(number) == worst)


def _weigh(steps: Steps, sizes: tuple[int, ...], prior: Prior, disturbed: NDArray[np.bool_]) -> _Weighed:
    """Return the probabilities of the hypotheses in which these steps are disturbed, or these and one more."""
    misfits, errors, precisions = _fit(steps, sizes, prior, disturbed)
    share = prior.disturbed
    counted = disturbed.sum() * np.log(share) + (~disturbed).sum() * np.log1p(-share)
    same = prior.log_density()[:, :, None] + counted - 0.5 * misfits
    left_out, variances = errors / precisions, 1 / precisions
    wider = variances + prior.disturbance**2
    gains = 0.5 * (np.log(variances / wider) + left_out**2 * (1 / variances - 1 / wider)) + np.log(share / (1 - share))
    return _Weighed(disturbed, same, np.where(disturbed[:, None], -np.inf, same[:, :, None] + gains))


def _fit(
    steps: Steps, sizes: tuple[int, ...], prior: Prior, disturbed: NDArray[np.bool_]
) -> tuple[Matrix, Matrix, Matrix]:
    """Return the fits in which these steps are disturbed, by a rank-one update of K + V for each bend.

    There is a fit for each roughness (k), noise (l) and bend (j). The results: -2 log likelihood, up to a constant,
    shape (k, l, j); for each step (K + V)^-1 (y - mean), and the diagonal of (K + V)^-1, both with the bend's variance
    in K, shape (k, l, steps, j).
    """
    places, variance = steps.places, prior.rise_deviation**2
    noise = np.square(prior.between_step_noise)[:, None] + steps.within + prior.disturbance**2 * disturbed
    covariances = prior.covariances(sizes)[:, None, places[:, None], places] + noise[:, :, None] * np.eye(len(places))
    inverses = np.linalg.inv(covariances)
    straight = steps.logs - prior.tail * np.log2(np.array(sizes)[places])
    solved = inverses @ straight
    rises = bends(prior, sizes, sizes[places[0]], sizes[places[-1]])[:, places]
    pulls = inverses @ rises.T
    squares, products = (np.einsum("js,klsj->klj", rises, pulls), np.einsum("js,kls->klj", rises, solved))
    scales, projected = 1 + variance * squares, products - prior.rise * squares
    misfits = (solved @ straight + np.linalg.slogdet(covariances)[1])[:, :, None] + np.log(scales)
    misfits += prior.rise**2 * squares - 2 * prior.rise * products - variance * projected**2 / scales
    factors = prior.rise + variance * projected / scales
    precisions = np.diagonal(inverses, axis1=2, axis2=3)[..., None] - variance * pulls**2 / scales[:, :, None]
    return misfits, solved[..., None] - pulls * factors[:, :, None], precisions


def _most_probable(weighed: Sequence[_Weighed]) -> Hypotheses:
    parts = [part for each in weighed for part in (each.same, each.one_more)]
    ends = np.cumsum([part.size for part in parts])
    logs = np.concatenate([part.ravel() for part in parts])
    least = np.partition(logs, -MOST_KEPT)[-MOST_KEPT] if len(logs) > MOST_KEPT else -np.inf
    candidates = np.flatnonzero(logs >= least)
    order = candidates[np.argsort(-logs[candidates], kind="stable")][:MOST_KEPT]  # the first of equal values
    probabilities = np.exp(logs[order] - _logsumexp(logs, None))
    order = order[: int(np.searchsorted(np.cumsum(probabilities), KEPT)) + 1]
    rows = []
    for place, probability in zip(order, probabilities, strict=False):
        index = int(np.searchsorted(ends, place, side="right"))
        part, disturbed = parts[index], weighed[index // 2].disturbed
        roughness, noise, *step, bend = np.unravel_index(place - ends[index] + part.size, part.shape)
        rows.append((probability, roughness, noise, bend, disturbed | np.isin(np.arange(len(disturbed)), step)))
    kept, roughness, noise, bend, disturbed = (np.array(column) for column in zip(*rows, strict=True))
    return Hypotheses(kept / kept.sum(), roughness, noise, bend, disturbed)


def _logsumexp(logs: Matrix, axis: tuple[int, ...] | None) -> Vector:
    """Return log(sum(exp(logs))) over axes, or over all; scipy's would load half of scipy for a replay."""
    highest = logs.max()
    with np.errstate(divide="ignore"):  # an impossible hypothesis has the logarithm -inf
        return np.asarray(np.log(np.exp(logs - highest).sum(axis=axis)) + highest)
