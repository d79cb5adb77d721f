"""The universal scalability law against curves whose fit was published."""

import csv

import pytest

from poolsize.analysis.models.usl import fit_usl
from tests.conftest import ROOT


def published(curve: str) -> tuple[list[float], list[float]]:
    with (ROOT / "data/published/published_curves.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["curve"] == curve]
    return [float(row["x"]) for row in rows], [float(row["throughput"]) for row in rows]


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
