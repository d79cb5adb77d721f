"""A closed network fitted to a throughput curve: the load generator, the server's CPU, a further queue, and a delay.

The service demands at the load generator and at the server's CPU are measured. The rest of a transaction's time is
fitted. It is a delay without a queue, such as the network, and a further queue in the database, such as locks or the
redo log, if the curve shows this queue. Busy servers of a station may interfere with each other (scaling). Each
connection beyond the servers makes service longer by a fixed share (slowdown).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product
from math import exp, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from poolsize.analysis.models.closed_network import (
    LEAST_SCALING,
    LEAST_TIME,
    MOST_SLOWDOWN,
    NOT_MEASURED,
    NOTHING_MEASURED,
    SMALLEST,
    FittedNetwork,
    MeasuredStations,
    Station,
    convolved,
    factors_of,
)
from poolsize.analysis.models.least_squares import Minima, least_squares
from poolsize.analysis.vector import Matrix, Vector

MOST_CONNECTIONS = 20_000
"""The largest sum of the sizes: a fit takes some 2 s with it."""
FEWEST_SIZES = 4
"""Four parameters need four sizes or more."""
SERVERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Numbers of servers of the further queue; those up to the largest pool size are tried."""
SCALINGS, SLOWDOWNS = (0.95, 0.5), (1e-5, 1e-2)
"""Scaling and slowdown from which a fit begins, in each combination."""
ROUGH, EXACT = 1e-3, 1e-13
"""Tolerances of the fits from all starts, and of the fits that go on from the best."""
BEST = 8
"""The number of rough fits that are made exact."""
TIE = 0.01
"""A larger number of servers must lower the cost by more than this. Cost is half of chi squared."""
LEAST_ERROR = 0.01
"""The lowest standard error of a point, a share: the model itself is not more exact."""
USUAL_SCALING = 0.2
"""Usual distance of the scaling below 1 (standard deviation); it lets four sizes determine four parameters."""
USUAL_SLOWDOWN = 1.0
"""Usual slowdown (standard deviation); it decides where no measured size is beyond the servers."""
MOST_TIME = 1e3
"""Upper bound of demand and delay, as a multiple of the time of a lone transaction; LEAST_TIME is the lower."""


class NetworkCurve:
    """The throughput of many networks at once, over pool size, with its derivatives: what a fit needs.

    All networks have the same measured stations; each network has a fitted station and a delay of its own. A
    normalising constant G(n) is a sum over the number of connections at the fitted station. Its logarithm's derivatives
    are mean values over the terms of that sum, so they cost hardly more than the sum. The derivative by the delay is
    X(n) itself.
    """

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
            weights = (factors_of(station, slowest, self._numbers) for station in measured)
            constants = reduce(lambda left, right: convolved(left, right, self._numbers), weights)
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


@dataclass(frozen=True)
class _Fit:
    """The minimum of one structure: the fitted station with the delay, the cost, and the parameters' covariance."""

    station: Station
    delay_ms: float
    cost: float
    covariance: Matrix
    scale: float


@dataclass(frozen=True)
class _Structure:
    """The networks with the same stations and fitted parameters, and each with another number of servers.

    fits, networks: the best first. further: the fitted parameters beyond those that every structure has.
    """

    fits: Sequence[_Fit]
    networks: Sequence[FittedNetwork]
    further: int


@dataclass(frozen=True)
class _Curve:
    """The curve to be fitted: ascending sizes, transactions per ms, and the weights of the logarithms' deviations."""

    sizes: Sequence[int]
    rates: Vector
    weights: Vector


def fit_network(
    sizes: Sequence[int],
    throughput: Sequence[float],
    errors: Sequence[float],
    measured: MeasuredStations = NOTHING_MEASURED,
) -> FittedNetwork | None:
    """Return the network with the lowest Schwarz criterion (1978); None with fewer than 4 sizes.

    None, too, with a throughput of 0, and where the fit would take many seconds: its time and its memory grow with the
    sum of the sizes. sizes: ascending. throughput, errors: means and their standard errors at the sizes, per second.
    measured: without a station's demand, the fitted times contain it.

    The criterion counts how well a network fits, weighted by the standard errors, and its parameters. So slowdown is
    fitted only where the curve shows it: otherwise throughput would fall beyond the measured sizes. Where the server's
    CPU was saturated, a further queue has to lower the criterion too. The network's alternatives have the weights that
    the criterion gives them; a structure's weight is divided equally among its numbers of servers.
    """
    rates = np.asarray(throughput, float)
    if len(sizes) < FEWEST_SIZES or sum(sizes) > MOST_CONNECTIONS or not (rates > 0).all():
        return None
    curve = _Curve(sizes, rates / 1000, 1 / np.maximum(np.asarray(errors, float) / rates, LEAST_ERROR))
    structures = [structure for slows in (False, True) for structure in _structures(curve, measured, slows=slows)]
    scale = min(structure.fits[0].scale for structure in structures)
    structures.sort(key=lambda each: each.fits[0].cost / scale + each.further * log(len(sizes)) / 2)
    least = min(structure.fits[0].cost for structure in structures)
    network, *alternatives = (network for structure in structures for network in structure.networks)
    weights = tuple(
        len(sizes) ** (-structure.further / 2) / len(structure.fits) * exp((least - fit.cost) / scale)
        for structure in structures
        for fit in structure.fits
    )
    return replace(network, alternatives=tuple(alternatives), weights=weights)


