"""The prediction of a run's throughput and latencies with other cores, another round trip, or other users.

It rests on the closed network fitted to the run, and on a finite source of users in front of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.analysis.models.closed_network import throughputs
from poolsize.analysis.models.finite_source import CLASSES, finite_source
from poolsize.analysis.models.network_fit import FittedNetwork
from poolsize.analysis.stats.percentiles import QUANTILES, Percentiles, quantiles
from poolsize.analysis.vector import Vector
from poolsize.answer.finding import Code, Finding, reason, warning
from poolsize.errors import BadInput, WorkFailed
from poolsize.formula import require_cores
from poolsize.runs.plan import MOST_USERS

LARGEST = 10_000
"""The largest pool size that is predicted."""
BEYOND = 4
"""Sizes are predicted up to this multiple of the largest measured size."""


@dataclass(frozen=True)
class WhatIf:
    """The differences from the run; None for no difference.

    cores: physical cores of the database's host. round_trip_ms: of one statement. think_time_ms: mean pause of a user
    between transactions. users: of all instances together.
    instances: number of instances of the application. Each has an equal share of the users and of the pool, and workers
    like the run's.
    """

    cores: int | None = None
    round_trip_ms: float | None = None
    think_time_ms: float | None = None
    users: int | None = None
    instances: int = 1

    def __post_init__(self) -> None:
        """Raise BadInput for impossible values."""
        if self.cores is not None:
            require_cores(self.cores)
        if self.users is not None and not 1 <= self.users <= MOST_USERS:
            raise BadInput(f"`users` {self.users}: give 1 to {MOST_USERS:,} users")
        if not 1 <= self.instances <= MOST_USERS:
            raise BadInput(f"`instances` {self.instances}: give 1 to {MOST_USERS:,}")


@dataclass(frozen=True)
class PredictedSize:
    """The prediction for one pool size, all instances together.

    throughput: transactions per second. at_work: mean connections in use. wait, usage, total: milliseconds.
    measured: transactions per second as measured; None where anything differs from the run, or without a valid step.
    """

    pool_size: int
    throughput: float
    at_work: float
    wait: Percentiles
    usage: Percentiles
    total: Percentiles
    measured: float | None


@dataclass(frozen=True)
class Prediction:
    """The prediction for several pool sizes.

    network: the fitted network, with the differences from the run.
    users: of all instances together, a multiple of the instances.
    think_time_ms: mean pause of a user between transactions. sizes: in the order of the argument, else ascending.
    error: root mean square error, a share, of the fitted network at the measured sizes. findings: basis and limits.
    """

    network: FittedNetwork
    users: int
    think_time_ms: float
    sizes: tuple[PredictedSize, ...]
    error: float
    findings: tuple[Finding, ...]


def predict(analysis: Analysis, what_if: WhatIf, sizes: Sequence[int] | None = None) -> Prediction:
    """Return the prediction for a run with differences. sizes: pool sizes, or None for the measured sizes and beyond.

    Raises WorkFailed where no network can be fitted. Raises BadInput for fewer users than instances, for a size that
    the instances can't share evenly or that exceeds 10,000, and for differences that need figures the run lacks.
    """
    network = analysis.models.network
    if network is None:
        raise WorkFailed("a prediction needs 4 valid sizes, measured without `rate`: sweep more `sizes`")
    plan = analysis.setting.plan
    if what_if.users is None and analysis.setting.recording and not any(step.users for step in analysis.run.steps):
        raise BadInput("the recording does not contain its number of users: give `users`")
    users = what_if.users or plan.users
    think_ms = analysis.run.think_time_ms if what_if.think_time_ms is None else what_if.think_time_ms
    changed = _changed(analysis, network, what_if)
    pool_sizes = tuple(sizes) if sizes else _sizes(analysis, users, what_if.instances)
    _require_possible(pool_sizes, users, what_if.instances)
    shape = _usage_shape(analysis)
    rates = throughputs(changed.stations, changed.delay_ms, max(pool_sizes))
    as_measured = what_if == WhatIf(users=what_if.users if what_if.users == plan.users else None)
    measured = {size.pool_size: size.throughput.mean for size in analysis.valid_sizes} if as_measured else {}
    predicted = tuple(
        _predicted(rates, size, users, think_ms, what_if.instances, shape, measured.get(size)) for size in pool_sizes
    )
    return Prediction(
        changed,
        what_if.instances * ceil(users / what_if.instances),
        think_ms,
        predicted,
        _error(analysis, network),
        _findings(analysis, what_if, changed, users, max(pool_sizes)),
    )


def _error(analysis: Analysis, network: FittedNetwork) -> float:
    """Return the root mean square of the network's relative errors at the measured sizes."""
    fitted = network.throughput([size.pool_size for size in analysis.valid_sizes])
    errors = fitted / np.array([size.throughput.mean for size in analysis.valid_sizes]) - 1
    return float(np.sqrt(np.mean(errors**2)))


