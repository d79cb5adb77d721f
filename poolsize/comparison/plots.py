"""Plots of a comparison: the throughput of all runs, and their differences from the first run, also as a table."""

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from poolsize.comparison.comparison import Comparison, RunDifference
from poolsize.comparison.text import comparison_title
from poolsize.present.plots.axes import (
    GREY,
    IN_ORDER,
    MARKERS,
    Draw,
    as_label,
    band,
    below_each_other,
    legend_above,
    pool_size_axis,
    rate_axis,
)
from poolsize.units import count

if TYPE_CHECKING:  # only notebooks need it
    import pandas as pd

BESIDE = 1.04
"""Factor between the x positions of two runs' error bars at the same pool size, so that they don't overlap."""


def comparison_figure(comparison: Comparison) -> Figure:
    """Return a figure of a comparison: throughput of all runs, and below it the differences from the first run."""
    draws: list[Draw] = [lambda ax: plot_compared(ax, comparison), lambda ax: plot_differences(ax, comparison)]
    return below_each_other(draws, comparison_title(comparison))


def plot_compared(ax: Axes, comparison: Comparison) -> Axes:
    """Draw each run's throughput per second, its fitted curve with the 95 % band, and its answer as a dotted line.

    Returns ax.
    """
    sizes_of_all: set[int] = set()
    for run, colour, marker in zip(comparison.runs, cycle(IN_ORDER), cycle(MARKERS), strict=False):
        analysis, answer_size = run.analysis, run.answer.pool_size
        if analysis.curve:
            band(ax, analysis.curve, colour)
            ax.plot(analysis.curve.sizes, analysis.curve.mean, color=colour)
        sizes = [summary.pool_size for summary in analysis.sizes]
        size = count(answer_size, "connection") if answer_size else "no size"
        ax.plot(
            sizes, [summary.throughput.mean for summary in analysis.sizes], color=colour, marker=marker, markersize=4,
            linestyle="none", label=f"{as_label(run.value)}: {size}",
        )  # fmt: skip
        if answer_size:
            ax.axvline(answer_size, color=colour, linestyle=":")
        sizes_of_all.update(sizes)
    rate_axis(ax)
    legend_above(ax, 1)
    return pool_size_axis(ax, sorted(sizes_of_all))


def plot_differences(ax: Axes, comparison: Comparison) -> Axes:
    """Draw each run's difference from the first run at each size, as a share, with its 95 % interval.

    The intervals hold at all sizes at once. The difference is of throughput, or of the p95 total time where
    transactions arrive at a fixed rate. Returns ax.
    """
    shows_throughput = any(other.throughput for other in comparison.others)
    for place, other in enumerate(comparison.others):
        by_size = {size.pool_size: size.throughput if shows_throughput else size.p95 for size in other.sizes}
        differences = {size: difference for size, difference in by_size.items() if difference}
        sizes = np.array(list(differences), float)
        intervals = np.array([(share.mean, share.low, share.high) for share in differences.values()])
        means, lows, highs = intervals.reshape(-1, 3).T  # three empty rows where no size has a difference
        reach = np.abs([means - lows, highs - means])
        colour, marker = IN_ORDER[(place + 1) % len(IN_ORDER)], MARKERS[(place + 1) % len(MARKERS)]
        ax.errorbar(
            sizes * BESIDE**place, means, yerr=reach, color=colour, marker=marker, markersize=4, capsize=3,
            linestyle="none", label=as_label(other.run.value),
        )  # fmt: skip
    ax.axhline(0, color=GREY, linewidth=1)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylabel(f"{'throughput' if shows_throughput else 'p95'} against the first run")
    legend_above(ax, 1)
    return pool_size_axis(ax, sorted({size.pool_size for other in comparison.others for size in other.sizes}))


def differences_frame(comparison: Comparison, other: RunDifference) -> "pd.DataFrame":
    """Return a table with one row a pool size of both runs, ascending, indexed by pool_size.

    Columns: throughput per second of the first and of this run; the differences of throughput and p95 total time in
    percent of the first run, with 95 % intervals, and whether they are significant.
    """
    import pandas as pd

    rows = []
    for size in other.sizes:
        row: dict[str, object] = {
            "pool_size": size.pool_size,
            "first": round(comparison.first.analysis.at(size.pool_size).throughput.mean, 1),
            "this": round(other.run.analysis.at(size.pool_size).throughput.mean, 1),
        }
        for name, difference in (("throughput", size.throughput), ("p95", size.p95)):
            if difference is not None:
                row |= {
                    f"{name}_more_percent": round(100 * difference.mean, 1),
                    f"{name}_low": round(100 * difference.low, 1),
                    f"{name}_high": round(100 * difference.high, 1),
                    f"{name}_significant": difference.significant,
                }
        rows.append(row)
    return pd.DataFrame(rows).set_index("pool_size")
