"""What the fitted curve knows before the first step: throughput is positive, and a connection's share never rises."""

import numpy as np
import pytest

from poolsize.analysis.curve import FittedCurve, candidates, fit_curve
from poolsize.analysis.observation import Observation

MEASURED = ((8, 80.0), (17, 100.0), (34, 101.0), (68, 99.0))


def curve(*measured: tuple[int, float]) -> FittedCurve:
    """The curve fitted to steps with noise of 2 %, from 1 connection to 136."""
    steps = [Observation(size, rate, 0.02 * rate) for size, rate in measured]
    return fit_curve(steps, candidates(1, 136, [size for size, _ in measured]))


def test_throughput_is_never_negative() -> None:
    """Not in any part of the posterior, also far below the smallest measured size."""
    low, high = curve(*MEASURED).band(0.9999)
    assert (low > 0).all()
    assert (high > low).all()


def test_throughput_for_each_connection_does_not_rise() -> None:
    fitted = curve(*MEASURED)
    per_connection = fitted.mean / np.array(fitted.sizes)
    assert (np.diff(np.log(per_connection)) < 0.01).all()


@pytest.mark.parametrize("rate", [80.0, 60.0])
def test_a_low_smallest_size_needs_no_smaller_one(rate: float) -> None:
    """Where the smallest size is clearly below 95 % of capacity, the plateau does not start below it."""
    fitted = curve((8, rate), *MEASURED[1:])
    within = fitted.against(fitted.best_size).at_least(0.95)
    assert within[fitted.sizes.index(8)] < 0.01
    assert within[fitted.sizes.index(7)] < 0.01
