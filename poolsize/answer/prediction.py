"""What if: the fitted closed network with other cores, another distance, other callers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.models.closed_network import throughputs
from poolsize.analysis.models.finite_source import CLASSES, callers
from poolsize.analysis.models.network_fit import FittedNetwork
from poolsize.analysis.stats.percentiles import QUANTILES, Percentiles, quantiles
from poolsize.analysis.vector import Vector
from poolsize.errors import BadInput, WorkFailed

MOST_USERS = 1_000_000
LARGEST = 10_000
BEYOND = 4
"""Sizes are predicted up to so many times the largest measured."""


@dataclass(frozen=True)
class WhatIf:
    """What is different from the run; None for what is as it was.

    cores: of the database's host. round_trip_ms: of one statement. think_time_ms: between a caller's transactions.
    users: callers, of all instances together. instances: of the application, each with its share of callers, of the
    pool, and with load processes like the run's.
    """

    cores: int | None = None
    round_trip_ms: float | None = None
    think_time_ms: float | None = None
    users: int | None = None
    instances: int = 1

    def __post_init__(self) -> None:
        """Raise BadInput for what can't be."""
        if self.cores is not None and self.cores < 1:
            raise BadInput(f"--cores {self.cores}: a database host has at least 1 core; try --cores 8")
        if self.users is not None and not 1 <= self.users <= MOST_USERS:
            raise BadInput(f"--users {self.users}: give 1 to {MOST_USERS:,} callers")
        if self.instances < 1:
            raise BadInput(f"--instances {self.instances}: give at least 1")


@dataclass(frozen=True)
class PredictedSize:
    """One pool size, all instances together. throughput: per second. at_work: connections in use, on average.

    wait, usage, total: milliseconds. measured: transactions per second where nothing is different, and it was measured.
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
    """What the network makes of it.

    network: as fitted, with what is different put in. sizes: ascending. error: of the fit at the measured sizes, a
    share (root mean square). notes: what the figures rest on, a sentence each.
    """

    network: FittedNetwork
    users: int
    think_time_ms: float
    sizes: tuple[PredictedSize, ...]
    error: float
    notes: tuple[str, ...]


def predict(analysis: Analysis, what_if: WhatIf, sizes: Sequence[int] | None = None) -> Prediction:
    """Predict pool sizes. sizes: those asked for, or None for those around what was measured.

    Raises WorkFailed when no network could be fitted, and BadInput for what the run does not know.
    """
    network = analysis.network
    if network is None:
        raise WorkFailed(
            "a network is fitted to 4 sizes or more that passed their checks, without --rate: sweep more --pool-sizes"
        )
    plan = analysis.setting.plan
    if what_if.users is None and analysis.setting.recording:
        raise BadInput("the run is of a recording, and predicts nothing for its own callers: give --users")
    users = what_if.users or plan.users
    think_ms = plan.think_time_ms if what_if.think_time_ms is None else what_if.think_time_ms
    changed = _changed(analysis, network, what_if)
    wanted = tuple(sizes) if sizes else _sizes(analysis, users, what_if.instances)
    _require_possible(wanted, users, what_if.instances)
    shape, notes = _usage_shape(analysis)
    rates = throughputs(changed.stations, changed.delay_ms, max(wanted))
    same = what_if == WhatIf(users=what_if.users if what_if.users == plan.users else None)
    measured = {one.pool_size: one.throughput.mean for one in analysis.telling} if same else {}
    found = [_predicted(rates, size, users, think_ms, what_if.instances, shape, measured.get(size)) for size in wanted]
    largest = analysis.telling[-1].pool_size
    held = analysis.cause.name if analysis.cause else "unknown"
    if what_if.cores is not None and held not in {"server CPU", "shared CPU"}:
        notes = (
            *notes,
            f"What held the run was not seen to be the server's processor ({held}): more cores may not help.",
        )
    if users % what_if.instances:
        notes = (*notes, f"Every instance has {ceil(users / what_if.instances)} callers, which is a few more in all.")
    if max(wanted) > largest:
        notes = (*notes, f"Beyond {largest} connections nothing was measured: there the network is all there is.")
    fitted = network.throughput([size.pool_size for size in analysis.telling])
    off = fitted / np.array([size.throughput.mean for size in analysis.telling]) - 1
    error = float(np.sqrt(np.mean(off**2)))
    return Prediction(changed, users, think_ms, tuple(found), error, notes)


def _require_possible(sizes: Sequence[int], users: int, instances: int) -> None:
    if users < instances:
        raise BadInput(f"--users {users}: fewer than the {instances} instances that share them")
    for size in sizes:
        if size % instances:
            raise BadInput(f"--pool-sizes {size}: {instances} instances can't share it; give multiples of {instances}")
        if size > LARGEST:
            raise BadInput(f"--pool-sizes {size}: give {LARGEST:,} connections at most")


def _changed(analysis: Analysis, network: FittedNetwork, what_if: WhatIf) -> FittedNetwork:
    """The network with other cores, another distance and more instances' load processes."""
    servers, delay_ms = network.servers, network.delay_ms
    if what_if.cores is not None:
        servers = max(1, round(network.servers * what_if.cores / analysis.setting.cores))
    if what_if.round_trip_ms is not None:
        calibration, statements = analysis.run.calibration, analysis.statements
        if calibration is None or statements is None:
            raise BadInput(
                f"--round-trip {what_if.round_trip_ms:g}ms: the run does not know how long its own round trip was, or "
                "how many statements a transaction has; leave it out"
            )
        further_ms = statements * (what_if.round_trip_ms - calibration.round_trip_us / 1000)
        delay_ms = max(0.0, delay_ms + further_ms)
    client = replace(network.client, servers=network.client.servers * what_if.instances)
    return replace(network, servers=servers, delay_ms=delay_ms, client=client)


