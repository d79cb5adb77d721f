"""The database under the requests of all processes: how many connections are in use at once, and how usage times grow.

To requests that arrive at random, the database is one queue: while n connections are in use, transactions end at the
rate of a closed network with n users (Norton's theorem for queues, Chandy, Herzog and Woo 1975). Once all connections
are in use, further requests wait in their pools, and the rate grows no more.
"""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.traffic.pool_use import BUSY_SHARE, in_use_probabilities

FAR = 12
"""Standard deviations beyond which a number of connections in use is negligible."""


@dataclass(frozen=True)
class DatabaseLoad:
    """in_use: probabilities that 0, 1, ... connections are in use. usage_ms: mean usage time.

    rates: requests per second that the database completes with 1, 2, ... connections in use; None where usage times do
    not grow with them. others: connections in use by other services, on average.
    """

    in_use: Vector
    usage_ms: float
    rates: Vector | None
    others: float = 0.0

    @property
    def mean(self) -> float:
        """Connections in use on average."""
        return float(self.in_use @ np.arange(len(self.in_use)))

    def usages_ms(self, own: float) -> Vector | None:
        """Return the mean usage times with 1, 2, ... connections of one pool in use; None where they do not grow.

        own: connections of this pool in use, on average.
        """
        if self.rates is None:
            return None
        together = np.arange(1, len(self.rates) + 1) + max(0.0, self.mean - own) + self.others
        return np.asarray(1000 * together / np.interp(together, np.arange(1, len(self.rates) + 1), self.rates))

    def beyond(self, connections: int) -> float:
        """Return the share of the time in which more connections are in use."""
        return float(self.in_use[connections + 1 :].sum())

    def quantile(self, share: float) -> int:
        """Return the connections in use that are not exceeded for this share of the time."""
        return int(np.searchsorted(np.cumsum(self.in_use), share))


def database_load(rates: Vector, rate: float, burst: float = 1.0) -> DatabaseLoad | None:
    """Return the load at a rate of requests per second; None where they come faster than the database serves them.

    rates: requests per second that it completes with 1, 2, ... connections in use, one value for each connection of all
    pools. burst: rate of the busiest second of a minute over the mean rate; at more than it serves, all are in use.
    """
    if rate >= rates[-1]:
        return None
    in_use = _in_use(rates, rate)
    if burst > 1:
        calm = (rate - BUSY_SHARE * min(burst * rate, rates[-1])) / (1 - BUSY_SHARE)  # what is late is served then
        in_use = BUSY_SHARE * _in_use(rates, burst * rate) + (1 - BUSY_SHARE) * _in_use(rates, calm)
    return DatabaseLoad(in_use, 1000 * float(in_use @ np.arange(len(in_use))) / rate, rates)


def unslowed_rates(usage_ms: float, busiest: float, connections: int) -> Vector:
    """Return the rates, for database_load, of a database whose usage times do not grow with the connections in use.

    busiest: connections in use on average in the busiest second. More than are ever in use are left out.
    """
    number = min(connections, ceil(busiest + FAR * sqrt(busiest) + FAR))
    return np.asarray(np.arange(1, number + 1) * 1000 / usage_ms)


def _in_use(rates: Vector, rate: float) -> Vector:
    """Return the probabilities that 0, 1, ... connections are in use."""
    if rate >= rates[-1]:
        return np.asarray(np.eye(len(rates) + 1)[-1])
    return in_use_probabilities(rates, rate)
