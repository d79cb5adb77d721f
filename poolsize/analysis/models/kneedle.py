"""Kneedle: where a curve turns most, on the scale of what was measured.

Satopaa, Albrecht, Irwin and Raghavan, "Finding a 'kneedle' in a haystack" (2011). On axes from 0 to 1 the knee is where
the curve is furthest above the diagonal, once it has come back by the mean distance of two sizes (a sensitivity of 1).
It depends on the range: measure further and it moves, and a curve without a bend has none.
"""

from collections.abc import Sequence

import numpy as np

FEWEST = 3


def knee(sizes: Sequence[float], throughput: Sequence[float]) -> int | None:
    """The pool size at the knee of a rising, flattening curve, or None where there is none. sizes: ascending."""
    places, rates = np.asarray(sizes, float), np.asarray(throughput, float)
    if len(places) < FEWEST or rates.min() == rates.max():
        return None
    above = (rates - rates.min()) / np.ptp(rates) - (places - places[0]) / np.ptp(places)
    before, after = np.r_[above[0], above[:-1]], np.r_[above[1:], above[-1]]
    peak, threshold = None, 0.0
    for place in range(len(above) - 1):
        if above[place] >= max(before[place], after[place]):
            peak, threshold = place, above[place] - 1 / (len(above) - 1)
        if above[place] <= min(before[place], after[place]):
            peak = None  # past a dip nothing is a knee before the next peak
        if peak is not None and above[place + 1] < threshold:
            return round(float(places[peak]))
    return None