def _findings(
    analysis: Analysis, what_if: WhatIf, network: FittedNetwork, users: int, largest: int
) -> tuple[Finding, ...]:
    """Return the basis of the figures and the limits of their use. largest: the largest predicted size."""
    as_measured = analysis.models.usage_histogram is not None
    findings = [reason(Code.USAGE_AS_MEASURED if as_measured else Code.USAGE_EXPONENTIAL)]
    if what_if.cores is not None:
        other_ms = network.client.demand_ms + network.queue.demand_ms + network.delay_ms
        findings.append(reason(Code.CORES_SCALE_CPU, cpu_ms=network.cpu.demand_ms, other_ms=other_ms))
    limit = analysis.bottleneck.name if analysis.bottleneck else BottleneckName.UNKNOWN
    if what_if.cores is not None and limit not in {BottleneckName.SERVER_CPU, BottleneckName.SHARED_CPU}:
        findings.append(warning(Code.CORES_MAY_NOT_HELP, bottleneck=limit))
    if users % what_if.instances:
        findings.append(reason(Code.USERS_ROUNDED_UP, users=users, users_per_instance=ceil(users / what_if.instances)))
    largest_measured = analysis.valid_sizes[-1].pool_size
    if largest > largest_measured:
        findings.append(warning(Code.EXTRAPOLATED, largest_measured=largest_measured))
    return tuple(findings)


def _require_possible(sizes: Sequence[int], users: int, instances: int) -> None:
    """Raise BadInput for fewer users than instances, and for sizes that they can't share or that are too large."""
    if users < instances:
        raise BadInput(f"`users` {users}: fewer than the {instances} instances that share them")
    for size in sizes:
        if size % instances:
            raise BadInput(f"`sizes` {size}: {instances} instances can't share it; give multiples of {instances}")
        if size > LARGEST:
            raise BadInput(f"`sizes` {size}: give {LARGEST:,} connections at most")


def _changed(analysis: Analysis, network: FittedNetwork, what_if: WhatIf) -> FittedNetwork:
    """Return the network with other cores, another round trip, and the workers of all instances."""
    cpu, delay_ms = network.cpu, network.delay_ms
    if what_if.cores is not None:
        if not cpu.demand_ms:
            raise BadInput(
                f"`cores` {what_if.cores}: the run does not know how much CPU time a transaction takes on the server; "
                "leave it out"
            )
        cpu = cpu.with_servers(max(1, round(cpu.servers * what_if.cores / analysis.setting.cores)))
    if what_if.round_trip_ms is not None:
        calibration, statements = analysis.run.calibration, analysis.statements
        if calibration is None or statements is None:
            raise BadInput(
                f"`round_trip_ms` {what_if.round_trip_ms:g}ms: the run does not know how long its own round trip was, "
                "or how many statements a transaction has; leave it out"
            )
        further_ms = statements * (what_if.round_trip_ms - calibration.round_trip_us / 1000)
        delay_ms = max(0.0, delay_ms + further_ms)
    client = replace(network.client, servers=network.client.servers * what_if.instances)
    return replace(network, client=client, cpu=cpu, delay_ms=delay_ms)


def _sizes(analysis: Analysis, users: int, instances: int) -> tuple[int, ...]:
    """Return the measured sizes, and doublings beyond as far as users can fill the pool, as multiples of instances."""
    measured = [size.pool_size for size in analysis.valid_sizes]
    most = min(BEYOND * measured[-1], max(measured[-1], users))
    further = [factor * measured[-1] for factor in (2, BEYOND)]
    return tuple(sorted({instances * ceil(size / instances) for size in (*measured, *further) if size <= most}))


def _predicted(
    rates: Vector, size: int, users: int, think_ms: float, instances: int, shape: Vector, measured: float | None
) -> PredictedSize:
    """Return the prediction for one size. Instances are alike, so one instance is solved, with its share of the rates.

    rates: transactions per millisecond of the network with 1, 2, ... connections. shape: see _usage_shape.
    """
    share, own_users = size // instances, ceil(users / instances)
    own_rates = rates[np.arange(1, share + 1) * instances - 1] / instances
    source = finite_source(own_rates, own_users, think_ms, float(shape.var()))
    usages_ms = source.usage_ms * shape
    totals_ms = np.sort(np.add.outer(source.waits_ms, usages_ms).ravel())
    return PredictedSize(
        pool_size=size,
        throughput=1000 * source.throughput * instances,
        at_work=source.connections_in_use * instances,
        wait=_percentiles(source.waits_ms, source.wait_ms),
        usage=_percentiles(usages_ms, source.usage_ms),
        total=_percentiles(totals_ms, source.wait_ms + source.usage_ms),
        measured=measured,
    )


def _usage_shape(analysis: Analysis) -> Vector:
    """Return CLASSES equally likely usage times, as multiples of their mean.

    They are measured at the plateau; without a measurement they are exponential.
    """
    levels = (np.arange(CLASSES) + 0.5) / CLASSES
    usage = analysis.models.usage_histogram
    shape = -np.log1p(-levels) if usage is None else quantiles(usage, levels.tolist())
    return np.asarray(shape / shape.mean())


def _percentiles(times_ms: Vector, mean_ms: float) -> Percentiles:
    values = {name: float(np.quantile(times_ms, share / 100)) for name, share in QUANTILES.items()}
    return Percentiles(**values, mean=mean_ms, max=float(times_ms.max()))
