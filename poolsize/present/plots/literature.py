"""What others published, on the same axes as what poolsize measures."""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from poolsize.analysis.oracle import explained
from poolsize.oracle_demonstration import SHOWN
from poolsize.present.plots.axes import (
    BLUE,
    IN_ORDER,
    ORANGE,
    legend_above,
    milliseconds_axis,
    pool_size_axis,
)
from poolsize.recordings.published import published_curves, published_pools


def plot_published(ax: Axes, names: Sequence[str]) -> Axes:
    """Published curves as shares of the best throughput of each, so that curves of several units share an axis.

    names: of published_curves(). A dotted line stands where the callers ran out, if their number was fixed.
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


def plot_oracle(ax: Axes) -> Axes:
    """Oracle's 9,600 users: execution times that were shown, and those that one closed network gives every size, ms."""
    sizes = (48, 64, 96, 128, 256, 512, 1024, 1536, 2048)
    found = explained(sizes)
    ax.plot(sizes, [one.usage_ms for one in found], color=BLUE, label="execution: network")
    ax.plot(sizes, [one.wait_ms for one in found], color=ORANGE, label="wait: network")
    shown = [one.pool_size for one in SHOWN]
    ax.plot(shown, [one.execution_ms for one in SHOWN], color=BLUE, linestyle="none", marker="o", label="as shown")
    ax.plot(shown, [one.wait_ms for one in SHOWN], color=ORANGE, linestyle="none", marker="o", label="as shown")
    milliseconds_axis(ax, "mean (ms)")
    ax.set_ylim(bottom=0.01)
    legend_above(ax, 2)
    return pool_size_axis(ax, sizes)


def plot_survey(ax: Axes, test: str) -> Axes:
    """Five Java pools: ms that the same work took them, against the threads that shared one. test: its name there."""
    timings = [timing for timing in published_pools() if timing.test == test]
    for (pool, same), colour in zip(groupby(timings, key=lambda one: one.pool), IN_ORDER, strict=False):
        points = list(same)
        ax.plot(
            [one.threads for one in points], [one.elapsed_ms for one in points], color=colour, marker="o", label=pool
        )
    milliseconds_axis(ax, "elapsed (ms)")
    legend_above(ax, 3)
    return pool_size_axis(ax, sorted({one.threads for one in timings}), "threads")
