"""How the departures from the pool's queue vary: what the measured wait times say.

Without think time, the queue's length is always the same: users less pool size. The wait time is then the time of so
many departures, and its spread is theirs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, log2

import numpy as np
from hdrh.histogram import HdrHistogram

from poolsize.analysis.by_size import BySize
from poolsize.analysis.models.waits import Departures
from poolsize.analysis.stats.percentiles import quantiles

LEVELS = 1000
"""Quantiles that are read from a histogram of wait times."""
QUARTILES = 1.349
"""Distance of a normal distribution's quartiles, in standard deviations."""
FAR = 5
"""Wait times met a pause if they exceed the median by more than this number of standard deviations."""
FEW = 0.002
"""A smaller share of such wait times is no evidence of pauses."""


@dataclass(frozen=True)
class MeasuredDepartures:
    """The departures by measured pool size, ascending, at least one size."""

    by_pool_size: Mapping[int, Departures]

    def at(self, pool_size: int) -> Departures:
        """Return the departures at a pool size, interpolated between the measured sizes over log2 of the size.

        Beyond the measured sizes they are those of the nearest.
        """
        places = [log2(measured) for measured in self.by_pool_size]
        departures = self.by_pool_size.values()
        figures = [(log(each.variability), each.pauses_per_ms, each.pause_ms) for each in departures]
        variability, per_ms, pause_ms = (
            float(np.interp(log2(pool_size), places, values)) for values in zip(*figures, strict=True)
        )
        return Departures(float(np.exp(variability)), per_ms, pause_ms)

    def without(self, pool_size: int) -> "MeasuredDepartures":
        """Return the departures without those of a pool size, where there are others."""
        others = {size: departures for size, departures in self.by_pool_size.items() if size != pool_size}
        return MeasuredDepartures(others) if others else self


def measured_departures(by_size: BySize) -> MeasuredDepartures | None:
    """Return the departures of a run without think time; None where no valid size has users that wait."""
    departures = {}
    for size in by_size.valid:
        ahead = by_size.steps[size.pool_size][0].users - size.pool_size
        waits = by_size.histogram("wait", size.pool_size)
        if ahead > 0 and waits is not None and size.throughput.mean:
            departures[size.pool_size] = _departures(waits, ahead, size.throughput.mean / 1000)
    return MeasuredDepartures(departures) if departures else None


def _departures(waits: HdrHistogram, number: int, rate: float) -> Departures:
    """Return the departures of which a number take the wait times. rate: departures per millisecond."""
    times_ms = quantiles(waits, ((np.arange(LEVELS) + 0.5) / LEVELS).tolist()) / 1000
    low, median, high = np.quantile(times_ms, [0.25, 0.5, 0.75])
    spread_ms = max((high - low) / QUARTILES, np.finfo(float).tiny)
    paused = times_ms > median + FAR * spread_ms
    pauses_per_ms = pause_ms = 0.0
    if paused.mean() >= FEW:
        pauses_per_ms = -log(1 - float(paused.mean())) * rate / number
        pause_ms = float(times_ms[paused].mean() - median)
    own_rate = rate / (1 - Departures(1.0, pauses_per_ms, pause_ms).paused_share)
    variability = max(float((spread_ms * own_rate) ** 2 / number), float(np.finfo(float).tiny))
    return Departures(variability, pauses_per_ms, pause_ms)
