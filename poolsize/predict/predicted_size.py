"""The prediction for one pool size: a finite source of users in front of the closed network.

A usage time has the distribution that was measured with about as many connections in use, and the network's mean.

The database is a queue for all instances of an application together. Each connection in use belongs to any instance
with the same probability, so of n connections an instance has a binomial number k, and its transactions end at the
rate k X(n) / n. For pools that seldom are full, the mean of this rate over n gives the exact probabilities of k.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isnan, log, log1p, nan

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.models.closed_network import FittedNetwork, throughputs
from poolsize.analysis.stats.percentiles import Percentiles
from poolsize.analysis.vector import Vector
from poolsize.runs.run import LATENCIES, QUANTILES
from poolsize.traffic.finite_source import FiniteSource, finite_source
from poolsize.traffic.total_times import WEIGHTS, usage_distribution, usage_distributions
from poolsize.traffic.wait_times import CLASSES, Departures, MeasuredDepartures, measured_departures, thinned

NEGLIGIBLE = 0.01
"""A measured latency below this share of the total time is too short for an error in percent."""
LEAST_LIKELY = 1e-12
"""A number of connections that all instances have in use is left out below this share of the highest probability."""


@dataclass(frozen=True)
class PredictedSize:
    """The prediction for one pool size, all instances together.

    throughput: transactions per second. timeouts: requests for a connection per second that time out.
    at_work: mean connections in use. wait, usage, total: milliseconds, of the transactions without a timeout.
    measured: transactions per second as measured; None where anything differs from the run, or without a valid step.
    """

    pool_size: int
    throughput: float
    timeouts: float
    at_work: float
    wait: Percentiles
    usage: Percentiles
    total: Percentiles
    measured: float | None


@dataclass(frozen=True)
class OwnShare:
    """What an instance has of the database.

    rates: of its transactions, with 1, 2, ... of its connections in use. free, full: probabilities that 1, 2, ...
    connections of all instances are in use during a usage, if the request did not wait for its connection, or did.
    """

    rates: Vector
    free: Vector
    full: Vector


@dataclass(frozen=True)
class Predictor:
    """What the prediction of every pool size needs.

    rates: transactions per millisecond of the network with 1, 2, ... connections, all instances together.
    users: of an instance. think_time_ms, instances: see WhatIf. timeout_ms: the longest wait for a connection.
    usage: connections in use -> the distribution of the usage times with as many, at BEYOND, in their means.
    departures: as measured, or as the usage times vary where the run does not show them.
    """

    rates: Vector
    users: int
    think_time_ms: float
    instances: int
    timeout_ms: float
    usage: Mapping[int, Vector]
    departures: MeasuredDepartures

    def without(self, size: int) -> "Predictor":
        """Return the predictor that does not know how departures and usage times vary at a size."""
        others = {measured: times for measured, times in self.usage.items() if measured != size}
        return replace(self, usage=others or self.usage, departures=self.departures.without(size))

    def at(self, size: int, measured: float | None = None) -> PredictedSize:
        """Return the prediction for one size. Instances are alike, so one is solved, with its share of the rates."""
        rates, instances = self.rates[:size], self.instances
        source = self._source(rates, self.users * instances, self.departures)
        share = own_share(rates, source.found, instances)
        if instances > 1:
            source = self._source(share.rates, self.users, self.departures.of_share(instances))
        waiting, waits_ms = float(source.found[-1]), source.waits_ms
        free_ms, free = self._usages(rates, share.free)
        full_ms, full = self._usages(rates, share.full)
        usages_ms, usages = np.append(free_ms, full_ms), np.append((1 - waiting) * free, waiting * full)
        after_wait_ms = _quantiles(full_ms, full, (np.arange(CLASSES) + 0.5) / CLASSES)
        totals_ms = np.append(free_ms, np.add.outer(waits_ms, after_wait_ms))
        totals = np.append((1 - waiting) * free, np.full(CLASSES**2, waiting / CLASSES**2))
        return PredictedSize(
            pool_size=size,
            throughput=1000 * source.throughput * instances,
            timeouts=1000 * source.timeouts * instances,
            at_work=source.connections_in_use * instances,
            wait=Percentiles(
                **{name: source.wait_quantile_ms(share / 100) for name, share in QUANTILES.items()},
                mean=source.wait_ms,
                max=source.wait_quantile_ms(1.0),
            ),
            usage=_percentiles(usages_ms, usages, source.usage_ms),
            total=_percentiles(totals_ms, totals, source.wait_ms + source.usage_ms),
            measured=measured,
        )

    def _source(self, rates: Vector, users: int, departures: MeasuredDepartures) -> FiniteSource:
        return finite_source(rates, users, self.think_time_ms, departures, self.timeout_ms)

    def _usages(self, rates: Vector, in_use: Vector) -> tuple[Vector, Vector]:
        """Return usage times and their probabilities. in_use: probabilities of 1, 2, ... connections in use."""
        numbers = np.arange(1, len(rates) + 1)
        means, weights = thinned(numbers, in_use)
        measured = np.array(list(self.usage))
        nearest = measured[np.abs(np.log(means[:, None] / measured)).argmin(axis=1)]
        usage_ms = np.interp(means, numbers, numbers / rates)
        shapes = np.array([self.usage[size] for size in nearest.tolist()])
        return (usage_ms[:, None] * shapes).ravel(), np.outer(weights / weights.sum(), WEIGHTS).ravel()


def predictor(
    analysis: Analysis, network: FittedNetwork, users: int, think_time_ms: float, largest: int, instances: int = 1
) -> Predictor:
    """Return the predictor of a network with these users of all instances. largest: the largest size of a prediction.

    Departures are measured without think time alone: then every user who has no connection waits for one.
    """
    usage = usage_distributions(analysis.by_size) or {1: usage_distribution(None)}
    varying: Mapping[float, Departures] = {
        size: Departures(float(WEIGHTS @ times**2) - 1) for size, times in usage.items()
    }
    measured = None if analysis.run.think_time_ms else measured_departures(analysis.by_size)
    return Predictor(
        throughputs(network.stations, network.delay_ms, largest),
        ceil(users / instances),
        think_time_ms,
        instances,
        analysis.run.timeout_ms or inf,  # an application's pool has a limit of its own, which a run does not know
        usage,
        measured or MeasuredDepartures(varying),
    )


def own_share(rates: Vector, at_request: Vector, instances: int) -> OwnShare:
    """Return the share of an instance. The pools of all instances have the same size.

    rates: of all transactions, with 1, 2, ... connections in use, as many values as connections in all pools.
    at_request: probabilities that 0, 1, ... of them are in use when a request comes.
    """
    if instances == 1:
        return OwnShare(rates, _normalised(at_request[:-1]), np.eye(len(rates))[-1])
    kept = np.flatnonzero(at_request > LEAST_LIKELY * at_request.max())
    own = np.arange(len(rates) // instances + 1)
    shares = at_request[kept] * _binomial(own[:, None], kept, 1 / instances)
    known = np.flatnonzero(shares.sum(axis=1) > LEAST_LIKELY * shares.sum(axis=1).max())
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


def latency_errors(analysis: Analysis, sizes: Sequence[PredictedSize]) -> Mapping[str, Mapping[str, float]]:
    """Return latency -> quantile -> root mean square of the relative errors, a share.

    sizes: predicted at the measured sizes with the run's own settings. A latency without a known, noticeable value at
    any size is left out.
    """
    errors = {
        latency: {quantile: _error(analysis, sizes, latency, quantile) for quantile in QUANTILES}
        for latency in LATENCIES
    }
    return {latency: values for latency, values in errors.items() if not any(map(isnan, values.values()))}


def _error(analysis: Analysis, sizes: Sequence[PredictedSize], latency: str, quantile: str) -> float:
    """Return one such error; NaN where no size has a noticeable value."""
    errors = []
    for size in sizes:
        measured = analysis.at(size.pool_size)
        measured_ms = getattr(getattr(measured, latency), quantile)
        if measured_ms > NEGLIGIBLE * getattr(measured.total, quantile):
            errors.append(getattr(getattr(size, latency), quantile) / measured_ms - 1)
    return float(np.sqrt(np.mean(np.square(errors)))) if errors else nan


def _percentiles(times_ms: Vector, probabilities: Vector, mean_ms: float) -> Percentiles:
    values = _quantiles(times_ms, probabilities, [share / 100 for share in QUANTILES.values()]).tolist()
    largest_ms = float(times_ms[probabilities > 0].max())
    return Percentiles(**dict(zip(QUANTILES, values, strict=True)), mean=mean_ms, max=largest_ms)


def _quantiles(times_ms: Vector, probabilities: Vector, shares: Sequence[float] | Vector) -> Vector:
    """Return the times that these shares do not exceed."""
    order = np.argsort(times_ms)
    times_ms, probabilities = times_ms[order], probabilities[order]
    reached = np.cumsum(probabilities) - probabilities / 2
    return np.asarray(np.interp(shares, reached, times_ms))
