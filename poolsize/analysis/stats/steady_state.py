"""Steady state: where the warm-up of a series ends, and whether the remaining seconds drift.

MSER in batches (White, 1997; Spratt, 1998): cut the leading batches whose removal makes the standard error of the
remaining mean smallest. The cut is never beyond the middle: a minimum there means that the series never settled.
"""

from collections.abc import Sequence

import numpy as np

BATCH = 2
"""Seconds of a batch. Spratt's MSER-5 has five values a batch, and so few are left of a step of ten seconds."""
DRIFT = 0.1
"""Share of the mean: two halves that differ by more, and by more than chance, are not in one steady state."""
HEAD = 0.05
"""Leading seconds are cut only if their mean differs by more than this share from the remaining seconds' mean."""
JUMP = 0.25
"""Share of the mean: two halves that differ by more, and by more than their seconds scatter, are two states.

A straight line through such seconds would take the jump for noise around the line.
"""
CERTAIN = 4.0
"""A change of more standard errors is not chance. The number is high: few seconds estimate their correlation badly."""
FEWEST_SECONDS = 4


def warm_up_seconds(series: Sequence[float], floor: int) -> int:
    """Return the number of leading seconds that are warm-up, at least floor.

    series: one value a second. Batches are counted from the end, so the last seconds always count. The leading
    seconds must differ from the others by more than 5 %: with few batches, MSER alone would cut noise.
    """
    seconds = np.asarray(series, float)
    batches = len(seconds) // BATCH
    if batches < 3:
        return floor
    incomplete = len(seconds) - batches * BATCH
    means = seconds[incomplete:].reshape(batches, BATCH).mean(axis=1)
    errors = [float(means[cut:].var()) / (batches - cut) for cut in range(batches // 2 + 1)]
    best = int(np.argmin(errors))
    cut = incomplete + best * BATCH
    head, tail = seconds[floor:cut], seconds[max(floor, cut) :]
    if not best or not len(head) or abs(head.mean() - tail.mean()) <= HEAD * tail.mean():
        return floor
    return cut


def drift(counted: Sequence[float]) -> float:
    """Return the change from the first half of the seconds to the second, a share of the mean; 0 if it may be chance.

    Halves with a jump between them are compared by their means; all others by a straight line through the seconds.
    The standard error of the line's slope respects the lag-1 correlation of the residuals.
    """
    seconds = np.asarray(counted, float)
    if len(seconds) < FEWEST_SECONDS or not seconds.any():
        return 0.0
    time = np.arange(len(seconds)) - (len(seconds) - 1) / 2
    slope = float(time @ seconds / (time @ time))
    residuals = seconds - seconds.mean() - slope * time
    squares = float(residuals @ residuals)
    lag_one = float(np.clip(residuals[1:] @ residuals[:-1] / squares, 0.0, 0.9)) if squares else 0.0
    error = float(np.sqrt(squares / (len(seconds) - 2) * (1 + lag_one) / (1 - lag_one) / (time @ time)))
    middle = len(seconds) // 2
    halves = seconds[:middle], seconds[middle:]
    jump = float(halves[1].mean() - halves[0].mean())
    scatter = float(np.sqrt(sum(half.var() / len(half) for half in halves)))
    if abs(jump) > max(JUMP * seconds.mean(), CERTAIN * scatter):
        return jump / float(seconds.mean())
    change = slope * len(seconds) / 2 / float(seconds.mean())
    return change if abs(change) > DRIFT and abs(slope) > CERTAIN * error else 0.0
