"""The price table: throughput loss of the other pool sizes, and their latency at an arrival rate (operating point)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isclose, isfinite, isnan
from typing import TYPE_CHECKING

from poolsize.answer.finding import Caution, Figures, Finding, Reason
from poolsize.errors import BadInput
from poolsize.runs.check import Check

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.rate_evidence import VerifiedStep
    from poolsize.analysis.stats.confidence import Interval
    from poolsize.analysis.vector import Vector
    from poolsize.traffic.total_times import SharedPool

LOAD = 0.7
"""The arrival rate where none is given, as a share of the answer's throughput: some room is left for busy minutes.

A chosen value, at which the last step of a search measures (planning.SEARCH_VERIFY).
"""
SAME_RATE = 0.01
"""Two arrival rates that differ by no more than this share have the same latency but for the noise. A chosen value."""
DIGITS = 6
"""Decimals of a throughput loss; further decimals are rounding errors."""


@dataclass(frozen=True)
class TotalTimes:
    """Percentiles of the total time, wait and usage together, in milliseconds."""

    p95: float
    p99_9: float


@dataclass(frozen=True)
class AtRate:
    """The latency at an arrival rate, in requests per second. total_ms: None where the pool can't keep up with it.

    measured: whether the total times were measured, not computed.
    computed_ms: the computed total times beside measured ones, where these contradict them (MeasuredP95).
    """

    rate: float
    total_ms: TotalTimes | None
    measured: bool = False
    computed_ms: TotalTimes | None = None


class MeasuredP95(Figures):
    """The p95 of the total time in the answer's open-loop step, in ms, and as it is computed.

    p95_interval_ms: both ends of the 95 % interval of the measured p95; None where the step was too short.
    computed_p95_ms: None where the computation says that the pool can't keep up with the rate.
    """

    p95_ms: float
    p95_interval_ms: tuple[float, float] | None
    computed_p95_ms: float | None

    @classmethod
    def of(cls, p95: "Interval", computed: TotalTimes | None) -> "MeasuredP95":
        """Return the measured p95, in ms, beside the computed total times."""
        return cls(p95.mean, (p95.low, p95.high) if isfinite(p95.high) else None, computed.p95 if computed else None)

    @property
    def contradicts(self) -> bool:
        """Whether the computed p95 is outside of the interval of the measured p95."""
        if self.p95_interval_ms is None:
            return False
        low_ms, high_ms = self.p95_interval_ms
        return self.computed_p95_ms is None or not low_ms <= self.computed_p95_ms <= high_ms


class ModelledTimes(Reason, code="modelled_total_times", of_prices=True):
    """The total times at the rate are computed. load: the rate as a share of the throughput of pool_size, the answer.

    usage_measured: whether usage times vary as in the run; if not, they are taken as exponentially distributed.
    measured: the p95 of the answer, which an open-loop step measured at this rate; None where no such step was run.
    """

    rate: float
    load: float
    pool_size: int
    usage_measured: bool
    measured: MeasuredP95 | None = None


class MeasuredTimes(Reason, code="measured_total_times", of_prices=True):
    """The total times at the rate are those of the run, an open loop."""

    rate: float


class RateTooHigh(Caution, code="rate_too_high", leads=True, of_generator=True):
    """The answer's pool, or every pool, can't keep up with the rate that was given, in requests per second.

    keeps_up: the smallest pool size that keeps up; None where no pool size does. highest: the throughput that no pool
    size exceeds.
    """

    rate: float
    pool_size: int
    keeps_up: int | None
    highest: float


class NoTotalTimes(Reason, code="no_total_times", of_prices=True):
    """The total times at an arrival rate are not known: of a replay, of several pools, and without a fitted network.

    measured_size: the pool size whose times are known, because an open-loop step measured them; None where no step did.
    """

    measured_size: int | None = None


Latency = Callable[[int], AtRate | None]
"""Pool size -> its latency at the operating point; None where it is not known."""


def check_rate(rate: float, measured: float | None) -> None:
    """Raise BadInput for a rate that is no finite number above 0, and for a rate other than the fixed rate of the run.

    rate, measured: in requests per second. measured: the run's fixed rate; None for a closed loop.
    """
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
    load, at_rate = (LOAD, LOAD * throughput) if rate is None else (rate / throughput, rate)
    step = _step_at_rate(analysis, pool_size, at_rate) if application_rates is None else None
    measured = AtRate(at_rate, TotalTimes(step.total.p95, step.total.p99_9), measured=True) if step else None
    if analysis.setting.recording is not None or analysis.setting.pools > 1 or analysis.models.network is None:
        return (NoTotalTimes(pool_size if step else None),), lambda size: measured if size == pool_size else None
    pool, usage_measured = _shared_pool(analysis, application_rates)
    rates = pool.rates

    def computed(size: int) -> AtRate:
        times_ms = pool.total_ms(size, at_rate, (0.95, 0.999))
        return AtRate(at_rate, TotalTimes(*times_ms) if times_ms else None)

    def latency(size: int) -> AtRate:
        return measured if measured and size == pool_size else computed(size)

    computed_ms = computed(pool_size).total_ms
    of_step = MeasuredP95.of(step.total_p95, computed_ms) if step else None
    if measured and of_step and of_step.contradicts:
        measured = replace(measured, computed_ms=computed_ms)
    modelled = ModelledTimes(at_rate, load, pool_size, usage_measured, of_step)
    if rate is None or rate < rates[:pool_size][-1]:
        return (modelled,), latency
    keeping_up = (rates > rate).nonzero()[0] + 1
    smallest = int(keeping_up[0]) if len(keeping_up) else None
    return (modelled, RateTooHigh(rate, pool_size, smallest, float(rates.max()))), latency


def _shared_pool(analysis: "Analysis", application_rates: "Vector | None") -> "tuple[SharedPool, bool]":
    """Return a pool of the database, and whether its usage times vary as measured; if not, they are exponential."""
    from poolsize.traffic.total_times import SharedPool, usage_distribution, usage_distributions
    from poolsize.traffic.wait_times import measured_departures

    exponential = {1: usage_distribution(None)}
    if application_rates is not None:
        return SharedPool(application_rates, exponential), False
    usage = usage_distributions(analysis.by_size)
    departures = measured_departures(analysis.by_size) if usage and not analysis.run.think_time_ms else None
    return SharedPool(_rates(analysis), usage or exponential, departures), bool(usage)


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
    return None if isnan(times.p99_9) else AtRate(rate, times, measured=analysis.by_size.is_measured(size))


def _step_at_rate(analysis: "Analysis", size: int, rate: float) -> "VerifiedStep | None":
    """Return the step that measured a size at a rate for long enough and passed every check; None if no step did."""
    for step in analysis.verified:
        shows_percentiles = not step.failed_checks and step.unsettled_seconds is None
        if shows_percentiles and step.pool_size == size and isclose(step.rate, rate, rel_tol=SAME_RATE):
            return step
    return None


@dataclass(frozen=True)
class Price:
    """The price of a pool size.

    throughput_loss: share of capacity; negative where the measured throughput is above the fitted curve's capacity.
    fitted_loss: the same by the fitted curve, which decides the answer.
    at_rate: the latency at the operating point; None where unknown. failed_checks: of the size's steps, each once; None
    for a size that was not measured.
    """

    pool_size: int
    throughput_loss: float
    fitted_loss: float
    at_rate: AtRate | None
    failed_checks: tuple[Check, ...] | None = None


class CurrentSize(Reason, code="current_size"):
    """The price of the user's current pool size, compared with the recommended one.

    throughput_loss: share of capacity that the current size loses compared with pool_size; negative for a gain.
    """

    current: int
    pool_size: int
    throughput_loss: float


class CurrentNotMeasured(Reason, code="current_not_measured"):
    """The user's current pool size lies outside of the measured sizes, which go from low to high.

    pool_size: the recommended pool size.
    """

    current: int
    pool_size: int
    low: int
    high: int


class CurrentNotTheLimit(Reason, code="current_not_the_limit"):
    """The user's current pool size does not limit throughput either."""

    current: int


