"""Runs beside each other: their curves, and what is between them."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from poolsize.analysis.comparison import Comparison
from poolsize.present.plots.axes import GREY, IN_ORDER, legend_above, pool_size_axis, rate_axis
from poolsize.units import count


def plot_compared(ax: Axes, comparison: Comparison) -> Axes:
    """Throughput per second of every run with its band, and where its plateau begins."""
    sizes: set[int] = set()
    for (_, value, analysis), colour in zip(comparison.runs, IN_ORDER, strict=False):
        plateau = analysis.plateau
        assert plateau is not None  # else there is nothing to compare
        if analysis.curves:
            low, high = np.quantile(analysis.curves.draws, [0.025, 0.975], axis=0)
            ax.fill_between(analysis.curves.sizes, low, high, color=colour, alpha=0.15, linewidth=0)
            ax.plot(analysis.curves.sizes, analysis.curves.mean, color=colour)
        shown = analysis.sizes
        told = f"{value}: {count(plateau.pool_size, 'connection')}"
        rates = [size.throughput.mean for size in shown]
        ax.plot(
            [size.pool_size for size in shown], rates, color=colour, marker="o", markersize=4, linestyle="none",
            label=told,
        )  # fmt: skip
        ax.axvline(plateau.pool_size, color=colour, linestyle=":")
        sizes.update(size.pool_size for size in shown)
    rate_axis(ax)
    legend_above(ax, 1)
    return pool_size_axis(ax, sorted(sizes))


def plot_differences(ax: Axes, comparison: Comparison) -> Axes:
    """Throughput against the first run's at each size, with intervals that hold at all sizes at once."""
    places: set[int] = set()
    for other, value, colour in zip(comparison.others, comparison.values[1:], IN_ORDER[1:], strict=False):
        known = [(size.pool_size, size.throughput) for size in other.sizes if size.throughput]
        if not known:
            continue
        sizes, differences = zip(*known, strict=True)
        means = np.array([one.mean for one in differences])
        reach = [means - [one.low for one in differences], [one.high for one in differences] - means]
        ax.errorbar(sizes, means, yerr=reach, color=colour, marker="o", markersize=4, capsize=3, label=value)
        places.update(sizes)
    ax.axhline(0, color=GREY, linewidth=1)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylabel(f"throughput against\n{comparison.values[0]}")
    legend_above(ax, 1)
    return pool_size_axis(ax, sorted(places)) if places else ax
