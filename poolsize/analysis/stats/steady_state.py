"""Where the warm-up ends, and whether what follows is of one piece: rules instead of an eye.

MSER-5 (White, 1997; Spratt, 1998): cut the batches of five whose removal makes the standard error of the remaining
mean smallest; look no further than the middle, for a minimum beyond it means that the series never settled.
"""

from collections.abc import Sequence

import numpy as np

BATCH = 5
DRIFT = 0.1
"""Two halves that differ by more than this share of their mean, and by more than chance allows, are not of one
steady state."""
HEAD = 0.05
"""Leading seconds whose mean is within this share of the rest's are no warm-up."""
JUMP = 0.25
"""Two halves that differ by more than this share, and by more than their seconds scatter, are of two states: a straight
line takes a step for its own error."""
CERTAIN = 4.0
"""Standard errors; few seconds know their own correlation badly."""
FEWEST_SECONDS = 4


def warm_up_seconds(series: Sequence[float], floor: int) -> int:
    """How many leading seconds not to count, at least floor.

    series: one value a second. Batches are laid from the end, so that the last seconds always count. A cut must take
    away something: with few batches the rule alone cuts noise, and picks the flattest part of it.
    """
    seconds = np.asarray(series, float)
    batches = len(seconds) // BATCH
    if batches < 3:
        return floor
    odd = len(seconds) - batches * BATCH
    means = seconds[odd:].reshape(batches, BATCH).mean(axis=1)
    errors = [float(means[cut:].var()) / (batches - cut) for cut in range(batches // 2 + 1)]
    best = int(np.argmin(errors))
    cut = odd + best * BATCH
    head, rest = seconds[floor:cut], seconds[max(floor, cut) :]
    if not best or not len(head) or abs(head.mean() - rest.mean()) <= HEAD * rest.mean():
        return floor
    return cut


def drift(counted: Sequence[float]) -> float:
    """By how much of the mean the second half of the seconds differs from the first; 0 within what chance does.

    Told from the halves themselves if they are far apart, else from a straight line through the seconds; what chance
    does to its slope, from how far they are from it and how much neighbours resemble each other.
    """
    seconds = np.asarray(counted, float)
    if len(seconds) < FEWEST_SECONDS or not seconds.any():
        return 0.0
    time = np.arange(len(seconds)) - (len(seconds) - 1) / 2
    slope = float(time @ seconds / (time @ time))
    rest = seconds - seconds.mean() - slope * time
    spread = float(rest @ rest)
    lag_one = float(np.clip(rest[1:] @ rest[:-1] / spread, 0.0, 0.9)) if spread else 0.0
    error = float(np.sqrt(spread / (len(seconds) - 2) * (1 + lag_one) / (1 - lag_one) / (time @ time)))
    middle = len(seconds) // 2
    halves = seconds[:middle], seconds[middle:]
    jump = float(halves[1].mean() - halves[0].mean())
    scatter = float(np.sqrt(sum(half.var() / len(half) for half in halves)))
    if abs(jump) > max(JUMP * seconds.mean(), CERTAIN * scatter):
        return jump / float(seconds.mean())
    change = slope * len(seconds) / 2 / float(seconds.mean())
    return change if abs(change) > DRIFT and abs(slope) > CERTAIN * error else 0.0
