"""The throughput of many closed networks at once, with its derivatives: what a fit needs.

The networks have the same measured stations, and one fitted station and a delay each. A normalising constant G(n) is a
sum over the number of connections at the fitted station (Buzen, 1973). Its logarithm's derivatives are mean values
over the terms of that sum, so they cost hardly more than the sum. The derivative by the delay is X(n) itself.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from poolsize.analysis.models.closed_network import SMALLEST, Station, normalising_constants
from poolsize.analysis.vector import Matrix, Vector


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
        self._slowest = max((station.demand_ms / station.servers for station in measured), default=0.0)
        self._measured = normalising_constants(measured, self._slowest, sizes[-1]) if measured else None

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
