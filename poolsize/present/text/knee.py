"""The fitted curve in letters, for a terminal."""

from math import log
from typing import TYPE_CHECKING

from poolsize.units import number, per_second

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from collections.abc import Sequence

    from poolsize.analysis.analysis import Analysis

WIDTH, HEIGHT = 60, 8
NARROWEST, BESIDE = 14, 26
"""Columns of the narrowest curve, and of what stands beside a curve: the label on its left, a word on its right."""
EIGHTHS = " ▁▂▃▄▅▆▇█"
"""A letter for each eighth of a line's height."""


def knee_text(analysis: "Analysis", width: int | None = None) -> str:
    """Return the fitted curve as lines of letters: throughput from 0 over log2 of the pool size.

    width: columns that the lines may have; None for all that the curve needs.

    Two lines below the curve show the valid pool sizes, and the plateau's start (^) with its 95 % range (~). Empty for
    a run without a curve, and for a single size.
    """
    curve, plateau = analysis.curve, analysis.plateau
    if curve is None or plateau is None or len(curve.sizes) < 2:
        return ""
    smallest, largest = curve.sizes[0], curve.sizes[-1]

    def column(size: float) -> int:
        return round((columns - 1) * log(size / smallest) / log(largest / smallest))

    columns = WIDTH if width is None else min(WIDTH, max(NARROWEST, width - BESIDE))
    rates = [curve.at(smallest * (largest / smallest) ** (place / (columns - 1))) for place in range(columns)]
    label = per_second(plateau.capacity)
    labels = [label] + [" " * len(label)] * (HEIGHT - 1)
    margin = " " * (len(label) + 2)
    size_labels = _row({column(size.pool_size): number(size.pool_size) for size in analysis.valid_sizes})
    low, start, high = map(column, (plateau.low, plateau.pool_size, plateau.high))
    marks = " " * low + "~" * (high - low + 1)
    marks = f"{marks[:start]:<{start}}^{marks[start + 1 :]}"
    return "\n".join(
        [
            *(f"{label} |{line}" for label, line in zip(labels, _curve_lines(rates), strict=True)),
            f"{margin}{size_labels}  connections",
            f"{margin}{marks}{_meaning(len(margin) + len(marks), width, is_range=low < high)}",
        ]
    )


def _meaning(used: int, width: int | None, *, is_range: bool) -> str:
    """Return what the marks mean. used: columns of the line before it. width: of the terminal, or None."""
    text = "  plateau's start and its 95 % range" if is_range else "  plateau's start"
    return text if width is None or used + len(text) <= width else "  plateau"


def _curve_lines(rates: "Sequence[float]") -> list[str]:
    """Return the lines of the curve from the top down, one letter a rate."""
    top = max(rates)
    heights = [round(8 * HEIGHT * rate / top) for rate in rates]
    return [
        "".join(EIGHTHS[min(8, max(0, height - 8 * row))] for height in heights).rstrip()
        for row in reversed(range(HEIGHT))
    ]


def _row(labels: dict[int, str]) -> str:
    """Return a line with labels at their columns, left out where they would touch the label before."""
    row = ""
    for place, label in sorted(labels.items()):
        if not row or place > len(row):
            row = row.ljust(place) + label
    return row
