"""Colours, style, axes and legend of all plots, and the figures and image files that hold them."""

from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from math import log
from operator import itemgetter
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator, StrMethodFormatter

from poolsize.analysis.curve import FittedCurve
from poolsize.analysis.stats.confidence import CONFIDENCE
from poolsize.analysis.vector import Vector
from poolsize.answer.recommendation import Recommendation
from poolsize.terminal import visible
from poolsize.units import number

GREY, LIGHT = "#6E6E6E", "#949494"
"""For references, and for what stands in the background."""
ANSWER = "#111111"
THROUGHPUT, USAGE, WAIT = "#0072B2", "#009E73", "#E69F00"
PERCENTILES = {"p50": "#D39CC0", "p95": "#A9538F", "p99": "#5B1F4C"}
"""Shades of a colour, from light to dark."""
SERVER, GENERATOR = "#56B4E9", "#332288"
SMALLEST, LARGEST = "#8A8A1F", "#882255"
"""Each of these colours has the same meaning in all plots of a run. They come from Okabe and Ito (2008) and from Tol
(2021), so that colour-blind readers can distinguish them; lines and bars differ in shape as well."""
IN_ORDER = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", GREY)
"""Colours of compared runs, curves or pools, which stand in plots of their own."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
CLOSE = 0.3
"""Share of the axis: labels of two marks that are nearer stand on either side of them."""
BRACKET = 0.05
"""Height of the bracket of a range, as a share of the axes."""
ROOM = 1.03
"""Upper end of a throughput axis, as a multiple of the highest value."""
LETTER, GAP = 0.022, 0.02
"""Width of a label's letter and of the space beside a label, as shares of the axis."""
WIDTH, HEIGHT = 7.2, 3.5
"""Inches of a plot in a figure."""
MOST_BARS = 12
"""Bars that have a label, at most."""
LABELLED = 1.07
"""Lower edge of a legend above labels of pool sizes, as a share of the axes."""
Part = tuple[str, str, str, Vector]
"""A part of stacked bars: its name, its colour, its hatch, and its height at each size."""
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
    """Make the x axis logarithmic, with labels at pool sizes. sizes: ascending, not empty. Returns ax.

    label: its quantity; the axis adds that its scale is logarithmic.
    """
    ax.set_xscale("log", base=2)
    ax.xaxis.set_minor_locator(NullLocator())
    length = log(sizes[-1] / sizes[0])
    labelled = [sizes[0]]
    for size in sizes[1:]:  # only labels that don't touch
        if log(size / labelled[-1]) >= (LETTER * len(f"{size:,}") + GAP) * length:
            labelled.append(size)
    ax.set_xticks(labelled, [f"{size:,}" for size in labelled])
    ax.set_xlabel(f"{label}, log scale")
    return ax


def marks_of(answer: Recommendation | None, current: int | None = None) -> dict[str, int]:
    """Return the pool sizes to mark by name: the answer's, and the user's today, where there are any."""
    sizes = {"answer": answer.pool_size if answer else None, "current": current}
    return {name: size for name, size in sizes.items() if size}


def mark_sizes(
    ax: Axes, sizes: Sequence[int], marks: Mapping[str, int], columns: int = 2, positions: Sequence[float] = ()
) -> None:
    """Draw a line at each marked pool size, with a label above the axes, such as "answer 2"; and the legend above.

    Call it after all that has a label in the legend.

    A mark beyond the sizes stands at the edge, with an arrow. sizes: measured, ascending. marks: name -> pool size, at
    most two. columns: of the legend. positions: of the sizes on the x axis, where it is not logarithmic.
    """
    names_of: dict[int, list[str]] = {}
    for name, size in sorted(marks.items(), key=itemgetter(1)):
        names_of.setdefault(size, []).append(name)
    places = np.log(np.clip(list(names_of), sizes[0], sizes[-1]) / sizes[0])
    is_close = len(names_of) == 2 and np.ptp(places) < CLOSE * log(sizes[-1] / sizes[0])
    over_bars = {"zorder": 2.5, "path_effects": [withStroke(linewidth=3.4, foreground="white")]}
    for (size, names), place, side in zip(names_of.items(), places, ("right", "left"), strict=False):
        x = np.interp(place, np.log(np.divide(sizes, sizes[0])), positions) if positions else sizes[0] * np.exp(place)
        colour, line_style, weight = (ANSWER, "-", "bold") if "answer" in names else (GREY, "--", "normal")
        ax.axvline(
            x, color=colour, linestyle=line_style, linewidth=1.4, **(over_bars if positions else {"zorder": 1.5})
        )
        beyond = " →" if size > sizes[-1] else " ←" if size < sizes[0] else ""
        ax.annotate(
            f"{' and '.join(names)} {number(size)}{beyond}", (x, 1), xycoords=ax.get_xaxis_transform(),
            textcoords="offset points", xytext=({"right": -2, "left": 2}[side] if is_close else 0, 2),
            ha=side if is_close else "center", fontsize=8.5, fontweight=weight, color=colour,
        )  # fmt: skip
    legend_above(ax, columns, is_labelled=bool(marks))


