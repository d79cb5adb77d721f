"""Several kinds of transactions in a run: each has its share and its times, in text, JSON and report."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.answer.from_run import recommend
from poolsize.load.recorder import histogram
from poolsize.present.report import report_html, report_markdown
from poolsize.present.text.analysis import analysis_text, analysis_values
from poolsize.present.text.json_text import json_text
from poolsize.runs.run import Kind, Latencies
from poolsize.runs.store import load_run
from tests.conftest import a_run, written


def kind(transactions: int, total_us: int) -> Kind:
    counts = str(histogram([{total_us: transactions}]).encode(), "ascii")
    return Kind(transactions, Latencies(wait=counts, usage=counts, total=counts))


KINDS = {"browse": kind(750, 2000), "buy": kind(250, 9000)}
RUN = a_run({1: 100, 2: 190, 4: 300, 8: 320})
TWO_KINDS = replace(RUN, steps=tuple(replace(step, kinds=KINDS) for step in RUN.steps))


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyze(TWO_KINDS)


def test_they_are_stored(tmp_path: Path) -> None:
    assert load_run(written(tmp_path / "a.jsonl", TWO_KINDS)) == TWO_KINDS


@pytest.mark.costly
def test_each_has_its_share_and_its_times(analysis: Analysis) -> None:
    for size in analysis.sizes:
        assert {name: (part.transactions, part.share) for name, part in size.kinds.items()} == {
            "browse": (750, 0.75),
            "buy": (250, 0.25),
        }
        assert size.kinds["buy"].usage.p50 == pytest.approx(9, rel=0.001)
        assert size.kinds["browse"].total.p95 == pytest.approx(2, rel=0.001)
    kinds = json.loads(json_text(analysis_values(analysis)))["steps"][0]["kinds"]
    assert kinds["buy"]["share"] == 0.25
    assert kinds["buy"]["total_ms"]["p95"] == pytest.approx(9, rel=0.001)


@pytest.mark.long
def test_text_and_report_show_them_only_where_there_are_several(analysis: Analysis) -> None:
    answer = recommend(analysis)
    one_kind = analyze(RUN)
    for page in (analysis_text, lambda shown: report_markdown(shown, answer), lambda shown: report_html(shown, answer)):
        assert "Each kind of transaction" in page(analysis)
        assert "browse" in page(analysis)
        assert "Each kind of transaction" not in page(one_kind)


def test_a_wait_time_makes_the_measured_gap_the_think_time() -> None:
    steps = tuple(replace(step, gap_ms=30.0) for step in RUN.steps)
    assert replace(RUN, steps=steps).think_time_ms == 0
    assert replace(RUN, steps=steps, setting=replace(RUN.setting, own_wait_time=True)).think_time_ms == 30
