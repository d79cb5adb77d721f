"""Plots in a notebook, each with an alternative text."""

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.axes import Axes

WIDTH, HEIGHT = 7.2, 3.8
"""Inches of a plot in a notebook."""


@contextmanager
def picture(alt: str) -> Iterator[Axes]:
    """Yield the axes of a new plot; at the end of the context, show the plot. alt: its alternative text."""
    figure, ax = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    yield ax
    plt.close(figure)  # or the notebook shows the plot a second time
    display(figure, metadata={"image/png": {"alt": alt}})  # type: ignore[no-untyped-call]  # IPython has no types
