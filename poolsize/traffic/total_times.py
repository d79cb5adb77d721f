"""The total time (wait + usage) of requests that arrive at random and share one pool of the database's connections.

Usage times grow with the connections in use (database_load). A request that finds a free connection has the usage time
with one more in use. A request that finds none waits, and then has the usage time of a full pool. Its wait time is
exponential, with the mean of the birth-death process times (1 + variability of the departures) / 2 (Allen and Cunneen;
Allen 1990). tests/unit/test_total_times.py holds the bounds of the errors.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from scipy.optimize import brentq

from poolsize.analysis.size_summary import BySize
from poolsize.analysis.stats.percentiles import quantiles
from poolsize.analysis.vector import Vector
from poolsize.traffic.database_load import database_load
from poolsize.traffic.wait_times import Departures, MeasuredDepartures

_EDGES = np.append(np.logspace(0, -5, 501), 0.0)
BEYOND: Vector = (_EDGES[:-1] + _EDGES[1:]) / 2
"""Shares of the requests with a longer usage time, at which a distribution of usage times is known."""
WEIGHTS: Vector = _EDGES[:-1] - _EDGES[1:]
"""Shares of the requests around each of them."""


def usage_distribution(usage: HdrHistogram | None) -> Vector:
    """Return the usage times at BEYOND, ascending, as multiples of their mean. usage: None for exponential times."""
    times = -np.log(BEYOND) if usage is None else quantiles(usage, (1 - BEYOND).tolist())
    return np.asarray(times / (WEIGHTS @ times))


def usage_distributions(by_size: BySize) -> dict[int, Vector]:
    """Return the distributions of a run's usage times by measured pool size; empty where it does not know them."""
    histograms = {size.pool_size: by_size.histogram("usage", size.pool_size) for size in by_size.valid}
    return {size: usage_distribution(times) for size, times in histograms.items() if times is not None}


@dataclass(frozen=True)
class SharedPool:
    """What is known of a database and of the usage times of its connections.

    rates: requests per second that it completes with 1, 2, ... connections in use. usage: connections in use -> the
    distribution of the usage times with as many; not empty. departures: None for exponential times between them.
    """

    rates: Vector
    usage: Mapping[int, Vector]
    departures: MeasuredDepartures | None = None

    def total_ms(self, pool_size: int, rate: float, shares: tuple[float, ...]) -> tuple[float, ...] | None:
        """Return the total times that these shares of the requests do not exceed; None where the pool can't keep up.

        rate: requests per second.
        """
        rates = self.rates[:pool_size]
        load = database_load(rates, rate)
        if load is None:
            return None
        in_use, full = np.arange(1, len(rates) + 1), len(rates) - 1
        usage_ms = 1000 * in_use / rates
        sizes = np.array(list(self.usage))
        nearest = sizes[np.abs(np.log(in_use[:, None] / sizes)).argmin(axis=1)]
        when_full_ms = usage_ms[full] * self.usage[int(nearest[full])]
        variability = (self.departures.at(pool_size) if self.departures else Departures()).variability
        wait_ms = 1000 / (rates[full] - rate) * (1 + variability) / 2

        def longer(time_ms: float) -> float:
            share = load.in_use[-1] * (WEIGHTS @ np.exp(-np.maximum(0, time_ms - when_full_ms) / wait_ms))
            for size, distribution in self.usage.items():
                numbers = nearest == size
                times = time_ms / usage_ms[numbers]
                share += load.in_use[:-1][numbers] @ np.interp(times, distribution, BEYOND, left=1.0, right=0.0)
            return float(share)

        def exceeded_by(beyond: float) -> float:
            high_ms = usage_ms[full]
            while longer(high_ms) > beyond:
                high_ms *= 2
            return float(brentq(lambda time_ms: longer(time_ms) - beyond, 0.0, high_ms))

        return tuple(exceeded_by(1 - share) for share in shares)
