"""Throughput against pool size: the knee, and who says where it is."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from poolsize.analysis.analysis import Analysis
from poolsize.answer.prediction import Prediction
from poolsize.present.plots.axes import BLUE, GREEN, GREY, INK_OF, ORANGE, band, legend_above, pool_size_axis, rate_axis
from poolsize.present.text.estimator_sizes import said
from poolsize.units import number, percent

ROW = 0.065
"""Height of a mark's line, as a share of the axes."""


def plot_throughput(ax: Axes, analysis: Analysis, marks: Mapping[str, int] | None = None) -> Axes:
    """Throughput per second: what was measured, the curve through it with its band, the plateau with its range.

    Below the curve every estimator's size is marked, and the formula's. marks: further sizes by their names, such as
    {"current": 40}.
    """
    sizes = [size.pool_size for size in analysis.sizes]
    if analysis.curve:
        band(ax, analysis.curve, BLUE, "95 % of curves")
        ax.plot(analysis.curve.sizes, analysis.curve.mean, color=BLUE, label="through all steps")
    for valid, face, label in ((True, BLUE, "measured"), (False, "white", "a check failed")):
        shown = [size for size in analysis.sizes if size.passed_all_checks is valid]
        if shown:
            ax.plot(
                [size.pool_size for size in shown], [size.throughput.mean for size in shown],
                linestyle="none", marker="o", markerfacecolor=face, markeredgecolor=BLUE, label=label,
            )  # fmt: skip
    if plateau := analysis.plateau:
        ax.axhline(plateau.threshold, color=GREY, linestyle=":", label=f"{percent(1 - plateau.tolerance)} of the best")
        ax.axvspan(plateau.low, plateau.high, color=ORANGE, alpha=0.15, linewidth=0, label="plateau's range")
        ax.axvline(plateau.pool_size, color=ORANGE)
        _mark(ax, (sizes[0], sizes[-1]), said(analysis), marks or {})
    rate_axis(ax)
    legend_above(ax, 2)
    return pool_size_axis(ax, sizes)


def plot_prediction(ax: Axes, prediction: Prediction) -> Axes:
    """Predicted throughput per second, and what was measured where nothing is different."""
    sizes = [one.pool_size for one in prediction.sizes]
    ax.plot(sizes, [one.throughput for one in prediction.sizes], color=BLUE, marker="o", label="predicted")
    measured = [(one.pool_size, one.measured) for one in prediction.sizes if one.measured is not None]
    if measured:
        ax.plot(*zip(*measured, strict=True), color=ORANGE, linestyle="none", marker="x", label="measured")
    rate_axis(ax)
    legend_above(ax, 2)
    return pool_size_axis(ax, sizes)


def _mark(ax: Axes, ends: tuple[int, int], said: Mapping[str, int], marks: Mapping[str, int]) -> None:
    """One line each, under the curve; an arrow where the size lies outside of what was measured."""
    middle = np.sqrt(ends[0] * ends[1])
    across = ax.get_xaxis_transform()
    for row, (name, size) in enumerate(reversed(list({**said, **marks}.items()))):
        place = float(np.clip(size, *ends))
        height = ROW * (row + 0.6)
        colour = {"plateau": ORANGE, "formula": GREY}.get(name, "black" if name in marks else GREEN)
        beyond = "" if place == size else " →" if size > place else " ←"
        ax.plot([place], [height], marker="D", markersize=4, color=colour, transform=across, clip_on=False, zorder=5)
        left = place > middle
        ax.annotate(
            f"{name} {number(size)}{beyond}", (place, height), xycoords=across, textcoords="offset points",
            xytext=(-6 if left else 6, 0), ha="right" if left else "left", va="center", fontsize=8,
            color=INK_OF.get(colour, colour),
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )  # fmt: skip
