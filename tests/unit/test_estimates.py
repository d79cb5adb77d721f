"""The four estimators on curves whose answer is known, and what they say of their own doubts."""

import csv
import warnings

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from kneed import KneeLocator

from poolsize.analysis.fitted_models import estimates, knee
from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.analysis.models.network_fit import fit_network
from poolsize.analysis.models.usl import fit_usl
from poolsize.analysis.observation import Observation
from tests.conftest import ROOT

SIZES = [1, 2, 4, 8, 16, 32, 64]


def curve(rates: list[float], spread: float = 0.01, sizes: list[int] = SIZES) -> list[Observation]:
    """One step a size, with standard errors of that share."""
    return [Observation(size, rate, rate * spread) for size, rate in zip(sizes, rates, strict=True)]


def published(curve: str) -> tuple[list[float], list[float]]:
    with (ROOT / "data/published/published_curves.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["curve"] == curve]
    return [float(row["x"]) for row in rows], [float(row["throughput"]) for row in rows]


def network(servers: int, service_ms: float, delay_ms: float, slowdown: float = 0.0) -> list[float]:
    rates = throughputs([Station(service_ms, servers, slowdown)], delay_ms, SIZES[-1])
    return [1000 * float(rates[size - 1]) for size in SIZES]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("servers", "service_ms", "delay_ms", "slowdown"), [(2, 14.0, 0.5, 0.0), (8, 2.0, 3.0, 0.0), (4, 1.0, 2.0, 0.02)]
)
def test_a_closed_network_is_found_again(servers: int, service_ms: float, delay_ms: float, slowdown: float) -> None:
    rates = network(servers, service_ms, delay_ms, slowdown)
    fitted = fit_network(SIZES, rates, [0.01 * rate for rate in rates])
    assert fitted is not None
    assert fitted.throughput(SIZES) == pytest.approx(rates, rel=0.01)
    every = list(range(1, 65))
    truth = 1000 * throughputs([Station(service_ms, servers, slowdown)], delay_ms, 64)
    assert fitted.throughput(every) == pytest.approx(truth, rel=0.03)


@pytest.mark.long
def test_the_estimators_agree_on_a_plain_curve() -> None:
    answers = estimates(curve(network(8, 2.0, 3.0)))
    assert answers["plateau"].pool_size in range(19, 33)
    assert answers["closed_network"].pool_size in range(16, 33)
    assert answers["closed_network"].error is not None
    assert answers["closed_network"].error < 0.03
    assert answers["kneedle"].pool_size in {8, 16}


@pytest.mark.costly
def test_a_curve_without_a_peak_has_none_for_the_usl() -> None:
    usl = estimates(curve([100 * size / (1 + 0.05 * (size - 1)) for size in SIZES]))["usl"]
    assert usl.pool_size is None
    assert usl.error is not None
    assert usl.error < 0.01


@pytest.mark.costly
def test_a_peak_inside_is_found_with_its_interval() -> None:
    rates = [100 * size / (1 + 0.02 * (size - 1) + 0.001 * size * (size - 1)) for size in SIZES]
    usl = estimates(curve(rates))["usl"]
    assert usl.pool_size == 31  # sqrt((1 - sigma) / kappa)
    assert (usl.low or 0) <= 31 <= (usl.high or 0)


@pytest.mark.costly
def test_an_estimate_that_moves_with_the_range_says_so() -> None:
    """Throughput that never stops rising: the plateau is wherever the sweep ended."""
    answers = estimates(curve([100 * size**0.7 for size in SIZES]))
    assert answers["plateau"].pool_size in range(54, 65)
    assert answers["plateau"].unstable


@pytest.mark.long
@settings(max_examples=500)
@example([(1, 0.0), (2, 0.0), (152, 5538.0), (385, 14175.0)])
@given(
    st.lists(
        st.tuples(st.integers(1, 1000), st.floats(0, 1e5)), min_size=3, max_size=12, unique_by=lambda point: point[0]
    )
)
def test_kneedle_is_the_library_s(points: list[tuple[int, float]]) -> None:
    """On any points; those without a range have no knee, and the library divides by it."""
    sizes, rates = map(list, zip(*sorted(points), strict=True))
    assume(max(rates) > min(rates))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library warns where there is no knee
        assert knee(sizes, rates) == KneeLocator(sizes, rates, curve="concave", direction="increasing").knee


def test_kneedle_finds_the_knee_of_a_published_curve_and_none_in_a_straight_line() -> None:
    sizes, rates = published("callaghan_ro_innodb5626")
    assert knee(sizes, rates) == KneeLocator(sizes, rates, curve="concave", direction="increasing").knee
    assert knee([1, 2, 3, 4], [100, 200, 300, 400]) is None
    assert knee([1, 2, 3], [100, 100, 100]) is None


def test_too_few_sizes_give_no_answer_but_no_error_either() -> None:
    answers = estimates(curve([100.0, 150.0], sizes=[1, 2]))
    assert answers["usl"].pool_size is None
    assert answers["closed_network"].pool_size is None
    assert answers["kneedle"].pool_size is None
    assert answers["plateau"].pool_size == 2


@pytest.mark.parametrize(
    ("curve", "lambda_", "sigma", "kappa", "peak"),
    [
        ("specsdm91", 89.995, 0.02772863, 0.00010437, 96.52),
        ("cisco", 995.6486, 0.02671591, 7.690945e-4, 35.58),
    ],
)
def test_published_fits_come_out(curve: str, lambda_: float, sigma: float, kappa: float, peak: float) -> None:
    """Within 0.1 % of the coefficients that Gunther's and usl4j's documentation give for the same data."""
    usl = fit_usl(*published(curve))
    assert usl is not None
    assert (usl.lambda_, usl.sigma, usl.kappa) == pytest.approx((lambda_, sigma, kappa), rel=1e-3)
    assert usl.peak == pytest.approx(peak, rel=1e-3)
    assert usl.low < usl.peak < usl.high


def test_the_cisco_curve_peaks_at_the_published_throughput() -> None:
    usl = fit_usl(*published("cisco"))
    assert usl is not None
    assert int(usl.peak) == 35
    assert usl.throughput([usl.peak])[0] == pytest.approx(12341, rel=1e-3)


def test_without_coherency_there_is_no_peak_in_sight() -> None:
    sizes = [1, 2, 4, 8, 16, 32]
    usl = fit_usl(sizes, [100 * size / (1 + 0.1 * (size - 1)) for size in sizes])
    assert usl is not None
    assert usl.sigma == pytest.approx(0.1, rel=1e-3)
    assert usl.peak > 1000
    assert usl.lambda_ / usl.sigma == pytest.approx(1000, rel=1e-3)


def test_three_sizes_are_too_few() -> None:
    assert fit_usl([1, 2, 4], [100, 190, 350]) is None
