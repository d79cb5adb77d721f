"""What a scenario predicts from its quick run: timeouts of an exhausted pool, and the published number of users."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace
from statistics import fmean

import numpy as np

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.analysis.vector import Vector
from poolsize.errors import WorkFailed
from poolsize.present.text.layout import UNKNOWN, Table, bullets
from poolsize.runs.check import Check
from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Run, Step
from poolsize.traffic.finite_source import finite_source
from poolsize.traffic.wait_times import usage_shape
from poolsize.units import count, milliseconds, per_second, percent

HARDLY_ANY = 0.001
"""Share of the transactions that may time out where a size or a limit is enough."""
IN_DOUBT = {Check.CONNECTIONS, Check.WORKERS, Check.QUIET, Check.SPEED}
"""Checks that put the share of timeouts in doubt. A short wait limit fails others by itself."""
LONGEST_MS = 60_000
"""A longer wait limit is not looked for."""
REQUESTS = 20_000
"""Requests for a connection that are simulated; a first tenth of them is not counted."""
SEED = 1
EXHAUSTION_COLUMNS = (
    "wait limit", "pool", "timed out", "predicted", "by own usage times", "connections needed", "wait limit needed",
)  # fmt: skip
NEEDED = (
    "Connections needed: the smallest pool that would lose hardly any transaction at this wait limit. Wait limit "
    "needed: the shortest that would do so at this pool size. Both are predicted from the run without a limit, as the "
    "share that times out is. By own usage times: the same by the usage times of the step with the limit, which differ "
    "where the machine has changed its speed."
)


def timed_out_share(usages_ms: Vector, *, pool_size: int, users: int, think_time_ms: float, timeout_ms: float) -> float:
    """Return the share of the requests for a connection that time out, by simulation of a first-in, first-out queue.

    usages_ms: equally likely usage times. think_time_ms: mean pause of a user, exponentially distributed; a user who
    gave up pauses as well. All users are alike, and the earlier requests decide when a connection is free: so whether a
    request times out is known as soon as it is made.
    """
    if pool_size >= users:
        return 0.0
    random, number = np.random.default_rng(SEED), REQUESTS + users
    asks_ms = sorted(random.exponential(think_time_ms, users).tolist())
    pauses_ms = random.exponential(think_time_ms, number).tolist()
    usages = iter(np.random.default_rng(SEED).choice(usages_ms, number).tolist())
    free_ms = [0.0] * pool_size
    ended: list[tuple[float, bool]] = []
    for pause_ms in pauses_ms:
        end_ms = asks_ms[0] + timeout_ms
        late = free_ms[0] >= end_ms
        if not late:
            end_ms = max(asks_ms[0], free_ms[0]) + next(usages)
            heapreplace(free_ms, end_ms)
        ended.append((end_ms, late))
        heapreplace(asks_ms, end_ms + pause_ms)
    return fmean(late for _, late in sorted(ended)[REQUESTS // 10 : REQUESTS])


@dataclass(frozen=True)
class Exhaustion:
    """The timeouts at one pool size and wait limit.

    limit_ms: how long a user waits for a connection. measured, predicted: share of the transactions that fail for want
    of a connection, the latter by the usage times without a limit. by_own_usage: predicted by the usage times of the
    step that was measured, which differ where the machine has changed its speed. errors: the names under which they
    fail. enough_connections: the smallest pool size at which, with this limit, hardly any would fail by the prediction.
    enough_ms: the shortest such limit at this pool size; None where none up to a minute is. failed_checks: those that
    put the measured share in doubt.
    """

    pool_size: int
    limit_ms: float
    measured: float
    predicted: float
    by_own_usage: float
    errors: tuple[str, ...]
    enough_connections: int
    enough_ms: float | None
    failed_checks: tuple[Check, ...]


def wait_limits_ms(unlimited: Analysis, shares: Sequence[float]) -> tuple[int, ...]:
    """Return short wait limits in whole milliseconds: shares of the mean wait time at the smallest pool size.

    Raises WorkFailed where the run has too few valid sizes to predict the timeouts.
    """
    if shares and unlimited.models.network is None:
        failed = dict.fromkeys(result.check for size in unlimited.sizes for result in size.failed_checks)
        raise WorkFailed(
            f"the prediction of timeouts needs 4 valid sizes, and {len(unlimited.valid_sizes)} are valid (failed "
            f"checks: {', '.join(failed) or 'none'}): repeat the scenario on an idle machine"
        )
    limits_ms = (max(1, round(share * unlimited.sizes[0].wait.mean)) for share in shares)
    return tuple(dict.fromkeys(limits_ms))


def exhaustions(unlimited: Analysis, limited: Sequence[Run]) -> tuple[Exhaustion, ...]:
    """Return the timeouts of runs with a short wait limit, by limit and pool size.

    unlimited: a run of the same workload and users in which nobody waited in vain, of which `wait_limits_ms` gave the
    limits; the prediction takes its usage times.
    """
    return tuple(
        _exhaustion(unlimited, step, run.timeout_ms)
        for run in sorted(limited, key=lambda run: run.timeout_ms)
        for _, step in sorted({step.pool_size: step for step in run.steps}.items())
    )


def _exhaustion(unlimited: Analysis, step: Step, limit_ms: float) -> Exhaustion:
    failed, succeeded = step.error_count, sum(step.counted)
    sizes, limits_ms = range(1, unlimited.setting.plan.users + 1), range(1, LONGEST_MS + 1)
    saved = bisect_left(sizes, True, key=lambda size: _share(unlimited, size, limit_ms) <= HARDLY_ANY)
    enough = bisect_left(limits_ms, True, key=lambda limit: _share(unlimited, step.pool_size, limit) <= HARDLY_ANY)
    own_usage_ms = mean_ms([step.latencies.usage if step.latencies else None])
    return Exhaustion(
        step.pool_size,
        limit_ms,
        failed / max(1, failed + succeeded),
        _share(unlimited, step.pool_size, limit_ms),
        _share(unlimited, step.pool_size, limit_ms, own_usage_ms),
        tuple(step.errors),
        sizes[saved],
        float(limits_ms[enough]) if enough < len(limits_ms) else None,
        tuple(result.check for result in step.failed_checks if result.check in IN_DOUBT),
    )


def _share(unlimited: Analysis, pool_size: int, limit_ms: float, usage_ms: float | None = None) -> float:
    """Return the predicted share of the transactions that find no connection in time.

    usage_ms: mean usage time; None for that of the fitted network. The usage times vary as measured without a limit.
    """
    network, users, think_time_ms = unlimited.models.network, unlimited.setting.plan.users, unlimited.run.think_time_ms
    assert network is not None
    if usage_ms is None:
        rates = throughputs(network.stations, network.delay_ms, pool_size)
        usage_ms = finite_source(rates, users, think_time_ms, timeout_ms=unlimited.run.timeout_ms).usage_ms
    return timed_out_share(
        usage_ms * usage_shape(unlimited.models.usage_histogram),
        pool_size=pool_size,
        users=users,
        think_time_ms=think_time_ms,
        timeout_ms=limit_ms,
    )


def exhaustion_text(timeouts: Sequence[Exhaustion]) -> str:
    """Return a table of measured and predicted timeouts, the errors, and how to read the last columns."""
    rows = tuple(
        (
            milliseconds(timeout.limit_ms),
            str(timeout.pool_size),
            percent(timeout.measured),
            percent(timeout.predicted),
            percent(timeout.by_own_usage),
            str(timeout.enough_connections),
            UNKNOWN if timeout.enough_ms is None else milliseconds(timeout.enough_ms),
        )
        for timeout in timeouts
    )
    notes = [NEEDED]
    if errors := sorted({name for timeout in timeouts for name in timeout.errors}):
        notes.append(f"The transactions failed with: {', '.join(errors)}.")
    in_doubt = [
        f"{milliseconds(timeout.limit_ms)} with {count(timeout.pool_size, 'connection')} "
        f"({', '.join(timeout.failed_checks)})"
        for timeout in timeouts
        if timeout.failed_checks
    ]
    if in_doubt:
        notes.append(f"Caution: these steps failed a check: {'; '.join(in_doubt)}.")
    return f"{Table(EXHAUSTION_COLUMNS, rows).as_text()}\n\n{bullets(notes)}"


@dataclass(frozen=True)
class UsersAtWork:
    """How users fare with a pool, measured or predicted. throughput: per second. wait_ms, usage_ms: means."""

    users: int
    pool_size: int
    throughput: float
    wait_ms: float
    usage_ms: float


@dataclass(frozen=True)
class FullSizePrediction:
    """The measured and the predicted sizes. cpu_ms: a transaction's CPU time at the server. cores: of the server."""

    measured: tuple[UsersAtWork, ...]
    predicted: tuple[UsersAtWork, ...]
    cpu_ms: float
    cores: int


