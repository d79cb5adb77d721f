"""The fitted Zipf distribution, on ids that are drawn from a known distribution."""

from collections import Counter

import numpy as np
import pytest

from poolsize.capture.parameters import parameter_of
from poolsize.capture.skew import fitted_skew
from poolsize.capture.workload import Range, Zipf
from tests.capture.logged import captured, zipf_ids


def _drawn(ids: list[int]) -> object:
    """Return how the ids of point selects are drawn."""
    return parameter_of([(np.nan, number) for number in ids], is_limit=False, in_insert=False, keeps_values=False)


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("seed", range(41, 44))  # no seed with which the fit was made
def test_zipf_over_100_000_ids_is_recovered(scattered: bool, seed: int) -> None:
    """From 50,000 draws, the exponent is within 0.05, and the place of the first ranks is right."""
    drawn = _drawn(zipf_ids(0.9, 100_000, 50_000, seed=seed, scattered=scattered))
    assert isinstance(drawn, Zipf)
    assert drawn.exponent == pytest.approx(0.9, abs=0.05)
    assert (drawn.low, drawn.high, drawn.distinct) == (1, 100_000, None)
    assert drawn.first == ("scattered" if scattered else "low")


def test_zipf_is_recovered_from_a_log() -> None:
    """The whole path, from statements to the workload."""
    ids = zipf_ids(0.9, 100_000, 5_000, seed=44, scattered=True)
    (kind,) = captured((f"SELECT c FROM item WHERE id = {number}",) for number in ids).kinds
    (drawn,) = kind.statements[0].parameters
    assert isinstance(drawn, Zipf)
    assert drawn.exponent == pytest.approx(0.9, abs=0.05)
    assert (drawn.first, drawn.table, drawn.column) == ("scattered", "item", "id")


@pytest.mark.long
@pytest.mark.parametrize("exponent", [0.5, 0.9, 1.1])
def test_the_exponent_has_no_bias(exponent: float) -> None:
    """Ranks of what was seen give an exponent that is wrong by more; the mean over seeds is right within 0.01."""
    fits, of_ranks = [], []
    for seed in range(50, 58):
        ids = zipf_ids(exponent, 100_000, 20_000, seed=seed, scattered=True)
        counts = np.array(list(Counter(ids).values()), dtype=float)
        fits.append(fitted_skew(counts, 100_000).exponent)
        of_ranks.append(_likeliest_of_ranks(counts))
    assert np.mean(fits) == pytest.approx(exponent, abs=0.01)
    assert abs(np.mean(of_ranks) - exponent) > 0.03


def _likeliest_of_ranks(counts: np.ndarray) -> float:
    """Return the exponent that is likeliest if the ranks of the seen values are taken for the true ranks."""
    exponents = np.arange(0.2, 1.6, 0.005)
    ranks = np.log(np.arange(1, len(counts) + 1))
    weighted = np.sort(counts)[::-1] @ ranks
    misfits = [s * weighted + counts.sum() * np.log(np.exp(-s * ranks).sum()) for s in exponents]
    return float(exponents[int(np.argmin(misfits))])


@pytest.mark.parametrize("draws", [500, 5_000, 20_000])
def test_a_uniform_distribution_is_told_from_zipf(draws: int) -> None:
    """Uniform ids are a range, however few are seen."""
    for seed in range(60, 63):
        drawn = _drawn(zipf_ids(0.0, 100_000, draws, seed=seed, scattered=False))
        assert isinstance(drawn, Range)
        assert len(drawn.ends) == 2
        assert drawn.ends[0] < 2_000
        assert 98_000 < drawn.ends[1] <= 100_000


def test_the_newest_rows_have_the_first_ranks() -> None:
    """A Zipf distribution from the high end is one."""
    ids = [100_001 - number for number in zipf_ids(0.9, 100_000, 20_000, seed=70, scattered=False)]
    drawn = _drawn(ids)
    assert isinstance(drawn, Zipf)
    assert drawn.first == "high"
    assert drawn.exponent == pytest.approx(0.9, abs=0.05)


def test_gaps_in_a_range_are_no_skew() -> None:
    """Of a range of which few numbers occur, the number of values is estimated, and all are equally likely."""
    ids = np.random.default_rng(71).choice(np.random.default_rng(72).integers(1, 10**9, 2_000), 20_000)
    drawn = _drawn([int(number) for number in ids])
    assert isinstance(drawn, Range)
    assert drawn.distinct == pytest.approx(2_000, rel=0.02)


def test_frequent_ids_that_lie_together_stay_together() -> None:
    """Ids around the middle of a table are read as pages that lie together: the range has quantiles."""
    ids = np.clip(np.random.default_rng(73).normal(50_000, 5_000, 20_000), 1, 100_000)
    drawn = _drawn([int(number) for number in ids])
    assert isinstance(drawn, Range)
    middle = drawn.ends[len(drawn.ends) // 4], drawn.ends[3 * len(drawn.ends) // 4]
    assert middle == pytest.approx((46_600, 53_400), abs=500)
