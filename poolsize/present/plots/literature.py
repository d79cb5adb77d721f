"""Figures from the literature, on the same axes as what poolsize measures."""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from poolsize.present.plots.axes import IN_ORDER, legend_above, milliseconds_axis, pool_size_axis
from poolsize.recordings.published import published_curves, published_pools


def plot_published(ax: Axes, names: Sequence[str]) -> Axes:
    """Draw published curves as shares of each curve's best throughput, so that curves of several units share an axis.

    names: of published_curves(). A dotted line marks the number of users, if that was fixed. Returns ax.
    """
    sizes: set[int] = set()
    curves = published_curves()
    for curve, colour in zip([curves[name] for name in names], IN_ORDER, strict=False):
        by_size = {size: seconds.throughput[0] for size, seconds in curve.recording.by_size.items()}
        best = max(by_size.values())
        ax.plot(
            list(by_size), [rate / best for rate in by_size.values()], color=colour, marker="o", markersize=4,
            label=f"{curve.name} (100 % = {best:,.0f} {curve.unit})",
        )  # fmt: skip
        sizes.update(by_size)
        if curve.recording.users and curve.recording.users < max(by_size):
            ax.axvline(curve.recording.users, color=colour, linestyle=":")
    ax.set_ylim(0, 1.05)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylabel("share of its best throughput")
    legend_above(ax, 1)
    return pool_size_axis(ax, sorted(sizes), "connections, or callers that have one each")


def plot_survey(ax: Axes, test: str) -> Axes:
    """Draw the time that five Java pools took for the same work (ms), against the threads that shared the pool.

    test: a test's name in published_pools(). Returns ax.
    """
    timings = [timing for timing in published_pools() if timing.test == test]
    for (pool, same), colour in zip(groupby(timings, key=lambda timing: timing.pool), IN_ORDER, strict=False):
        timings_of_pool = list(same)
        threads = [timing.threads for timing in timings_of_pool]
        ax.plot(threads, [timing.elapsed_ms for timing in timings_of_pool], color=colour, marker="o", label=pool)
    milliseconds_axis(ax, "elapsed (ms)")
    legend_above(ax, 3)
    return pool_size_axis(ax, sorted({timing.threads for timing in timings}), "threads")
