"""The fitted Zipf distribution, on ids that are drawn from a known distribution."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
import pytest

from poolsize.capture import draws
from poolsize.capture.parameters import parameter_of
from poolsize.capture.skew import fitted_skew
from poolsize.capture.statement_code import Code
from poolsize.capture.workload import Range, Several, Tiers, Zipf
from tests.capture.logged import captured, zipf_ids

Ints: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def _drawn(ids: list[int]) -> object:
    """Return how the ids of point selects are drawn."""
    return parameter_of([(np.nan, number) for number in ids], is_limit=False, in_insert=False, keeps_values=False)


@pytest.mark.costly
@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("seed", range(41, 44))  # no seed with which the fit was made
def test_zipf_over_100_000_ids_is_recovered(scattered: bool, seed: int) -> None:
    """From 50,000 draws, the exponent is within 0.05, and the place of the first ranks is right."""
    drawn = _drawn(zipf_ids(0.9, 100_000, 50_000, seed=seed, scattered=scattered))
    assert isinstance(drawn, Zipf)
    assert drawn.exponent == pytest.approx(0.9, abs=0.05)
    assert (drawn.low, drawn.high, drawn.distinct) == (1, 100_000, None)
    assert drawn.first == ("scattered" if scattered else "low")


@pytest.mark.costly
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


@pytest.mark.costly
@pytest.mark.parametrize("draws", [500, 5_000, 20_000])
def test_a_uniform_distribution_is_told_from_zipf(draws: int) -> None:
    """Uniform ids are a range, however few are seen."""
    for seed in range(60, 63):
        drawn = _drawn(zipf_ids(0.0, 100_000, draws, seed=seed, scattered=False))
        assert isinstance(drawn, Range)
        assert len(drawn.ends) == 2
        assert drawn.ends[0] < 2_000
        assert 98_000 < drawn.ends[1] <= 100_000


@pytest.mark.costly
def test_the_newest_rows_have_the_first_ranks() -> None:
    """A Zipf distribution from the high end is one."""
    ids = [100_001 - number for number in zipf_ids(0.9, 100_000, 20_000, seed=70, scattered=False)]
    drawn = _drawn(ids)
    assert isinstance(drawn, Zipf)
    assert drawn.first == "high"
    assert drawn.exponent == pytest.approx(0.9, abs=0.05)


@pytest.mark.costly
def test_gaps_in_a_range_are_no_skew() -> None:
    """Of a range of which few numbers occur, the number of values is estimated, and all are equally likely."""
    ids = np.random.default_rng(71).choice(np.random.default_rng(72).integers(1, 10**9, 2_000), 20_000)
    drawn = _drawn([int(number) for number in ids])
    assert isinstance(drawn, Range)
    assert drawn.distinct == pytest.approx(2_000, rel=0.02)


ROWS, PAGE, CACHED_PAGES = 100_000, 100, 200


def _in_one_of_two(share: float, hot: Ints, chance: np.random.Generator, draws: int) -> Ints:
    """Draw some ids with a share, and all ids with the rest."""
    every = chance.integers(1, ROWS + 1, draws)
    return np.where(chance.random(draws) < share, chance.choice(hot, draws), every)


SHUFFLED = np.random.default_rng(70).permutation(np.arange(1, ROWS + 1))
WEIGHTS = np.arange(1.0, ROWS + 1) ** -1.2
SKEWS: dict[str, Callable[[np.random.Generator, int], Ints]] = {
    "even": lambda chance, draws: chance.integers(1, ROWS + 1, draws),
    "zipf": lambda chance, draws: chance.choice(SHUFFLED, draws, p=WEIGHTS / WEIGHTS.sum()),
    "half on 1 %": lambda chance, draws: _in_one_of_two(0.5, SHUFFLED[: ROWS // 100], chance, draws),
    "sysbench's special": lambda chance, draws: _in_one_of_two(0.75, np.arange(49_501, 50_501), chance, draws),
    "75 % on 100 rows": lambda chance, draws: _in_one_of_two(0.75, np.arange(49_951, 50_051), chance, draws),
    "normal": lambda chance, draws: np.clip(chance.normal(50_000, 10_000, draws), 1, ROWS).astype(int),
    "newest": lambda chance, draws: np.maximum(ROWS - chance.exponential(2_000, draws).astype(int), 1),
}
"""Name -> a function of a generator of random numbers and of a number of draws, which returns ids."""


def _hit_rate(ids: Iterable[int]) -> float:
    """Return the hit rate of a buffer pool with the pages that were used last, after a warm-up."""
    pages: dict[int, None] = {}
    hits = []
    for page in (number // PAGE for number in ids):
        hits.append(page in pages)
        pages.pop(page, None)
        pages[page] = None
        if len(pages) > CACHED_PAGES:
            del pages[next(iter(pages))]
    warm = hits[len(hits) // 4 :]
    return sum(warm) / len(warm)


@pytest.mark.costly
@pytest.mark.parametrize("skew", SKEWS)
def test_the_hit_rate_of_a_buffer_pool_is_the_original_s(skew: str) -> None:
    """Within 2 points. The ids are drawn by the line of the generated file."""
    random.seed(5)
    drawn = _drawn(SKEWS[skew](np.random.default_rng(73), 20_000).tolist())
    assert isinstance(drawn, Range | Zipf | Tiers)
    names = vars(draws) | {"randint": random.randint}
    draw = eval(f"lambda: {Code().simple(drawn)}", names)  # noqa: S307 (the generated line)
    originals = SKEWS[skew](np.random.default_rng(74), 60_000).tolist()
    assert _hit_rate(draw() for _ in range(60_000)) == pytest.approx(_hit_rate(originals), abs=0.02)


@pytest.mark.costly
def test_the_numbers_of_a_list_stay_near_each_other() -> None:
    """A list of neighbours reads a few pages, and a list of numbers from everywhere reads many."""
    chance = random.Random(75)
    near = [tuple(chance.randint(start, start + 40) for _ in range(8)) for start in chance.choices(range(ROWS), k=500)]
    far = [tuple(chance.choices(range(ROWS), k=8)) for _ in range(500)]
    drawn, drawn_far = (
        parameter_of([(np.nan, each) for each in lists], is_limit=False, in_insert=False, keeps_values=False)
        for lists in (near, far)
    )
    assert isinstance(drawn, Several)
    assert isinstance(drawn_far, Several)
    assert (drawn.within, drawn_far.within) == (40, None)
    values = draws.several(lambda: 700, 8, 8, 8, within=40)
    assert len(values) == 8
    assert max(values) - min(values) <= 40
