"""The fitted curve: throughput at every pool size, with posterior samples that show its uncertainty.

The prior (see poolsize.analysis.prior) gives curves f over x = 1 + log2(size), in shares of the highest throughput.
At a size with r steps, their mean is y = f(x) + e with

    e ~ N(0, v / r),   v = (d^2 + w^2) max(y, 0.2)^2

d: between-step noise. w: within-step noise, from the seconds of the steps. K is the prior's covariance at the measured
sizes, and V = diag(v / r). The likelihood of a pair of slope variance s^2 and between-step noise d is

    N(y; 0, K + V)  x  product over sizes of v^(-(r - 1) / 2) exp(-S / (2 v))

S: sum of squares of a size's steps around their mean. The likelihood times the hyperparameters' prior is the pair's
weight. Each pair yields a share of the posterior samples that is proportional to its weight. A posterior sample is a
prior curve f, conditioned on the steps by Matheron's rule (Journel and Huijbregts, 1978, "Mining Geostatistics"; Wilson
et al., 2020, "Efficiently Sampling Functions from Gaussian Process Posteriors"):

    f_posterior = f + K(all, measured) (K + V)^-1 (y - f(measured) - e)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.observation import Observation
from poolsize.analysis.prior import PRIOR, SAMPLES, Prior, PriorSamples, prior_samples, within_step_variances
from poolsize.analysis.vector import Matrix, Vector

PER_DOUBLING = 4
"""Candidate pool sizes in each doubling."""
LOWEST_SHARE = 0.2
"""Noise is proportional to throughput; below this share of the highest throughput it no longer falls."""


@dataclass(frozen=True)
class FittedCurve:
    """Posterior of the throughput curve over pool sizes.

    sizes: ascending. measured: the sizes that have a step. samples: posterior samples, transactions per second, shape
    (samples, sizes). noise: standard deviation of the throughput of one more step at each size, per second.
    """

    sizes: tuple[int, ...]
    measured: frozenset[int]
    samples: Matrix
    noise: Vector

    @property
    def mean(self) -> Vector:
        """The fitted curve: posterior mean of the throughput at each size, per second."""
        return np.asarray(self.samples.mean(axis=0))

    def at(self, pool_size: float) -> float:
        """Return the fitted curve at any size from the smallest to the largest; linear over log2 between sizes."""
        return float(np.interp(np.log2(pool_size), np.log2(self.sizes), self.mean))

    def within(self, low: int, high: int) -> "FittedCurve":
        """Return the part of the curve from size low to size high, both included."""
        places = [place for place, size in enumerate(self.sizes) if low <= size <= high]
        sizes = tuple(self.sizes[place] for place in places)
        return FittedCurve(sizes, self.measured, self.samples[:, places], self.noise[places])

    @property
    def best_size(self) -> int:
        """The measured size with the highest posterior mean. Sizes that were not measured don't count."""
        means = dict(zip(self.sizes, self.mean, strict=True))
        return max(self.measured.intersection(self.sizes), key=lambda size: means[size])

    def efficiency(self) -> Matrix:
        """Return throughput as a share of the best size's on the same sample: shape (samples, sizes).

        Values exceed 1 where another size is better on that sample. The reference is not each sample's own maximum: the
        maximum of many uncertain values is biased upwards, on a flat top by more than the tolerance.
        """
        return np.asarray(self.samples / self.samples[:, [self.sizes.index(self.best_size)]])

    def crossing(self, share: float) -> Vector:
        """Return log2 of the size at which each sample first reaches a share of its top; one value a sample.

        The top is the sample's throughput at the size with the highest posterior mean. Interpolation between sizes is
        linear over log2 of the size.
        """
        goal = share * self.samples[:, int(np.argmax(self.mean))]
        above = (self.samples >= goal[:, None]).argmax(axis=1)
        below = np.maximum(above - 1, 0)
        rows = np.arange(len(self.samples))
        rise = self.samples[rows, above] - self.samples[rows, below]
        part = np.where(rise > 0, (goal - self.samples[rows, below]) / np.where(rise > 0, rise, 1), 1.0)
        log_sizes = np.log2(self.sizes)
        return np.asarray(log_sizes[below] + part * (log_sizes[above] - log_sizes[below]))


def candidates(low: int, high: int, also: Sequence[int] = ()) -> tuple[int, ...]:
    """Return pool sizes from low to high, ascending: four in each doubling (all sizes below 8), low, high and `also`.

    Sizes of `also` outside of low to high are left out.
    """
    doublings = range(int(np.ceil(np.log2(high) * PER_DOUBLING)) + 1)
    regular = {round(2 ** (place / PER_DOUBLING)) for place in doublings}
    return tuple(sorted({size for size in regular | {low, high, *also} if low <= size <= high}))


