"""Plots of a run's seconds, and of the bottleneck: busy cores and running threads."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import StrMethodFormatter

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.attempts import retried_places
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.analysis.vector import Matrix, Vector
from poolsize.answer.reasons import LimitedBy
from poolsize.answer.recommendation import Recommendation
from poolsize.present.plots.axes import (
    GENERATOR,
    GREY,
    LIGHT,
    SERVER,
    THROUGHPUT,
    legend_above,
    mark_sizes,
    marks_of,
    pool_size_axis,
    rate_axis,
    stacked_bars,
)
from poolsize.runs.run import Run
from poolsize.units import count

MOST_POINTS = 4000
"""More points could not be told apart, and would make a file of many megabytes."""
MOST_LABELS = 24
BOTTLENECK_TITLES = {
    BottleneckName.SERVER_CPU: "The server's CPU is the bottleneck",
    BottleneckName.GENERATOR: "The load generator is the bottleneck",
    BottleneckName.APPLICATION_CPU: "The application's CPU is the bottleneck",
    BottleneckName.SHARED_CPU: "The CPU that all programs share is the bottleneck",
}


def plot_seconds(ax: Axes, run: Run) -> Axes:
    """Draw the transactions in each second of load, step after step in the order of measurement. Returns ax.

    The dropped warm-up is shaded, retried steps are grey, and the pool size stands above each step. In a
    run of more than 4,000 seconds, a point is the mean of several seconds.
    """
    edges = np.concatenate([[0], np.cumsum([len(step.throughput) for step in run.steps])]).tolist()
    seconds_a_point = int(-(-edges[-1] // MOST_POINTS))
    retried = {*retried_places(run)}
    for is_retried, colour, name in ((False, THROUGHPUT, "each second"), (True, GREY, "failed, measured again")):
        lines = [
            _line(step.throughput, start, seconds_a_point)
            for place, (step, start) in enumerate(zip(run.steps, edges, strict=False))
            if (place in retried) is is_retried
        ]
        if lines:
            ax.add_collection(LineCollection(lines, colors=colour, linewidths=1, label=name))
    warm_ups = [(start, step.warm_up_seconds) for step, start in zip(run.steps, edges, strict=False)]
    ax.broken_barh(warm_ups, (0, 1), transform=ax.get_xaxis_transform(), facecolor=LIGHT, alpha=0.45, label="warm-up")
    above = ""
    if len(run.steps) <= MOST_LABELS:
        above = "; above each step its pool size"
        for step, start, end in zip(run.steps, edges, edges[1:], strict=False):
            ax.annotate(
                str(step.pool_size), ((start + end) / 2, 1), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", xytext=(0, 2), ha="center", fontsize=8,
            )  # fmt: skip
    ax.set_xlim(0, edges[-1])
    ax.autoscale_view(scalex=False)
    ax.set_xlabel(f"seconds of load{above}")
    mean_of = f"per second, mean of {count(seconds_a_point, 'second')}"
    rate_axis(ax, "transactions in a second" if seconds_a_point == 1 else mean_of)
    legend_above(ax, 2, is_labelled=True)
    return ax


def _line(throughput: Sequence[float], start: int, seconds_a_point: int) -> Matrix:
    """Return the points of a step's line, shape (points, 2): seconds since the run began, transactions per second."""
    parts = np.array_split(np.asarray(throughput, float), max(1, round(len(throughput) / seconds_a_point)))
    lengths = np.array([len(part) for part in parts])
    middles = np.cumsum(lengths) - lengths / 2
    return np.column_stack([start + middles, [part.mean() for part in parts]])


def plot_processors(ax: Axes, analysis: Analysis, answer: Recommendation | None = None) -> Axes:
    """Draw the cores that the server, the load generator and other programs kept busy at each pool size. Returns ax.

    The server and the other programs are drawn only where the run knows them. answer: its pool size has a line; None
    for no line.
    """
    sizes = [size.pool_size for size in analysis.sizes]
    load = np.array([analysis.by_size.worker_cores(size) for size in sizes])
    server = _counter(analysis, "process_cpu")
    parts = (
        ("server", SERVER, "", server),
        ("load generator", GENERATOR, "///", load),
        ("other programs", LIGHT, "...", np.maximum(0.0, _counter(analysis, "machine_cpu") - server - load)),
    )
    marks = marks_of(answer)
    stacked_bars(ax, sizes, [part for part in parts if not np.isnan(part[-1]).any()], "cores busy", marks)
    if cores := analysis.by_size.counter("machine_cores", sizes[-1]):
        ax.axhline(cores, color=GREY, linestyle=":", label=f"the machine's {cores:g}")
        legend_above(ax, 2, is_labelled=bool(marks))
    return ax


def processors_title(answer: Recommendation | None) -> str:
    """Return the title of the plot of busy cores."""
    names = [finding.name for finding in (answer.findings if answer else ()) if isinstance(finding, LimitedBy)]
    return BOTTLENECK_TITLES.get(names[0], "Busy cores") if names else "Busy cores"


def plot_threads(ax: Axes, analysis: Analysis, answer: Recommendation | None = None) -> Axes:
    """Draw the statements that the server ran at the same time (Threads_running) against pool size. Returns ax.

    answer: its pool size has a line; None for no line.
    """
    sizes = [size.pool_size for size in analysis.sizes]
    connections = [analysis.setting.connections(size) for size in sizes]
    ax.plot(sizes, connections, color=GREY, linestyle=":", label="as many as connections")
    ax.plot(sizes, _counter(analysis, "Threads_running"), color=SERVER, marker="o", label="running")
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    ax.set_ylabel("threads running, log scale")
    mark_sizes(ax, sizes, marks_of(answer))
    return pool_size_axis(ax, sizes)


def _counter(analysis: Analysis, name: str) -> Vector:
    return np.array([analysis.by_size.counter(name, size.pool_size) for size in analysis.sizes], float)
