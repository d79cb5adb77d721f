"""Short and long transactions in one pool: where the time that connections are held has two separate heaps."""

from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from poolsize.analysis.stats.percentiles import recorded
from poolsize.analysis.vector import Vector

PER_OCTAVE = 4
"""Classes of the histogram to a doubling of the time."""
APART = 4.0
"""Two kinds whose means differ by less than this factor may as well share a pool."""
VALLEY = 0.25
"""Between two heaps the density falls below this share of the lower one's top."""
FEWEST_SHARE, MOST_SHARE = 0.02, 0.5
"""Of the long ones: fewer are accidents, and more are what the pool is for."""
FEWEST = 200


@dataclass(frozen=True)
class Kind:
    """One kind of transactions: its share of all, and how long it holds a connection on average."""

    share: float
    usage_ms: float


@dataclass(frozen=True)
class TwoKinds:
    """Transactions that hold their connection for a short and, fewer of them, for a long time."""

    short: Kind
    long: Kind

    def pools(self, connections: int) -> tuple[int, int]:
        """The connections divided as the two kinds hold them: for the short and for the long ones, at least 1 each."""
        short, long = self.short.share * self.short.usage_ms, self.long.share * self.long.usage_ms
        for_short = round(connections * short / (short + long))
        for_short = min(max(1, for_short), max(1, connections - 1))
        return for_short, max(1, connections - for_short)


def two_kinds(usage: HdrHistogram) -> TwoKinds | None:
    """Two heaps of usage times (histogram of microseconds), or None where there is one, or more than two."""
    lowest, _, counts = recorded(usage)
    values, numbers = lowest.astype(float), counts.astype(float)
    if numbers.sum() < FEWEST:
        return None
    classes = np.floor(np.log2(values) * PER_OCTAVE).astype(int)
    density = np.asarray(np.bincount(classes - classes.min(), weights=numbers), float)
    valley = _valley(np.convolve(density, [0.25, 0.5, 0.25], mode="same"))
    if valley is None:
        return None
    parted_at = float(2 ** ((valley + classes.min() + 0.5) / PER_OCTAVE))
    short, long = _kind(values, numbers, values < parted_at), _kind(values, numbers, values >= parted_at)
    apart = long.usage_ms >= APART * short.usage_ms
    few_and_long = FEWEST_SHARE <= long.share <= MOST_SHARE
    return TwoKinds(short, long) if apart and few_and_long else None


def _kind(values: Vector, numbers: Vector, part: NDArray[np.bool_]) -> Kind:
    mean_us = float(np.average(values[part], weights=numbers[part]))
    return Kind(float(numbers[part].sum() / numbers.sum()), mean_us / 1000)


def _valley(density: Vector) -> int | None:
    """The deepest class between the two highest heaps, if it is deep against both."""
    best: tuple[float, int] | None = None
    for place in range(1, len(density) - 1):
        lower_top = min(density[:place].max(), density[place + 1 :].max())
        depth = density[place] / lower_top if lower_top else 1.0
        enough = min(density[:place].sum(), density[place + 1 :].sum()) >= FEWEST_SHARE * density.sum()
        if enough and depth < VALLEY and (best is None or depth < best[0]):
            best = (depth, place)
    return None if best is None else best[1]
