"""The report and the plots of an observation: its names are harmless, and long series are drawn all the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from poolsize.errors import BadInput
from poolsize.observe.observation import PoolSpan, Source
from poolsize.observe.plots import MOST_POINTS, alt_in_use, alt_shares, alt_times, plot_in_use, plot_shares, plot_times
from poolsize.observe.pool_answer import PoolAnswer, pool_answers
from poolsize.observe.report import observation_html, observation_markdown
from tests.conftest import Command
from tests.observe.production import STARTED, observed, plain, span_of, stored, two_hours

HOSTILE = "<script>alert(1)</script>\x1b[31m\n```\n![x](http://example.org/x.png)$x^2$"


def answer_of(*spans: PoolSpan) -> PoolAnswer:
    (answer,) = pool_answers(observed(spans))
    return answer


@pytest.mark.costly
def test_the_alternative_texts_have_the_main_figures() -> None:
    answer = answer_of(span_of(two_hours(20), "buckets"))
    assert alt_in_use(answer) == (
        "Connections in use over time: 3.02 connections on average, 4.74 in the busiest minute (2026-01-05"
        " 01:01 UTC; as counted, up to 5.04 in a minute), and at most 11 for 99.9 % of the time. The pool size is 20. "
        "The need is 9."
    )
    assert alt_times(answer) == (
        "Mean usage time and mean wait time over time, stacked: on average, the usage time is 100 ms and the "
        "wait time is 0 ms."
    )
    assert alt_shares(answer) == (
        "The share of the time at each number of connections in use: 2 for 19.5 % of the time, more often "
        "than any other number; at most 11 for 99.9 % of the time."
    )


@pytest.mark.costly
def test_the_report_has_the_answer_the_table_and_the_conditions(poolsize_here: Command, tmp_path: Path) -> None:
    stored(tmp_path / "a.jsonl", observed([span_of(two_hours(20), "buckets")]))
    assert poolsize_here("report", "a.jsonl", "--output", "a.md").returncode == 0
    assert poolsize_here("report", "a.jsonl", "--output", "a.html").returncode == 0
    markdown, page = (tmp_path / "a.md").read_text(), (tmp_path / "a.html").read_text()
    for text in ("9 connections", "The answer holds while the rate stays within", "poolsize recommend", "p99.9"):
        assert text in markdown
        assert text in page
    assert page.count("<img ") == 3
    refused = poolsize_here("report", "a.jsonl", "--output", "a.md", "--current", "4")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


@pytest.mark.costly
def test_the_report_of_several_pools_begins_with_their_sums() -> None:
    pools = [plain(name, uses=3_000, usage_seconds=60, size=10, in_use_max=4) for name in ("shop", "mail")]
    for report in (observation_markdown, observation_html):
        text = " ".join(report(observed(pools), "a.jsonl").split())
        places = [text.index(each) for each in ("The needs add up to", "At twice the rate, the needs", "at 2x")]
        assert max(places) < text.index("keep the p99 wait")
        assert text.count("All pools") == 1
        assert text.index("shop: 3 connections (now 10).") < min(places)


def test_the_check_of_a_report_reads_the_same_source() -> None:
    prometheus = Source("prometheus", "http://127.0.0.1:9090", "0", STARTED.isoformat(), 'app="shop"')
    observation = replace(observed([plain(uses=3_000, usage_seconds=60, periods=3_000)]), source=prometheus)
    command = (
        """poolsize observe --prometheus http://127.0.0.1:9090 --selector 'app="shop"' --range 50h --check current"""
    )
    assert command in observation_markdown(observation, "a.jsonl")
    few = replace(observation, spans=observed([plain(uses=3_000, usage_seconds=60, periods=3)]).spans)
    assert "--range 1h --check" in observation_markdown(few, "a.jsonl")
    assert "--metrics URL" in observation_markdown(observed(observation.spans), "a.jsonl")


@pytest.mark.costly
def test_names_of_strangers_are_harmless() -> None:
    """Also in Markdown, which shows images of the web, and whose blocks of code end at three backticks."""
    span = replace(span_of(two_hours(20), "buckets"), pool=HOSTILE)
    observation = observed([span, plain(in_use_mean=1.0)])
    page, markdown = observation_html(observation, "a.jsonl"), observation_markdown(observation, "a.jsonl")
    assert "&lt;script&gt;alert(1)" in page
    for text in (page, markdown):
        assert "<script" not in text
        assert "\x1b" not in text
    assert "![x]" not in markdown
    assert "\n```\n!" not in markdown


def test_many_periods_are_averaged_and_a_gap_breaks_the_line() -> None:
    later = replace(plain(periods=2_000, in_use_mean=6.0), started=STARTED.replace(day=9).isoformat())
    ax = plot_in_use(Figure().subplots(), answer_of(plain(periods=2_000, in_use_mean=4.0), later))
    (line,) = [line for line in ax.lines if line.get_label() == "mean"]
    values = np.asarray(line.get_ydata(), float)
    assert len(values) <= MOST_POINTS + 1
    assert np.isnan(values).any()
    assert {*values[np.isfinite(values)].tolist()} >= {4.0, 6.0}


def test_a_size_far_above_all_else_leaves_room_for_it() -> None:
    answer = answer_of(plain(in_use_mean=4.0, size=500.0))
    over_time, shares = plot_in_use(Figure().subplots(), answer), plot_shares(Figure().subplots(), answer)
    assert over_time.get_ylim()[1] < 100
    assert shares.get_xlim()[1] < 100
    for ax in (over_time, shares):
        assert any("pool size: 500" in str(line.get_label()) for line in ax.lines)


@pytest.mark.costly
def test_what_is_not_known_is_not_drawn() -> None:
    answer = answer_of(plain(in_use_mean=4.0))
    assert not plot_times(Figure().subplots(), answer).collections
    assert observation_html(observed([plain(in_use_mean=4.0)]), "a").count("<img ") == 2
    assert observation_html(observed([plain(periods=1, in_use_mean=4.0)]), "a").count("<img ") == 1


def test_far_values_cost_neither_memory_nor_a_traceback() -> None:
    answer = answer_of(plain(in_use_mean=9.0, in_use_max=1e12, size=1e12, samples=60.0, in_use_variance=30.0))
    assert len(answer.busiest.at_most) < 1_000
    assert pool_answers(observed([plain(in_use_mean=1e12)])) == ()
    with pytest.raises(BadInput, match="period_seconds"):
        replace(plain(in_use_mean=4.0), period_seconds=1e9)
