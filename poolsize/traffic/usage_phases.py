"""Usage times as at most two exponential phases, which a queue of many connections can be solved for exactly.

The squared coefficient of variation (variance over squared mean; 1 for exponential times) decides the form. Above 1
each usage has one of two phases; where only the variation is known, both kinds have the same share of the time (Tijms,
"A First Course in Stochastic Models", appendix B), else the third moment decides (Whitt 1982). From 0.5 to 1 a second
phase follows the first one at times (Marie 1980). Below 0.5 more phases would be needed: waits are nearly linear in the
variation, so pool_use extrapolates them.

Phases have their times in mean usage times.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import erfc, exp, inf, isfinite, log, sqrt

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.vector import Vector
from poolsize.errors import BadInput

LEAST_VARIATION = 0.5
"""The lowest squared coefficient of variation that two phases can have."""
NORMAL_QUANTILES = {0.95: 1.6449, 0.99: 2.3263}
LONGER = 0.35
"""The share of the usages in progress that still take longer than the time on which phases and usages agree."""
KEPT = 256
"""Matrices of each kind that are kept, for the next pool size."""


@dataclass(frozen=True)
class UsageTimes:
    """How long a request uses a connection.

    variation: squared coefficient of variation. third_moment: in cubes of the mean; None where it is not known.
    Raises BadInput for values that no usage times have.
    """

    mean_ms: float
    variation: float = 1.0
    third_moment: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        if not (self.mean_ms > 0 and isfinite(self.mean_ms)):
            raise BadInput(f"`usage_time` {self.mean_ms:g}: give a time above 0")
        if not 0 <= self.variation < inf:
            raise BadInput(f"`variation` {self.variation:g}: a squared coefficient of variation is 0 or more")
        least = 1.5 * (1 + self.variation) ** 2
        if self.third_moment is not None and not (self.variation > 1 and least < self.third_moment < inf):
            raise BadInput(f"`third_moment` {self.third_moment:g}: above a `variation` of 1, give more than {least:g}")

    @property
    def p99_ms(self) -> float:
        """The 99th percentile: of exponential times with a variation of 1, else of log-normal ones."""
        if self.variation == 1:
            return self.mean_ms * log(100)
        square = log(1 + self.variation)
        p99_ms = self.mean_ms * exp(NORMAL_QUANTILES[0.99] * sqrt(square) - square / 2)
        return round(p99_ms, 9)  # a p99 that was typed comes out as it was


def log_normal(mean_ms: float, probability: float, quantile_ms: float) -> UsageTimes | None:
    """Return log-normal usage times with this mean and quantile; None where there are none.

    probability: 0.95 or 0.99. A quantile is at least the mean, and at most 3.86 (0.95) or 14.9 (0.99) times the mean.
    Of the two such distributions, it is the one that varies less. Two phases can't follow the whole tail. The third
    moment is such that they agree on the p65 of the remaining time of usages in progress, for which requests wait.
    """
    normal = NORMAL_QUANTILES[probability]
    if not mean_ms <= quantile_ms < inf or (logarithm := log(quantile_ms / mean_ms)) > normal**2 / 2:
        return None
    variation = exp((normal - sqrt(normal**2 - 2 * logarithm)) ** 2) - 1
    return UsageTimes(mean_ms, variation, _third_moment(variation) if variation > 1 else None)


def _third_moment(variation: float) -> float:
    """Return the third moment of two phases that stand for log-normal usage times, at most that of those."""
    deviation = sqrt(log(1 + variation))

    def longer(time: float) -> float:
        """Return the share of the log-normal usages in progress that still take longer than this time."""
        place = log(time) / deviation
        return (erfc((place - deviation / 2) / sqrt(2)) - time * erfc((place + deviation / 2) / sqrt(2))) / 2

    remaining = _crossing(lambda time: longer(time) - LONGER, 0.1, exp(3 * deviation**2))

    def longer_in_phases(third: float) -> float:
        phases = _mixed(variation, third)
        shares = (phases.first / phases.rates[0], (1 - phases.first) / phases.rates[1])
        return sum(share * exp(-rate * remaining) for share, rate in zip(shares, phases.rates, strict=True))

    often, rates = _same_share(variation)
    of_same_share = 6 * (often / rates[0] ** 3 + (1 - often) / rates[1] ** 3)
    return _crossing(lambda third: longer_in_phases(third) - LONGER, of_same_share, (1 + variation) ** 3)


def _crossing(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function becomes 0 from low to high, both above 0; one of them where it does nowhere.

    scipy.optimize has it, too; its import would take longer than the answer.
    """
    while high / low > 1 + 1e-6:
        middle = sqrt(low * high)
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


