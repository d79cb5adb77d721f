"""A closed queueing network: connections that go round between the client's processor and the server's.

A connection that is held is at one station or the other, or waits for something that nobody queues for (a delay).
Gordon and Newell (1967) showed that such a network's throughput is a ratio of two normalising constants, Buzen (1973)
how to compute them by convolution.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from poolsize.analysis.vector import Vector

SMALLEST = 1e-280
"""Below it a float loses digits."""
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Station:
    """A queue with that many equal servers; demand_ms: service that one round needs.

    slowdown: by how much of itself the service gets longer for each that is there beyond the servers.
    scaling: n busy servers do n**scaling as much as one; 1 where they don't get in each other's way.
    """

    demand_ms: float
    servers: int = 1
    slowdown: float = 0.0
    scaling: float = 1.0


def throughputs(stations: Sequence[Station], delay_ms: float, population: int) -> Vector:
    """Rounds per millisecond with 1, 2, ... population connections in the network.

    At least one demand or the delay must be above 0.
    """
    return throughputs_at(stations, delay_ms, range(1, population + 1))


def throughputs_at(stations: Sequence[Station], delay_ms: float, populations: Sequence[int]) -> Vector:
    """The same with these numbers of connections only, which is much quicker for a few large ones."""
    most = max(populations)
    used = [station for station in stations if station.demand_ms]
    slowest = max([one.demand_ms / one.servers**one.scaling for one in used] + [delay_ms / most])
    places = np.arange(most + 1)
    constants = np.where(places > 0, -np.inf, 0.0)
    if delay_ms > NEGLIGIBLE * slowest:
        constants = places * np.log(delay_ms / slowest) - gammaln(places + 1)
    for station in used[:-1]:
        constants = _convolved(constants, _weights(station, slowest, places), places)
    wanted = np.unique([[number - 1, number] for number in populations])
    constants = _convolved(constants, _weights(used[-1], slowest, places), wanted) if used else constants[wanted]
    after = np.searchsorted(wanted, populations)
    return np.asarray(np.exp(constants[after - 1] - constants[after]) / slowest)


def _weights(station: Station, slowest: float, places: NDArray[np.int64]) -> Vector:
    """Logarithms of a station's own weights with so many connections at it."""
    speed = np.minimum(np.maximum(places, 1), station.servers) ** station.scaling
    crowd = 1 + station.slowdown * np.maximum(places - station.servers, 0)
    return np.asarray(places * np.log(station.demand_ms / slowest) - np.cumsum(np.log(speed / crowd)))


def _convolved(one: Vector, other: Vector, wanted: NDArray[np.int64]) -> Vector:
    """Logarithms of the convolution of two series that are given by their logarithms, at the wanted places."""
    highest = one.max(), other.max()
    quick = np.convolve(np.exp(one - highest[0]), np.exp(other - highest[1]))[: len(one)]
    if quick.min() > SMALLEST:
        return np.asarray(np.log(quick) + sum(highest))[wanted]
    # A server that slows down makes them differ by more than a float's range, so every sum gets a scale of its own.
    terms = (one[: last + 1] + other[last::-1] for last in wanted.tolist())
    return np.array([high + np.log(np.exp(row - high).sum()) for row in terms for high in [row.max()]])
