"""A closed queueing network: connections circulate between the load generator's processor and the server's.

Its stations and its throughput; as fitted to a run, and sampled from the uncertainty of the fit.

A connection in use is at a station, or in a delay without a queue. The throughput with n connections is a ratio of
normalising constants, X(n) = G(n - 1) / G(n) (Gordon and Newell, 1967). Convolution computes the constants (Buzen,
1973).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, gammaln

from poolsize.analysis.stats.confidence import normal_samples
from poolsize.analysis.vector import Matrix, Vector

SMALLEST = 1e-280
"""Floats below this value lose digits."""
NEGLIGIBLE = 1e-12
"""Share of the slowest station's time below which a delay counts as none."""
LEAST_TIME = 1e-6
"""Lower bound of demand and delay, as a multiple of the time of a lone transaction."""
MOST_SLOWDOWN = 10.0
LEAST_SCALING = 0.2
SAMPLES = 100
"""Sampled networks, from which a 95 % range is read."""
TRIES = 4
"""Vectors of parameters that are sampled for each sampled network; most agree with the measured curve."""
FARTHEST = float(chdtri(4, 0.01))
"""Chi squared of four parameters that a sampled network may differ by from the fitted network: 99 % differ by less."""


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


NOT_MEASURED = Station(0.0)
"""A station whose service demand is not known, or which a network lacks."""


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
        constants = convolved(constants, factors_of(station, slowest, numbers), numbers)
    needed = np.concatenate([np.asarray(populations) - 1, populations])
    constants = convolved(constants, factors_of(used[-1], slowest, numbers), needed) if used else constants[needed]
    fewer, as_many = np.split(constants, 2)
    return np.asarray(np.exp(fewer - as_many) / slowest)


def factors_of(station: Station, slowest: float, numbers: NDArray[np.int64]) -> Vector:
    """Return the logarithms of a station's factors in the normalising constants, with 0, 1, ... connections there."""
    speed = np.minimum(np.maximum(numbers, 1), station.servers) ** station.scaling
    slowdown = 1 + station.slowdown * np.maximum(numbers - station.servers, 0)
    return np.asarray(numbers * np.log(station.demand_ms / slowest) - np.cumsum(np.log(speed / slowdown)))


def convolved(left: Vector, right: Vector, places: NDArray[np.int64]) -> Vector:
    """Return the logarithms of a convolution at these indices. left, right: logarithms of the two series."""
    highest = left.max(), right.max()
    quick = np.convolve(np.exp(left - highest[0]), np.exp(right - highest[1]))[: len(left)]
    if quick.min() > SMALLEST:
        return np.asarray(np.log(quick) + sum(highest))[places]
    # A server that slows down makes the terms differ by more than a float's range: each sum gets a scale of its own.
    places, inverse = np.unique(places, return_inverse=True)
    terms = (left[: last + 1] + right[last::-1] for last in places.tolist())
    return np.array([high + np.log(np.exp(row - high).sum()) for row in terms for high in [row.max()]])[inverse]


@dataclass(frozen=True)
class MeasuredStations:
    """The stations whose service demands are measured; NOT_MEASURED for a demand that is not known.

    client: the CPU of the load generator. cpu: the CPU of the database's server.
    saturated: whether the server's CPU, or its machine's, had no room left with the largest pool. Only then may the
    CPU's throughput be fitted: other programs and interference take a part of it.
    """

    client: Station = NOT_MEASURED
    cpu: Station = NOT_MEASURED
    saturated: bool = False

    @property
    def known(self) -> tuple[Station, ...]:
        """The stations with a service demand."""
        return tuple(station for station in (self.client, self.cpu) if station.demand_ms)


NOTHING_MEASURED = MeasuredStations()


