"""Plots of figures from the literature, on the same axes as the plots of runs."""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from poolsize.present.plots.axes import IN_ORDER, legend_above, milliseconds_axis, pool_size_axis
from poolsize.recordings.published import known_curves, timings_of


def plot_published(ax: Axes, names: Sequence[str]) -> Axes:
    """Draw published curves, each as a share of its highest throughput, for curves of several units. Returns ax.

    names: keys of known_curves(), at most five. A dotted line marks a fixed number of
    users within the sizes.
    """
    sizes: set[int] = set()
    curves = known_curves()
    for curve, colour in zip([curves[name] for name in names], IN_ORDER, strict=False):
        by_size = {size: seconds.throughput[0] for size, seconds in curve.recording.by_size.items()}
        highest = max(by_size.values())
        ax.plot(
            list(by_size), [rate / highest for rate in by_size.values()], color=colour, marker="o", markersize=4,
            label=f"{curve.name} (100 % = {highest:,.0f} {curve.unit})",
        )  # fmt: skip
        sizes.update(by_size)
        if curve.recording.users and curve.recording.users < max(by_size):
            ax.axvline(curve.recording.users, color=colour, linestyle=":")
    ax.set_ylim(0, 1.05)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylabel("share of the highest throughput")
    legend_above(ax, 1)
    return pool_size_axis(ax, sorted(sizes), "connections, or users with a connection each")


def plot_survey(ax: Axes, test: str, pools: Sequence[str] | None = None) -> Axes:
    """Draw the elapsed time (ms) of pools in a test of the survey against the number of threads. Returns ax.

    test: name of a test in published_pools(). pools: at most five names of pools in published_pools() or
    repeated_pools(); None for those that are published.
    """
    timings = timings_of(test, pools)
    for (pool, group), colour in zip(groupby(timings, key=lambda timing: timing.pool), IN_ORDER, strict=False):
        timings_of_pool = list(group)
        threads = [timing.threads for timing in timings_of_pool]
        ax.plot(threads, [timing.elapsed_ms for timing in timings_of_pool], color=colour, marker="o", label=pool)
    milliseconds_axis(ax, "elapsed (ms)")
    legend_above(ax, 3)
    return pool_size_axis(ax, sorted({timing.threads for timing in timings}), "threads")
