"""The fitted curve in letters, for a terminal."""

from math import log

from poolsize.analysis.analysis import Analysis
from poolsize.units import number, per_second

WIDTH, HEIGHT = 60, 8
NARROWEST, BESIDE = 14, 26
"""Columns of the narrowest curve, and of what stands beside a curve: the label on its left, a word on its right."""
EIGHTHS = " ▁▂▃▄▅▆▇█"
"""A letter for each eighth of a line's height."""


def knee_text(analysis: Analysis, width: int | None = None) -> str:
    """Return the fitted curve as lines of letters: throughput from 0 over log2 of the pool size.

    Two lines below the curve show the valid pool sizes, and the plateau's start (^) with its 95 % range (~). Empty for
    a run without a curve, and for a single size. width: columns that the lines may have; None for all they need.
    """
    curve, plateau = analysis.curve, analysis.plateau
    if curve is None or plateau is None or len(curve.sizes) < 2:
        return ""
    smallest, largest = curve.sizes[0], curve.sizes[-1]

    def column(size: float) -> int:
        return round((columns - 1) * log(size / smallest) / log(largest / smallest))

    columns = WIDTH if width is None else min(WIDTH, max(NARROWEST, width - BESIDE))
    rates = [curve.at(smallest * (largest / smallest) ** (place / (columns - 1))) for place in range(columns)]
    heights = [round(8 * HEIGHT * rate / max(rates)) for rate in rates]
    label = per_second(plateau.capacity)
    margin = " " * (len(label) + 2)
    lines = []
    for row in reversed(range(HEIGHT)):
        letters = "".join(EIGHTHS[min(8, max(0, height - 8 * row))] for height in heights).rstrip()
        lines.append(f"{label if row == HEIGHT - 1 else '':{len(label)}} |{letters}")
    sizes = {column(each.pool_size): number(each.pool_size) for each in analysis.valid_sizes}
    lines.append(f"{margin}{_row(sizes)}  connections")
    ends = (plateau.pool_size,) * 2 if analysis.setting.means_only else (plateau.low, plateau.high)
    low, start, high = map(column, (ends[0], plateau.pool_size, ends[1]))
    marks = margin + " " * low + "~" * (high - low + 1)
    start += len(margin)
    marks = f"{marks[:start]:<{start}}^{marks[start + 1 :]}"
    meaning = "  plateau's start and its 95 % range" if low < high else "  plateau's start"
    lines.append(marks + (meaning if width is None or len(marks) + len(meaning) <= width else "  plateau"))
    return "\n".join(lines)


def _row(labels: dict[int, str]) -> str:
    """Return a line with labels at their columns, left out where they would touch the label before."""
    row = ""
    for place, label in sorted(labels.items()):
        if not row or place > len(row):
            row = row.ljust(place) + label
    return row
