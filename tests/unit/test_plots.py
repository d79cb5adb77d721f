"""Plots: each looks as it did when it was last looked at, and draws where it is told to."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.comparison.comparison import Comparison, compare
from poolsize.comparison.plots import plot_compared, plot_differences
from poolsize.predict.plots import plot_prediction
from poolsize.predict.prediction import WhatIf, predict
from poolsize.present import plots
from poolsize.present.plots.server import MOST_POINTS
from poolsize.present.report import HEIGHT, WIDTH
from poolsize.recordings.published import published_curves
from poolsize.sweep.replay import recorded_run
from tests.conftest import a_run, a_step, example
from tests.golden import GOLDEN, PIXELS, assert_golden_image

PAIR = ("oltp_read_write-mariadb", "oltp_read_write-mariadb-thread-pool")


def run() -> Analysis:
    return example(PAIR[0])


@cache
def replayed() -> Analysis:
    return analyze(recorded_run(published_curves()["cisco"].recording, "cisco", 8))


@cache
def comparison() -> Comparison:
    return compare({name: example(name) for name in PAIR})


PLOTS: dict[str, Callable[[Axes], Axes]] = {
    "throughput": lambda ax: plots.plot_throughput(ax, run(), {"current": 40}),
    "throughput-of-a-search": lambda ax: plots.plot_throughput(ax, example("search-mariadb")),
    "throughput-of-a-replay": lambda ax: plots.plot_throughput(ax, replayed()),
    "latency": lambda ax: plots.plot_latency(ax, run()),
    "wait-and-usage": lambda ax: plots.plot_wait_and_usage(ax, run()),
    "distribution": lambda ax: plots.plot_distribution(ax, run()),
    "seconds": lambda ax: plots.plot_seconds(ax, run().run),
    "processors": lambda ax: plots.plot_processors(ax, run()),
    "threads": lambda ax: plots.plot_threads(ax, run()),
    "users": lambda ax: plots.plot_users(ax, run()),
    "prediction": lambda ax: plot_prediction(ax, predict(run(), WhatIf())),
    "compared": lambda ax: plot_compared(ax, comparison()),
    "differences": lambda ax: plot_differences(ax, comparison()),
    "published": lambda ax: plots.plot_published(ax, ["druid_insert_mysql57", "druid_insert_mysql9"]),
    "survey": lambda ax: plots.plot_survey(ax, "select_one"),
}


@pytest.mark.parametrize("name", PLOTS)
def test_it_looks_as_it_did(name: str, tmp_path: Path) -> None:
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(4.8, 3.3), layout="constrained")
        ax = figure.subplots()
        assert PLOTS[name](ax) is ax
        assert_golden_image(f"{name}.png", figure, tmp_path)


def test_an_image_that_differs_is_noticed(tmp_path: Path) -> None:
    """Without one small mark it is another image."""
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(4.8, 3.3), layout="constrained")
        plots.plot_throughput(figure.subplots(), run())
        figure.savefig(tmp_path / "without.png", dpi=80)
    assert compare_images(str(GOLDEN / "plots/throughput.png"), str(tmp_path / "without.png"), PIXELS)


@pytest.mark.parametrize("name", PLOTS)
def test_axes_name_what_they_show_and_its_unit(name: str) -> None:
    ax = PLOTS[name](Figure().subplots())
    assert ax.get_xlabel() in {
        "pool size (connections)", "percentile", "threads", "connections, or users with a connection each",
        "seconds of load; above each step its pool size",
    }  # fmt: skip
    assert ax.get_ylabel() in {
        "throughput (transactions/s)", "transactions in a second", "total time (ms)", "usage time (ms)", "mean (ms)",
        "elapsed (ms)", "cores busy", "threads running", "users", "share of the highest throughput",
        "throughput against the first run",
    }  # fmt: skip


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


@pytest.mark.parametrize("draw", [plots.plot_users, plots.plot_wait_and_usage, plots.plot_distribution])
def test_what_a_replay_does_not_know_is_not_drawn(draw: Callable[[Axes, Analysis], Axes]) -> None:
    ax = draw(Figure().subplots(), replayed())
    assert not any(np.isfinite(patch.get_height()) and patch.get_height() for patch in ax.patches)  # type: ignore[attr-defined]  # bars
    assert not ax.lines


def test_the_throughput_drawn_is_what_was_measured() -> None:
    ax = plots.plot_throughput(Figure().subplots(), run())
    (points,) = [line for line in ax.lines if line.get_label() == "measured"]
    assert np.asarray(points.get_ydata()).tolist() == [
        size.throughput.mean for size in run().sizes if size.passed_all_checks
    ]


def test_a_size_beyond_what_was_measured_is_told_at_the_edge() -> None:
    ax = plots.plot_throughput(Figure().subplots(), run(), {"current": 500})
    assert any("current 500 →" in text.get_text() for text in ax.texts)


def test_a_long_run_is_drawn_with_few_points() -> None:
    short = a_run({1: 100, 2: 200})
    long = replace(
        short, steps=tuple(replace(a_step(1, [100] * 600, order=order), repeat=order) for order in range(100))
    )
    ax = plots.plot_seconds(Figure().subplots(), long)
    vertices = np.concatenate([np.asarray(path.vertices) for path in ax.collections[0].get_paths()])
    assert MOST_POINTS / 2 < len(vertices) < 2 * MOST_POINTS
    assert vertices[:, 1].max() == pytest.approx(100)
