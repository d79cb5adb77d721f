"""Figures of several plots, and their image files."""

from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from poolsize.analysis.analysis import Analysis
from poolsize.errors import BadInput
from poolsize.present.plots.axes import STYLE
from poolsize.present.plots.latency import plot_latency, plot_wait_and_usage
from poolsize.present.plots.throughput import plot_throughput
from poolsize.present.text.analysis import run_title

WIDTH, HEIGHT = 7.2, 3.2
"""Inches of a plot in a figure."""
Draw = Callable[[Axes], Axes]


def figure(analysis: Analysis) -> Figure:
    """Return a figure of an analysis: throughput, latency, and wait and usage time, below each other.

    Its title names workload, server and users. Where wait and usage times are not known,
    the figure lacks the last plot.
    """
    draws: list[Draw] = [lambda ax: plot_throughput(ax, analysis), lambda ax: plot_latency(ax, analysis)]
    if analysis.knows_usage:
        draws.append(lambda ax: plot_wait_and_usage(ax, analysis))
    return below_each_other(draws, run_title(analysis))


def below_each_other(draws: Sequence[Draw], title: str) -> Figure:
    """Return a figure of plots below each other, with a title."""
    with mpl.rc_context(STYLE):
        plots = Figure(figsize=(WIDTH, HEIGHT * len(draws)), layout="constrained")
        for ax, draw in zip(plots.subplots(len(draws)), draws, strict=True):
            draw(ax)
        plots.suptitle(title)
    return plots


def svg_text(draw: Draw, width: float, height: float) -> str:
    """Return a plot as the text of an SVG file, which is the same each time. width, height: in inches."""
    with mpl.rc_context(STYLE):
        plot = Figure(figsize=(width, height), layout="constrained")
        draw(plot.subplots())
        text = StringIO()
        plot.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def save_figure(plots: Figure, path: Path) -> None:
    """Write a figure to a file in the format of its ending, .png or .svg.

    Raises BadInput for another ending, and where the file can't be written.
    """
    if path.suffix not in {".png", ".svg"}:
        raise BadInput(f"--plot {path}: name a .png or an .svg file")
    try:
        with mpl.rc_context(STYLE):
            plots.savefig(path, dpi=144)
    except OSError as error:
        raise BadInput(f"--plot {path} can't be written: {error.strerror}") from None