@dataclass(frozen=True)
class FittedNetwork:
    """A fitted closed network.

    client: the CPU of the load generator, measured. cpu: the CPU of the server; its demand and cores are measured, and
    without a further queue its slowdown and scaling are fitted.
    queue: the further queue, fitted; its demand is 0 where the network has none.
    delay_ms: time of a transaction in the delay, in ms.
    covariance: of the fitted parameters, shape (4, 4). They are the fitted station's demand_ms, delay_ms, and the
    fitted station's slowdown and scaling; 0 for a parameter that is not fitted.
    sizes, errors: of the curve that was fitted: its pool sizes, and the standard errors of its throughput as shares, as
    large as the network's deviations suggest.
    alternatives: the networks of other structures: with other numbers of servers, with or without slowdown, and without
    a further queue.
    weights: of this network, and of each alternative, by Schwarz's criterion; their sum is not 1.
    saturated_share: the CPU's demand once the CPU is saturated, as a share of the measured demand. The load generator
    may not have saturated it, and an application may.
    """

    client: Station
    cpu: Station
    queue: Station
    delay_ms: float
    covariance: Matrix
    sizes: Sequence[int]
    errors: Vector
    alternatives: "tuple[FittedNetwork, ...]" = ()
    weights: tuple[float, ...] = (1.0,)
    saturated_share: float = 1.0

    @property
    def stations(self) -> tuple[Station, Station, Station]:
        """The stations with a queue."""
        return self.client, self.cpu, self.queue

    @property
    def database_ms(self) -> float:
        """Time of a lone transaction on the server's CPU, at the further queue and in the delay, in ms."""
        return self.cpu.demand_ms + self.queue.demand_ms + self.delay_ms

    def with_application(self, added_ms: float, cpu: Station = NOT_MEASURED) -> "FittedNetwork":
        """Return the network with an application in the load generator's place.

        added_ms: time that the application adds to a transaction while it holds the connection, in ms. cpu: the CPU of
        the application; NOT_MEASURED if its time is a delay.
        The application's CPU time may exceed the time that it adds: the fitted delay also has what the load generator
        waits for, and an application may wait less. So the CPU time is taken from the delay, of which 0 is the least.
        What the server's CPU demand loses when that CPU is saturated stays part of a lone transaction's time.
        """
        cpu_ms = self.saturated_share * self.cpu.demand_ms
        delay_ms = max(0.0, self.delay_ms + self.cpu.demand_ms - cpu_ms + added_ms - cpu.demand_ms)
        return replace(self, client=cpu, cpu=replace(self.cpu, demand_ms=cpu_ms), delay_ms=delay_ms)

    def holding_locks(self, added_ms: float) -> "FittedNetwork":
        """Return the network in which an application's added time, a part of the delay, is spent in the further queue.

        That is where transactions wait for each other's locks.
        """
        queue = replace(self.queue, demand_ms=self.queue.demand_ms + added_ms)
        return replace(self, queue=queue, delay_ms=max(0.0, self.delay_ms - added_ms))

    def throughput(self, sizes: Sequence[int]) -> Vector:
        """Return the transactions per second with full pools of these sizes, a value for each."""
        return 1000 * throughputs_at(self.stations, self.delay_ms, sizes)

    @cached_property
    def samples(self) -> "list[FittedNetwork]":
        """SAMPLES networks, sampled from the fit's uncertainty with a fixed seed.

        The network and its alternatives have shares of them by their weights.
        """
        ends = np.cumsum([0.0, *self.weights]) / sum(self.weights)
        shares = np.diff(np.rint(SAMPLES * ends)).astype(int).tolist()
        structures = (self, *(replace(other, saturated_share=self.saturated_share) for other in self.alternatives))
        shared = [(network, share) for network, share in zip(structures, shares, strict=True) if share]
        return [sample for network, share in shared for sample in network._sampled(share)]

    def _sampled(self, number: int) -> "list[FittedNetwork]":
        """Return a number of networks of this structure whose curves agree with the measured curve.

        The CPU's demand once it is saturated lies between the extrapolated and the measured demand.
        A normal distribution of the parameters also has networks whose curves are far from it: they are left out.
        """
        fitted = self.queue if self.queue.demand_ms else self.cpu
        best = np.array([fitted.demand_ms, self.delay_ms, fitted.slowdown, fitted.scaling])
        low = np.array([LEAST_TIME * fitted.demand_ms, 0.0, 0.0, LEAST_SCALING])
        high = np.array([np.inf, np.inf, MOST_SLOWDOWN, 1.0])
        random = np.random.default_rng(0)
        sampled = normal_samples(best, self.covariance, TRIES * number, random)
        rates, agreeing = self.throughput(self.sizes), list[FittedNetwork]()
        for demand_ms, delay_ms, slowdown, scaling in np.clip(sampled, low, high).tolist():
            station = Station(demand_ms, fitted.servers, slowdown, scaling)
            cpu, queue = (self.cpu, station) if self.queue.demand_ms else (station, self.queue)
            network = replace(self, cpu=cpu, queue=queue, delay_ms=delay_ms)
            deviations = np.log(network.throughput(self.sizes) / rates) / self.errors
            if float((deviations**2).sum()) <= FARTHEST:
                agreeing.append(network)
            if len(agreeing) == number:
                break
        chosen = agreeing + [self] * (number - len(agreeing))
        shares = random.uniform(self.saturated_share, 1.0, number).tolist()
        return [replace(network, saturated_share=share) for network, share in zip(chosen, shares, strict=True)]
