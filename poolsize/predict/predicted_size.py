"""The prediction for one pool size: a finite source of users in front of the closed network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isnan, nan

import numpy as np

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.models.closed_network import throughputs
from poolsize.analysis.models.fitted_network import FittedNetwork
from poolsize.analysis.stats.percentiles import Percentiles
from poolsize.analysis.vector import Vector
from poolsize.runs.run import LATENCIES, QUANTILES
from poolsize.traffic.finite_source import finite_source
from poolsize.traffic.wait_times import Departures, MeasuredDepartures, measured_departures, usage_shape

NEGLIGIBLE = 0.01
"""A measured latency below this share of the total time is too short for an error in percent."""


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
class Predictor:
    """What the prediction of every pool size needs.

    rates: transactions per millisecond of the network with 1, 2, ... connections, all instances together.
    users, think_time_ms, instances: see WhatIf. timeout_ms: the longest wait for a connection.
    shape: CLASSES equally likely usage times, as multiples of their mean.
    departures: as measured; None where the run does not show them. Then they vary as the usage times do.
    """

    rates: Vector
    users: int
    think_time_ms: float
    instances: int
    timeout_ms: float
    shape: Vector
    departures: MeasuredDepartures | None

    def without(self, size: int) -> "Predictor":
        """Return the predictor that does not know how departures vary at a size."""
        return replace(self, departures=self.departures and self.departures.without(size))

    def at(self, size: int, measured: float | None = None) -> PredictedSize:
        """Return the prediction for one size. Instances are alike, so one is solved, with its share of the rates."""
        instances = self.instances
        share, own_users = size // instances, ceil(self.users / instances)
        own_rates = self.rates[np.arange(1, share + 1) * instances - 1] / instances
        departures = self.departures.at(size) if self.departures else Departures(float(self.shape.var()))
        source = finite_source(own_rates, own_users, self.think_time_ms, departures, self.timeout_ms)
        usages_ms = source.usage_ms * self.shape
        totals_ms = np.sort(np.add.outer(source.waits_ms, usages_ms).ravel())
        return PredictedSize(
            pool_size=size,
            throughput=1000 * source.throughput * instances,
            timeouts=1000 * source.timeouts * instances,
            at_work=source.connections_in_use * instances,
            wait=_percentiles(source.waits_ms, source.wait_ms),
            usage=_percentiles(usages_ms, source.usage_ms),
            total=_percentiles(totals_ms, source.wait_ms + source.usage_ms),
            measured=measured,
        )


def predictor(
    analysis: Analysis, network: FittedNetwork, users: int, think_time_ms: float, largest: int, instances: int = 1
) -> Predictor:
    """Return the predictor of a network with these users. largest: the largest pool size to be predicted."""
    return Predictor(
        throughputs(network.stations, network.delay_ms, largest),
        users,
        think_time_ms,
        instances,
        analysis.run.timeout_ms,
        usage_shape(analysis.models.usage_histogram),
        None if analysis.run.think_time_ms else measured_departures(analysis.by_size),
    )


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


def _percentiles(times_ms: Vector, mean_ms: float) -> Percentiles:
    values = np.quantile(times_ms, [share / 100 for share in QUANTILES.values()]).tolist()
    return Percentiles(**dict(zip(QUANTILES, values, strict=True)), mean=mean_ms, max=float(times_ms.max()))
