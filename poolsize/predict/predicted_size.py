"""The prediction for one pool size: a finite source of users in front of the closed network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isnan, log, log2, nan

import numpy as np
from hdrh.histogram import HdrHistogram

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.by_size import BySize
from poolsize.analysis.models.closed_network import throughputs
from poolsize.analysis.models.fitted_network import FittedNetwork
from poolsize.analysis.stats.percentiles import Percentiles, quantiles
from poolsize.analysis.vector import Vector
from poolsize.runs.run import LATENCIES, QUANTILES
from poolsize.traffic.finite_source import finite_source
from poolsize.traffic.wait_times import Departures, usage_shape

NEGLIGIBLE = 0.01
"""A measured latency below this share of the total time is too short for an error in percent."""
LEVELS = 1000
"""Quantiles that are read from a histogram of wait times."""
QUARTILES = 1.349
"""Distance of a normal distribution's quartiles, in standard deviations."""
FAR = 5
"""Wait times met a pause if they exceed the median by more than this number of standard deviations."""
FEW = 0.002
"""A smaller share of such wait times is not evidence of pauses."""


@dataclass(frozen=True)
class MeasuredDepartures:
    """How the departures from the pool's queue vary, by measured pool size, ascending, at least one size.

    Without think time, the queue's length is always the same: users less pool size. The wait time is then the time of
    so many departures, and its spread is theirs.
    """

    by_pool_size: Mapping[int, Departures]

    def at(self, pool_size: int) -> Departures:
        """Return the departures at a pool size, interpolated between the measured sizes over log2 of the size.

        Beyond the measured sizes they are those of the nearest.
        """
        places = [log2(measured) for measured in self.by_pool_size]
        departures = self.by_pool_size.values()
        figures = [(log(each.variability), each.pauses_per_ms, each.pause_ms) for each in departures]
        variability, per_ms, pause_ms = (
            float(np.interp(log2(pool_size), places, values)) for values in zip(*figures, strict=True)
        )
        return Departures(float(np.exp(variability)), per_ms, pause_ms)

    def without(self, pool_size: int) -> "MeasuredDepartures":
        """Return the departures without those of a pool size, where there are others."""
        others = {size: departures for size, departures in self.by_pool_size.items() if size != pool_size}
        return MeasuredDepartures(others) if others else self


def measured_departures(by_size: BySize) -> MeasuredDepartures | None:
    """Return the departures of a run without think time; None where no valid size has users that wait."""
    departures = {}
    for size in by_size.valid:
        ahead = by_size.steps[size.pool_size][0].users - size.pool_size
        waits = by_size.histogram("wait", size.pool_size)
        if ahead > 0 and waits is not None and size.throughput.mean:
            departures[size.pool_size] = _departures(waits, ahead, size.throughput.mean / 1000)
    return MeasuredDepartures(departures) if departures else None


def _departures(waits: HdrHistogram, number: int, rate: float) -> Departures:
    """Return the departures of which a number take the wait times. rate: departures per millisecond."""
    times_ms = quantiles(waits, ((np.arange(LEVELS) + 0.5) / LEVELS).tolist()) / 1000
    low, median, high = np.quantile(times_ms, [0.25, 0.5, 0.75])
    spread_ms = max((high - low) / QUARTILES, np.finfo(float).tiny)
    paused = times_ms > median + FAR * spread_ms
    pauses_per_ms = pause_ms = 0.0
    if paused.mean() >= FEW:
        pauses_per_ms = -log(1 - float(paused.mean())) * rate / number
        pause_ms = float(times_ms[paused].mean() - median)
    own_rate = rate / (1 - Departures(1.0, pauses_per_ms, pause_ms).paused_share)
    variability = max(float((spread_ms * own_rate) ** 2 / number), float(np.finfo(float).tiny))
    return Departures(variability, pauses_per_ms, pause_ms)


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