def full_size_prediction(analysis: Analysis, plan: SweepPlan) -> FullSizePrediction | None:
    """Return the prediction for the users and pool sizes of a plan; None where the server's CPU time was not measured.

    The closed network has the server's CPU as its station, with the demand measured at the largest pool size, where
    users hardly wait. The rest of the usage time is a delay: load generators are enough. In front of it are the users
    with the run's think time (a finite source). Locks, the disk and the cost of many connections are left out.
    """
    largest, users = analysis.sizes[-1], analysis.setting.plan.users
    demands = largest.demands
    if demands is None or demands.inferred:
        return None
    station = Station(demands.server_ms, demands.server_cores)
    rates = throughputs([station], max(0.0, largest.usage.mean - demands.server_ms), max(plan.sizes))
    measured = tuple(
        UsersAtWork(users, each.pool_size, each.throughput.mean, each.wait.mean, each.usage.mean)
        for each in analysis.sizes
    )
    sources = {size: finite_source(rates[:size], plan.users, analysis.run.think_time_ms) for size in plan.sizes}
    predicted = tuple(
        UsersAtWork(plan.users, size, 1000 * source.throughput, source.wait_ms, source.usage_ms)
        for size, source in sources.items()
    )
    return FullSizePrediction(measured, predicted, demands.server_ms, demands.server_cores)


def full_size_text(prediction: FullSizePrediction) -> str:
    """Return a table of the measured and the predicted sizes, and what the prediction rests on."""
    rows = tuple(
        (
            f"{each.users:,}",
            f"{each.pool_size:,}",
            name,
            per_second(each.throughput),
            milliseconds(each.wait_ms),
            milliseconds(each.usage_ms),
        )
        for name, part in (("measured", prediction.measured), ("predicted", prediction.predicted))
        for each in part
    )
    most = 1000 * prediction.cores / prediction.cpu_ms
    basis = (
        f"Predicted: a closed network with the server's {milliseconds(prediction.cpu_ms)} of CPU time per transaction "
        f"on {count(prediction.cores, 'core')}, which allow at most {per_second(most)}. The load generator limits "
        "nothing there; locks, the disk and the cost of many connections are left out."
    )
    table = Table(("users", "pool", "", "throughput", "mean wait", "mean usage"), rows)
    return f"{table.as_text()}\n\n{bullets([basis])}"
