"""Latencies: percentiles against pool size, where a caller's time goes, and whole distributions."""

from collections.abc import Sequence
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.stats.percentiles import quantiles
from poolsize.answer.prediction import Prediction
from poolsize.present.plots.axes import (
    BLUE,
    GREEN,
    ORANGE,
    legend_above,
    milliseconds_axis,
    pool_size_axis,
)

LEVELS = {"p50": BLUE, "p95": ORANGE, "p99": GREEN}
NINES = {"50": 0.5, "90": 0.9, "99": 0.99, "99.9": 0.999, "99.99": 0.9999, "99.999": 0.99999}
MOST_LINES, MOST_NAMES = 8, 12
POINTS = 100
Part = tuple[str, str, Sequence[float]]
"""Of a stacked bar: its name, its colour, and its height at each size."""


def plot_latency(ax: Axes, found: Analysis | Prediction) -> Axes:
    """Percentiles of the total latency in ms, wait and usage together, measured or predicted."""
    sizes = [size.pool_size for size in found.sizes]
    for name, colour in LEVELS.items():
        times = [getattr(size.total, name) for size in found.sizes]
        if not np.isnan(times).all():
            ax.plot(sizes, times, color=colour, marker="o", label=name)
    milliseconds_axis(ax, "wait + usage (ms)")
    legend_above(ax, 3)
    return pool_size_axis(ax, sizes)


def plot_wait_and_usage(ax: Axes, analysis: Analysis) -> Axes:
    """Mean wait for a connection and mean usage of it, stacked, in ms: where a caller's time goes."""
    return stacked_bars(
        ax,
        [size.pool_size for size in analysis.sizes],
        [
            ("usage: holding a connection", BLUE, [size.usage.mean for size in analysis.sizes]),
            ("wait: for a connection", ORANGE, [size.wait.mean for size in analysis.sizes]),
        ],
        "mean (ms)",
        columns=1,
    )


def plot_distribution(ax: Axes, analysis: Analysis, latency: str = "total") -> Axes:
    """A latency's whole distribution, one line a pool size, on an axis that gives every further nine equal room.

    latency: "wait", "usage" or "total"; ms, logarithmic. Of many sizes eight are drawn, from the first to the last.
    """
    sizes = [size.pool_size for size in analysis.sizes]
    few = [sizes[round(place)] for place in np.linspace(0, len(sizes) - 1, min(len(sizes), MOST_LINES))]
    colours = mpl.colormaps["viridis"](np.linspace(0, 0.65, len(few)))
    furthest = 1.0
    for size, colour, line in zip(few, colours, cycle(("-", "--")), strict=False):
        histogram = analysis.by_size.histogram(latency, size)
        if histogram is None or not histogram.get_total_count():
            continue
        last = np.log10(histogram.get_total_count())
        nines = np.linspace(0, last, POINTS)
        ax.plot(
            nines, quantiles(histogram, (1 - 10**-nines).tolist()) / 1000, color=colour, linestyle=line, label=str(size)
        )
        furthest = max(furthest, last)
    ticks = {label: -np.log10(1 - share) for label, share in NINES.items()}
    ticks = {label: place for label, place in ticks.items() if place <= furthest}
    ax.set_xticks(list(ticks.values()), list(ticks))
    ax.set_xlabel("percentile")
    milliseconds_axis(ax, f"{'wait + usage' if latency == 'total' else latency} (ms)")
    if not ax.lines:
        return ax
    ax.legend(title="pool size", loc="center left", bbox_to_anchor=(1, 0.5), borderpad=0)
    return ax


def stacked_bars(ax: Axes, sizes: Sequence[int], parts: Sequence[Part], label: str, columns: int = 2) -> Axes:
    """Bars at evenly spaced sizes, the first part at the bottom; of many sizes some are named."""
    places = np.arange(len(sizes))
    below = np.zeros(len(sizes))
    for name, colour, values in parts:
        ax.bar(places, values, bottom=below, color=colour, label=name)
        below += np.nan_to_num(values)
    told = range(0, len(sizes), max(1, -(-len(sizes) // MOST_NAMES)))
    ax.set_xticks(told, [f"{sizes[place]:,}" for place in told])
    ax.set_xlabel("pool size (connections)")
    ax.set_ylabel(label)
    ax.grid(visible=False, axis="x")
    if len(sizes):
        legend_above(ax, columns)
    return ax
