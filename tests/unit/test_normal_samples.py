"""Samples of normal variables: they have the covariance that was asked for, whatever the signs of its eigenvectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.analysis.stats.confidence import normal_samples

NUMBER = 20_000


@pytest.mark.costly
@given(st.integers(0, 1000), st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=4))
def test_the_samples_have_mean_and_covariance(seed: int, errors: list[float]) -> None:
    random = np.random.default_rng(seed)
    mixing = random.standard_normal((len(errors), len(errors))) * np.array(errors)
    covariance = mixing.T @ mixing
    deviations = np.sqrt(np.diag(covariance))
    means = random.standard_normal(len(errors)) * deviations
    samples = normal_samples(means, covariance, NUMBER, random)
    scaled = (samples - means) / deviations
    assert scaled.mean(axis=0) == pytest.approx(np.zeros(len(errors)), abs=0.05)
    assert np.cov(scaled.T).reshape(covariance.shape) == pytest.approx(
        covariance / np.outer(deviations, deviations), abs=0.06
    )


@pytest.mark.parametrize("rounded", [0.0, -1e-18])
def test_a_variable_without_an_error_is_the_same_in_all_samples(rounded: float) -> None:
    covariance = np.array([[4.0, 0.0], [0.0, rounded]])
    samples = normal_samples(np.array([1.0, 5.0]), covariance, 100, np.random.default_rng(1))
    assert (samples[:, 1] == 5).all()
    assert samples[:, 0].std() > 1


def test_the_order_of_the_variables_changes_nothing_but_their_order() -> None:
    """Eigenvectors come in another order, and often with other signs; the samples are the same."""
    mixing = np.random.default_rng(2).standard_normal((4, 4))
    covariance, order = mixing.T @ mixing, [2, 0, 3, 1]
    draws = np.random.default_rng(3).standard_normal((50, 4))

    class Drawn(np.random.Generator):
        """Draws that are known, in an order of the variables."""

        def __init__(self, columns: list[int]) -> None:
            super().__init__(np.random.PCG64(0))
            self._columns = columns

        def standard_normal(self, *_: object) -> np.ndarray:  # type: ignore[override]  # NumPy's has overloads
            return draws[:, self._columns]

    plain = normal_samples(np.zeros(4), covariance, 50, Drawn([0, 1, 2, 3]))
    permuted = normal_samples(np.zeros(4), covariance[np.ix_(order, order)], 50, Drawn(order))
    assert permuted == pytest.approx(plain[:, order], abs=1e-12)
