"""Bimodal usage times: short and long transactions that share a pool, by their tasks or by their distribution."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from poolsize.analysis.stats.percentiles import recorded
from poolsize.analysis.vector import Vector

PER_DOUBLING = 4
"""Classes of the density in each doubling of the time."""
LEAST_RATIO = 4.0
"""Two modes whose means differ by less than this factor can share a pool."""
VALLEY = 0.25
"""Between two modes the density falls below this share of the lower mode's peak."""
LEAST_LONG_SHARE, MOST_LONG_SHARE = 0.02, 0.5
"""Shares of all transactions: fewer long transactions are outliers, and more are the pool's main load."""
FEWEST_TRANSACTIONS = 200
"""With fewer transactions, no modes are looked for."""
MOSTLY = 0.5
"""Share of a long mode that another cause explains, or that another pool size must have, to count."""


@dataclass(frozen=True)
class Mode:
    """The transactions around a mode.

    share: their share of all transactions. usage_ms: their mean usage time. kinds: names of their tasks; empty for a
    workload with one task.
    """

    share: float
    usage_ms: float
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class TransactionPool:
    """The pool for short or for long transactions. kind: share and mean usage time of its transactions."""

    pool_size: int
    kind: Mode


@dataclass(frozen=True)
class BimodalUsage:
    """Usage times with two modes: short transactions, and fewer long ones."""

    short: Mode
    long: Mode

    def pools(self, connections: int) -> tuple[TransactionPool, TransactionPool]:
        """Return a pool for short and a pool for long transactions.

        connections: of a pool for all transactions. When all of them are busy, short and long transactions use them in
        proportion to share x usage time. Each of the two pools is as small as possible with a utilisation below 1 then.
        Together they have one or two connections more.
        """
        short, long = self.short.share * self.short.usage_ms, self.long.share * self.long.usage_ms
        busy_short = connections * short / (short + long)
        for_short, for_long = (floor(round(busy, 9)) + 1 for busy in (busy_short, connections - busy_short))
        return TransactionPool(for_short, self.short), TransactionPool(for_long, self.long)


def bimodal_kinds(kinds: Mapping[str, tuple[int, float]]) -> BimodalUsage | None:
    """Return the short and the long tasks of a workload, or None where no long tasks differ from the others.

    kinds: task -> its number of transactions and their mean usage time, ms. The tasks are divided where neighbouring
    usage times differ by the largest factor. Shares and the ratio of the two means are bounded as in bimodal_usage.
    """
    used = {name: kind for name, kind in kinds.items() if kind[0] and kind[1] > 0}
    names = sorted(used, key=lambda name: used[name][1])
    transactions = sum(number for number, _ in used.values())
    if len(names) < 2 or transactions < FEWEST_TRANSACTIONS:
        return None
    bound = max(range(1, len(names)), key=lambda place: used[names[place]][1] / used[names[place - 1]][1])
    modes = []
    for part in (names[:bound], names[bound:]):
        number = sum(used[name][0] for name in part)
        usage_ms = sum(used[name][0] * used[name][1] for name in part) / number
        modes.append(Mode(number / transactions, usage_ms, tuple(part)))
    return _bimodal(*modes)


def _bimodal(short: Mode, long: Mode) -> BimodalUsage | None:
    """Return both modes, or None where they are too similar, or the long transactions too few or too many."""
    separate = long.usage_ms >= LEAST_RATIO * short.usage_ms
    long_are_few = LEAST_LONG_SHARE <= long.share <= MOST_LONG_SHARE
    return BimodalUsage(short, long) if separate and long_are_few else None


def bimodal_usage(usage: HdrHistogram) -> BimodalUsage | None:
    """Return the short and the long mode of usage times, or None where the usage times are not bimodal.

    usage: histogram of microseconds. Usage times are bimodal if a deep valley separates long from short transactions,
    2 to 50 % of all are long, and the two means differ by a factor of 4 or more. None with fewer than 200 transactions.
    """
    lowest, _, counts = recorded(usage)
    values, numbers = lowest.astype(float), counts.astype(float)
    if numbers.sum() < FEWEST_TRANSACTIONS:
        return None
    classes = np.floor(np.log2(values) * PER_DOUBLING).astype(int)
    density = np.asarray(np.bincount(classes - classes.min(), weights=numbers), float)
    valley = _valley(np.convolve(density, [0.25, 0.5, 0.25], mode="same"))
    if valley is None:
        return None
    boundary_us = float(2 ** ((valley + classes.min() + 0.5) / PER_DOUBLING))
    return _bimodal(_mode(values, numbers, values < boundary_us), _mode(values, numbers, values >= boundary_us))


def _mode(values_us: Vector, numbers: Vector, part: NDArray[np.bool_]) -> Mode:
    """Return the mode of a part of the histogram's classes. numbers: transactions in each class."""
    mean_us = float(np.average(values_us[part], weights=numbers[part]))
    return Mode(float(numbers[part].sum() / numbers.sum()), mean_us / 1000)


def _valley(density: Vector) -> int | None:
    """Return the class with the lowest density relative to the lower of the peaks on its two sides.

    None where no such density is below VALLEY with LEAST_LONG_SHARE of the transactions on either side.
    """
    lowest: tuple[float, int] | None = None
    for place in range(1, len(density) - 1):
        lower_peak = min(density[:place].max(), density[place + 1 :].max())
        relative = density[place] / lower_peak if lower_peak else 1.0
        enough = min(density[:place].sum(), density[place + 1 :].sum()) >= LEAST_LONG_SHARE * density.sum()
        if enough and relative < VALLEY and (lowest is None or relative < lowest[0]):
            lowest = (relative, place)
    return None if lowest is None else lowest[1]
