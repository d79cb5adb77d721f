"""The pool size of the user's application, and why a run may not have one."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.application_size import (
    CERTAINTY,
    GRID,
    LARGEST,
    ApplicationSize,
    shortest_usage_time_ms,
    size_for_usage_time,
    with_locks_held,
)
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.analysis.vector import Vector
from poolsize.answer.finding import Caution, Finding, Reason
from poolsize.answer.price import DIGITS, CurrentSize
from poolsize.bounds import MOST_CORES
from poolsize.errors import BadInput
from poolsize.traffic.total_times import WEIGHTS, usage_distributions
from poolsize.traffic.usage_phases import UsageTimes


class Unknown(StrEnum):
    """Why a run has no pool size for an application; the values are printed in JSON."""

    RATE = "rate"
    REPLAY = "replay"
    FEW_SIZES = "few_sizes"
    SERVICE_DEMANDS = "service_demands"
    UNCERTAIN = "uncertain"


LEAST_SHARE = 0.5
"""A usage time below this share of the database's time is that of another transaction."""


class DatabaseSize(Reason, code="database_size"):
    """The times of a transaction when nothing queues, and the size that the database alone needs, with its 95 % range.

    database_size, range: None where they are not known. pool_size: the answer.
    """

    database_ms: float
    client_ms: float
    pool_size: int
    database_size: int | None
    range: tuple[int, int] | None


class NoApplicationSizes(Reason, code="no_application_sizes"):
    """No pool size of an application is known."""

    why: Unknown


class ApplicationPool(Reason, code="application_size"):
    """The pool size of an application with these times. cpu_time_ms: None where it was not given.

    added_ms: its own part of the usage time. probability: that the throughput is within the tolerance of capacity.
    """

    pool_size: int
    usage_time_ms: float
    added_ms: float
    cpu_time_ms: float | None
    cores: int
    throughput: float
    capacity: float
    tolerance: float
    probability: float


class LoadGeneratorSize(Reason, code="load_generator_size"):
    """The pool size of the load generator, with its 95 % range. client_ms: its CPU time of a transaction.

    usage_time_ms: of its transactions, when nothing queues. saturated: whether its CPU was. probability: of the size.
    """

    pool_size: int
    range: tuple[int, int]
    client_ms: float
    usage_time_ms: float
    saturated: bool
    probability: float


class ShortUsageTime(Caution, code="short_usage_time"):
    """The application's usage time is shorter than the database's time in the run."""

    usage_time_ms: float
    database_ms: float


class BeyondMeasured(Caution, code="beyond_measured"):
    """The sweep did not reach the application's capacity. highest: measured throughput."""

    highest: float
    capacity: float


class OwnCores(Caution, code="own_cores"):
    """The application's own CPU time is not known. cpu_ms: of a transaction, with which 1 core reaches the capacity."""

    capacity: float
    cpu_ms: float


class LocksHeld(Caution, code="locks_held", is_doubt=True, leads=True):
    """Transactions wait for each other's row locks, and nobody knows for how long the application holds them.

    pool_size, capacity: if it holds none in its own time, added_ms. locked_size, locked_capacity: if it holds locks for
    all of it; None where the fitted network has no queue for them.
    """

    pool_size: int
    capacity: float
    added_ms: float
    locked_size: int | None
    locked_capacity: float | None


def database_finding(analysis: Analysis, pool_size: int) -> Finding:
    """Return the limit that the database alone sets, or why no pool size of an application is known.

    pool_size: the answer.
    """
    sizes, network = analysis.models.application_sizes, analysis.models.network_with_client
    if network is None or not sizes:
        return NoApplicationSizes(_why_unknown(analysis))
    size, range_ = (None, None) if sizes[0].added_ms else (sizes[0].pool_size, sizes[0].range)
    return DatabaseSize(network.database_ms, network.client.demand_ms, pool_size, size, range_)


