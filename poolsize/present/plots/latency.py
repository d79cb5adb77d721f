"""Plots of latency: percentiles and mean wait and usage time against pool size, and whole distributions."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.stats.percentiles import Percentiles, quantiles
from poolsize.present.plots.axes import (
    BLUE,
    GREEN,
    ORANGE,
    legend_above,
    milliseconds_axis,
    pool_size_axis,
)

QUANTILE_COLOURS = {"p50": BLUE, "p95": ORANGE, "p99": GREEN}
NINES = {"50": 0.5, "90": 0.9, "99": 0.99, "99.9": 0.999, "99.99": 0.9999, "99.999": 0.99999}
"""Percentile -> the share of transactions that are at most as slow."""
MOST_LINES, MOST_LABELS = 8, 12
POINTS = 100
"""Points of a distribution's line."""
Part = tuple[str, str, Sequence[float]]
"""A part of stacked bars: its name, its colour, and its height at each size."""


def plot_latency(ax: Axes, analysis: Analysis) -> Axes:
    """Draw p50, p95 and p99 of the total time (wait + usage, ms) against pool size. Returns ax."""
    return plot_percentiles(ax, {size.pool_size: size.total for size in analysis.sizes})


def plot_percentiles(ax: Axes, by_size: Mapping[int, Percentiles]) -> Axes:
    """Draw p50, p95 and p99 of the total time against pool size. Returns ax. Unknown percentiles have no line.

    by_size: pool size -> total times in ms.
    """
    sizes = list(by_size)
    for name, colour in QUANTILE_COLOURS.items():
        times_ms = [getattr(total, name) for total in by_size.values()]
        if not np.isnan(times_ms).all():
            ax.plot(sizes, times_ms, color=colour, marker="o", label=name)
    milliseconds_axis(ax, "total time (ms)")
    legend_above(ax, 3)
    return pool_size_axis(ax, sizes)


def plot_wait_and_usage(ax: Axes, analysis: Analysis) -> Axes:
    """Draw mean wait time and mean usage time (ms) as stacked bars, one bar a pool size. Returns ax."""
    return stacked_bars(
        ax,
        [size.pool_size for size in analysis.sizes],
        [
            ("usage time", BLUE, [size.usage.mean for size in analysis.sizes]),
            ("wait time", ORANGE, [size.wait.mean for size in analysis.sizes]),
        ],
        "mean (ms)",
        columns=1,
    )


def plot_distribution(ax: Axes, analysis: Analysis, latency: str = "total") -> Axes:
    """Draw the distribution of a latency (ms, logarithmic), one line a pool size. Returns ax.

    latency: "wait", "usage" or "total". The percentiles 90, 99, 99.9 and so on have equal distances on the x axis.
    Of more than eight sizes, eight are drawn, with the first and the last among them.
    """
    sizes = [size.pool_size for size in analysis.sizes]
    shown = [sizes[round(index)] for index in np.linspace(0, len(sizes) - 1, min(len(sizes), MOST_LINES))]
    colours = mpl.colormaps["viridis"](np.linspace(0, 0.65, len(shown)))
    most_nines = 1.0
    for size, colour, line_style in zip(shown, colours, cycle(("-", "--")), strict=False):
        histogram = analysis.by_size.histogram(latency, size)
        if histogram is None:
            continue
        nines = np.linspace(0, np.log10(histogram.get_total_count()), POINTS)
        times_ms = quantiles(histogram, (1 - 10**-nines).tolist()) / 1000
        ax.plot(nines, times_ms, color=colour, linestyle=line_style, label=str(size))
        most_nines = max(most_nines, nines[-1])
    ticks = {label: -np.log10(1 - share) for label, share in NINES.items()}
    ticks = {label: nines for label, nines in ticks.items() if nines <= most_nines}
    ax.set_xticks(list(ticks.values()), list(ticks))
    ax.set_xlabel("percentile")
    milliseconds_axis(ax, f"{latency} time (ms)")
    if not ax.lines:
        return ax
    ax.legend(title="pool size", loc="center left", bbox_to_anchor=(1, 0.5), borderpad=0)
    return ax


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
    labelled = range(0, len(sizes), max(1, -(-len(sizes) // MOST_LABELS)))
    ax.set_xticks(labelled, [f"{sizes[position]:,}" for position in labelled])
    ax.set_xlabel("pool size (connections)")
    ax.set_ylabel(label)
    ax.grid(visible=False, axis="x")
    if len(sizes):
        legend_above(ax, columns)
    return ax
