"""Plots: each function draws on a Matplotlib Axes, and returns the Axes.

For a figure of your own::

    with matplotlib.rc_context(STYLE):
        figure, ax = matplotlib.pyplot.subplots()
        plot_throughput(ax, analysis)
"""

from poolsize.present.plots.axes import STYLE, save_figure
from poolsize.present.plots.curves import (
    figure,
    plot_distribution,
    plot_latency,
    plot_published,
    plot_survey,
    plot_throughput,
    plot_wait_and_usage,
)
from poolsize.present.plots.server import plot_processors, plot_seconds, plot_threads

__all__ = [
    "STYLE",
    "figure",
    "plot_distribution",
    "plot_latency",
    "plot_processors",
    "plot_published",
    "plot_seconds",
    "plot_survey",
    "plot_threads",
    "plot_throughput",
    "plot_wait_and_usage",
    "save_figure",
]
