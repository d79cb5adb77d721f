"""Texts follow the terminal's width, and are the same as ever in a file; the curve in letters beside the table."""

import re
import sys

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.answer.from_run import recommend
from poolsize.present.text.analysis import HEIGHT, WIDTH, analysis_text, knee_text
from poolsize.present.text.layout import Table, terminal_width
from poolsize.present.text.recommendation import recommendation_text
from poolsize.present.text.tables import price_table, sizes_table
from poolsize.recordings.published import published_curves
from poolsize.sweep.replay import recorded_run
from tests.conftest import EXAMPLES, a_run, example, in_ci


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> int:
    """A terminal of so many columns."""
    columns: int = request.param
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    return columns


def blocks(text: str) -> list[list[str]]:
    """The parts of a text between empty lines, each as lines."""
    return [part.splitlines() for part in re.split(r"\n\n+", text)]


@pytest.mark.parametrize("terminal", [20, 40, 77, 120, 300], indirect=True)
def test_the_width_is_the_terminal_s_between_40_and_120(terminal: int) -> None:
    assert terminal_width() == min(120, max(40, terminal))


def test_a_file_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert terminal_width() is None


@pytest.mark.long
@pytest.mark.parametrize("terminal", in_ci([40, 60, 80, 120], 40), indirect=True)
@pytest.mark.parametrize("name", in_ci(EXAMPLES, "scan-mysql", "search-mariadb"))
def test_no_table_and_no_bullet_is_wider_than_the_terminal(terminal: int, name: str) -> None:
    analysis = example(name)
    texts = analysis_text(analysis), recommendation_text(recommend(analysis))
    for text in texts:
        for lines in blocks(text):
            is_prose = len(lines) == 1 or lines[0].startswith(("If a single process", "Bottleneck"))
            if not is_prose:
                assert max(map(len, lines)) <= terminal, "\n".join(lines)


@pytest.mark.parametrize("terminal", [40], indirect=True)
def test_a_folded_table_has_every_cell_and_repeats_the_first_column(terminal: int) -> None:
    table = sizes_table(example("scan-mariadb"))
    text = table.as_text()
    assert max(map(len, text.splitlines())) <= terminal
    words = text.split()
    for row in table.rows:
        for cell in row[1:]:
            assert set(cell.split()) <= set(words)
        assert sum(line.split()[:1] == [row[0]] for line in text.splitlines()) == len(blocks(text))


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("terminal", [40], indirect=True)
def test_a_p95_stays_beside_the_p50_that_it_belongs_to() -> None:
    columns = ("pool", "throughput", "wait p50", "p95", "usage p50", "p95", "total p95", "p99")
    text = Table(columns, (("1", *["1,000 ms"] * 7),)).as_text()
    for block in blocks(text):
        heads = " ".join(" ".join(block[:-1]).split())
        assert not re.match(r"pool p9", heads)


def test_columns_that_no_row_knows_are_left_out() -> None:
    table = Table(("pool", "wait p50", "total p95"), (("1", "?", "2 ms"), ("2", "?", "?")), chosen=1)
    assert table.without_unknown() == Table(("pool", "total p95"), (("1", "2 ms"), ("2", "?")), chosen=1)
    assert Table(("pool",), ()).without_unknown() == Table(("pool",), ())


@pytest.mark.costly
def test_a_replay_shows_no_question_marks() -> None:
    analysis = analyze(recorded_run(published_curves()["cisco"].recording, "cisco", 8))
    assert "?" not in sizes_table(analysis).as_text()
    assert "?" not in price_table(recommend(analysis)).as_text()


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
