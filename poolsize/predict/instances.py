"""Instances of an application whose pools share a database: what one of them has of it.

The database is a queue for all of them together. Each connection in use belongs to any instance with the same
probability, so of n connections an instance has a binomial number k, and its transactions end at the rate k X(n) / n.
For pools that seldom are full, the mean of this rate over n gives the exact probabilities of k.
"""

from dataclasses import dataclass
from math import log, log1p

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from poolsize.analysis.vector import Vector

LEAST = 1e-12
"""A number of connections that all instances have in use is left out below this share of the highest probability."""


@dataclass(frozen=True)
class OwnShare:
    """What an instance has of the database.

    rates: of its transactions, with 1, 2, ... of its connections in use. free, full: probabilities that 1, 2, ...
    connections of all instances are in use while a request uses one, that found a connection of its pool free, or none.
    """

    rates: Vector
    free: Vector
    full: Vector


def own_share(rates: Vector, found: Vector, instances: int) -> OwnShare:
    """Return the share of one of several instances, whose pools are alike.

    rates: of all transactions, with 1, 2, ... connections in use, one for each connection of all pools.
    found: probabilities that a request finds 0, 1, ... of them in use.
    """
    if instances == 1:
        return OwnShare(rates, _normalised(found[:-1]), np.eye(len(rates))[-1])
    kept = np.flatnonzero(found > LEAST * found.max())
    own = np.arange(len(rates) // instances + 1)
    shares = found[kept] * _binomial(own[:, None], kept, 1 / instances)
    known = np.flatnonzero(shares.sum(axis=1))
    in_use = np.maximum(kept, 1)
    speeds = shares[known] @ (rates[in_use - 1] / in_use) / shares[known].sum(axis=1)
    free, full = np.zeros(len(rates)), np.zeros(len(rates))
    np.add.at(free, np.minimum(kept, len(rates) - 1), shares[:-1].sum(axis=0))
    full[in_use - 1] = shares[-1]
    return OwnShare(own[1:] * np.interp(own[1:], known, speeds), _normalised(free), _normalised(full))


def _binomial(successes: NDArray[np.int64], trials: NDArray[np.int64], probability: float) -> Vector:
    logarithms = gammaln(trials + 1) - gammaln(successes + 1) - gammaln(trials - successes + 1)
    return np.asarray(np.exp(logarithms + successes * log(probability) + (trials - successes) * log1p(-probability)))


def _normalised(weights: Vector) -> Vector:
    return np.asarray(weights / weights.sum() if weights.any() else np.eye(len(weights))[-1])