@dataclass(frozen=True)
class ClientTimes:
    """The times of the user's own client, the application whose pool gets the size.

    usage_time_ms: mean of a transaction when nothing queues. cpu_time_ms: its CPU time in the application, under load,
    or None. cores: that all its instances may use together; None for 1. Raises BadInput for values that no application
    has.
    """

    usage_time_ms: float
    cpu_time_ms: float | None = None
    cores: int | None = None

    def __post_init__(self) -> None:
        if self.cores is not None and self.cpu_time_ms is None:
            raise BadInput(f"`app_cores` {self.cores}: also give the CPU time of a transaction, `app_cpu_time_ms`")
        if self.cores is not None and not 1 <= self.cores <= MOST_CORES:
            raise BadInput(f"`app_cores` {self.cores}: an application may use 1 to {MOST_CORES:,} cores")
        if self.cpu_time_ms is not None and not 0 < self.cpu_time_ms <= self.usage_time_ms:
            raise BadInput(
                f"`app_cpu_time_ms` {self.cpu_time_ms:g}ms: it is a part of the usage time, {self.usage_time_ms:g}ms"
            )


class NoPoolSize(BadInput):
    """A usage time for which a run has no pool size. reason: why, without the option, which may not be typed."""

    def __init__(self, usage_time_ms: float, reason: str, way_out: str) -> None:
        super().__init__(f"`usage_time_ms` {usage_time_ms:g}ms: {reason}; {way_out}")
        self.reason = reason


def size_for_application(analysis: Analysis, client_times: ClientTimes) -> ApplicationSize:
    """Return the pool size of an application. A usage time below the database's time adds nothing.

    Raises BadInput where the run has no such size, and for a usage time below half of the database's time.
    """
    usage_time_ms = client_times.usage_time_ms
    if analysis.setting.application is not None:
        raise BadInput(f"`usage_time_ms` {usage_time_ms:g}ms: this run's pool is the application's own; leave it out")
    network = analysis.models.network_with_client
    if network is None or analysis.plateau is None:
        raise NoPoolSize(usage_time_ms, EXPLANATIONS[_why_unknown(analysis)], "leave it out")
    if usage_time_ms < LEAST_SHARE * network.database_ms:
        raise NoPoolSize(
            usage_time_ms,
            f"a transaction of this run takes {network.database_ms:.3g}ms in the database alone",
            "give the mean usage time of the same transaction, measured where nothing queues",
        )
    size = size_for_usage_time(
        network, usage_time_ms, analysis.plateau.tolerance, client_times.cpu_time_ms or 0.0, client_times.cores or 1
    )
    if size is None:
        reason = f"the application needs more than {LARGEST:,} connections"
        raise NoPoolSize(usage_time_ms, reason, "give a shorter time")
    if not size.is_certain:
        way_out = "leave it out, or measure longer and more sizes"
        raise NoPoolSize(usage_time_ms, EXPLANATIONS[Unknown.UNCERTAIN], way_out)
    return size


def usage_of_run(analysis: Analysis) -> UsageTimes:
    """Return the usage times of a run's transactions in the database alone, when nothing queues.

    They vary as with the smallest measured pool. Raises BadInput where the run does not show them.
    """
    network, distributions = analysis.models.network_with_client, usage_distributions(analysis.by_size)
    if network is None or not distributions:
        raise BadInput(f"`rate` also needs `usage_time_ms` with this run: {EXPLANATIONS[_why_unknown(analysis)]}")
    times = distributions[min(distributions)]
    return UsageTimes(network.database_ms, max(0.0, float(WEIGHTS @ times**2) - 1))


EXPLANATIONS = {
    Unknown.RATE: "at a fixed rate, throughput shows no capacity",
    Unknown.REPLAY: "a replay does not know how much of a transaction is the client's own time",
    Unknown.FEW_SIZES: "the estimator closed_network, which computes it, needs 4 valid pool sizes",
    Unknown.SERVICE_DEMANDS: (
        "without the server's CPU time, the load generator's part of a transaction is known only if pool size 1 was "
        "measured"
    ),
    Unknown.UNCERTAIN: "the run does not determine the database's capacity well enough",
}
"""Why there is no pool size for an application, as part of a sentence."""