def _sizes(analysis: Analysis, users: int, instances: int) -> tuple[int, ...]:
    """Those measured, and doublings from there on while there are users for them; multiples of the instances."""
    measured = [size.pool_size for size in analysis.telling]
    most = min(BEYOND * measured[-1], max(measured[-1], users))
    further = [measured[-1] * 2**place for place in range(1, BEYOND)]
    wanted = {instances * ceil(size / instances) for size in (*measured, *further) if size <= most}
    return tuple(sorted(wanted))


def _predicted(
    rates: Vector, size: int, users: int, think_ms: float, instances: int, shape: Vector, measured: float | None
) -> PredictedSize:
    """One size. Every instance is alike, so one is solved, at its share of what all together are done at."""
    share, own_users = size // instances, ceil(users / instances)
    own_rates = rates[np.arange(1, share + 1) * instances - 1] / instances
    found = callers(own_rates, own_users, think_ms, float(shape.var()))
    usages = found.usage_ms * shape
    totals = np.sort(np.add.outer(found.waits_ms, usages).ravel())
    return PredictedSize(
        pool_size=size,
        throughput=1000 * found.throughput * instances,
        at_work=found.at_work * instances,
        wait=_percentiles(found.waits_ms, found.wait_ms),
        usage=_percentiles(usages, found.usage_ms),
        total=_percentiles(totals, found.wait_ms + found.usage_ms),
        measured=measured,
    )


def _usage_shape(analysis: Analysis) -> tuple[Vector, tuple[str, ...]]:
    """Equally likely usage times as multiples of their mean: as measured at the plateau, else exponential."""
    levels = (np.arange(CLASSES) + 0.5) / CLASSES
    usage = analysis.usage_histogram
    if usage is None:
        shape = -np.log1p(-levels)
        note = "Usage times are taken for exponentially distributed: the run does not know them."
    else:
        shape = quantiles(usage, levels.tolist())
        note = "Usage times are spread around their mean as they were at the plateau."
    return shape / shape.mean(), (note,)


def _percentiles(times: Vector, mean: float) -> Percentiles:
    found: Mapping[str, float] = {name: float(np.quantile(times, share / 100)) for name, share in QUANTILES.items()}
    return Percentiles(**found, mean=mean, max=float(times.max()))
