"""Bimodal usage times: short and long transactions in one pool, as two separate modes of one distribution."""

from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from poolsize.analysis.stats.percentiles import recorded
from poolsize.analysis.vector import Vector

PER_DOUBLING = 4
"""Classes of the density to a doubling of the time."""
LEAST_RATIO = 4.0
"""Two modes whose means differ by less than this factor may as well share a pool."""
VALLEY = 0.25
"""Between two modes the density falls below this share of the lower mode's top."""
LEAST_LONG_SHARE, MOST_LONG_SHARE = 0.02, 0.5
"""Share of long transactions: fewer are accidents, and for more of them the pool is made."""
FEWEST = 200
"""Transactions."""


@dataclass(frozen=True)
class Mode:
    """The transactions around one mode. share: of all transactions. usage_ms: mean usage time."""

    share: float
    usage_ms: float


@dataclass(frozen=True)
class BimodalUsage:
    """Usage times with two modes: short transactions, and fewer long ones."""

    short: Mode
    long: Mode

    def pools(self, connections: int) -> tuple[int, int]:
        """Return the connections of a pool for short and of one for long transactions, at least 1 each.

        The connections are divided in proportion to share x usage time.
        """
        short, long = self.short.share * self.short.usage_ms, self.long.share * self.long.usage_ms
        for_short = round(connections * short / (short + long))
        for_short = min(max(1, for_short), max(1, connections - 1))
        return for_short, max(1, connections - for_short)


def bimodal_usage(usage: HdrHistogram) -> BimodalUsage | None:
    """Return the two modes of usage times, or None where there is one mode or more than two.

    usage: histogram of microseconds. Fewer than 200 transactions have no modes.
    """
    lowest, _, counts = recorded(usage)
    values, numbers = lowest.astype(float), counts.astype(float)
    if numbers.sum() < FEWEST:
        return None
    classes = np.floor(np.log2(values) * PER_DOUBLING).astype(int)
    density = np.asarray(np.bincount(classes - classes.min(), weights=numbers), float)
    valley = _valley(np.convolve(density, [0.25, 0.5, 0.25], mode="same"))
    if valley is None:
        return None
    boundary_us = float(2 ** ((valley + classes.min() + 0.5) / PER_DOUBLING))
    short, long = _mode(values, numbers, values < boundary_us), _mode(values, numbers, values >= boundary_us)
    separate = long.usage_ms >= LEAST_RATIO * short.usage_ms
    long_are_few = LEAST_LONG_SHARE <= long.share <= MOST_LONG_SHARE
    return BimodalUsage(short, long) if separate and long_are_few else None


def _mode(values_us: Vector, numbers: Vector, part: NDArray[np.bool_]) -> Mode:
    mean_us = float(np.average(values_us[part], weights=numbers[part]))
    return Mode(float(numbers[part].sum() / numbers.sum()), mean_us / 1000)


def _valley(density: Vector) -> int | None:
    """Return the class that is deepest against the lower of the tops on its two sides, or None."""
    deepest: tuple[float, int] | None = None
    for place in range(1, len(density) - 1):
        lower_top = min(density[:place].max(), density[place + 1 :].max())
        depth = density[place] / lower_top if lower_top else 1.0
        enough = min(density[:place].sum(), density[place + 1 :].sum()) >= LEAST_LONG_SHARE * density.sum()
        if enough and depth < VALLEY and (deepest is None or depth < deepest[0]):
            deepest = (depth, place)
    return None if deepest is None else deepest[1]
