"""Every second of a run: what was counted, and what was left out as warm-up."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from poolsize.analysis.attempts import retried_steps
from poolsize.present.plots.axes import BLUE, LIGHT, ORANGE, legend_above, rate_axis
from poolsize.runs.run import Run
from poolsize.units import count

MOST_POINTS = 4000
"""More could not be told apart, and would make a drawing of many megabytes."""
MOST_NAMES = 24


def plot_seconds(ax: Axes, run: Run) -> Axes:
    """Transactions in each second of load, step after step as they were measured; the dropped warm-up is shaded.

    Above each step stands its pool size. Steps that were void, and measured again, are drawn in another colour. In a
    long run a point is the mean of several seconds.
    """
    starts = np.concatenate([[0], np.cumsum([len(step.throughput) for step in run.steps])])
    width = int(-(-starts[-1] // MOST_POINTS))
    void = {id(step) for step in retried_steps(run)}
    for spoiled, colour, label in ((False, BLUE, "each second"), (True, ORANGE, "void, measured again")):
        lines = [
            _line(step.throughput, first, width)
            for step, first in zip(run.steps, starts, strict=False)
            if (id(step) in void) is spoiled
        ]
        if lines:
            ax.add_collection(LineCollection(lines, colors=colour, linewidths=1, label=label))
    warm = [(first, step.warm_up_seconds) for step, first in zip(run.steps, starts, strict=False)]
    ax.broken_barh(
        warm, (0, 1), transform=ax.get_xaxis_transform(), facecolor=LIGHT, alpha=0.45, label="dropped as warm-up"
    )
    named = len(run.steps) <= MOST_NAMES
    if named:
        for step, first, last in zip(run.steps, starts, starts[1:], strict=False):
            ax.annotate(
                str(step.pool_size), ((first + last) / 2, 1), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", xytext=(0, 2), ha="center", fontsize=8,
            )  # fmt: skip
    ax.set_xlim(0, starts[-1])
    ax.autoscale_view(scalex=False)
    ax.set_xlabel("seconds of load" + ("; above each step its pool size" if named else ""))
    rate_axis(ax, "transactions in a second" if width == 1 else f"per second, mean of {count(width, 'second')}")
    legend_above(ax, 2, 1.06)
    return ax


def _line(throughput: tuple[float, ...], first: int, width: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Points of one step's line: seconds since the run began, and the rate there."""
    pieces = np.array_split(np.asarray(throughput, float), max(1, round(len(throughput) / width)))
    places = np.cumsum([len(piece) for piece in pieces]) - np.array([len(piece) for piece in pieces]) / 2
    return np.column_stack([first + places, [piece.mean() for piece in pieces]])
