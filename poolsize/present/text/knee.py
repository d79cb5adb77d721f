"""The throughput curve in letters, for a terminal."""

from math import log
from typing import TYPE_CHECKING

from poolsize.units import number, per_second

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis

WIDTH, HEIGHT = 60, 8
EIGHTHS = " ▁▂▃▄▅▆▇█"


def knee_text(analysis: "Analysis") -> str:
    """Throughput over log2 of the pool size, from 0 at the bottom, with the plateau marked; empty without a curve."""
    curves, found = analysis.curve, analysis.plateau
    if curves is None or found is None or len(curves.sizes) < 2:
        return ""
    smallest, largest = curves.sizes[0], curves.sizes[-1]

    def column(size: float) -> int:
        return round((WIDTH - 1) * log(size / smallest) / log(largest / smallest))

    rates = [curves.at(smallest * (largest / smallest) ** (place / (WIDTH - 1))) for place in range(WIDTH)]
    top = max(rates)
    heights = [round(8 * HEIGHT * rate / top) for rate in rates]
    label = per_second(top)
    lines = [
        "".join(EIGHTHS[min(8, max(0, height - 8 * row))] for height in heights) for row in reversed(range(HEIGHT))
    ]
    drawn = [f"{label if not place else '':>{len(label)}} |{line.rstrip()}" for place, line in enumerate(lines)]
    sizes = _row({column(size.pool_size): number(size.pool_size) for size in analysis.valid_sizes})
    low, high = column(found.low), column(found.high)
    reach = " " * low + "~" * (high - low + 1)
    marked = f"{reach[: column(found.pool_size)]:<{column(found.pool_size)}}^{reach[column(found.pool_size) + 1 :]}"
    margin = " " * (len(label) + 2)
    return "\n".join(
        [*drawn, f"{margin}{sizes}  connections", f"{margin}{marked}  plateau{' and its range' if low < high else ''}"]
    )


def _row(labels: dict[int, str]) -> str:
    """Labels at their columns; one that would touch the one before is left out."""
    row = ""
    for place, label in sorted(labels.items()):
        if not row or place > len(row):
            row = row.ljust(place) + label
    return row
