"""The prediction of a run's throughput and latencies with other cores, another round trip, or other users.

It rests on the closed network fitted to the run, and on a finite source of users in front of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.analysis.models.closed_network import FittedNetwork
from poolsize.analysis.models.network_fit import MOST_CONNECTIONS
from poolsize.answer.finding import Caution, Finding, Reason
from poolsize.errors import BadInput, WorkFailed
from poolsize.formula import require_cores
from poolsize.predict.predicted_size import PredictedSize, latency_errors, predictor
from poolsize.runs.plan import MOST_USERS

LARGEST = 10_000
"""The largest pool size that is predicted."""
LONGEST_ROUND_TRIP_MS = 10_000
"""A longer round trip is a typing error."""
BEYOND = 4
"""Sizes are predicted up to this multiple of the largest measured size."""
FEW_TIMEOUTS = 0.001
"""A smaller share of timeouts among the requests for a connection is not named."""


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
        if self.round_trip_ms is not None and self.round_trip_ms > LONGEST_ROUND_TRIP_MS:
            raise BadInput(f"`round_trip_ms` {self.round_trip_ms:g}ms: give at most {LONGEST_ROUND_TRIP_MS:,}ms")
        if not 1 <= self.instances <= MOST_USERS:
            raise BadInput(f"`instances` {self.instances}: give 1 to {MOST_USERS:,}")

    def require_possible(self, sizes: Sequence[int], users: int) -> None:
        """Raise BadInput for fewer users than instances, and for sizes that they can't share or that are too large."""
        if users < self.instances:
            raise BadInput(f"`users` {users}: fewer than the {self.instances} instances that share them")
        for size in sizes:
            if size % self.instances:
                raise BadInput(
                    f"`sizes` {size}: {self.instances} instances can't share it; give multiples of {self.instances}"
                )
            if size > LARGEST:
                raise BadInput(f"`sizes` {size}: give {LARGEST:,} connections at most")


class UsageAsMeasured(Reason, code="usage_as_measured"):
    """Usage times vary around their mean as at the measured size nearest to the connections in use."""


class UsageExponential(Reason, code="usage_exponential"):
    """Usage times are taken as exponentially distributed, because the run has none."""


class CoresScaleCpu(Reason, code="cores_scale_cpu"):
    """Other cores do not change the server's CPU time of a transaction."""

    cpu_ms: float


class CoresMayNotHelp(Caution, code="cores_may_not_help"):
    """The run's bottleneck is not the server's CPU."""

    bottleneck: BottleneckName


class UsersRoundedUp(Reason, code="users_rounded_up"):
    """Every instance has the same number of users, so that there are more than these users."""

    users: int
    users_per_instance: int


class Extrapolated(Caution, code="extrapolated"):
    """A predicted size is above the largest measured size."""

    largest_measured: int


class UsersTimeOut(Caution, code="users_time_out"):
    """Requests for a connection time out at these sizes: a share of least to most of them."""

    timeout_seconds: float
    sizes: Sequence[int]
    least: float
    most: float


@dataclass(frozen=True)
class Prediction:
    """The prediction for several pool sizes.

    network: the fitted network, with the differences from the run.
    users: of all instances together, a multiple of the instances.
    think_time_ms: mean pause of a user between transactions. sizes: in the order of the argument, else ascending.
    error: root mean square error, a share, of the fitted network's throughput at the measured sizes.
    latency_errors: latency (wait, usage, total) -> quantile -> the same error of the predicted times, with the run's
    own settings and without the size's own wait times; empty where the run does not know them.
    findings: basis and limits. what_if: the differences from the run.
    """

    network: FittedNetwork
    users: int
    think_time_ms: float
    sizes: tuple[PredictedSize, ...]
    error: float
    latency_errors: Mapping[str, Mapping[str, float]]
    findings: tuple[Finding, ...]
    what_if: WhatIf


def predict(analysis: Analysis, what_if: WhatIf, sizes: Sequence[int] | None = None) -> Prediction:
    """Return the prediction for a run with differences. sizes: pool sizes, or None for the measured sizes and beyond.

    Raises WorkFailed where no network can be fitted. Raises BadInput for a run of several pools, for fewer users than
    instances, for a size that the instances can't share evenly or that exceeds 10,000, and for differences that need
    figures the run lacks.
    """
    if (pools := analysis.setting.pools) > 1:
        raise BadInput(
            f"the run measured {pools} pools of an application, and a prediction is for one: sweep the application "
            "with a single process, or its database"
        )
    network = analysis.models.network
    if network is None:
        raise WorkFailed(
            f"a prediction needs 4 valid sizes, of up to {MOST_CONNECTIONS:,} connections together, measured without "
            "`rate`: sweep more `sizes`"
        )
    plan = analysis.setting.plan
    if what_if.users is None and analysis.setting.recording and not any(step.users for step in analysis.run.steps):
        raise BadInput("the recording does not contain its number of users: give `users`")
    users = what_if.users or plan.users
    think_ms = analysis.run.think_time_ms if what_if.think_time_ms is None else what_if.think_time_ms
    changed = changed_network(analysis, network, what_if)
    pool_sizes = tuple(sizes) if sizes else _sizes(analysis, users, what_if.instances)
    what_if.require_possible(pool_sizes, users)
    model = predictor(analysis, changed, users, think_ms, max(pool_sizes), what_if.instances)
    as_measured = what_if == WhatIf(users=what_if.users if what_if.users == plan.users else None)
    measured = {size.pool_size: size.throughput.mean for size in analysis.valid_sizes} if as_measured else {}
    predicted = tuple(model.at(size, measured.get(size)) for size in pool_sizes)
    return Prediction(
        changed,
        what_if.instances * ceil(users / what_if.instances),
        think_ms,
        predicted,
        _error(analysis, network),
        _latency_errors(analysis, network),
        _findings(analysis, what_if, changed, users, predicted),
        what_if,
    )


