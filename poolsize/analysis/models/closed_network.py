"""A closed queueing network: connections circulate between the load generator's processor and the server's.

A connection in use is at a station, or in a delay without a queue. The throughput with n connections is a ratio of
normalising constants, X(n) = G(n - 1) / G(n) (Gordon and Newell, 1967). Convolution computes the constants (Buzen,
1973).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from poolsize.analysis.vector import Vector

SMALLEST = 1e-280
"""Floats below this value lose digits."""
NEGLIGIBLE = 1e-12
"""Share of the slowest station's time below which a delay counts as none."""


@dataclass(frozen=True)
class Station:
    """A queue with equal servers.

    demand_ms: service demand of one transaction, in ms. servers: number of servers.
    slowdown: share by which service gets longer for each connection beyond the servers.
    scaling: n busy servers work n**scaling times as fast as 1 server; with a scaling of 1 they don't interfere.
    """

    demand_ms: float
    servers: int = 1
    slowdown: float = 0.0
    scaling: float = 1.0

    @property
    def highest_rate(self) -> float:
        """Transactions per millisecond with all servers busy and nothing in the queue. demand_ms must be above 0."""
        return float(self.servers**self.scaling) / self.demand_ms

    def with_servers(self, servers: int) -> "Station":
        """Return the station with another number of servers, of which interference takes the same share."""
        lost = (self.scaling - 1) * log(self.servers)
        return replace(self, servers=servers, scaling=1 + lost / log(servers) if servers > 1 else 1.0)


def throughputs(stations: Sequence[Station], delay_ms: float, population: int) -> Vector:
    """Return the transactions per millisecond with 1, 2, ..., population connections in the network.

    delay_ms: time of a transaction in the delay, in ms. At least one demand or the delay must be above 0.
    """
    return throughputs_at(stations, delay_ms, range(1, population + 1))


def throughputs_at(stations: Sequence[Station], delay_ms: float, populations: Sequence[int]) -> Vector:
    """Return the transactions per millisecond with these numbers of connections in the network, one value for each.

    For a few large numbers this is much quicker than `throughputs`. delay_ms: as there. populations: 1 or more each.
    """
    most = max(populations)
    used = [station for station in stations if station.demand_ms]
    slowest = max([station.demand_ms / station.servers**station.scaling for station in used] + [delay_ms / most])
    numbers = np.arange(most + 1)
    constants = np.where(numbers > 0, -np.inf, 0.0)
    if delay_ms > NEGLIGIBLE * slowest:
        constants = numbers * np.log(delay_ms / slowest) - gammaln(numbers + 1)
    for station in used[:-1]:
        constants = _convolved(constants, _weights(station, slowest, numbers), numbers)
    needed = np.unique([[number - 1, number] for number in populations])
    constants = _convolved(constants, _weights(used[-1], slowest, numbers), needed) if used else constants[needed]
    after = np.searchsorted(needed, populations)
    return np.asarray(np.exp(constants[after - 1] - constants[after]) / slowest)


def normalising_constants(stations: Sequence[Station], slowest_ms: float, population: int) -> Vector:
    """Return the logarithms of the normalising constants with 0, 1, ..., population connections, without a delay.

    stations: at least one, with a demand each. slowest_ms: the slowest station's demand by server.
    """
    numbers = np.arange(population + 1)
    constants = _weights(stations[0], slowest_ms, numbers)
    for station in stations[1:]:
        constants = _convolved(constants, _weights(station, slowest_ms, numbers), numbers)
    return np.asarray(constants + numbers * np.log(slowest_ms))


def _weights(station: Station, slowest: float, numbers: NDArray[np.int64]) -> Vector:
    """Return the logarithms of a station's factors in the normalising constants, with 0, 1, ... connections there."""
    speed = np.minimum(np.maximum(numbers, 1), station.servers) ** station.scaling
    slowdown = 1 + station.slowdown * np.maximum(numbers - station.servers, 0)
    return np.asarray(numbers * np.log(station.demand_ms / slowest) - np.cumsum(np.log(speed / slowdown)))


def _convolved(left: Vector, right: Vector, places: NDArray[np.int64]) -> Vector:
    """Return the logarithms of a convolution at these indices. left, right: logarithms of the two series."""
    highest = left.max(), right.max()
    quick = np.convolve(np.exp(left - highest[0]), np.exp(right - highest[1]))[: len(left)]
    if quick.min() > SMALLEST:
        return np.asarray(np.log(quick) + sum(highest))[places]
    # A server that slows down makes the terms differ by more than a float's range: each sum gets a scale of its own.
    terms = (left[: last + 1] + right[last::-1] for last in places.tolist())
    return np.array([high + np.log(np.exp(row - high).sum()) for row in terms for high in [row.max()]])
