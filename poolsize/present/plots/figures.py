"""Whole figures, and their files."""

from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from poolsize.analysis.analysis import Analysis
from poolsize.answer.comparison import Comparison
from poolsize.answer.prediction import Prediction
from poolsize.errors import BadInput
from poolsize.present.plots.axes import STYLE
from poolsize.present.plots.comparison import plot_compared, plot_differences
from poolsize.present.plots.latency import plot_latency, plot_wait_and_usage
from poolsize.present.plots.throughput import plot_prediction, plot_throughput
from poolsize.present.text.analysis import measured
from poolsize.present.text.comparison import comparison_title
from poolsize.units import count

WIDTH, HEIGHT = 7.2, 3.2
Draw = Callable[[Axes], Axes]


def figure(analysis: Analysis) -> Figure:
    """Throughput, latency, wait and usage below each other, titled with what was measured.

    A replay has no waits to draw.
    """
    draws: list[Draw] = [lambda ax: plot_throughput(ax, analysis), lambda ax: plot_latency(ax, analysis)]
    if analysis.knows_latencies:
        draws.append(lambda ax: plot_wait_and_usage(ax, analysis))
    return _below_each_other(draws, measured(analysis))


def prediction_figure(prediction: Prediction) -> Figure:
    """Throughput and latencies below each other, titled with the callers."""
    draws: list[Draw] = [lambda ax: plot_prediction(ax, prediction), lambda ax: plot_latency(ax, prediction)]
    return _below_each_other(draws, f"predicted for {count(prediction.users, 'user')}")


def comparison_figure(comparison: Comparison) -> Figure:
    """The curves, and below them their differences, titled with what is compared."""
    draws: list[Draw] = [lambda ax: plot_compared(ax, comparison), lambda ax: plot_differences(ax, comparison)]
    return _below_each_other(draws, comparison_title(comparison))


def svg_of(draw: Draw, width: float, height: float) -> str:
    """One plot of so many inches as the text of an SVG file, the same each time."""
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(width, height), layout="constrained")
        draw(drawn.subplots())
        text = StringIO()
        drawn.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def save_figure(drawn: Figure, path: Path) -> None:
    """Write a figure to a file; its ending says the format. Raises BadInput where that can't be done."""
    if path.suffix not in {".png", ".svg"}:
        raise BadInput(f"--plot {path}: name a .png or an .svg file")
    try:
        with mpl.rc_context(STYLE):
            drawn.savefig(path, dpi=144)
    except OSError as error:
        raise BadInput(f"--plot {path} can't be written: {error.strerror}") from None


def _below_each_other(draws: Sequence[Draw], title: str) -> Figure:
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(WIDTH, HEIGHT * len(draws)), layout="constrained")
        for ax, draw in zip(drawn.subplots(len(draws)), draws, strict=True):
            draw(ax)
        drawn.suptitle(title)
    return drawn
