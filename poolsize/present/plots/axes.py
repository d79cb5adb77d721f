"""What all plots share: colours, style, and the two axes of this field."""

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator, StrMethodFormatter

from poolsize.analysis.curve import FittedCurve
from poolsize.analysis.stats.confidence import TAILS
from poolsize.units import number

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6E6E6E"
"""Colours of Okabe and Ito (2008), told apart by colour-blind readers as well, and a grey."""
LIGHT = "#949494"
INK_OF = {BLUE: "#00568A", ORANGE: "#A84400", GREEN: "#00704F"}
"""The same, dark enough for small letters."""
IN_ORDER = (BLUE, ORANGE, GREEN, PURPLE, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
ROOM = 1.03
LETTER, GAP = 0.022, 0.02
"""Width of a letter of a label and of what is left free beside it, as shares of the axis."""
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


def pool_size_axis(ax: Axes, sizes: Sequence[int], label: str = "pool size (connections)") -> Axes:
    """A logarithmic x axis, labelled at the sizes. sizes: ascending."""
    ax.set_xscale("log", base=2)
    ax.xaxis.set_minor_locator(NullLocator())
    told = sparse(sizes)
    ax.set_xticks(told, [f"{size:,}" for size in told])
    ax.set_xlabel(label)
    return ax


def milliseconds_axis(ax: Axes, label: str) -> Axes:
    """A logarithmic y axis of durations, labelled at 1, 2 and 5 of every decade, or at more of them in a short one.

    To be called when everything is drawn.
    """
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 4, 5, 7) if high < 10 * low else (1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel(label)
    return ax


def band(ax: Axes, curve: FittedCurve, colour: str, label: str | None = None) -> None:
    """Draw the band that holds 95 of 100 posterior samples."""
    low, high = np.quantile(curve.samples, TAILS, axis=0)
    ax.fill_between(curve.sizes, low, high, color=colour, alpha=0.18, linewidth=0, label=label)


def rate_axis(ax: Axes, label: str = "throughput (transactions/s)") -> Axes:
    """A y axis of rates that begins at 0, with room above the highest."""
    ax.set_ylim(0, ROOM * ax.get_ylim()[1])
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    ax.set_ylabel(label)
    return ax


def sparse(sizes: Sequence[int]) -> list[int]:
    """Those sizes that can be told apart on a logarithmic axis from the first to the last."""
    whole = log(sizes[-1] / sizes[0])
    told = [sizes[0]]
    for size in sizes[1:]:
        if log(size / told[-1]) >= (LETTER * len(f"{size:,}") + GAP) * whole:
            told.append(size)
    return told


def legend_above(ax: Axes, columns: int, height: float = 1.0) -> None:
    """The legend where it can't hide the curve. height: of its lower edge, as a share of the axes."""
    ax.legend(
        loc="lower left", bbox_to_anchor=(-0.02, height), ncols=columns, borderpad=0, handlelength=1.4,
        columnspacing=0.9,
    )  # fmt: skip