def _structures(curve: _Curve, measured: MeasuredStations, *, slows: bool) -> Iterator[_Structure]:
    """Yield the structure with a further queue and, with a saturated server's CPU, without it. slows: as in _fits."""
    servers = [number for number in SERVERS if number <= max(curve.sizes)]
    fits = _fits(curve, measured.known, servers, slows=slows)
    yield _Structure(fits, [_network(measured, fit, curve) for fit in fits], 2 * measured.saturated + slows)
    if measured.saturated:
        client = replace(measured, cpu=NOT_MEASURED).known
        fits = _fits(curve, client, [measured.cpu.servers], measured.cpu.demand_ms, slows=slows)
        network = replace(_network(measured, fits[0], curve), cpu=fits[0].station, queue=NOT_MEASURED)
        yield _Structure(fits, [network], int(slows))


def _network(measured: MeasuredStations, fit: _Fit, curve: _Curve) -> FittedNetwork:
    errors = np.sqrt(fit.scale) / curve.weights
    return FittedNetwork(measured.client, measured.cpu, fit.station, fit.delay_ms, fit.covariance, curve.sizes, errors)


def _fits(
    curve: _Curve, measured: Sequence[Station], servers: Sequence[int], demand_ms: float | None = None, *, slows: bool
) -> list[_Fit]:
    """Return the best fit with each of these numbers of servers of the fitted station, the best of all first.

    Of numbers that tie, the smallest is the best. Only the best fit of all is exact. demand_ms: the fitted station's
    demand where it is measured. slows: whether slowdown is fitted; if not, slowdown is 0.
    """
    numbers, starts, low, high = _starts(curve, servers, demand_ms, slows=slows)
    model = partial(_residuals, NetworkCurve(curve.sizes, measured), curve)
    rough = least_squares(partial(model, numbers), starts, low, high, ROUGH)
    best = np.sort(np.argsort(rough.costs, kind="stable")[:BEST])
    exact = least_squares(partial(model, numbers[best]), rough.parameters[best], low[best], high[best], EXACT)
    place = int(np.flatnonzero(exact.costs <= exact.costs.min() + TIE)[0])
    chosen = int(numbers[best][place])
    held = low == high
    others = [
        int(np.argmin(np.where(numbers == number, rough.costs, np.inf))) for number in servers if number != chosen
    ]
    return [
        _result(curve, exact, place, chosen, held[best][place]),
        *(_result(curve, rough, other, int(numbers[other]), held[other]) for other in others),
    ]


def _residuals(
    network: NetworkCurve, curve: _Curve, servers: NDArray[np.int64], parameters: Matrix, starts: NDArray[np.int64]
) -> tuple[Matrix, Matrix]:
    """Return the residuals for least_squares: deviations from the curve, and those of slowdown and scaling."""
    rates, derivatives = network(servers[starts], parameters)
    usual = np.array([USUAL_SLOWDOWN, USUAL_SCALING])
    deviations = (rates - np.log(curve.rates)) * curve.weights
    further = (parameters[:, 2:] - [0.0, 1.0]) / usual
    by_further = np.broadcast_to(np.array([[0, 0, 1, 0], [0, 0, 0, 1]]) / usual[:, None], (len(starts), 2, 4))
    return (
        np.concatenate([deviations, further], axis=1),
        np.concatenate([derivatives * curve.weights[:, None], by_further], axis=1),
    )


def _starts(
    curve: _Curve, servers: Sequence[int], demand_ms: float | None, *, slows: bool
) -> tuple[NDArray[np.int64], Matrix, Matrix, Matrix]:
    """Return each start's number of servers, its parameters from the curve's two asymptotes, and their bounds."""
    lone_ms = float((np.asarray(curve.sizes) / curve.rates).min())  # the shortest that a transaction can take
    starts = list(product(servers, SCALINGS, SLOWDOWNS if slows else (0.0,)))
    numbers = np.array([number for number, _, _ in starts])
    scaling, slowdown = np.array([begin for _, *begin in starts]).T
    demands = numbers**scaling / curve.rates.max() if demand_ms is None else np.full(len(numbers), demand_ms)
    delays = np.maximum(lone_ms - demands, 0.1 * lone_ms)
    low = np.tile([LEAST_TIME * lone_ms, LEAST_TIME * lone_ms, 0.0, LEAST_SCALING], (len(numbers), 1))
    most_ms, most_slowdown = MOST_TIME * lone_ms, MOST_SLOWDOWN if slows else 0.0
    high = np.tile([most_ms, most_ms, most_slowdown, 1.0], (len(numbers), 1))
    if demand_ms is not None:
        low[:, 0] = high[:, 0] = demand_ms
    return numbers, np.column_stack([demands, delays, slowdown, scaling]), low, high


def _result(curve: _Curve, minima: Minima, place: int, servers: int, held: NDArray[np.bool_]) -> _Fit:
    demand, delay, slowdown, scaling = minima.parameters[place].tolist()
    derivatives, cost = np.where(held, 0.0, minima.derivatives[place]), float(minima.costs[place])
    scale = max(1.0, 2 * cost / max(1, len(curve.sizes) - len(minima.parameters[place])))
    covariance = np.linalg.pinv(derivatives.T @ derivatives) * scale
    return _Fit(Station(demand, servers, slowdown, scaling), delay, cost, covariance, scale)
