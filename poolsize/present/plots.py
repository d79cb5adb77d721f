"""Plots of an analysis; each draws on the Axes it is given and returns it. The only importer of Matplotlib."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from poolsize.analysis.prediction import Prediction
from poolsize.analysis.summary import Analysis
from poolsize.errors import BadInput
from poolsize.units import count, number

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6E6E6E"
"""Colours of Okabe and Ito (2008), told apart by colour-blind readers as well."""
APART = 1.3
"""Neighbouring sizes on an axis that are nearer than this factor would be printed over each other."""
LEVELS = {"p50": BLUE, "p95": ORANGE, "p99": GREEN}
STYLE: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "font.size": 10,
    "legend.frameon": False,
    "svg.fonttype": "none",
}


def plot_throughput(ax: Axes, analysis: Analysis) -> Axes:
    """Throughput against pool size: what was measured, the curve through it with its band, and the plateau."""
    sizes = [size.pool_size for size in analysis.sizes]
    if analysis.curves:
        low, high = np.quantile(analysis.curves.draws, [0.025, 0.975], axis=0)
        ax.fill_between(analysis.curves.sizes, low, high, color=BLUE, alpha=0.18, linewidth=0, label="95 % of curves")
        ax.plot(analysis.curves.sizes, analysis.curves.mean, color=BLUE, label="through all steps")
    for valid, face, label in ((True, BLUE, "measured"), (False, "white", "a check failed")):
        shown = [size for size in analysis.sizes if size.valid is valid]
        if shown:
            ax.plot(
                [size.pool_size for size in shown], [size.throughput.mean for size in shown],
                linestyle="none", marker="o", markerfacecolor=face, markeredgecolor=BLUE, label=label,
            )  # fmt: skip
    if analysis.plateau:
        plateau = analysis.plateau
        ax.axhline(plateau.threshold, color=GREY, linestyle=":", label=f"{1 - plateau.tolerance:.0%} of the best")
        ax.axvspan(plateau.low, plateau.high, color=ORANGE, alpha=0.15, linewidth=0)
        ax.axvline(plateau.pool_size, color=ORANGE, label=f"plateau: {count(plateau.pool_size, 'connection')}")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("throughput (transactions/s)")
    ax.legend(loc="lower right")
    return _pool_size_axis(ax, sizes)


def plot_latency(ax: Axes, found: Analysis | Prediction) -> Axes:
    """Percentiles of the total latency, wait and usage together, against pool size: measured or predicted."""
    sizes = [size.pool_size for size in found.sizes]
    for name, colour in LEVELS.items():
        ax.plot(sizes, [getattr(size.total, name) for size in found.sizes], color=colour, marker="o", label=name)
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel("wait + usage (ms)")
    ax.legend(loc="best")
    return _pool_size_axis(ax, sizes)


def plot_wait_and_usage(ax: Axes, analysis: Analysis) -> Axes:
    """Mean wait for a connection and mean usage of it, stacked: where a caller's time goes."""
    sizes = [size.pool_size for size in analysis.sizes]
    places = np.arange(len(sizes))
    wait = [size.wait.mean for size in analysis.sizes]
    usage = [size.usage.mean for size in analysis.sizes]
    ax.bar(places, usage, color=BLUE, label="usage: holding a connection")
    ax.bar(places, wait, bottom=usage, color=ORANGE, label="wait: for a connection")
    ax.set_xticks(places, [str(size) for size in sizes])
    ax.set_xlabel("pool size (connections)")
    ax.set_ylabel("mean (ms)")
    ax.grid(visible=False, axis="x")
    ax.legend(loc="best")
    return ax


def plot_prediction(ax: Axes, prediction: Prediction) -> Axes:
    """Predicted throughput against pool size, and what was measured where nothing is different."""
    sizes = [one.pool_size for one in prediction.sizes]
    ax.plot(sizes, [one.throughput for one in prediction.sizes], color=BLUE, marker="o", label="predicted")
    measured = [(one.pool_size, one.measured) for one in prediction.sizes if one.measured is not None]
    if measured:
        ax.plot(*zip(*measured, strict=True), color=ORANGE, linestyle="none", marker="x", label="measured")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("throughput (transactions/s)")
    ax.legend(loc="lower right")
    return _pool_size_axis(ax, sizes)


def figure(analysis: Analysis) -> Figure:
    """The plots below each other, titled with what was measured; a replay has no waits to draw."""
    known = any(size.wait.mean >= 0 for size in analysis.sizes)
    plots = (plot_throughput, plot_latency, plot_wait_and_usage) if known else (plot_throughput, plot_latency)
    setting = analysis.setting
    users = "" if setting.recording else f", {count(setting.plan.users, 'user')}"
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(7.2, 3.2 * len(plots)), layout="constrained")
        for ax, plot in zip(drawn.subplots(len(plots)), plots, strict=True):
            plot(ax, analysis)
        drawn.suptitle(f"{setting.plan.workload} on {setting.subject}{users}")
    return drawn


def prediction_figure(prediction: Prediction) -> Figure:
    """Throughput and latencies below each other, titled with the callers."""
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(7.2, 6.4), layout="constrained")
        above, below = drawn.subplots(2)
        plot_prediction(above, prediction)
        plot_latency(below, prediction)
        drawn.suptitle(f"predicted for {count(prediction.users, 'user')}")
    return drawn


def save_figure(drawn: Figure, path: Path) -> None:
    """Write a figure to a file; its ending says the format. Raises BadInput where that can't be done."""
    try:
        with mpl.rc_context(STYLE):
            drawn.savefig(path, dpi=144)
    except OSError as error:
        raise BadInput(f"--plot {path} can't be written: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"--plot {path}: name a .png or an .svg file") from None


def _pool_size_axis(ax: Axes, sizes: list[int]) -> Axes:
    ax.set_xscale("log", base=2)
    told = [sizes[0]]
    for size in sizes:
        if size >= APART * told[-1]:
            told.append(size)
    ax.set_xticks(told, [str(size) for size in told])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("pool size (connections)")
    return ax
