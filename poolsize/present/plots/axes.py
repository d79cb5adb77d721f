"""Colours, style, axes and legend of all plots, and the figures and image files that hold them."""

from collections.abc import Callable, Sequence
from io import StringIO
from math import log
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator, StrMethodFormatter

from poolsize.analysis.curve import FittedCurve
from poolsize.analysis.stats.confidence import CONFIDENCE
from poolsize.analysis.vector import Vector
from poolsize.errors import BadInput
from poolsize.terminal import visible
from poolsize.units import number

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6E6E6E"
"""Colours of Okabe and Ito (2008), told apart by colour-blind readers as well, and a grey."""
LIGHT = "#949494"
INK_OF = {BLUE: "#00568A", ORANGE: "#A84400", GREEN: "#00704F"}
"""Colour -> its darker shade for small letters."""
IN_ORDER = (BLUE, ORANGE, GREEN, PURPLE, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
ROOM = 1.03
"""Upper end of a throughput axis, as a multiple of the highest value."""
LETTER, GAP = 0.022, 0.02
"""Width of a label's letter and of the space beside a label, as shares of the axis."""
WIDTH, HEIGHT = 7.2, 3.2
"""Inches of a plot in a figure."""
MOST_BARS = 12
"""Bars that have a label, at most."""
Part = tuple[str, str, Vector]
"""A part of stacked bars: its name, its colour, and its height at each size."""
Draw = Callable[[Axes], Axes]
STYLE: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "font.size": 10,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "svg.fonttype": "path",  # looks the same wherever the fonts differ
    "svg.hashsalt": "poolsize",  # and is the same file each time
}
"""Matplotlib settings that the plots are made for: `with matplotlib.rc_context(STYLE)`."""


def as_label(text: str) -> str:
    """Return a text of others, such as a file's name, as a label, in which Matplotlib reads no formula."""
    return visible(text).replace("$", r"\$")


def pool_size_axis(ax: Axes, sizes: Sequence[int], label: str = "pool size (connections)") -> Axes:
    """Make the x axis logarithmic, with labels at pool sizes. sizes: ascending, not empty. Returns ax."""
    ax.set_xscale("log", base=2)
    ax.xaxis.set_minor_locator(NullLocator())
    length = log(sizes[-1] / sizes[0])
    labelled = [sizes[0]]
    for size in sizes[1:]:  # only labels that don't touch
        if log(size / labelled[-1]) >= (LETTER * len(f"{size:,}") + GAP) * length:
            labelled.append(size)
    ax.set_xticks(labelled, [f"{size:,}" for size in labelled])
    ax.set_xlabel(label)
    return ax


def milliseconds_axis(ax: Axes, label: str) -> Axes:
    """Make the y axis logarithmic, for durations in ms, labelled at 1, 2 and 5 of each decade. Returns ax.

    Call it last: the labels depend on the data. An axis shorter than a decade has more of them.
    """
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 4, 5, 7) if high < 10 * low else (1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel(label)
    return ax


def band(ax: Axes, curve: FittedCurve, colour: str, label: str | None = None) -> None:
    """Draw the band that holds 95 % of the posterior of a fitted curve at each size.

    label: for the legend; None for no entry.
    """
    low, high = curve.band(CONFIDENCE)
    ax.fill_between(curve.sizes, low, high, color=colour, alpha=0.18, linewidth=0, label=label)


def rate_axis(ax: Axes, label: str = "throughput (transactions/s)") -> Axes:
    """Make the y axis linear from 0, for rates per second, with some room above the highest. Returns ax."""
    ax.set_ylim(0, ROOM * ax.get_ylim()[1])
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    ax.set_ylabel(label)
    return ax


def legend_above(ax: Axes, columns: int, height: float = 1.0) -> None:
    """Draw the legend above the axes, where it hides no curve; none where nothing has a label.

    height: of its lower edge, as a share of the axes.
    """
    if not ax.get_legend_handles_labels()[0]:
        return
    ax.legend(
        loc="lower left", bbox_to_anchor=(-0.02, height), ncols=columns, borderpad=0, handlelength=1.4,
        columnspacing=0.9,
    )  # fmt: skip


def stacked_bars(ax: Axes, sizes: Sequence[int], parts: Sequence[Part], label: str, columns: int = 2) -> Axes:
    """Draw stacked bars, one bar a pool size, at equal distances. Returns ax.

    parts: from the bottom up, each with one value a size; NaN for unknown. label: of the y axis. columns: of the
    legend. Of more than twelve sizes, at most twelve have a label.
    """
    positions = np.arange(len(sizes))
    bottoms = np.zeros(len(sizes))
    for name, colour, values in parts:
        ax.bar(positions, values, bottom=bottoms, color=colour, label=name)
        bottoms += np.nan_to_num(values)
    labelled = range(0, len(sizes), max(1, -(-len(sizes) // MOST_BARS)))
    ax.set_xticks(labelled, [f"{sizes[position]:,}" for position in labelled])
    ax.set_xlabel("pool size (connections)")
    ax.set_ylabel(label)
    ax.grid(visible=False, axis="x")
    if len(sizes):
        legend_above(ax, columns)
    return ax


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


def below_each_other(draws: Sequence[Draw], title: str) -> Figure:
    """Return a figure of plots below each other, with a title."""
    with mpl.rc_context(STYLE):
        plots = Figure(figsize=(WIDTH, HEIGHT * len(draws)), layout="constrained")
        for ax, draw in zip(plots.subplots(len(draws)), draws, strict=True):
            draw(ax)
        plots.suptitle(title)
    return plots
