"""The probabilities of the hypotheses about a run, against direct computations."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from poolsize.analysis.curve import fit_curve
from poolsize.analysis.hypotheses import PRIOR, Steps, bends, weigh
from poolsize.analysis.observation import Observation

SIZES = (1, 2, 4, 8, 16)
FEW = replace(
    PRIOR, sharpness=(2.0,), bends_per_doubling=1, bends_beyond=0.0, roughness=(0.05, 0.1), between_step_noise=(0.01,)
)
"""A prior with so few hypotheses that all are kept."""
DIP = [Observation(size, rate, 0.01 * rate) for size, rate in zip(SIZES, (100, 195, 240, 590, 620), strict=True)]
"""Throughput at 4 is a third too low."""


def likelihood(roughness: int, bend: int, disturbed: tuple[bool, ...]) -> float:
    """The log probability of one hypothesis about DIP, from the multivariate normal density."""
    x = np.log2(SIZES)
    rise = bends(FEW, SIZES, 1, 16)[bend]
    covariance = FEW.covariances(SIZES)[roughness] + FEW.rise_deviation**2 * np.outer(rise, rise)
    noise = FEW.between_step_noise[0] ** 2 + 0.01**2 + FEW.disturbance**2 * np.array(disturbed)
    logs = np.log([step.throughput / 620 for step in DIP])
    density = multivariate_normal(FEW.tail * x + FEW.rise * rise, covariance + np.diag(noise)).logpdf(logs)
    number = sum(disturbed)
    counted = number * np.log(FEW.disturbed) + (len(x) - number) * np.log1p(-FEW.disturbed)
    return float(density + counted + FEW.log_density()[roughness, 0])


def test_a_hypothesis_has_the_probability_of_its_normal_density() -> None:
    hypotheses = weigh(Steps.of(DIP, SIZES, FEW), SIZES, FEW)
    direct = np.array(
        [
            likelihood(roughness, bend, tuple(disturbed))
            for roughness, bend, disturbed in zip(
                hypotheses.roughness, hypotheses.bend, hypotheses.disturbed.tolist(), strict=True
            )
        ]
    )
    assert hypotheses.probabilities == pytest.approx(np.exp(direct - logsumexp(direct)), rel=1e-6)


@pytest.mark.costly
def test_the_kept_hypotheses_are_the_most_probable_ones() -> None:
    everything = [
        likelihood(roughness, bend, disturbed)
        for roughness, bend, disturbed in product(range(2), range(5), product((False, True), repeat=len(SIZES)))
        if sum(disturbed) <= 2
    ]
    hypotheses = weigh(Steps.of(DIP, SIZES, FEW), SIZES, FEW)
    kept = [
        likelihood(roughness, bend, tuple(disturbed))
        for roughness, bend, disturbed in zip(
            hypotheses.roughness, hypotheses.bend, hypotheses.disturbed.tolist(), strict=True
        )
    ]
    assert logsumexp(kept) >= logsumexp(everything) + np.log(0.95)


def test_a_dip_is_taken_for_disturbed_and_its_neighbours_are_not() -> None:
    curve = fit_curve(DIP, SIZES)
    assert curve.disturbed[4] > 0.8
    assert max(curve.disturbed[size] for size in (1, 2, 8, 16)) < 0.1
    assert curve.at(4) == pytest.approx(370, rel=0.1)


def test_two_dips_are_found() -> None:
    """By a second step at three sizes; without it, the dips may as well be noise."""
    rates = dict(zip((1, 2, 4, 8, 16, 32, 64, 128), (100, 195, 250, 600, 990, 660, 1000, 1010), strict=True))
    again = ((4, 380), (32, 1000), (64, 1000))
    curve = fit_curve([Observation(size, rate, 0.01 * rate) for size, rate in (*rates.items(), *again)], tuple(rates))
    assert min(curve.disturbed[size] for size in (4, 32)) > 0.5


def test_the_order_of_equal_steps_changes_nothing() -> None:
    steps = [*DIP, *(replace(step, throughput=1.01 * step.throughput) for step in DIP)]
    curves = [fit_curve(order, SIZES) for order in (steps, steps[::-1], steps[3:] + steps[:3])]
    for curve in curves[1:]:
        assert (curve.means == curves[0].means).all()
        assert (curve.covariances == curves[0].covariances).all()
