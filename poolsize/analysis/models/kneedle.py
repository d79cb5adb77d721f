"""Kneedle: the knee of a curve, on the scale of the measured range.

Satopaa, Albrecht, Irwin and Raghavan (2011), "Finding a 'Kneedle' in a Haystack". Both axes are scaled to 0..1. The
knee is the point furthest above the diagonal. The curve must then fall towards the diagonal by the mean distance of
two sizes (sensitivity 1). The knee depends on the range: it moves when more sizes are measured. A straight line has no
knee.
"""

from collections.abc import Sequence

import numpy as np

FEWEST_SIZES = 3
"""With fewer sizes a curve has no knee."""


def knee(sizes: Sequence[float], throughput: Sequence[float]) -> int | None:
    """Return the pool size at the knee of a rising, flattening curve; None where the curve has no knee.

    sizes: ascending. throughput: one value a size, in any unit.
    """
    numbers, rates = np.asarray(sizes, float), np.asarray(throughput, float)
    if len(numbers) < FEWEST_SIZES or rates.min() == rates.max():
        return None
    above = (rates - rates.min()) / np.ptp(rates) - (numbers - numbers[0]) / np.ptp(numbers)
    before, after = np.r_[above[0], above[:-1]], np.r_[above[1:], above[-1]]
    peak, threshold = None, 0.0
    for place in range(len(above) - 1):
        if above[place] >= max(before[place], after[place]):
            peak, threshold = place, above[place] - 1 / (len(above) - 1)
        if above[place] <= min(before[place], after[place]):
            peak = None  # after a dip, only a later peak can be the knee
        if peak is not None and above[place + 1] < threshold:
            return round(float(numbers[peak]))
    return None
