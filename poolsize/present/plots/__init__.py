"""Plots: each function draws on a Matplotlib Axes, and returns the Axes.

For a figure of your own::

    with matplotlib.rc_context(STYLE):
        figure, ax = matplotlib.pyplot.subplots()
        plot_throughput(ax, analysis)
"""

from poolsize.present.plots.axes import STYLE as STYLE
from poolsize.present.plots.axes import save_figure as save_figure
from poolsize.present.plots.curves import LATENCY_TITLE as LATENCY_TITLE
from poolsize.present.plots.curves import figure as figure
from poolsize.present.plots.curves import plot_distribution as plot_distribution
from poolsize.present.plots.curves import plot_latency as plot_latency
from poolsize.present.plots.curves import plot_published as plot_published
from poolsize.present.plots.curves import plot_survey as plot_survey
from poolsize.present.plots.curves import plot_throughput as plot_throughput
from poolsize.present.plots.curves import plot_wait_and_usage as plot_wait_and_usage
from poolsize.present.plots.curves import throughput_title as throughput_title
from poolsize.present.plots.curves import wait_and_usage_title as wait_and_usage_title
from poolsize.present.plots.server import plot_processors as plot_processors
from poolsize.present.plots.server import plot_seconds as plot_seconds
from poolsize.present.plots.server import plot_threads as plot_threads
from poolsize.present.plots.server import processors_title as processors_title