def fit_curve(observations: Sequence[Observation], sizes: Sequence[int], prior: Prior = PRIOR) -> FittedCurve:
    """Return the curve fitted to the observations, over the sizes.

    sizes: ascending, the observed sizes included. At least one throughput must be above 0.
    """
    measured = _measured_sizes(observations, sizes)
    highest = float(measured.means.max())
    levels, scale = measured.means / highest, np.maximum(measured.means / highest, LOWEST_SHARE)
    within, mean_within = within_step_variances(prior, measured.errors**2 / (highest * scale) ** 2, measured.steps)
    between = np.square(prior.between_step_noise)
    variances = (between[:, None] + within) * scale**2
    unconditioned = prior_samples(prior, tuple(sizes))
    places = measured.places
    covariances = unconditioned.covariances[:, None][:, :, places[:, None], places] + _diagonal(
        variances / measured.steps
    )
    weights = _weights(prior, covariances, levels, measured.steps, measured.squares / highest**2, variances)
    samples = highest * _conditioned(unconditioned, measured, levels, variances, covariances, weights)
    expected_between = float(weights.reshape(len(prior.slope_deviations), -1).sum(axis=0) @ between)
    step_variances = np.full(len(sizes), expected_between + mean_within)
    step_variances[places] = expected_between + within
    return FittedCurve(
        tuple(sizes),
        frozenset(observation.pool_size for observation in observations),
        samples,
        np.sqrt(step_variances) * np.maximum(samples.mean(axis=0), LOWEST_SHARE * highest),
    )


@dataclass(frozen=True)
class _MeasuredSizes:
    """The steps of each measured size; every field has one value a size, ascending.

    places: index of the size among all sizes. steps: number of steps. means: throughput per second.
    squares: sum of squares of the steps' throughput around its mean. errors: root mean square of the steps' standard
    errors, per second.
    """

    places: NDArray[np.intp]
    steps: Vector
    means: Vector
    squares: Vector
    errors: Vector


def _measured_sizes(observations: Sequence[Observation], sizes: Sequence[int]) -> _MeasuredSizes:
    groups: dict[int, list[Observation]] = {}
    for observation in observations:
        groups.setdefault(observation.pool_size, []).append(observation)
    places = [place for place, size in enumerate(sizes) if size in groups]
    rows = []
    for place in places:
        rates = np.array([observation.throughput for observation in groups[sizes[place]]])
        squares = [observation.standard_error**2 for observation in groups[sizes[place]]]
        rows.append((len(rates), rates.mean(), len(rates) * rates.var(), np.sqrt(np.mean(squares))))
    return _MeasuredSizes(np.array(places), *np.array(rows, float).T)


def _weights(
    prior: Prior, covariances: Matrix, levels: Vector, steps: Vector, squares: Vector, variances: Matrix
) -> Vector:
    """Return the posterior probability of each pair of slope variance and between-step noise; flat, sum 1.

    covariances: K + V, shape (slope deviations, between-step noises, measured, measured).
    variances: v, shape (between-step noises, measured). levels, squares: in units of the highest throughput.
    """
    solved = np.linalg.solve(covariances, np.broadcast_to(levels[:, None], (*covariances.shape[:-1], 1)))
    of_means = -0.5 * (solved[..., 0] @ levels) - 0.5 * np.linalg.slogdet(covariances)[1]
    of_repeats = (-0.5 * squares / variances - 0.5 * (steps - 1) * np.log(variances)).sum(axis=-1)
    logarithms = (of_means + of_repeats + prior.log_density()).ravel()
    densities = np.exp(logarithms - logarithms.max())
    return np.asarray(densities / densities.sum())


def _conditioned(
    unconditioned: PriorSamples,
    measured: _MeasuredSizes,
    levels: Vector,
    variances: Matrix,
    covariances: Matrix,
    weights: Vector,
) -> Matrix:
    """Return the posterior samples by Matheron's rule: shape (SAMPLES, sizes), in units of the highest throughput.

    Each pair of hyperparameters yields samples in proportion to its weight. Shapes are as in _weights.
    """
    places, noises = measured.places, len(variances)
    ends = np.round(np.cumsum(weights) * SAMPLES).astype(int)
    samples = []
    for pair, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        slope, between = divmod(pair, noises)
        rows = unconditioned.order[first:last]
        curves = unconditioned.curves[slope][rows]
        errors = unconditioned.noise[rows][:, places] * np.sqrt(variances[between] / measured.steps)
        simulated = curves[:, places] + errors
        pull = np.linalg.solve(covariances[slope, between], (levels - simulated).T)
        samples.append(curves + pull.T @ unconditioned.covariances[slope][places])
    return np.concatenate(samples)


def _diagonal(rows: Matrix) -> Matrix:
    """Return a diagonal matrix for each row."""
    return np.asarray(rows[:, :, None] * np.eye(rows.shape[1]))
