"""The skew of values: a Zipf distribution fitted to the numbers of values that were seen once, twice, and so on.

A value's rank among the seen values is not its true rank: of values that were seen once, the order is chance, and many
were not seen at all. A likelihood of ranks therefore finds too small a range and a wrong exponent. The numbers of
values that were seen m times have no such bias: their expectations follow from the true probabilities. With p(r) in
proportion to r**-s over N values and n draws, the expected number is the sum of Poisson(m; n p(r)) over the ranks r.
See Good (1953), "The population frequencies of species and the estimation of population parameters".
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, pdtr

from poolsize.analysis.vector import Vector

LARGEST_EXPONENT = 2.5
LEAST_EXPONENT = 0.1
"""A smaller exponent is as good as a uniform distribution: over 100,000 values it moves 6 % of the draws."""
LEAST_GAIN = 8.0
"""Log-likelihood by which Zipf must exceed a uniform distribution, and a free number of values a given number."""
MOST_UNSEEN = 1_000
"""The most values that can be estimated for each value that was seen."""
EXACT_RANKS, RANK_BINS = 20, 60
TIER_RATES, TIER_ROUNDS = 40, 300
LEAST_GAIN_OF_TIERS = 25.0
"""Log-likelihood by which groups of equally frequent values must exceed Zipf."""
LEAST_TIER = 1e-3
"""Share of the draws of a group."""
LEAST_DRAWS = 300
LIMITS = 200
"""Numbers of values for which the least misfit is computed."""


@dataclass(frozen=True)
class Skew:
    """A Zipf distribution over values. exponent: 0 for a uniform distribution. values: how many there are."""

    exponent: float
    values: int
    tiers: tuple[tuple[float, int], ...] = ()
    """Groups of equally frequent values, by descending frequency, where they are far likelier than Zipf: the share of
    the draws, and the number of values."""

    def share(self, ranks: Vector) -> Vector:
        """Return the shares of ranks, which begin at 1."""
        ends, weights = _rank_bins(self.values)
        return ranks**-self.exponent / float(weights @ ends**-self.exponent)


def fitted_skew(counts: Vector, most_values: int | None) -> Skew:
    """Return the distribution from which values were drawn independently.

    counts: how often each value was seen, all at least 1. most_values: how many values there can be at most, such as
    the numbers in a range; None where this is not known. The values are so many where the counts fit.
    """
    draws, distinct = int(counts.sum()), len(counts)
    limit = distinct * MOST_UNSEEN if most_values is None else min(distinct * MOST_UNSEEN, max(distinct, most_values))
    if distinct == 1 or draws < LEAST_DRAWS:
        return Skew(0.0, distinct if most_values is None else limit)
    classes = _classes(counts)
    least_gain = LEAST_GAIN if limit == most_values else 0.0
    uniform = _likeliest_values(lambda values: (_misfit(classes, draws, values, 0), 0.0), distinct, limit, least_gain)
    if uniform[0] - _least_misfit(classes, draws, limit) <= LEAST_GAIN:
        return uniform[1]
    skewed = _likeliest_values(lambda values: _likeliest_exponent(classes, draws, values), distinct, limit, least_gain)
    misfit, fit = skewed if uniform[0] - skewed[0] > LEAST_GAIN and skewed[1].exponent >= LEAST_EXPONENT else uniform
    if most_values is None or most_values > limit or not fit.exponent:
        return fit
    tiers, tiers_misfit = _likeliest_tiers(classes, draws, limit)
    return replace(fit, tiers=tiers) if misfit - tiers_misfit > LEAST_GAIN_OF_TIERS else fit


def _likeliest_tiers(classes: "_Classes", draws: int, values: int) -> tuple[tuple[tuple[float, int], ...], float]:
    """Return groups of equally frequent values, and the misfit of the classes.

    It is the maximum-likelihood mixture of Poisson distributions over a grid of frequencies. Source: Laird,
    Nonparametric maximum likelihood estimation of a mixing distribution, 1978.
    """
    rates = np.geomspace(1e-3 * draws / values, 1.2 * classes.bounds[-1], TIER_RATES)
    below = pdtr(classes.bounds[:, None] - 1, rates[None, :])
    chances = np.vstack([below[:1], np.diff(below, axis=0)])
    observed = np.append(max(values - classes.values.sum(), 0.0), classes.values)
    sizes = np.full(len(rates), values / len(rates))
    for _ in range(TIER_ROUNDS):
        expected = np.maximum(chances @ sizes, 1e-12)
        sizes = sizes * (chances.T @ (observed / expected))
    expected = np.maximum(chances @ sizes, 1e-12)
    misfit = float((expected - observed * np.log(expected)).sum() + gammaln(observed[0] + 1))
    shares = sizes * rates / draws
    groups = np.split(np.arange(len(rates)), np.flatnonzero(shares < LEAST_TIER))
    groups_of = [(float(shares[group].sum()), round(float(sizes[group].sum()))) for group in groups if len(group)]
    tiers = [(round(share, 4), size) for share, size in reversed(groups_of) if share >= LEAST_TIER and size]
    return tuple(tiers), misfit


def _likeliest_values(
    fit: Callable[[int], tuple[float, float]], distinct: int, limit: int, least_gain: float
) -> tuple[float, Skew]:
    """Return the best fit over the number of values, as its misfit and the distribution.

    fit: number of values -> its misfit and its exponent. distinct: number of different values in the draws.
    least_gain: by how much another number must lower the misfit, to be taken in place of `limit`.
    """
    log_values = minimize_scalar(
        lambda log_values: fit(round(np.exp(log_values)))[0],
        bounds=(np.log(distinct), np.log(max(limit, distinct + 1))),
        method="bounded",
        options={"xatol": 0.02},
    ).x
    values = round(np.exp(log_values))
    (misfit, exponent), at_limit = fit(values), fit(limit)
    if at_limit[0] - misfit <= least_gain:
        (misfit, exponent), values = at_limit, limit
    return misfit, Skew(exponent, values)


def _likeliest_exponent(classes: "_Classes", draws: int, values: int) -> tuple[float, float]:
    best = minimize_scalar(
        lambda exponent: _misfit(classes, draws, values, exponent),
        bounds=(0, LARGEST_EXPONENT),
        method="bounded",
        options={"xatol": 2e-3},
    )
    return float(best.fun), round(float(best.x), 3)


@dataclass(frozen=True)
class _Classes:
    """How many values were seen bounds[i] to bounds[i + 1] - 1 times."""

    bounds: Vector
    values: Vector


def _classes(counts: Vector) -> _Classes:
    """Return the classes of a value's counts: each of 1 to 8, then classes that are wider by 30 %."""
    bounds = list(range(1, 9))
    while bounds[-1] <= counts.max():
        bounds.append(max(bounds[-1] + 1, int(bounds[-1] * 1.3)))
    ends = np.array(bounds, dtype=float)
    return _Classes(ends, np.histogram(counts, bins=ends)[0].astype(float))


