"""Kneedle: where a curve turns most, on the scale of what was measured.

Satopaa, Albrecht, Irwin and Raghavan, "Finding a 'kneedle' in a haystack" (2011), by the kneed library. The knee
depends on the range: measure further and it moves, and a curve without a bend has none.
"""

import warnings
from collections.abc import Sequence

FEWEST = 3


def knee(sizes: Sequence[float], throughput: Sequence[float]) -> int | None:
    """The pool size at the knee of a rising, flattening curve, or None where there is none. sizes: ascending."""
    from kneed import KneeLocator  # slow to import, and few commands ask for it

    if len(sizes) < FEWEST:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where there is no knee; that is an answer
        found = KneeLocator(list(sizes), list(throughput), curve="concave", direction="increasing").knee
    return None if found is None else round(float(found))
