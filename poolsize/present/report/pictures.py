"""The pictures of a report: plots as SVG, each with a title, a caption and an alternative text."""

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsize.analysis.analysis import Analysis
from poolsize.answer.recommendation import Recommendation
from poolsize.present.plots import alt_text
from poolsize.present.plots.figures import svg_text
from poolsize.present.plots.latency import MOST_LINES, plot_distribution, plot_latency, plot_wait_and_usage
from poolsize.present.plots.server import plot_processors, plot_seconds, plot_users
from poolsize.present.plots.throughput import plot_throughput
from poolsize.units import percent

if TYPE_CHECKING:  # only the plots import Matplotlib
    from collections.abc import Callable

    from matplotlib.axes import Axes

WIDTH, HEIGHT = 4.2, 3.1
"""Inches of a plot: as wide as a phone, where its letters are about as large as small print."""


@dataclass(frozen=True)
class Picture:
    """A plot of a report.

    caption: what to look for. alt: alternative text, the plot's main figures in words. source: data URI of an SVG file.
    """

    title: str
    caption: str
    alt: str
    source: str


def pictures(analysis: Analysis, answer: Recommendation, current: int | None) -> tuple[Picture, ...]:
    """Return the pictures for which the run has the data: wait and usage times are not known of a replay.

    current: the user's pool size today, to mark in the throughput plot; None for no mark.
    """
    shown = [_throughput_picture(analysis, answer, current)]
    if analysis.knows_p95:
        shown.append(_latency_picture(analysis))
    if analysis.knows_usage:
        shown.append(_wait_and_usage_picture(analysis))
    if analysis.knows_percentiles:
        shown.append(_distribution_picture(analysis))
    if analysis.knows_usage and analysis.setting.plan.rate is None:
        shown.append(_users_picture(analysis))
    if any(step.workers for step in analysis.steps):
        shown.append(_processors_picture(analysis))
    return (*shown, _seconds_picture(analysis))


def is_latency_limited(analysis: Analysis, answer: Recommendation) -> bool:
    """Return whether a latency limit made the answer another size than throughput alone."""
    return analysis.plateau is not None and answer.pool_size != analysis.plateau.pool_size


def _throughput_picture(analysis: Analysis, answer: Recommendation, current: int | None) -> Picture:
    marks = {"answer": answer.pool_size} if answer.pool_size and is_latency_limited(analysis, answer) else {}
    marks |= {"current": current} if current else {}
    return _picture(
        "The throughput knee",
        _throughput_caption(analysis, answer),
        alt_text.of_throughput(analysis, marks),
        lambda ax: plot_throughput(ax, analysis, marks),
    )


def _throughput_caption(analysis: Analysis, answer: Recommendation) -> str:
    plateau = analysis.plateau
    if plateau is None:
        return "No pool size passed the checks that an answer needs."
    if analysis.curve is None:
        return (
            "Transactions arrive at a fixed rate. The answer is the smallest measured pool size that serves the rate."
        )
    others = "The marks below the curve are the pool sizes of the estimators and of the formula."
    if is_latency_limited(analysis, answer):
        return f"The line is the answer without the latency limit. {others}"
    return (
        f"The line is the smallest pool size that probably reaches {percent(1 - plateau.tolerance)} of capacity "
        f"(dotted). The shaded sizes are its 95 % range. {others}"
    )


def _latency_picture(analysis: Analysis) -> Picture:
    return _picture(
        "Latency",
        "Percentiles of the total time. With too few connections users wait for a connection; with too many, "
        "transactions wait inside the database.",
        alt_text.of_latency(analysis),
        lambda ax: plot_latency(ax, analysis),
    )


def _wait_and_usage_picture(analysis: Analysis) -> Picture:
    return _picture(
        "Wait and usage time",
        "A larger pool moves time from the queue of the pool (wait) into the database (usage).",
        alt_text.of_wait_and_usage(analysis),
        lambda ax: plot_wait_and_usage(ax, analysis),
    )


def _distribution_picture(analysis: Analysis) -> Picture:
    return _picture(
        "The slowest transactions",
        "90 %, 99 % and 99.9 % have equal distances on the axis, so that the slowest transactions are visible."
        + (" Eight of the pool sizes are drawn." if len(analysis.sizes) > MOST_LINES else ""),
        alt_text.of_distribution(analysis),
        lambda ax: plot_distribution(ax, analysis),
    )


def _users_picture(analysis: Analysis) -> Picture:
    return _picture(
        "Where the users queue",
        "When the database is saturated, a larger pool only moves the queue into the database.",
        alt_text.of_users(analysis),
        lambda ax: plot_users(ax, analysis),
    )


def _processors_picture(analysis: Analysis) -> Picture:
    if analysis.by_size.counter("process_cpu", analysis.sizes[-1].pool_size) is None:
        caption = "The server's own CPU time is not known."
    else:
        caption = "Where the bars reach the number of cores, more connections can't help."
    return _picture("CPU", caption, alt_text.of_processors(analysis), lambda ax: plot_processors(ax, analysis))


def _seconds_picture(analysis: Analysis) -> Picture:
    return _picture(
        "Every second",
        "In a steady state, the line of a step is level.",
        alt_text.of_seconds(analysis),
        lambda ax: plot_seconds(ax, analysis.run),
    )


def _picture(title: str, caption: str, alt: str, draw: "Callable[[Axes], Axes]") -> Picture:
    svg = b64encode(svg_text(draw, WIDTH, HEIGHT).encode()).decode()
    return Picture(title, caption, alt, f"data:image/svg+xml;base64,{svg}")