def mark_range(ax: Axes, ends: tuple[int, int], open_end: str | None, label: str) -> None:
    """Draw a bracket above the x axis from one pool size to another, with its label.

    open_end: "low" or "high", the end that has an arrow, or None.
    """
    across = ax.get_xaxis_transform()
    ax.plot(ends, (BRACKET, BRACKET), color=ANSWER, linewidth=1.4, transform=across)
    for end, x, arrow in zip(("low", "high"), ends, ("<", ">"), strict=True):
        marker = arrow if end == open_end else "|"
        ax.plot([x], [BRACKET], color=ANSWER, marker=marker, markersize=7, transform=across, clip_on=False)
    low, high = ax.get_xlim()
    is_left = log(ends[0] * ends[1]) < log(low * high)
    ax.annotate(
        label, (ends[0] if is_left else ends[1], BRACKET), xycoords=across, textcoords="offset points",
        xytext=(4 if is_left else -4, 4), ha="left" if is_left else "right", fontsize=8.5, color=ANSWER,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}, zorder=3,
    )  # fmt: skip


def milliseconds_axis(ax: Axes, label: str) -> Axes:
    """Make the y axis logarithmic, for durations in ms, with ticks at 1, 2 and 5 of each decade. Returns ax.

    Call it last: the ticks depend on the data. An axis shorter than a decade has more of them. label: its quantity; the
    axis adds that its scale is logarithmic.
    """
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 4, 5, 7) if high < 10 * low else (1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel(f"{label}, log scale")
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


def legend_above(ax: Axes, columns: int, *, is_labelled: bool = False) -> None:
    """Draw the legend, if any, above the axes. is_labelled: whether labels of pool sizes are between both."""
    if not ax.get_legend_handles_labels()[0]:
        return
    ax.legend(
        loc="lower left", bbox_to_anchor=(-0.02, LABELLED if is_labelled else 1.0), ncols=columns, borderpad=0,
        handlelength=1.4, columnspacing=0.9,
    )  # fmt: skip


def stacked_bars(ax: Axes, sizes: Sequence[int], parts: Sequence[Part], label: str, marks: Mapping[str, int]) -> Axes:
    """Draw stacked bars, one bar a pool size, at equal distances. Returns ax.

    parts: from the bottom up, each with one value a size; NaN for unknown. label: of the y axis. marks: as in
    mark_sizes. Of more than twelve sizes, at most twelve have a label.
    """
    positions = np.arange(len(sizes))
    bottoms = np.zeros(len(sizes))
    for name, colour, hatch, values in parts:
        ax.bar(positions, values, bottom=bottoms, color=colour, hatch=hatch, edgecolor="white", linewidth=0, label=name)
        bottoms += np.nan_to_num(values)
    labelled = range(0, len(sizes), max(1, -(-len(sizes) // MOST_BARS)))
    ax.set_xticks(labelled, [f"{sizes[position]:,}" for position in labelled])
    ax.set_xlabel("pool size (connections)")
    ax.set_ylabel(label)
    ax.grid(visible=False, axis="x")
    mark_sizes(ax, sizes, marks, positions=positions.tolist())
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
    """Write a figure to a file in the format of its ending, such as .png or .svg. Raises OSError."""
    with mpl.rc_context(STYLE):
        plots.savefig(path, dpi=144)


def with_title(draw: Draw, title: str) -> Draw:
    """Return a function that draws a plot with a title above its legend."""

    def titled(ax: Axes) -> Axes:
        legend = draw(ax).get_legend()
        if legend:
            legend.set_alignment("left")
            legend.set_title(title, prop=FontProperties(size=11, weight="bold"))
        return ax

    return titled


def below_each_other(draws: Sequence[Draw], title: str) -> Figure:
    """Return a figure of plots below each other, with a title."""
    with mpl.rc_context(STYLE):
        plots = Figure(figsize=(WIDTH, HEIGHT * len(draws)), layout="constrained")
        for ax, draw in zip(plots.subplots(len(draws)), draws, strict=True):
            draw(ax)
        plots.suptitle(title)
    return plots