def prices(analysis: "Analysis", further_sizes: tuple[int | None, ...], latency: Latency) -> tuple[Price, ...]:
    """Return the price of every valid size, and of the further sizes between them, ascending in pool size."""
    sizes = analysis.valid_sizes
    failed = {size.pool_size: tuple(dict.fromkeys(result.check for result in size.failed_checks)) for size in sizes}
    between = [size for size in further_sizes if size and sizes[0].pool_size <= size <= sizes[-1].pool_size]

    def price(size: int) -> Price:
        losses = throughput_loss(analysis, size), _loss(analysis, analysis.fitted_at(size))
        return Price(size, *losses, latency(size), failed.get(size))

    return tuple(map(price, sorted({*failed, *between})))


def throughput_loss(analysis: "Analysis", size: float) -> float:
    """Return the share of capacity that a size loses, as measured, or by the fitted curve between measured sizes.

    0 at a fixed rate. size: a part of a connection is a mean of several pools.
    """
    return _loss(analysis, analysis.throughput_at(size))


def _loss(analysis: "Analysis", throughput: float) -> float:
    if analysis.curve is None or analysis.plateau is None:
        return 0.0
    return round(1 - throughput / analysis.plateau.capacity, DIGITS)


def current_size(analysis: "Analysis", size: int, current: int) -> Finding:
    """Return the finding that compares the user's current pool size with the recommended size."""
    low, high = analysis.valid_sizes[0].pool_size, analysis.valid_sizes[-1].pool_size
    if not low <= current <= high:
        return CurrentNotMeasured(current, size, low, high)
    return CurrentSize(current, size, throughput_loss(analysis, current) - throughput_loss(analysis, size))
