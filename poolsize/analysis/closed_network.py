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


@dataclass(frozen=True)
class Station:
    """A queue with that many equal servers; demand_ms: service that one round needs.

    slowdown: by how much of itself the service gets longer for each that is there beyond the servers.
    """

    demand_ms: float
    servers: int = 1
    slowdown: float = 0.0


def throughputs(stations: Sequence[Station], delay_ms: float, population: int) -> NDArray[np.float64]:
    """Rounds per millisecond with 1, 2, ... population connections in the network.

    At least one demand or the delay must be above 0.
    """
    slowest = max([station.demand_ms / station.servers for station in stations] + [delay_ms / population])
    places = np.arange(population + 1)
    constants = _scaled(places * np.log(delay_ms / slowest) - gammaln(places + 1)) if delay_ms else _unit(population)
    for station in stations:
        if station.demand_ms:
            speed = np.minimum(np.maximum(places, 1), station.servers)
            crowd = 1 + station.slowdown * np.maximum(places - station.servers, 0)
            weights = places * np.log(station.demand_ms / slowest) - np.cumsum(np.log(speed / crowd))
            constants = np.convolve(constants, _scaled(weights))[: population + 1]
            constants /= constants.max()
    return np.asarray(constants[:-1] / constants[1:] / slowest)


def _unit(population: int) -> NDArray[np.float64]:
    """Weights of a station that is never visited."""
    return np.concatenate([[1.0], np.zeros(population)])


def _scaled(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Their exponentials, with a common factor that keeps them in range; only ratios matter."""
    scaled: NDArray[np.float64] = np.exp(logarithms - logarithms.max())
    return scaled
