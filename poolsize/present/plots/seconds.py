"""Plot of every second of a run, with the dropped warm-up and the retried steps."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from poolsize.analysis.attempts import retried_places
from poolsize.analysis.vector import Matrix
from poolsize.present.plots.axes import BLUE, LIGHT, ORANGE, legend_above, rate_axis
from poolsize.runs.run import Run, Step
from poolsize.units import count

MOST_POINTS = 4000
"""More points could not be told apart, and would make a file of many megabytes."""
MOST_LABELS = 24


def plot_seconds(ax: Axes, run: Run) -> Axes:
    """Draw the transactions in each second of load, step after step in the order of measurement. Returns ax.

    The dropped warm-up is shaded, retried steps have another colour, and the pool size stands above each step. In a
    run of more than 4,000 seconds, a point is the mean of several seconds.
    """
    edges = np.concatenate([[0], np.cumsum([len(step.throughput) for step in run.steps])]).tolist()
    seconds_a_point = int(-(-edges[-1] // MOST_POINTS))
    _draw_steps(ax, run, edges, seconds_a_point)
    warm_ups = [(start, step.warm_up_seconds) for step, start in zip(run.steps, edges, strict=False)]
    ax.broken_barh(warm_ups, (0, 1), transform=ax.get_xaxis_transform(), facecolor=LIGHT, alpha=0.45, label="warm-up")
    labelled = len(run.steps) <= MOST_LABELS
    if labelled:
        _label_steps(ax, run.steps, edges)
    ax.set_xlim(0, edges[-1])
    ax.autoscale_view(scalex=False)
    ax.set_xlabel("seconds of load" + ("; above each step its pool size" if labelled else ""))
    mean_of = f"per second, mean of {count(seconds_a_point, 'second')}"
    rate_axis(ax, "transactions in a second" if seconds_a_point == 1 else mean_of)
    legend_above(ax, 2, 1.06)
    return ax


def _draw_steps(ax: Axes, run: Run, edges: Sequence[int], seconds_a_point: int) -> None:
    """Draw a line a step. edges: the second at which each step starts, and the last step's end."""
    retried = {*retried_places(run)}
    for is_retried, colour, label in ((False, BLUE, "each second"), (True, ORANGE, "failed, measured again")):
        lines = [
            _line(step.throughput, start, seconds_a_point)
            for place, (step, start) in enumerate(zip(run.steps, edges, strict=False))
            if (place in retried) is is_retried
        ]
        if lines:
            ax.add_collection(LineCollection(lines, colors=colour, linewidths=1, label=label))


def _line(throughput: Sequence[float], start: int, seconds_a_point: int) -> Matrix:
    """Return the points of a step's line, shape (points, 2): seconds since the run began, transactions per second."""
    parts = np.array_split(np.asarray(throughput, float), max(1, round(len(throughput) / seconds_a_point)))
    lengths = np.array([len(part) for part in parts])
    middles = np.cumsum(lengths) - lengths / 2
    return np.column_stack([start + middles, [part.mean() for part in parts]])


def _label_steps(ax: Axes, steps: Sequence[Step], edges: Sequence[int]) -> None:
    for step, start, end in zip(steps, edges, edges[1:], strict=False):
        ax.annotate(
            str(step.pool_size), ((start + end) / 2, 1), xycoords=ax.get_xaxis_transform(),
            textcoords="offset points", xytext=(0, 2), ha="center", fontsize=8,
        )  # fmt: skip