def application_findings(
    analysis: Analysis, size: ApplicationSize, usage_time_ms: float, current: int | None
) -> tuple[list[Finding], list[Finding]]:
    """Return the reasons of an application's size, and its warnings.

    The reasons: how it follows from the run, the current size's price, and the load generator's size. The warnings: a
    usage time shorter than the database's, a capacity beyond the measured throughput, and what the size takes for
    granted of the application's own CPU time and of its locks.
    usage_time_ms: that was given. current: the user's pool size today, or None.
    """
    network, plateau = analysis.models.network_with_client, analysis.plateau
    assert network is not None
    assert plateau is not None
    follows = ApplicationPool(
        pool_size=size.pool_size,
        usage_time_ms=size.usage_time_ms,
        added_ms=size.added_ms,
        cpu_time_ms=size.cpu_time_ms or None,
        cores=size.cores,
        throughput=size.throughput,
        capacity=size.capacity,
        tolerance=plateau.tolerance,
        probability=CERTAINTY,
    )
    reasons: list[Finding] = [follows]
    if current is not None:
        losses = application_losses(analysis, size, current)
        reasons.append(CurrentSize(current, size.pool_size, losses[current] - losses[size.pool_size]))
    client_ms, bottleneck = network.client.demand_ms, analysis.bottleneck
    saturated = bottleneck is not None and bottleneck.name is BottleneckName.GENERATOR
    of_lone = (client_ms, network.database_ms + client_ms)
    range_ = (plateau.low, plateau.high)
    reasons.append(LoadGeneratorSize(plateau.pool_size, range_, *of_lone, saturated, plateau.certainty))
    warnings: list[Finding] = []
    if usage_time_ms < shortest_usage_time_ms(network):
        warnings.append(ShortUsageTime(usage_time_ms, network.database_ms))
    highest = max(measured.throughput.mean for measured in analysis.valid_sizes)
    if size.capacity > (1 + plateau.tolerance) * highest:
        warnings.append(BeyondMeasured(highest, size.capacity))
    if not size.cpu_time_ms and size.added_ms:
        warnings.append(OwnCores(size.capacity, 1000 / size.capacity))
    if size.added_ms and analysis.bottleneck and analysis.bottleneck.name is BottleneckName.ROW_LOCKS:
        locked = with_locks_held(network, size, plateau.tolerance) or (None, None)
        warnings.append(LocksHeld(size.pool_size, size.capacity, size.added_ms, *locked))
    return reasons, warnings


def application_losses(analysis: Analysis, size: ApplicationSize, current: int | None) -> Mapping[int, float]:
    """Return the throughput losses at the measured sizes, the application's size and the current size, ascending.

    Raises BadInput for a current size above 2,000.
    """
    if current is not None and current > LARGEST:
        raise BadInput(f"`current` {current}: with `usage_time_ms`, give {LARGEST:,} connections at most")
    network = analysis.models.network_with_client
    assert network is not None
    measured = {measured.pool_size for measured in analysis.valid_sizes}
    pool_sizes = sorted({*measured, size.pool_size, *([current] if current else [])})
    rates = network.with_application(size.added_ms, size.cpu).throughput(pool_sizes).tolist()
    return {
        pool_size: max(0.0, round(1 - rate / size.capacity, DIGITS))
        for pool_size, rate in zip(pool_sizes, rates, strict=True)
    }


def rates_in_use(analysis: Analysis, size: ApplicationSize) -> Vector:
    """Return the transactions per second that the application has with 1, 2, ... 2,000 connections in use."""
    network = analysis.models.network_with_client
    assert network is not None
    rates = network.with_application(size.added_ms, size.cpu).throughput(GRID)
    return np.interp(np.arange(1, LARGEST + 1), GRID, rates)


def _why_unknown(analysis: Analysis) -> Unknown:
    if analysis.setting.plan.rate is not None:
        return Unknown.RATE
    if analysis.setting.recording is not None:
        return Unknown.REPLAY
    if analysis.models.network_with_client is not None:
        return Unknown.UNCERTAIN
    measured = all(size.demands for size in analysis.valid_sizes[-1:])
    return Unknown.FEW_SIZES if measured else Unknown.SERVICE_DEMANDS
