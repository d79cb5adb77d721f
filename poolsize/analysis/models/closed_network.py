"""A closed queueing network: connections circulate between the load generator's processor and the server's.

A connection in use is at a station, or in a delay without a queue. The throughput with n connections is a ratio of
normalising constants, X(n) = G(n - 1) / G(n) (Gordon and Newell, 1967). Convolution computes the constants (Buzen,
1973).

NetworkCurve computes the throughput of many networks at once, with its derivatives: what a fit needs. The networks have
the same measured stations, and one fitted station and a delay each. A normalising constant G(n) is a sum over the
number of connections at the fitted station. Its logarithm's derivatives are mean values over the terms of that sum, so
they cost hardly more than the sum. The derivative by the delay is X(n) itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from poolsize.analysis.vector import Matrix, Vector

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

    def with_servers(self, servers: int) -> "Station":
        """Return the station with another number of servers, of which interference takes the same share."""
        lost = (self.scaling - 1) * log(self.servers)
        return replace(self, servers=servers, scaling=1 + lost / log(servers) if servers > 1 else 1.0)


def throughputs(stations: Sequence[Station], delay_ms: float, population: int) -> Vector:
    """Return the transactions per millisecond with 1, 2, ..., population connections: see throughputs_at."""
    return throughputs_at(stations, delay_ms, range(1, population + 1))


def throughputs_at(stations: Sequence[Station], delay_ms: float, populations: Sequence[int]) -> Vector:
    """Return the transactions per millisecond with these numbers of connections in the network, each at least 1.

    delay_ms: time of a transaction in the delay, in ms. At least one demand or the delay must be above 0.
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
    needed = np.concatenate([np.asarray(populations) - 1, populations])
    constants = _convolved(constants, _weights(used[-1], slowest, numbers), needed) if used else constants[needed]
    fewer, as_many = np.split(constants, 2)
    return np.asarray(np.exp(fewer - as_many) / slowest)


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
    places, inverse = np.unique(places, return_inverse=True)
    terms = (left[: last + 1] + right[last::-1] for last in places.tolist())
    return np.array([high + np.log(np.exp(row - high).sum()) for row in terms for high in [row.max()]])[inverse]


class NetworkCurve:
    """The curve of throughput over pool size of closed networks that differ in one station and in the delay."""

    def __init__(self, sizes: Sequence[int], measured: Sequence[Station]) -> None:
        """Prepare the terms of the sums. sizes: ascending. measured: the stations that all networks share."""
        populations = np.unique([[max(0, size - fewer) for fewer in (0, 1, 2)] for size in sizes])
        self._numbers = np.arange(sizes[-1] + 1)
        self._here = np.concatenate([np.arange(population + 1) for population in populations])
        self._owner = np.repeat(np.arange(len(populations)), populations + 1)
        self._elsewhere = populations[self._owner] - self._here
        self._begins = np.searchsorted(self._owner, np.arange(len(populations)))
        self._at, self._below, self._two_below = (
            np.searchsorted(populations, np.maximum(np.asarray(sizes) - fewer, 0)) for fewer in (0, 1, 2)
        )
        self._alone = np.asarray(sizes) == 1
        self._slowest = slowest = max((station.demand_ms / station.servers for station in measured), default=0.0)
        self._measured: Vector | None = None
        if measured:
            weights = (_weights(station, slowest, self._numbers) for station in measured)
            constants = reduce(lambda left, right: _convolved(left, right, self._numbers), weights)
            self._measured = constants + self._numbers * np.log(slowest)

    def __call__(self, servers: NDArray[np.int64], parameters: Matrix) -> tuple[Matrix, Matrix]:
        """Return the logarithms of the transactions per millisecond, and their derivatives by the parameters.

        servers: of the fitted station, shape (networks,). parameters: its demand in ms, the delay in ms, the station's
        slowdown and its scaling, shape (networks, 4); demand and delay above 0. Shapes of the result: (networks,
        sizes) and (networks, sizes, 4).
        """
        demand_ms, delay_ms, slowdown, scaling = parameters.T
        queue = np.minimum(np.maximum(self._numbers, 1), servers[:, None])
        too_many = np.maximum(self._numbers - servers[:, None], 0)
        by_scaling = -np.cumsum(np.log(queue), axis=1)
        slowed = 1 + slowdown[:, None] * too_many
        by_slowdown = np.cumsum(too_many / slowed, axis=1)
        factors = self._numbers * np.log(demand_ms)[:, None] + scaling[:, None] * by_scaling
        factors += np.cumsum(np.log(slowed), axis=1)
        others = np.array([self._others(delay) for delay in delay_ms.tolist()])
        terms = others[:, self._elsewhere] + factors[:, self._here]
        highest = np.maximum.reduceat(terms, self._begins, axis=1)
        shares = np.exp(terms - highest[:, self._owner])
        sums = np.add.reduceat(shares, self._begins, axis=1)
        constants = highest + np.log(sums)
        rates = constants[:, self._below] - constants[:, self._at]
        rates_below = np.where(self._alone, -np.inf, constants[:, self._two_below] - constants[:, self._below])

        def difference(values: Matrix) -> Matrix:
            means = np.add.reduceat(shares * values, self._begins, axis=1) / sums
            return np.asarray(means[:, self._below] - means[:, self._at])

        by_demand = difference(np.broadcast_to(self._here, terms.shape)) / demand_ms[:, None]
        by_delay = np.exp(rates_below) - np.exp(rates)
        further = [difference(values[:, self._here]) for values in (by_slowdown, by_scaling)]
        return rates, np.stack([by_demand, by_delay, *further], axis=2)

    def _others(self, delay_ms: float) -> Vector:
        """Return the logarithms of the normalising constants of the measured stations and a delay.

        A convolution in floats is exact only near its highest value. So it begins with the largest populations, and
        goes on with the smaller ones, scaled anew, until all are computed.
        """
        delay = self._numbers * np.log(delay_ms) - gammaln(self._numbers + 1)
        if self._measured is None:
            return np.asarray(delay)
        constants, end = np.empty(len(delay)), len(delay)
        while end:
            scale = np.log(max(self._slowest, delay_ms / end))
            left, right = (logarithms[:end] - self._numbers[:end] * scale for logarithms in (self._measured, delay))
            highest = left.max(), right.max()
            sums = np.convolve(np.exp(left - highest[0]), np.exp(right - highest[1]))[:end]
            too_small = np.flatnonzero(sums <= SMALLEST)
            begin = int(too_small[-1]) + 1 if len(too_small) else 0
            constants[begin:end] = np.log(sums[begin:]) + sum(highest) + self._numbers[begin:end] * scale
            end = begin
        return constants
