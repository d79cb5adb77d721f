"""The plots of a report, each with a caption and what it shows in words."""

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsize.analysis.analysis import Analysis
from poolsize.answer.recommendation import Recommendation
from poolsize.present.plots.figures import svg_of
from poolsize.present.plots.latency import MOST_LINES, plot_distribution, plot_latency, plot_wait_and_usage
from poolsize.present.plots.seconds import plot_seconds
from poolsize.present.plots.server import plot_processors, plot_users
from poolsize.present.plots.throughput import plot_throughput
from poolsize.present.report import alt_text
from poolsize.units import percent

if TYPE_CHECKING:  # only the plots import Matplotlib
    from collections.abc import Callable

    from matplotlib.axes import Axes

WIDTH, HEIGHT = 4.2, 3.1
"""Inches of a plot: as wide as a phone, its letters are about as large as small print."""


@dataclass(frozen=True)
class Picture:
    """One plot. caption: what to look for. alt: what it shows, in words. source: a data URI of an SVG file."""

    title: str
    caption: str
    alt: str
    source: str


def pictures(analysis: Analysis, answer: Recommendation, current: int | None) -> tuple[Picture, ...]:
    """Those plots that the run can fill: a replay knows no waits, and perhaps no latency at all."""
    marks = {"answer": answer.pool_size} if answer.pool_size and limited(analysis, answer) else {}
    marks |= {"current": current} if current else {}
    found = [
        _picture(
            "The throughput knee",
            _knee_caption(analysis, answer),
            alt_text.of_throughput(analysis, marks),
            lambda ax: plot_throughput(ax, analysis, marks),
        )
    ]
    if analysis.knows_p95:
        found.append(
            _picture(
                "What callers see",
                "Percentiles of wait and usage together. Too few connections make callers wait for one, too many make "
                "them wait inside the database.",
                alt_text.of_latency(analysis),
                lambda ax: plot_latency(ax, analysis),
            )
        )
    if analysis.knows_latencies:
        found += _pictures_of_latencies(analysis)
    if any(step.workers for step in analysis.steps):
        found.append(
            _picture(
                "Processors",
                _of_processors(analysis),
                alt_text.of_processors(analysis),
                lambda ax: plot_processors(ax, analysis),
            )
        )
    found.append(
        _picture(
            "Every second",
            "A step that is not level was disturbed, or had not settled.",
            alt_text.of_seconds(analysis),
            lambda ax: plot_seconds(ax, analysis.run),
        )
    )
    return tuple(found)


def limited(analysis: Analysis, answer: Recommendation) -> bool:
    """Whether a latency limit made the answer another size than throughput alone."""
    return analysis.plateau is not None and answer.pool_size != analysis.plateau.pool_size


def _knee_caption(analysis: Analysis, answer: Recommendation) -> str:
    found = analysis.plateau
    if found is None:
        return "No size passed the checks that an answer needs."
    if analysis.curve is None:
        return "Transactions arrived at a fixed rate: the smallest pool that carried it is the answer."
    others = "Below stand the sizes that other methods give."
    if limited(analysis, answer):
        return f"The line is where throughput alone would put the pool; the answer keeps the latency limit. {others}"
    return (
        f"The line is the smallest size that is likely to reach {percent(1 - found.tolerance)} of the best (dotted); "
        f"by what was measured the shaded sizes can't be told apart. {others}"
    )


def _of_processors(analysis: Analysis) -> str:
    if analysis.by_size.counter("process_cpu", analysis.sizes[-1].pool_size) is None:
        return "Of the server's own processor time nothing is known here."
    return "Where all bars together reach the machine's cores, more connections can't help."


def _pictures_of_latencies(analysis: Analysis) -> list[Picture]:
    found = [
        _picture(
            "Wait and usage",
            "A larger pool moves time from the pool's queue (wait) into the database (usage).",
            alt_text.of_wait_and_usage(analysis),
            lambda ax: plot_wait_and_usage(ax, analysis),
        ),
        _picture(
            "The slowest callers",
            "Every further nine has equal room, so the few slowest show as well as the many usual ones."
            + (" Of many sizes eight are drawn." if len(analysis.sizes) > MOST_LINES else ""),
            alt_text.of_distribution(analysis),
            lambda ax: plot_distribution(ax, analysis),
        ),
    ]
    if analysis.setting.plan.rate is None:
        found.append(
            _picture(
                "Where the users queue",
                "When the database is busy, a larger pool serves nobody more at a time: it moves the queue into it.",
                alt_text.of_users(analysis),
                lambda ax: plot_users(ax, analysis),
            )
        )
    return found


def _picture(title: str, caption: str, alt: str, draw: "Callable[[Axes], Axes]") -> Picture:
    text = b64encode(svg_of(draw, WIDTH, HEIGHT).encode()).decode()
    return Picture(title, caption, alt, f"data:image/svg+xml;base64,{text}")