def _misfit(classes: _Classes, draws: int, values: int, exponent: float) -> float:
    """Return the negative log-likelihood of the classes, with the values that were not seen as a class of their own."""
    ranks, weights = _rank_bins(values)
    powers = ranks**-exponent
    rates = draws * powers / float(weights @ powers)
    below = pdtr(classes.bounds[:, None] - 1, rates[None, :]) @ weights
    expected = np.maximum(np.concatenate([below[1:] - below[:-1], below[:1]]), 1e-12)
    observed = np.concatenate([classes.values, [max(values - classes.values.sum(), 0.0)]])
    return float((expected - observed * np.log(expected)).sum() + gammaln(observed[-1] + 1))


def _least_misfit(classes: _Classes, draws: int, limit: int) -> float:
    """Return a misfit below which no distribution over up to `limit` values comes.

    Each class is as large as expected. Of N values, at least N exp(-draws / N) are expected not to be drawn, as of a
    uniform distribution (Jensen's inequality).
    """
    drawn = classes.values[classes.values > 0]
    values = np.geomspace(drawn.sum(), limit, LIMITS)
    unseen = values - drawn.sum()
    expected = np.maximum(np.maximum(unseen, values * np.exp(-draws / values)), 1e-12)
    of_unseen = expected - unseen * np.log(expected) + gammaln(unseen + 1)
    return float((drawn - drawn * np.log(drawn)).sum() + of_unseen.min())


@lru_cache(maxsize=8)
def _rank_bins(values: int) -> tuple[Vector, Vector]:
    """Return bins of the ranks 1 to values: their middles, and how many ranks each holds. First ranks stand alone."""
    far = np.geomspace(EXACT_RANKS, values + 1, RANK_BINS) if values > EXACT_RANKS else np.array([])
    ends = np.unique(np.concatenate([np.arange(1, min(EXACT_RANKS, values) + 1), far.astype(np.int64), [values + 1]]))
    return (ends[:-1] + ends[1:] - 1) / 2, np.diff(ends).astype(float)
