"""The operating point: the arrival rate at which the price table has the latency of every pool size."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, isnan
from typing import TYPE_CHECKING

from poolsize.answer.finding import Caution, Finding, Reason
from poolsize.errors import BadInput

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.vector import Vector

LOAD = 0.7
"""The arrival rate where none is given, as a share of the answer's throughput: some room is left for busy minutes.

A chosen value.
"""


@dataclass(frozen=True)
class TotalTimes:
    """Percentiles of the total time, wait and usage together, in milliseconds."""

    p95: float
    p99_9: float


@dataclass(frozen=True)
class AtRate:
    """The latency at an arrival rate, in requests per second. total_ms: None where the pool can't keep up with it."""

    rate: float
    total_ms: TotalTimes | None


class ModelledTimes(Reason, code="modelled_total_times", of_prices=True):
    """The total times at the rate are computed. load: the rate as a share of the throughput of pool_size, the answer.

    usage_measured: whether usage times vary as in the run; else like exponential ones.
    """

    rate: float
    load: float
    pool_size: int
    usage_measured: bool


class MeasuredTimes(Reason, code="measured_total_times", of_prices=True):
    """The total times at the rate are those of the run, an open loop."""

    rate: float


class RateTooHigh(Caution, code="rate_too_high"):
    """The answer's pool, or every pool, can't keep up with the rate. keeps_up: the smallest that does, or None."""

    rate: float
    pool_size: int
    keeps_up: int | None
    highest: float


class NoTotalTimes(Reason, code="no_total_times", of_prices=True):
    """The total times at an arrival rate are not known: of a replay, of several pools, and without a fitted network."""


Latency = Callable[[int], AtRate | None]
"""Pool size -> its latency at the operating point; None where it is not known."""


def check_rate(rate: float, measured: float | None) -> None:
    """Raise BadInput for a rate that no traffic has, or another than that of a run at a fixed rate."""
    if not (rate > 0 and isfinite(rate)):
        raise BadInput(f"`rate` {rate:g}: give a number above 0")
    if measured not in {None, rate}:
        raise BadInput(
            f"`rate` {rate:g}/s: this run has the latency at {measured:g}/s alone, its fixed rate; leave it out"
        )


def operating_point(
    analysis: "Analysis",
    pool_size: int,
    throughput: float,
    rate: float | None = None,
    application_rates: "Vector | None" = None,
) -> tuple[tuple[Finding, ...], Latency]:
    """Return how the latency at the operating point of an answer is known, and the latency.

    throughput: of the answer. rate: of arrivals; None for LOAD of the throughput, or the run's own rate.
    application_rates: transactions per second with 1, 2, ... connections in use; None for the load generator.
    """
    if (plan_rate := analysis.setting.plan.rate) is not None:
        return (MeasuredTimes(plan_rate),), lambda size: _measured(analysis, size, plan_rate)
    if analysis.setting.recording is not None or analysis.setting.pools > 1 or analysis.models.network is None:
        return (NoTotalTimes(),), lambda _: None
    from poolsize.traffic.total_times import SharedPool, usage_distribution
    from poolsize.traffic.wait_times import measured_departures

    sizes = [size.pool_size for size in analysis.valid_sizes] if application_rates is None else []
    histograms = {size: analysis.by_size.histogram("usage", size) for size in sizes}
    usage = {size: usage_distribution(times) for size, times in histograms.items() if times is not None}
    rates = _rates(analysis) if application_rates is None else application_rates
    departures = measured_departures(analysis.by_size) if usage and not analysis.run.think_time_ms else None
    pool = SharedPool(rates, usage or {1: usage_distribution(None)}, departures)
    load, at_rate = (LOAD, LOAD * throughput) if rate is None else (rate / throughput, rate)

    def latency(size: int) -> AtRate:
        times_ms = pool.total_ms(size, at_rate, (0.95, 0.999))
        return AtRate(at_rate, TotalTimes(*times_ms) if times_ms else None)

    modelled = ModelledTimes(at_rate, load, pool_size, bool(usage))
    if rate is None or rate < rates[:pool_size][-1]:
        return (modelled,), latency
    keeping_up = (rates > rate).nonzero()[0] + 1
    smallest = int(keeping_up[0]) if len(keeping_up) else None
    return (modelled, RateTooHigh(rate, pool_size, smallest, float(rates.max()))), latency


def _rates(analysis: "Analysis") -> "Vector":
    """Return the transactions per second with 1, 2, ... connections in use, up to the largest measured size.

    At the measured sizes they are the fitted curve's. Between and below them they follow the network's.
    """
    import numpy as np

    network, sizes = analysis.models.network, [size.pool_size for size in analysis.valid_sizes]
    assert network is not None
    in_use = np.arange(1, sizes[-1] + 1)
    rates = network.throughput(in_use.tolist())
    ratios = [analysis.fitted_at(size) / rates[size - 1] for size in sizes]
    return np.asarray(rates * np.interp(np.log(in_use), np.log(sizes), ratios))


def _measured(analysis: "Analysis", size: int, rate: float) -> AtRate | None:
    times = TotalTimes(*(analysis.by_size.latency_ms(quantile, size) for quantile in ("p95", "p99_9")))
    return None if isnan(times.p99_9) else AtRate(rate, times)
