"""Plots: each looks as it did when it was last looked at, and draws where it is told to."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.answer.from_run import recommend
from poolsize.answer.latency_limit import LatencyLimits
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.warnings import SizeUnconfirmed
from poolsize.comparison.comparison import Comparison, compare
from poolsize.comparison.plots import plot_compared, plot_differences
from poolsize.observe.plots import plot_in_use, plot_shares, plot_times
from poolsize.observe.pool_answer import PoolAnswer, pool_answers
from poolsize.predict.plots import plot_prediction
from poolsize.predict.prediction import WhatIf, predict
from poolsize.present import plots
from poolsize.present.plots.server import MOST_POINTS
from poolsize.present.report import HEIGHT, WIDTH
from poolsize.recordings.published import published_curves
from poolsize.sweep.replay import recorded_run
from tests.conftest import a_run, a_step, example
from tests.golden import GOLDEN, PIXELS, assert_golden_image
from tests.observe.production import observed, span_of, two_hours

PAIR = ("oltp_read_write-mariadb", "oltp_read_write-mariadb-thread-pool")


def run() -> Analysis:
    return example(PAIR[0])


def searched() -> Analysis:
    return example("search-mariadb")


@cache
def replayed() -> Analysis:
    return analyze(recorded_run(published_curves()["cisco"].recording, "cisco", 8))


@cache
def answer_of(analyzed: Callable[[], Analysis]) -> Recommendation:
    return recommend(analyzed())


@cache
def comparison() -> Comparison:
    return compare({name: example(name) for name in PAIR})


@cache
def observed_pool() -> PoolAnswer:
    (answer,) = pool_answers(observed([span_of(two_hours(20), "buckets")]))
    return answer


PLOTS: dict[str, Callable[[Axes], Axes]] = {
    "throughput": lambda ax: plots.plot_throughput(ax, run(), answer_of(run), 40),
    "throughput-of-a-search": lambda ax: plots.plot_throughput(ax, searched(), answer_of(searched)),
    "throughput-of-a-replay": lambda ax: plots.plot_throughput(ax, replayed(), answer_of(replayed)),
    "latency": lambda ax: plots.plot_latency(ax, run(), answer_of(run)),
    "wait-and-usage": lambda ax: plots.plot_wait_and_usage(ax, run(), answer_of(run)),
    "distribution": lambda ax: plots.plot_distribution(ax, run(), answer_of(run)),
    "seconds": lambda ax: plots.plot_seconds(ax, run().run),
    "processors": lambda ax: plots.plot_processors(ax, run(), answer_of(run)),
    "threads": lambda ax: plots.plot_threads(ax, run(), answer_of(run)),
    "prediction": lambda ax: plot_prediction(ax, predict(run(), WhatIf())),
    "compared": lambda ax: plot_compared(ax, comparison()),
    "differences": lambda ax: plot_differences(ax, comparison()),
    "published": lambda ax: plots.plot_published(ax, ["druid_insert_mysql57", "druid_insert_mysql9"]),
    "observed-in-use": lambda ax: plot_in_use(ax, observed_pool()),
    "observed-times": lambda ax: plot_times(ax, observed_pool()),
    "observed-shares": lambda ax: plot_shares(ax, observed_pool()),
    "survey": lambda ax: plots.plot_survey(ax, "select_one"),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", PLOTS)
def test_it_looks_as_it_did(name: str, tmp_path: Path) -> None:
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(4.8, 3.3), layout="constrained")
        ax = figure.subplots()
        assert PLOTS[name](ax) is ax
        assert_golden_image(f"{name}.png", figure, tmp_path)


@pytest.mark.costly
def test_an_image_that_differs_is_noticed(tmp_path: Path) -> None:
    """Without the answer and the current pool size it is another image."""
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(4.8, 3.3), layout="constrained")
        plots.plot_throughput(figure.subplots(), run())
        figure.savefig(tmp_path / "without.png", dpi=80)
    assert compare_images(str(GOLDEN / "plots/throughput.png"), str(tmp_path / "without.png"), PIXELS)


@pytest.mark.parametrize("name", PLOTS)
def test_axes_name_what_they_show_and_its_unit(name: str) -> None:
    ax = PLOTS[name](Figure().subplots())
    assert ax.get_xlabel() in {
        "pool size (connections), log scale", "pool size (connections)", "percentile", "threads, log scale",
        "connections or users, log scale",
        "seconds of load; above each step its pool size", "time (UTC)", "connections in use",
    }  # fmt: skip
    assert ax.get_ylabel() in {
        "throughput (transactions/s)", "transactions in a second", "total time (ms), log scale", "mean (ms)",
        "elapsed (ms), log scale", "cores busy", "threads running, log scale", "share of the highest throughput",
        "throughput against the first run", "connections in use", "share of the time",
    }  # fmt: skip


@pytest.mark.costly
@pytest.mark.parametrize("name", PLOTS)
def test_nothing_reaches_beyond_a_report_s_picture(name: str) -> None:
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        ax = PLOTS[name](figure.subplots())
        figure.draw_without_rendering()
        legend = ax.get_legend()
        assert legend
        box = legend.get_window_extent()
    assert box.x0 >= -1
    assert box.x1 <= figure.bbox.width + 1
    assert box.y1 <= figure.bbox.height + 1


@pytest.mark.parametrize("draw", [plots.plot_wait_and_usage, plots.plot_distribution])
def test_what_a_replay_does_not_know_is_not_drawn(draw: Callable[[Axes, Analysis], Axes]) -> None:
    ax = draw(Figure().subplots(), replayed())
    assert not any(np.isfinite(patch.get_height()) and patch.get_height() for patch in ax.patches)  # type: ignore[attr-defined]  # bars
    assert not ax.lines


def test_the_throughput_drawn_is_what_was_measured() -> None:
    ax = plots.plot_throughput(Figure().subplots(), run())
    (bars,) = [bars for bars in ax.containers if isinstance(bars, ErrorbarContainer) and bars.get_label() == "measured"]
    points, _, (intervals,) = bars.lines
    measured = [size.throughput for size in run().sizes if not size.failed_checks]
    assert np.asarray(points.get_ydata()).tolist() == [rate.mean for rate in measured]
    ends = np.array([segment[:, 1] for segment in intervals.get_segments()])
    assert ends == pytest.approx(np.array([(rate.low, rate.high) for rate in measured]))


def test_a_size_beyond_what_was_measured_is_told_at_the_edge() -> None:
    ax = plots.plot_throughput(Figure().subplots(), run(), current=500)
    assert any("current 500 →" in text.get_text() for text in ax.texts)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("curve", "title"),
    [
        ({1: 100, 2: 200, 4: 390, 8: 400, 16: 395}, "4 connections are enough: more add up to 4 %"),
        ({1: 400, 2: 401, 4: 399}, "1 connection is enough: more add nothing"),
        ({1: 100, 2: 200, 4: 390, 8: 700}, "Throughput still rises at 8 connections"),
        ({4: 400, 8: 401, 16: 399}, "4 connections are enough: fewer were not measured"),
        ({1: 100, 2: 200, 8: 400, 64: 900, 100: 905}, "Throughput still rises at 8 connections"),
    ],
)
def test_the_title_of_the_throughput_plot_is_the_finding(curve: dict[int, int], title: str) -> None:
    analysis = analyze(a_run(curve))
    assert plots.throughput_title(analysis, recommend(analysis)) == title


@pytest.mark.parametrize(
    ("max_p95_ms", "title"),
    [
        (750, "No pool size surely keeps the latency limit"),
        (760, "The latency limit needs 4 connections"),
        (800, "2 connections are enough: more add nothing"),
    ],
)
def test_the_title_of_the_throughput_plot_says_what_a_latency_limit_does(max_p95_ms: float, title: str) -> None:
    answer = recommend(searched(), LatencyLimits(max_p95_ms=max_p95_ms))
    assert plots.throughput_title(searched(), answer) == title


def test_the_title_of_the_throughput_plot_calls_no_answer_in_doubt_enough() -> None:
    answer = answer_of(searched)
    doubted = replace(answer, findings=(SizeUnconfirmed(), *answer.findings))
    assert plots.throughput_title(searched(), doubted) == "The answer is in doubt"


@pytest.mark.parametrize(
    ("analyzed", "waits", "cores"),
    [
        (searched, "Beyond 2 connections, waiting moves into the database", "The server's CPU is the bottleneck"),
        (replayed, "Wait time and usage time", "Busy cores"),
        (run, "Wait time and usage time", "The load generator is the bottleneck"),  # users wait there, too
    ],
)
def test_the_other_titles_are_findings_where_there_are_any(
    analyzed: Callable[[], Analysis], waits: str, cores: str
) -> None:
    assert plots.wait_and_usage_title(analyzed(), answer_of(analyzed)) == waits
    assert plots.processors_title(answer_of(analyzed)) == cores


def test_without_an_answer_the_title_says_so_and_no_line_is_drawn() -> None:
    analysis = analyze(a_run({1: 100, 2: 200, 4: 390, 8: 400}, users=1))
    answer = recommend(analysis)
    assert plots.throughput_title(analysis, answer) == "No pool size can be recommended"
    assert not plots.plot_throughput(Figure().subplots(), analysis, answer).texts


def test_the_smallest_the_largest_and_the_answer_have_lines_of_their_own() -> None:
    ax = plots.plot_distribution(Figure().subplots(), run(), answer_of(run))
    labels = {line.get_label() for line in ax.lines if not str(line.get_label()).startswith("_")}
    assert labels == {"1 connection", "8 connections (answer)", "64 connections", "other sizes"}


def test_the_nearest_measured_size_is_not_called_the_answer() -> None:
    ax = plots.plot_distribution(Figure().subplots(), run(), replace(answer_of(run), pool_size=9))
    labels = {line.get_label() for line in ax.lines}
    assert "8 connections (nearest to the answer)" in labels
    assert not any("(answer)" in str(label) for label in labels)


@pytest.mark.costly
def test_a_long_run_is_drawn_with_few_points() -> None:
    short = a_run({1: 100, 2: 200})
    long = replace(
        short, steps=tuple(replace(a_step(1, [100] * 600, order=order), repeat=order) for order in range(100))
    )
    ax = plots.plot_seconds(Figure().subplots(), long)
    vertices = np.concatenate([np.asarray(path.vertices) for path in ax.collections[0].get_paths()])
    assert MOST_POINTS / 2 < len(vertices) < 2 * MOST_POINTS
    assert vertices[:, 1].max() == pytest.approx(100)
