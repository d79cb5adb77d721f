"""The warm-up's end by MSER-5, a rule instead of an eye.

White (1997) and Spratt (1998): cut the batches of five whose removal makes the standard error of the remaining
mean smallest; look no further than the middle, for a minimum beyond it means that the series never settled.
"""

from collections.abc import Sequence

import numpy as np

BATCH = 5


def warm_up_seconds(series: Sequence[float], floor: int) -> int:
    """How many leading seconds not to count, at least floor.

    series: one value a second. Batches are laid from the end, so that the last seconds always count.
    """
    seconds = np.asarray(series, float)
    batches = len(seconds) // BATCH
    if batches < 3:
        return floor
    odd = len(seconds) - batches * BATCH
    means = seconds[odd:].reshape(batches, BATCH).mean(axis=1)
    errors = [float(means[cut:].var()) / (batches - cut) for cut in range(batches // 2 + 1)]
    cut = int(np.argmin(errors))
    return max(floor, odd + cut * BATCH if cut else 0)
