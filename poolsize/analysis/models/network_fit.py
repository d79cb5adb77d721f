"""A closed network fitted to a throughput curve: the client as it was measured, a server that slows down, and a delay.

Connections that are held are at the client's processor, at one of a few servers of the database, or in a delay that
nobody queues for (the network, a commit's disk). Busy servers may get in each other's way, and with more connections
than servers each transaction gets slower by a fixed part for every one too many.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from poolsize.analysis.models.closed_network import Station, throughputs_at
from poolsize.analysis.vector import Vector

FEWEST = 4
SERVERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
PATIENCE = 4
"""Numbers of servers in a row that fit worse than the best, until no more are tried."""
NO_CLIENT = Station(0.0)
LEAST_ERROR = 0.01
"""A point is not trusted to less than 1 %, whatever its seconds say: the model is not that true."""

NO_COVARIANCE: Vector = np.zeros((4, 4))


@dataclass(frozen=True)
class FittedNetwork:
    """servers that each need service_ms for a transaction, beside a client and delay_ms elsewhere.

    slowdown: by how much of itself the service gets longer for each connection beyond the servers. scaling: n busy
    servers do n**scaling as much as one. covariance: of the logarithms of service and delay, slowdown and scaling.
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
        """Where connections queue: the client's processor and the server's."""
        return self.client, Station(self.service_ms, self.servers, self.slowdown, self.scaling)

    def throughput(self, sizes: Sequence[int]) -> Vector:
        """Per second, with full pools of these sizes."""
        return 1000 * throughputs_at(self.stations, self.delay_ms, sizes)

    def others(self, number: int) -> "list[FittedNetwork]":
        """So many networks that the measurements allow as well."""
        middle = [log(self.service_ms), log(self.delay_ms), self.slowdown, self.scaling]
        drawn = np.random.default_rng(0).multivariate_normal(middle, self.covariance, number, method="eigh")
        return [_network(np.clip(one, LOWEST, HIGHEST), self.servers, self.client) for one in drawn]


def fit_network(
    sizes: Sequence[int], throughput: Sequence[float], errors: Sequence[float], client: Station = NO_CLIENT
) -> FittedNetwork | None:
    """The best fit, weighted by the standard errors; None with fewer than 4 sizes.

    client: what was measured of the load processes; without it their part is in the delay.
    """
    rates = np.asarray(throughput, float)
    if len(sizes) < FEWEST or not (rates > 0).all():
        return None
    weights = 1 / np.maximum(np.asarray(errors, float) / rates, LEAST_ERROR)

    def residuals(parameters: Vector, servers: int) -> Vector:
        off = np.log(_network(parameters, servers, client).throughput(sizes) / rates) * weights
        return np.append(off, (parameters[-1] - 1) / USUAL_SCALING)

    best, servers, worse = None, 0, 0
    for number in SERVERS:
        if number > max(sizes) or worse == PATIENCE:
            break
        found = _fit(residuals, number, sizes, rates)
        if best is None or found.cost < best.cost:
            best, servers, worse = found, number, 0
        else:
            worse += 1
    assert best is not None
    scale = 2 * float(best.cost) / max(1, len(sizes) - len(best.x))
    return _network(best.x, servers, client, np.linalg.pinv(best.jac.T @ best.jac) * max(1.0, scale))


LOWEST, HIGHEST = np.array([-15.0, -15.0, 0.0, 0.2]), np.array([12.0, 12.0, 10.0, 1.0])
"""Logarithms of service and delay in ms, slowdown and scaling: as far as a fit may go."""
USUAL_SCALING = 0.2
"""How far the scaling is usually below 1; without that, four sizes could not tell four numbers."""


def _fit(residuals: Callable[[Vector, int], Vector], servers: int, sizes: Sequence[int], rates: Vector) -> Any:
    service_ms = 1000 * servers / float(rates.max())
    lone_ms = 1000 * float((np.asarray(sizes) / rates).min())
    start = [log(service_ms), log(max(lone_ms - service_ms, 0.1 * service_ms)), 1e-3, 0.95]
    inside = np.clip(start, LOWEST + 1e-6, HIGHEST - 1e-6)
    return least_squares(residuals, inside, args=(servers,), bounds=(LOWEST, HIGHEST))


def _network(parameters: Vector, servers: int, client: Station, covariance: Vector = NO_COVARIANCE) -> FittedNetwork:
    service, delay, slowdown, scaling = map(float, parameters)
    return FittedNetwork(servers, exp(service), exp(delay), slowdown, scaling, client, covariance)
