"""The curve in letters, beside the table."""

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.present.text.analysis import HEIGHT, WIDTH, analysis_text, knee_text
from tests.conftest import a_run


def test_a_line_bends_where_the_curve_does() -> None:
    """Throughput doubles to 8, then stays: the last letter of the highest row and the first above zero say so."""
    lines = knee_text(
        analyze(a_run({1: 100, 2: 200, 4: 400, 8: 800, 16: 800, 32: 800, 64: 800}, users=500))
    ).splitlines()
    curve = [line.split("|")[1] for line in lines[:HEIGHT]]
    assert max(map(len, curve)) == WIDTH
    assert curve[0].lstrip()[0] in "▁▂▃▄▅▆▇█"
    middle = WIDTH // 2  # of 1 to 64 that is 8
    assert abs(len(curve[0]) - len(curve[0].lstrip()) - middle) <= 4
    assert curve[-1][0] in "▇█"
    assert lines[HEIGHT].split() == ["1", "2", "4", "8", "16", "32", "64", "connections"]


@pytest.mark.costly
def test_a_line_is_of_ascii_where_the_output_is() -> None:
    text = analysis_text(analyze(a_run({1: 100, 2: 200, 4: 400, 8: 800, 16: 800})), "ascii")
    assert text.isascii()
    assert "####" in text


def test_one_size_has_no_curve() -> None:
    assert knee_text(analyze(a_run({4: 100}))) == ""
