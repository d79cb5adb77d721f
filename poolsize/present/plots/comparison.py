"""Runs beside each other: their curves, and what is between them."""

from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from poolsize.answer.comparison import Comparison
from poolsize.present.plots.axes import GREY, IN_ORDER, MARKERS, band, legend_above, pool_size_axis, rate_axis
from poolsize.units import count

BESIDE = 1.04
"""Error bars of several runs stand beside each other by this factor."""


def plot_compared(ax: Axes, comparison: Comparison) -> Axes:
    """Throughput per second of every run with its band, and its answer's size as a dotted line."""
    sizes: set[int] = set()
    for run, colour, marker in zip(comparison.runs, cycle(IN_ORDER), cycle(MARKERS), strict=False):
        analysis, size = run.analysis, run.answer.pool_size
        if analysis.curve:
            band(ax, analysis.curve, colour)
            ax.plot(analysis.curve.sizes, analysis.curve.mean, color=colour)
        shown = [one.pool_size for one in analysis.sizes]
        ax.plot(
            shown, [one.throughput.mean for one in analysis.sizes], color=colour, marker=marker, markersize=4,
            linestyle="none", label=f"{run.value}: {count(size, 'connection') if size else 'no size'}",
        )  # fmt: skip
        if size:
            ax.axvline(size, color=colour, linestyle=":")
        sizes.update(shown)
    rate_axis(ax)
    legend_above(ax, 1)
    return pool_size_axis(ax, sorted(sizes))


def plot_differences(ax: Axes, comparison: Comparison) -> Axes:
    """What each run has more than the first at each size, with intervals that hold at all sizes at once.

    Of throughput, or of the p95 where transactions arrive at a fixed rate.
    """
    of_rate = any(other.throughput for other in comparison.others)
    places: set[int] = set()
    for place, other in enumerate(comparison.others):
        known = [(size.pool_size, size.throughput if of_rate else size.p95) for size in other.sizes]
        found = [(size, difference) for size, difference in known if difference]
        sizes = np.array([size for size, _ in found], float)
        means = np.array([difference.mean for _, difference in found])
        reach = np.abs([[one.mean - one.low for _, one in found], [one.high - one.mean for _, one in found]])
        colour, marker = IN_ORDER[(place + 1) % len(IN_ORDER)], MARKERS[(place + 1) % len(MARKERS)]
        ax.errorbar(
            sizes * BESIDE**place, means, yerr=reach, color=colour, marker=marker, markersize=4, capsize=3,
            linestyle="none", label=other.run.value,
        )  # fmt: skip
        places.update(size.pool_size for size in other.sizes)
    ax.axhline(0, color=GREY, linewidth=1)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylabel(f"{'throughput' if of_rate else 'p95'} against the first run")
    legend_above(ax, 1)
    return pool_size_axis(ax, sorted(places))