@dataclass(frozen=True)
class UsagePhases:
    """A usage time: it starts in the first phase with the probability `first`, else in the second one.

    rates: at which a phase ends, per mean usage time. onward: probability that the second phase follows the first.
    """

    first: float
    rates: tuple[float, float]
    onward: float

    def in_first(self, in_use: int) -> NDArray[np.int64]:
        """Return how many of the connections in use may be in the first phase: all of them if there is no second."""
        return np.arange(0 if self.first < 1 or self.onward else in_use, in_use + 1)


def usage_phases(usage: UsageTimes) -> UsagePhases:
    """Return phases with these usage times' variation, LEAST_VARIATION or more, and third moment."""
    variation, third = usage.variation, usage.third_moment
    if variation == 1:
        return UsagePhases(1.0, (1.0, 1.0), 0.0)
    if variation < 1:
        return UsagePhases(1.0, (2.0, 1 / variation), 1 / (2 * variation))
    return UsagePhases(*_same_share(variation), 0.0) if third is None else _mixed(variation, third)


def _mixed(variation: float, third: float) -> UsagePhases:
    """Return phases of which each usage has one, with this third moment (Whitt 1982); variation > 1."""
    second = 1 + variation
    product = (3 * second - 6) / (third - 1.5 * second**2)
    half = (1 + second * product / 2) / 2
    difference = sqrt(half**2 - product)
    fast, slow = half + difference, half - difference
    return UsagePhases(fast * (1 - slow) / (fast - slow), (fast, slow), 0.0)


def _same_share(variation: float) -> tuple[float, tuple[float, float]]:
    """Return the probability of the first phase and both rates, of phases that take the same share of the time."""
    often = (1 + sqrt((variation - 1) / (variation + 1))) / 2
    return often, (2 * often, 2 * (1 - often))


# The states of the connections in use are how many of them are in the first phase. Rates are per mean usage time.


@lru_cache(KEPT)
def staying(phases: UsagePhases, in_use: int) -> Vector:
    """Return the generator of changes of phase, the rates of the usages that end on its diagonal too."""
    in_first, (first, second) = phases.in_first(in_use), phases.rates
    moves = np.diag(in_first[1:] * first * phases.onward, -1)
    return np.asarray(moves - np.diag(in_first * first + (in_use - in_first) * second))


@lru_cache(KEPT)
def ending(phases: UsagePhases, in_use: int) -> Vector:
    """Return the rates of the changes to one connection fewer in use."""
    in_first, (first, second) = phases.in_first(in_use)[:, None], phases.rates
    leaving = in_first - phases.in_first(in_use - 1)
    of_first = (leaving == 1) * in_first * first * (1 - phases.onward)
    return np.asarray(of_first + (leaving == 0) * (in_use - in_first) * second)


@lru_cache(KEPT)
def starting(phases: UsagePhases, in_use: int) -> Vector:
    """Return the probabilities of the changes to one connection more in use."""
    joining = phases.in_first(in_use + 1) - phases.in_first(in_use)[:, None]
    return np.asarray((joining == 1) * phases.first + (joining == 0) * (1 - phases.first))
