"""Plots that show the bottleneck: busy cores, running threads, and queues of users."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from poolsize.analysis.analysis import Analysis
from poolsize.present.plots.axes import BLUE, GREY, LIGHT, ORANGE, legend_above, pool_size_axis
from poolsize.present.plots.latency import Part, stacked_bars

VISIBLE = 0.01
"""A part of the users below this share would be too small to see."""


def plot_processors(ax: Axes, analysis: Analysis) -> Axes:
    """Draw the cores that the server, the load generator and other programs kept busy at each pool size. Returns ax.

    The server and the other programs are drawn only where the run knows them.
    """
    sizes = [size.pool_size for size in analysis.sizes]
    load = [analysis.by_size.worker_cores(size) for size in sizes]
    server = [analysis.by_size.counter("process_cpu", size) for size in sizes]
    machine = [analysis.by_size.counter("machine_cpu", size) for size in sizes]
    parts: list[Part] = [("load generator", ORANGE, load)]
    if None not in server:
        parts.insert(0, ("server", BLUE, _known(server)))
    if None not in machine and None not in server:
        other = np.maximum(0.0, np.subtract(_known(machine), _known(server)) - load)
        parts.append(("other programs", LIGHT, other.tolist()))
    stacked_bars(ax, sizes, parts, "cores busy")
    if cores := analysis.by_size.counter("machine_cores", sizes[-1]):
        ax.axhline(cores, color=GREY, linestyle=":", label=f"the machine's {cores:g}")
        legend_above(ax, 2)
    return ax


def plot_threads(ax: Axes, analysis: Analysis) -> Axes:
    """Draw the statements that the server ran at the same time (Threads_running) against pool size. Returns ax."""
    sizes = [size.pool_size for size in analysis.sizes]
    connections = [analysis.setting.connections(size) for size in sizes]
    ax.plot(sizes, connections, color=GREY, linestyle=":", label="as many as connections")
    running = [analysis.by_size.counter("Threads_running", size) for size in sizes]
    ax.plot(sizes, _known(running), color=BLUE, marker="o", label="running")
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    ax.set_ylabel("threads running")
    legend_above(ax, 2)
    return pool_size_axis(ax, sizes)


def plot_users(ax: Axes, analysis: Analysis) -> Axes:
    """Draw the mean numbers of users that hold a connection, wait for a connection, or pause between transactions.

    By Little's law, each number is throughput times the mean time in that state. Where the run
    does not know these times, the plot is empty. Returns ax.
    """
    sizes = analysis.sizes if analysis.knows_usage else ()
    holding = np.array([size.throughput.mean * size.usage.mean / 1000 for size in sizes])
    waiting = np.array([size.throughput.mean * size.wait.mean / 1000 for size in sizes])
    parts: list[Part] = [
        ("holding a connection", BLUE, holding.tolist()),
        ("waiting for a connection", ORANGE, waiting.tolist()),
    ]
    if analysis.setting.plan.rate is None:
        pausing = np.maximum(0, analysis.setting.plan.users - holding - waiting)
        if pausing.max(initial=0) > VISIBLE * analysis.setting.plan.users:
            parts.append(("between transactions", LIGHT, pausing.tolist()))
    return stacked_bars(ax, [size.pool_size for size in sizes], parts, "users")


def _known(values: list[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]