def _error(analysis: Analysis, network: FittedNetwork) -> float:
    """Return the root mean square of the network's relative errors at the measured sizes."""
    fitted = network.throughput([size.pool_size for size in analysis.valid_sizes])
    errors = fitted / np.array([size.throughput.mean for size in analysis.valid_sizes]) - 1
    return float(np.sqrt(np.mean(errors**2)))


def _latency_errors(analysis: Analysis, network: FittedNetwork) -> Mapping[str, Mapping[str, float]]:
    if not analysis.knows_usage:
        return {}
    sizes = [size.pool_size for size in analysis.valid_sizes]
    own = predictor(analysis, network, analysis.setting.plan.users, analysis.run.think_time_ms, sizes[-1])
    return latency_errors(analysis, [own.without(size).at(size) for size in sizes])


def _findings(
    analysis: Analysis, what_if: WhatIf, network: FittedNetwork, users: int, sizes: Sequence[PredictedSize]
) -> tuple[Finding, ...]:
    """Return the basis of the figures and the limits of their use, such as sizes at which users time out."""
    as_measured = analysis.models.usage_histogram is not None
    findings: list[Finding] = [UsageAsMeasured() if as_measured else UsageExponential()]
    if what_if.cores is not None:
        findings.append(CoresScaleCpu(network.cpu.demand_ms))
    limit = analysis.bottleneck.name if analysis.bottleneck else BottleneckName.UNKNOWN
    if what_if.cores is not None and limit not in {BottleneckName.SERVER_CPU, BottleneckName.SHARED_CPU}:
        findings.append(CoresMayNotHelp(limit))
    if users % what_if.instances:
        findings.append(UsersRoundedUp(users, ceil(users / what_if.instances)))
    largest_measured = analysis.valid_sizes[-1].pool_size
    if max(size.pool_size for size in sizes) > largest_measured:
        findings.append(Extrapolated(largest_measured))
    shares = {size.pool_size: size.timeouts / (size.timeouts + size.throughput) for size in sizes}
    late = {size: share for size, share in shares.items() if share > FEW_TIMEOUTS}
    if late:
        findings.append(
            UsersTimeOut(analysis.run.timeout_ms / 1000, tuple(late), min(late.values()), max(late.values()))
        )
    return tuple(findings)


def _sizes(analysis: Analysis, users: int, instances: int) -> tuple[int, ...]:
    """Return the measured sizes, and doublings as far as users can fill the pool, as multiples of instances.

    Sizes beyond LARGEST are left out; where all are, the smallest is refused later.
    """
    measured = [size.pool_size for size in analysis.valid_sizes]
    most = min(BEYOND * measured[-1], max(measured[-1], users))
    further = [factor * measured[-1] for factor in (2, BEYOND)]
    sizes = {instances * ceil(size / instances) for size in (*measured, *further) if size <= most}
    return tuple(sorted(size for size in sizes if size <= LARGEST)) or (min(sizes),)


def changed_network(analysis: Analysis, network: FittedNetwork, what_if: WhatIf) -> FittedNetwork:
    """Return the network with other cores, another round trip, and the workers of all instances.

    Raises BadInput for differences that need figures the run lacks.
    """
    cpu, delay_ms = network.cpu, network.delay_ms
    if (cores := what_if.cores) is not None:
        if not cpu.demand_ms:
            raise BadInput(
                f"`cores` {cores}: the run does not know how much CPU time a transaction takes on the server; "
                "leave it out"
            )
        cpu = cpu.with_servers(max(1, round(cpu.servers * cores / analysis.setting.cores)))
    if (round_trip_ms := what_if.round_trip_ms) is not None:
        calibration, statements = analysis.run.calibration, analysis.statements
        if calibration is None or statements is None:
            raise BadInput(
                f"`round_trip_ms` {round_trip_ms:g}ms: the run does not know how long its own round trip was, "
                "or how many statements a transaction has; leave it out"
            )
        delay_ms = max(0.0, delay_ms + statements * (round_trip_ms - calibration.round_trip_us / 1000))
    client = replace(network.client, servers=network.client.servers * what_if.instances)
    return replace(network, client=client, cpu=cpu, delay_ms=delay_ms)
