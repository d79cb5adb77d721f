"""Plots of a prediction: its throughput and latency against pool size."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from poolsize.predict.prediction import Prediction
from poolsize.present.plots.axes import THROUGHPUT, Draw, below_each_other, legend_above, pool_size_axis, rate_axis
from poolsize.present.plots.curves import plot_percentiles
from poolsize.units import count


def prediction_figure(prediction: Prediction) -> Figure:
    """Return a figure of a prediction: throughput and latency, below each other. Its title names the users."""
    totals = {size.pool_size: size.total for size in prediction.sizes}
    draws: list[Draw] = [lambda ax: plot_prediction(ax, prediction), lambda ax: plot_percentiles(ax, totals)]
    return below_each_other(draws, f"predicted for {count(prediction.users, 'user')}")


def plot_prediction(ax: Axes, prediction: Prediction) -> Axes:
    """Draw predicted throughput per second, and measured throughput at the sizes where it is known. Returns ax."""
    sizes = [size.pool_size for size in prediction.sizes]
    ax.plot(sizes, [size.throughput for size in prediction.sizes], color=THROUGHPUT, linestyle="--", label="predicted")
    measured = [(size.pool_size, size.measured) for size in prediction.sizes if size.measured is not None]
    if measured:
        ax.plot(*zip(*measured, strict=True), color=THROUGHPUT, linestyle="none", marker="o", label="measured")
    rate_axis(ax)
    legend_above(ax, 2)
    return pool_size_axis(ax, sizes)
