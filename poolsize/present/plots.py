"""Plots of an analysis; each draws on the Axes it is given and returns it. The only importer of Matplotlib."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from poolsize.analysis.summary import Analysis
from poolsize.errors import BadInput
from poolsize.units import count, number

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6E6E6E"
"""Colours of Okabe and Ito (2008), told apart by colour-blind readers as well."""
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
    """Throughput against pool size with its 95 % interval, the tolerance and the plateau size."""
    sizes = [size.pool_size for size in analysis.sizes]
    means = np.array([size.throughput.mean for size in analysis.sizes])
    low = np.array([size.throughput.low for size in analysis.sizes])
    high = np.minimum([size.throughput.high for size in analysis.sizes], means * 2)
    ax.fill_between(sizes, low, high, color=BLUE, alpha=0.18, linewidth=0, label="95 % interval")
    ax.plot(sizes, means, color=BLUE, marker="o", label="measured")
    doubtful = [size for size in analysis.sizes if not size.valid]
    if doubtful:
        ax.plot(
            [size.pool_size for size in doubtful], [size.throughput.mean for size in doubtful],
            linestyle="none", marker="o", markerfacecolor="white", markeredgecolor=BLUE, label="a check failed",
        )  # fmt: skip
    if analysis.plateau:
        plateau = analysis.plateau
        ax.axhline(plateau.threshold, color=GREY, linestyle=":", label=f"{1 - plateau.tolerance:.0%} of the best")
        ax.axvline(plateau.pool_size, color=ORANGE, label=f"plateau: {count(plateau.pool_size, 'connection')}")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("throughput (transactions/s)")
    ax.legend(loc="lower right")
    return _pool_size_axis(ax, sizes)


def plot_latency(ax: Axes, analysis: Analysis) -> Axes:
    """Percentiles of the total latency, wait and usage together, against pool size."""
    sizes = [size.pool_size for size in analysis.sizes]
    for name, colour in LEVELS.items():
        values = [getattr(size.total, name) for size in analysis.sizes]
        ax.plot(sizes, values, color=colour, marker="o", label=name)
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


def figure(analysis: Analysis) -> Figure:
    """The three plots below each other, titled with what was measured."""
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(7.2, 9.6), layout="constrained")
        for ax, plot in zip(drawn.subplots(3), (plot_throughput, plot_latency, plot_wait_and_usage), strict=True):
            plot(ax, analysis)
        setting = analysis.setting
        drawn.suptitle(f"{setting.plan.workload} on {setting.subject}, {count(setting.plan.users, 'user')}")
    return drawn


def save_figure(analysis: Analysis, path: Path) -> None:
    """Draw the run to a file; its ending says the format. Raises BadInput where that can't be done."""
    try:
        with mpl.rc_context(STYLE):
            figure(analysis).savefig(path, dpi=144)
    except OSError as error:
        raise BadInput(f"--plot {path} can't be written: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"--plot {path}: name a .png or an .svg file") from None


def _pool_size_axis(ax: Axes, sizes: list[int]) -> Axes:
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("pool size (connections)")
    return ax
