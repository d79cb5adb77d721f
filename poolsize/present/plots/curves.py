"""Plots against the pool size: measured throughput with the sizes of all estimators, latency, and published curves."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle, groupby

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.stats.percentiles import Percentiles, quantiles
from poolsize.present.plots.alt_text import estimator_sizes
from poolsize.present.plots.axes import (
    BLUE,
    GREEN,
    GREY,
    IN_ORDER,
    INK_OF,
    ORANGE,
    band,
    below_each_other,
    legend_above,
    milliseconds_axis,
    pool_size_axis,
    rate_axis,
    stacked_bars,
)
from poolsize.present.text.analysis import run_title
from poolsize.recordings.published import known_curves, timings_of
from poolsize.units import number, percent

ROW = 0.065
"""Height of a mark's row, as a share of the axes."""
QUANTILE_COLOURS = {"p50": BLUE, "p95": ORANGE, "p99": GREEN}
NINES = {"50": 0.5, "90": 0.9, "99": 0.99, "99.9": 0.999, "99.99": 0.9999, "99.999": 0.99999}
"""Percentile -> the share of transactions that are at most as slow."""
MOST_LINES = 8
POINTS = 100
"""Points of a distribution's line."""


def figure(analysis: Analysis) -> Figure:
    """Return a figure of an analysis: throughput, latency, and, where they are known, wait and usage time.

    The plots are below each other, under a title that names workload, server and users.
    """
    plots = (plot_throughput, plot_latency, *([plot_wait_and_usage] if analysis.knows_usage else []))
    return below_each_other([partial(plot, analysis=analysis) for plot in plots], run_title(analysis))


def plot_throughput(ax: Axes, analysis: Analysis, marks: Mapping[str, int] | None = None) -> Axes:
    """Draw measured throughput per second, the fitted curve with its 95 % band, and the plateau with its range.

    Below the curve, a mark shows the pool size of each estimator and of the formula. marks: name -> a further pool
    size to mark, such as {"current": 40}. Returns ax.
    """
    sizes = [size.pool_size for size in analysis.sizes]
    if analysis.curve:
        band(ax, analysis.curve, BLUE, "95 % band")
        ax.plot(analysis.curve.sizes, analysis.curve.mean, color=BLUE, label="fitted curve")
    for passed, face, label in ((True, BLUE, "measured"), (False, "white", "a check failed")):
        shown = [size for size in analysis.sizes if size.passed_all_checks is passed]
        if shown:
            ax.plot(
                [size.pool_size for size in shown], [size.throughput.mean for size in shown],
                linestyle="none", marker="o", markerfacecolor=face, markeredgecolor=BLUE, label=label,
            )  # fmt: skip
    if plateau := analysis.plateau:
        ax.axhline(plateau.threshold, color=GREY, linestyle=":", label=f"{percent(1 - plateau.tolerance)} of capacity")
        ax.axvspan(plateau.low, plateau.high, color=ORANGE, alpha=0.15, linewidth=0, label="95 % range")
        ax.axvline(plateau.pool_size, color=ORANGE)
        _mark(ax, (sizes[0], sizes[-1]), estimator_sizes(analysis), marks or {})
    rate_axis(ax)
    legend_above(ax, 2)
    return pool_size_axis(ax, sizes)


def _mark(ax: Axes, ends: tuple[int, int], estimates: Mapping[str, int], marks: Mapping[str, int]) -> None:
    """Draw a row for each size, under the curve; an arrow shows a size beyond the ends, the measured range."""
    middle = np.sqrt(ends[0] * ends[1])
    across = ax.get_xaxis_transform()
    for row, (name, size) in enumerate(reversed(list({**estimates, **marks}.items()))):
        x = float(np.clip(size, *ends))
        height = ROW * (row + 0.6)
        colour = {"plateau": ORANGE, "formula": GREY}.get(name, "black" if name in marks else GREEN)
        beyond = "" if x == size else " →" if size > x else " ←"
        ax.plot([x], [height], marker="D", markersize=4, color=colour, transform=across, clip_on=False, zorder=5)
        left = x > middle
        ax.annotate(
            f"{name} {number(size)}{beyond}", (x, height), xycoords=across, textcoords="offset points",
            xytext=(-6 if left else 6, 0), ha="right" if left else "left", va="center", fontsize=8,
            color=INK_OF.get(colour, colour),
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )  # fmt: skip


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
    sizes = analysis.sizes
    parts = [
        ("usage time", BLUE, np.array([size.usage.mean for size in sizes])),
        ("wait time", ORANGE, np.array([size.wait.mean for size in sizes])),
    ]
    return stacked_bars(ax, [size.pool_size for size in sizes], parts, "mean (ms)", columns=1)


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
    ticks = {label: -np.log10(1 - share) for label, share in NINES.items() if -np.log10(1 - share) <= most_nines}
    ax.set_xticks(list(ticks.values()), list(ticks))
    ax.set_xlabel("percentile")
    milliseconds_axis(ax, f"{latency} time (ms)")
    if ax.lines:
        ax.legend(title="pool size", loc="center left", bbox_to_anchor=(1, 0.5), borderpad=0)
    return ax


def plot_published(ax: Axes, names: Sequence[str]) -> Axes:
    """Draw published curves, each as a share of its highest throughput, for curves of several units. Returns ax.

    names: keys of known_curves(), at most five. A dotted line marks a fixed number of users within the sizes.
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
