"""A closed network fitted to a throughput curve: the load generator, the database's servers, and a delay.

A connection in use is at the load generator's processor, at a server of the database, or in a delay. The delay, such
as the network or a commit's disk, has no queue. Busy servers may interfere with each other (scaling). Each connection
beyond the servers makes service longer by a fixed share (slowdown). The load generator's service demand is measured;
the other parameters are fitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from poolsize.analysis.models.closed_network import Station, throughputs_at
from poolsize.analysis.vector import Vector

FEWEST_SIZES = 4
"""Four parameters need four sizes or more."""
SERVERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Numbers of servers that are tried."""
PATIENCE = 4
"""The search over SERVERS ends after this many numbers in a row that fit worse than the best."""
NO_CLIENT = Station(0.0)
"""A load generator without a service demand of its own."""
LEAST_ERROR = 0.01
"""The lowest standard error of a point, a share: the model itself is not more exact."""
USUAL_SCALING = 0.2
"""Usual distance of the scaling below 1 (standard deviation); it lets four sizes determine four parameters."""
LOWEST, HIGHEST = np.array([-15.0, -15.0, 0.0, 0.2]), np.array([12.0, 12.0, 10.0, 1.0])
"""Bounds of the fit: logarithms of service and delay in ms, slowdown, scaling."""
NO_COVARIANCE: Vector = np.zeros((4, 4))


@dataclass(frozen=True)
class FittedNetwork:
    """A fitted closed network.

    servers: number of the database's servers. service_ms: service demand of a transaction there, in ms.
    delay_ms: time of a transaction in the delay, in ms. slowdown, scaling: of the servers, see Station.
    client: the load generator's station. covariance: of the fitted parameters (logarithm of service_ms, logarithm of
    delay_ms, slowdown, scaling), shape (4, 4).
    """

    servers: int
    service_ms: float
    delay_ms: float
    slowdown: float
    scaling: float
    client: Station
    covariance: Vector

    @property
    def stations(self) -> tuple[Station, Station]:
        """The two stations with a queue: the load generator's processor and the database's servers."""
        return self.client, Station(self.service_ms, self.servers, self.slowdown, self.scaling)

    def throughput(self, sizes: Sequence[int]) -> Vector:
        """Return the transactions per second with full pools of these sizes, one value a size."""
        return 1000 * throughputs_at(self.stations, self.delay_ms, sizes)

    def samples(self, number: int) -> "list[FittedNetwork]":
        """Return a number of networks sampled from the fit's uncertainty, the same at every call."""
        best = [log(self.service_ms), log(self.delay_ms), self.slowdown, self.scaling]
        sampled = np.random.default_rng(0).multivariate_normal(best, self.covariance, number, method="eigh")
        return [_network(np.clip(parameters, LOWEST, HIGHEST), self.servers, self.client) for parameters in sampled]


def fit_network(
    sizes: Sequence[int], throughput: Sequence[float], errors: Sequence[float], client: Station = NO_CLIENT
) -> FittedNetwork | None:
    """Return the network that fits best, weighted by the standard errors; None with fewer than 4 sizes.

    None, too, with a throughput of 0. sizes: ascending. throughput, errors: means and their standard errors at the
    sizes, per second. client: service demand at the load generator; without it the fitted delay contains that demand.
    """
    rates = np.asarray(throughput, float)
    if len(sizes) < FEWEST_SIZES or not (rates > 0).all():
        return None
    weights = 1 / np.maximum(np.asarray(errors, float) / rates, LEAST_ERROR)

    def residuals(parameters: Vector, servers: int) -> Vector:
        deviations = np.log(_network(parameters, servers, client).throughput(sizes) / rates) * weights
        return np.append(deviations, (parameters[-1] - 1) / USUAL_SCALING)

    best, servers, worse = None, 0, 0
    for number in SERVERS:
        if number > max(sizes) or worse == PATIENCE:
            break
        fit = _fit(residuals, number, sizes, rates)
        if best is None or fit.cost < best.cost:
            best, servers, worse = fit, number, 0
        else:
            worse += 1
    assert best is not None
    scale = 2 * float(best.cost) / max(1, len(sizes) - len(best.x))
    return _network(best.x, servers, client, np.linalg.pinv(best.jac.T @ best.jac) * max(1.0, scale))


def _fit(residuals: Callable[[Vector, int], Vector], servers: int, sizes: Sequence[int], rates: Vector) -> Any:
    """Return SciPy's result of the fit with a number of servers; it starts from the rates' two asymptotes."""
    service_ms = 1000 * servers / float(rates.max())
    lone_ms = 1000 * float((np.asarray(sizes) / rates).min())
    start = [log(service_ms), log(max(lone_ms - service_ms, 0.1 * service_ms)), 1e-3, 0.95]
    start_inside = np.clip(start, LOWEST + 1e-6, HIGHEST - 1e-6)
    return least_squares(residuals, start_inside, args=(servers,), bounds=(LOWEST, HIGHEST))


def _network(parameters: Vector, servers: int, client: Station, covariance: Vector = NO_COVARIANCE) -> FittedNetwork:
    service, delay, slowdown, scaling = map(float, parameters)
    return FittedNetwork(servers, exp(service), exp(delay), slowdown, scaling, client, covariance)
