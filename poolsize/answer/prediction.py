"""What if: the fitted closed network with other cores, another round trip, other users."""

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

MOST_USERS = 1_000_000
LARGEST = 10_000
BEYOND = 4
"""Sizes are predicted up to so many times the largest measured."""


@dataclass(frozen=True)
class WhatIf:
    """What differs from the run; None for no difference.

    cores: of the database's host. round_trip_ms: of one statement. think_time_ms: between a user's transactions.
    users: of all instances together. instances: of the application, each with its share of the users and of the pool,
    and with workers like the run's. Raises BadInput for impossible values.
    """

    cores: int | None = None
    round_trip_ms: float | None = None
    think_time_ms: float | None = None
    users: int | None = None
    instances: int = 1

    def __post_init__(self) -> None:
        """Raise BadInput for impossible values."""
        if self.cores is not None and self.cores < 1:
            raise BadInput(f"`cores` {self.cores}: a database host has at least 1 core; try `cores` 8")
        if self.users is not None and not 1 <= self.users <= MOST_USERS:
            raise BadInput(f"`users` {self.users}: give 1 to {MOST_USERS:,} callers")
        if self.instances < 1:
            raise BadInput(f"`instances` {self.instances}: give at least 1")


@dataclass(frozen=True)
class PredictedSize:
    """One pool size, all instances together. throughput: per second. at_work: mean connections in use.

    wait, usage, total: milliseconds. measured: throughput per second as measured, where nothing differs from the run;
    else None.
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
    """Predicted pool sizes.

    network: as fitted, changed by what differs from the run. sizes: ascending. error: of the fit at the measured sizes,
    a share (root mean square). findings: what the figures rest on.
    """

    network: FittedNetwork
    users: int
    think_time_ms: float
    sizes: tuple[PredictedSize, ...]
    error: float
    findings: tuple[Finding, ...]


def predict(analysis: Analysis, what_if: WhatIf, sizes: Sequence[int] | None = None) -> Prediction:
    """Return predicted pool sizes. sizes: those to predict, or None for sizes around the measured ones.

    Raises WorkFailed where no network could be fitted, and BadInput for what the run does not know.
    """
    network = analysis.models.network
    if network is None:
        raise WorkFailed(
            "a network is fitted to 4 sizes or more that passed their checks, without `rate`: sweep more `sizes`"
        )
    plan = analysis.setting.plan
    if what_if.users is None and analysis.setting.recording:
        raise BadInput("the run is of a recording, and predicts nothing for its own callers: give `users`")
    users = what_if.users or plan.users
    think_ms = plan.think_time_ms if what_if.think_time_ms is None else what_if.think_time_ms
    changed = _changed(analysis, network, what_if)
    pool_sizes = tuple(sizes) if sizes else _sizes(analysis, users, what_if.instances)
    _require_possible(pool_sizes, users, what_if.instances)
    shape = _usage_shape(analysis)
    rates = throughputs(changed.stations, changed.delay_ms, max(pool_sizes))
    same = what_if == WhatIf(users=what_if.users if what_if.users == plan.users else None)
    measured = {size.pool_size: size.throughput.mean for size in analysis.valid_sizes} if same else {}
    predicted = tuple(
        _predicted(rates, size, users, think_ms, what_if.instances, shape, measured.get(size)) for size in pool_sizes
    )
    return Prediction(
        changed,
        users,
        think_ms,
        predicted,
        _error(analysis, network),
        _findings(analysis, what_if, users, max(pool_sizes)),
    )


def _error(analysis: Analysis, network: FittedNetwork) -> float:
    """Root mean square of the network's error at the measured sizes, a share."""
    fitted = network.throughput([size.pool_size for size in analysis.valid_sizes])
    errors = fitted / np.array([size.throughput.mean for size in analysis.valid_sizes]) - 1
    return float(np.sqrt(np.mean(errors**2)))


def _findings(analysis: Analysis, what_if: WhatIf, users: int, largest: int) -> tuple[Finding, ...]:
    """What the figures rest on."""
    as_measured = analysis.models.usage_histogram is not None
    findings = [reason(Code.USAGE_AS_MEASURED if as_measured else Code.USAGE_EXPONENTIAL)]
    limit = analysis.bottleneck.name if analysis.bottleneck else BottleneckName.UNKNOWN
    if what_if.cores is not None and limit not in {BottleneckName.SERVER_CPU, BottleneckName.SHARED_CPU}:
        findings.append(warning(Code.CORES_MAY_NOT_HELP, bottleneck=limit))
    if users % what_if.instances:
        findings.append(reason(Code.USERS_ROUNDED_UP, users_per_instance=ceil(users / what_if.instances)))
    largest_measured = analysis.valid_sizes[-1].pool_size
    if largest > largest_measured:
        findings.append(warning(Code.EXTRAPOLATED, largest_measured=largest_measured))
    return tuple(findings)


def _require_possible(sizes: Sequence[int], users: int, instances: int) -> None:
    if users < instances:
        raise BadInput(f"`users` {users}: fewer than the {instances} instances that share them")
    for size in sizes:
        if size % instances:
            raise BadInput(f"`sizes` {size}: {instances} instances can't share it; give multiples of {instances}")
        if size > LARGEST:
            raise BadInput(f"`sizes` {size}: give {LARGEST:,} connections at most")


def _changed(analysis: Analysis, network: FittedNetwork, what_if: WhatIf) -> FittedNetwork:
    """The network with other cores, another round trip and the workers of all instances."""
    servers, delay_ms = network.servers, network.delay_ms
    if what_if.cores is not None:
        servers = max(1, round(network.servers * what_if.cores / analysis.setting.cores))
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
    return replace(network, servers=servers, delay_ms=delay_ms, client=client)


def _sizes(analysis: Analysis, users: int, instances: int) -> tuple[int, ...]:
    """The measured sizes, and doublings beyond while there are users for them; multiples of the instances."""
    measured = [size.pool_size for size in analysis.valid_sizes]
    most = min(BEYOND * measured[-1], max(measured[-1], users))
    further = [measured[-1] * 2**place for place in range(1, BEYOND)]
    return tuple(sorted({instances * ceil(size / instances) for size in (*measured, *further) if size <= most}))


def _predicted(
    rates: Vector, size: int, users: int, think_ms: float, instances: int, shape: Vector, measured: float | None
) -> PredictedSize:
    """One size. All instances are alike, so one is solved, at its share of the throughput of all together."""
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
    """Equally likely usage times as multiples of their mean: as measured at the plateau, else exponential."""
    levels = (np.arange(CLASSES) + 0.5) / CLASSES
    usage = analysis.models.usage_histogram
    shape = -np.log1p(-levels) if usage is None else quantiles(usage, levels.tolist())
    return np.asarray(shape / shape.mean())


def _percentiles(times_ms: Vector, mean_ms: float) -> Percentiles:
    values = {name: float(np.quantile(times_ms, share / 100)) for name, share in QUANTILES.items()}
    return Percentiles(**values, mean=mean_ms, max=float(times_ms.max()))
