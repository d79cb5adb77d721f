"""Simulated steps of throughput curves whose plateau is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from poolsize.analysis.curve import FittedCurve, candidates, fit_curve
from poolsize.analysis.hypotheses import PRIOR, Prior
from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.analysis.observation import Observation
from poolsize.analysis.stats.confidence import standard_error

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LAG_ONE = 0.5
"""Correlation of a second's throughput with the next, as on real servers."""
Shape = Callable[[np.ndarray], np.ndarray]
"""Pool sizes -> throughput, in any unit."""


def saturating(random: np.random.Generator) -> Shape:
    """A closed network: one station of many servers that slows down a little, and a delay."""
    server = Station(1.0, int(random.integers(2, 33)), 10 ** random.uniform(-4, -1.5))
    rates = throughputs([server], random.uniform(0, 3), SIZES[-1])
    return lambda sizes: np.interp(sizes, np.arange(1, SIZES[-1] + 1), rates)


def knee(random: np.random.Generator) -> Shape:
    """A straight line that is flat from one size on."""
    bend = 2 ** random.uniform(1, 6)
    return lambda sizes: np.minimum(sizes, bend)


def retrograde(random: np.random.Generator) -> Shape:
    """The universal scalability law, which falls after its peak."""
    sigma, kappa = random.uniform(0.005, 0.1), 10 ** random.uniform(-5, -3)
    return lambda sizes: sizes / (1 + sigma * (sizes - 1) + kappa * sizes * (sizes - 1))


def usual(random: np.random.Generator) -> Shape:
    """A retrograde or a saturating curve, with parameters as they are met."""
    return retrograde(random) if random.random() < 0.5 else saturating(random)


def true_plateau(shape: Shape, sizes: Sequence[int] = SIZES) -> int:
    """Return the smallest size within 5 % of a curve's maximum."""
    fine = np.geomspace(sizes[0], sizes[-1], 5000)
    rates = shape(fine)
    return ceil(float(fine[np.argmax(rates >= 0.95 * rates.max())]))


def seconds(mean: float, noise: float, length: int, random: np.random.Generator) -> list[float]:
    """Return a first-order autoregressive series, as steady from its first second as later."""
    series = random.standard_normal(length)
    for place in range(1, length):
        series[place] = LAG_ONE * series[place - 1] + np.sqrt(1 - LAG_ONE**2) * series[place]
    return list(mean * (1 + noise * series))


def observed(
    shape: Shape,
    random: np.random.Generator,
    *,
    length: int,
    repeats: int = 1,
    within: float | Sequence[float] = 0.05,
    between: float = 0.0,
) -> list[Observation]:
    """Return one observation a step of `length` seconds, at all SIZES.

    within: standard deviation of a second, a share of the mean; the same at all sizes, or one a size.
    between: between-step noise, a share.
    """
    noises = [within] * len(SIZES) if isinstance(within, float) else within
    points = []
    for size, noise in zip(SIZES, noises, strict=True):
        for _ in range(repeats):
            mean = float(shape(np.array(size)))
            if between:
                mean *= 1 + between * random.standard_normal()
            points.append(Observation(size, *standard_error(seconds(mean, noise, length, random))))
    return points


@dataclass(frozen=True)
class Case:
    """One simulated run. truth: the size at which its true plateau begins. shape: the true curve."""

    observations: Sequence[Observation]
    truth: int
    shape: Shape

    def fit(self, prior: Prior = PRIOR) -> FittedCurve:
        """Return the fitted curve."""
        return fit_curve(self.observations, candidates(SIZES[0], SIZES[-1], SIZES), prior)


def cases(
    family: Callable[[np.random.Generator], Shape],
    number: int,
    *,
    between: float,
    length: int,
    repeats: int = 1,
    within: float = 0.05,
    uneven: float = 0.0,
) -> list[Case]:
    """Return simulated runs. length: seconds of a step. within: standard deviation of a second, a share.

    uneven: standard deviation of that noise's logarithm between sizes.
    """
    random = np.random.default_rng(5)
    simulated = []
    for _ in range(number):
        shape = family(random)
        noises = (within * np.exp(uneven * random.standard_normal(len(SIZES)))).tolist() if uneven else within
        points = observed(shape, random, length=length, repeats=repeats, within=noises, between=between)
        simulated.append(Case(points, true_plateau(shape), shape))
    return simulated
