"""Plots of an observed pool, of its busiest process, with their alternative texts. Each plot returns its Axes."""

from datetime import UTC

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

from poolsize.analysis.vector import Vector
from poolsize.observe.pool_answer import DAY, PoolAnswer
from poolsize.observe.process_load import ProcessLoad
from poolsize.observe.text import in_use_text, need_text
from poolsize.present.plots.axes import ANSWER, GREY, SERVER, THROUGHPUT, USAGE, WAIT, legend_above, rate_axis
from poolsize.units import milliseconds, percent

MOST_POINTS = 1_500
"""Points of a line, at most: of more periods, a point is the mean of several."""
GAP = 2
"""A line breaks where two points are further apart than so many periods."""
FAR = 2.5
"""A size that is this many times above all else leaves no room for the rest: the legend alone has it."""
RARE = 1e-4
"""Smaller shares of the time are invisible."""


def plot_in_use(ax: Axes, answer: PoolAnswer) -> Axes:
    """Draw the connections in use over time: means of periods, up to the highest sample, with the size and the need."""
    load = answer.busiest
    times, means = _over_time(load, load.in_use, load.seconds)
    _, highest = _over_time(load, load.series("in_use_max"))
    top = np.fmax(means, highest)
    if np.isfinite(highest).any():
        ax.fill_between(times, means, top, facecolor=SERVER, alpha=0.5, linewidth=0, label="up to the highest sample")
    ax.plot(times, means, color=THROUGHPUT, linewidth=1, label="mean")
    _mark(ax, answer, max(float(np.nanmax(top)), answer.need), is_level=True)
    rate_axis(ax, "connections in use").yaxis.set_major_locator(MaxNLocator(integer=True))
    return _time_axis(ax)


def plot_times(ax: Axes, answer: PoolAnswer) -> Axes:
    """Draw the mean usage time and the mean wait time (ms) over time, stacked; a time that is not known is left out."""
    load, below = answer.busiest, np.zeros(1)
    for name, colour, hatch in (("usage", USAGE, ""), ("wait", WAIT, "///")):
        seconds, uses = load.series(f"{name}_seconds"), load.series("uses")
        known = np.isfinite(seconds) & (uses > 0)
        if known.any():
            uses = np.where(known, uses, np.nan)
            times, means_ms = _over_time(load, 1000 * seconds / uses, uses)
            top = below + means_ms
            ax.fill_between(
                times, below, top, facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0, label=f"{name} time"
            )
            below = np.nan_to_num(top)
    rate_axis(ax, "mean (ms)")
    return _time_axis(ax)


def plot_shares(ax: Axes, answer: PoolAnswer) -> Axes:
    """Draw the share of the time at each number of connections in use, with its p99.9, the size and the need."""
    shares, often = _shares(answer), answer.busiest.in_use_p99_9
    highest = max(int(np.flatnonzero(shares > RARE)[-1]), often, answer.need)
    shares = shares[: highest + 1]
    ax.stairs(shares, np.arange(len(shares) + 1) - 0.5, fill=True, color=SERVER, label="share of the time")
    ax.axvline(often, color=THROUGHPUT, linestyle=":", label=f"p99.9: {often:,}")
    _mark(ax, answer, highest, is_level=False)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    ax.set_xlabel("connections in use")
    ax.set_ylabel("share of the time")
    legend_above(ax, 2)
    return ax


def alt_in_use(answer: PoolAnswer) -> str:
    """Return the alternative text of plot_in_use."""
    size = "" if answer.busiest.size is None else f" The pool size is {answer.busiest.size:,}."
    return f"Connections in use over time: {in_use_text(answer)}{size} The need is {need_text(answer)}."


def alt_times(answer: PoolAnswer) -> str:
    """Return the alternative text of plot_times."""
    times = {"usage": answer.busiest.usage_ms, "wait": answer.busiest.wait_ms}
    known = (f"the {name} time is {milliseconds(mean_ms)}" for name, mean_ms in times.items() if mean_ms is not None)
    return f"Mean usage time and mean wait time over time, stacked: on average, {' and '.join(known)}."


def alt_shares(answer: PoolAnswer) -> str:
    """Return the alternative text of plot_shares."""
    shares = _shares(answer)
    most = int(np.argmax(shares))
    return (
        f"The share of the time at each number of connections in use: {most:,} for {percent(float(shares[most]))} of "
        f"the time, more often than any other number; at most {answer.busiest.in_use_p99_9:,} for 99.9 % of the time."
    )


def _shares(answer: PoolAnswer) -> Vector:
    return np.diff(answer.busiest.at_most, prepend=0.0)


def _over_time(load: ProcessLoad, values: Vector, weights: Vector | None = None) -> tuple[Vector, Vector]:
    """Return times, in Matplotlib's days, and the mean of the values by their weights, or without weights the highest.

    The mean is NaN where no value is known, and between points that are far apart.
    """
    starts = np.arange(0, len(load.at), -(-len(load.at) // MOST_POINTS))
    middles = np.add.reduceat((load.at + load.seconds / 2) / DAY, starts)
    times = middles / np.diff(starts, append=len(load.at))
    if weights is None:
        means = np.fmax.reduceat(values, starts)
    else:
        totals = np.add.reduceat(np.nan_to_num(weights), starts)
        sums = np.add.reduceat(np.nan_to_num(values * weights), starts)
        means = np.divide(sums, totals, out=np.full(len(starts), np.nan), where=totals > 0)
    steps = np.diff(times)
    breaks = 1 + np.flatnonzero(steps > GAP * (np.median(steps) if len(steps) else 0.0))
    return np.insert(times, breaks, times[breaks]), np.insert(means, breaks, np.nan)


def _mark(ax: Axes, answer: PoolAnswer, highest: float, *, is_level: bool) -> None:
    """Draw lines at the need and at the pool size, level or upright. highest: of all else."""
    marks = [(f"need: {need_text(answer)}", answer.need, ANSWER, "-")]
    if answer.busiest.size is not None:
        marks.append((f"pool size: {answer.busiest.size:,}", answer.busiest.size, GREY, "--"))
    for name, value, colour, line_style in marks:
        if value > FAR * highest:
            ax.plot([], [], color=colour, linestyle=line_style, label=f"{name} {'↑' if is_level else '→'}")
        else:
            line = ax.axhline if is_level else ax.axvline
            line(value, color=colour, linestyle=line_style, linewidth=1.4, label=name)


def _time_axis(ax: Axes) -> Axes:
    locator = AutoDateLocator(UTC, minticks=3, maxticks=8)  # type: ignore[no-untyped-call]  # it has no types
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator, UTC))  # type: ignore[no-untyped-call]
    ax.set_xlabel("time (UTC)")
    legend_above(ax, 2)
    return ax
