"""What holds the throughput: processors, threads at work, and where the users are."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from poolsize.analysis.analysis import Analysis
from poolsize.present.plots.axes import BLUE, GREY, LIGHT, ORANGE, legend_above, pool_size_axis
from poolsize.present.plots.latency import Part, stacked_bars

SEEN = 0.01
"""A part below this share of the users could not be seen."""


def plot_processors(ax: Axes, analysis: Analysis) -> Axes:
    """Cores kept busy by the server, by making the load and by other programs; the server's only where it was seen."""
    sizes = [size.pool_size for size in analysis.sizes]
    load = [analysis.by_size.worker_cores(size) for size in sizes]
    server = [analysis.by_size.counter("process_cpu", size) for size in sizes]
    machine = [analysis.by_size.counter("machine_cpu", size) for size in sizes]
    parts: list[Part] = [("making the load", ORANGE, load)]
    if None not in server:
        parts.insert(0, ("the server", BLUE, _known(server)))
    if None not in machine and None not in server:
        used = zip(_known(machine), _known(server), load, strict=True)
        parts.append(("other programs", LIGHT, [max(0.0, busy - mine - ours) for busy, mine, ours in used]))
    stacked_bars(ax, sizes, parts, "cores busy")
    if cores := analysis.by_size.counter("machine_cores", sizes[-1]):
        ax.axhline(cores, color=GREY, linestyle=":", label=f"the machine's {cores:g}")
        legend_above(ax, 2)
    return ax


def plot_threads(ax: Axes, analysis: Analysis) -> Axes:
    """How many statements the server ran at a time (Threads_running), against the connections that it was given."""
    sizes = [size.pool_size for size in analysis.sizes]
    ax.plot(sizes, sizes, color=GREY, linestyle=":", label="as many as connections")
    running = [analysis.by_size.counter("Threads_running", size) for size in sizes]
    ax.plot(sizes, _known(running), color=BLUE, marker="o", label="ran at a time")
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    ax.set_ylabel("threads running")
    legend_above(ax, 2)
    return pool_size_axis(ax, sizes)


def plot_users(ax: Axes, analysis: Analysis) -> Axes:
    """Where the users are on average: holding a connection, waiting for one, or between two transactions.

    By Little's law, throughput times the mean time in each place; nobody moves into the database by a larger pool
    without leaving the queue in front of it. Nothing is drawn of a replay, which does not know it.
    """
    sizes = analysis.sizes if analysis.knows_latencies else ()
    holding = np.array([size.throughput.mean * size.usage.mean / 1000 for size in sizes])
    waiting = np.array([size.throughput.mean * size.wait.mean / 1000 for size in sizes])
    parts: list[Part] = [
        ("holding a connection", BLUE, holding.tolist()),
        ("waiting for one", ORANGE, waiting.tolist()),
    ]
    if analysis.setting.plan.rate is None:
        between = np.maximum(0, analysis.setting.plan.users - holding - waiting)
        if between.max(initial=0) > SEEN * analysis.setting.plan.users:
            parts.append(("between transactions", LIGHT, between.tolist()))
    return stacked_bars(ax, [size.pool_size for size in sizes], parts, "users")


def _known(values: list[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]
