"""Exhaustion of a pool: the share of transactions that find no connection in time, predicted and measured."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.models.closed_network import throughputs
from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.analysis.vector import Vector
from poolsize.errors import WorkFailed
from poolsize.present.text.layout import UNKNOWN, Table, bullets
from poolsize.runs.check import Check
from poolsize.runs.run import Run, Step
from poolsize.traffic.finite_source import finite_source
from poolsize.traffic.wait_times import Departures, usage_shape
from poolsize.units import count, milliseconds, percent

HARDLY_ANY = 0.001
"""Share of the transactions that may time out where a size or a limit is enough."""
IN_DOUBT = {Check.CONNECTIONS, Check.WORKERS, Check.QUIET, Check.SPEED}
"""Checks that put the share of timeouts in doubt. A short wait limit fails others by itself."""
LONGEST_MS = 60_000
"""A longer wait limit is not looked for."""
REQUESTS = 20_000
"""Requests for a connection that are simulated; a first tenth of them is not counted."""
SEED = 1
DRAWS = 4096
ASKS, GIVES_UP, ENDS = range(3)


def timed_out_share(usages_ms: Vector, *, pool_size: int, users: int, think_time_ms: float, timeout_ms: float) -> float:
    """Return the share of the requests for a connection that time out, by simulation of a first-in, first-out queue.

    usages_ms: equally likely usage times. think_time_ms: mean pause of a user, exponentially distributed; a user who
    gave up pauses as well.
    """
    if pool_size >= users:
        return 0.0
    draws, random = _draws(usages_ms), np.random.default_rng(SEED)
    events = [(random.exponential(think_time_ms) if think_time_ms else 0.0, ASKS, user, 0) for user in range(users)]
    heapify(events)
    queue: deque[tuple[int, int]] = deque()
    request = [0] * users
    free, ended, late, uncounted = pool_size, 0, 0, REQUESTS // 10
    while ended < REQUESTS:
        now, event, user, number = heappop(events)
        if event == ASKS:
            request[user] += 1
            queue.append((user, request[user]))
            heappush(events, (now + timeout_ms, GIVES_UP, user, request[user]))
        elif event == GIVES_UP and number != request[user]:
            continue
        else:
            free += event == ENDS
            ended += 1
            late += event == GIVES_UP and ended > uncounted
            request[user] += 1
            pause_ms = random.exponential(think_time_ms) if think_time_ms else 0.0
            heappush(events, (now + pause_ms, ASKS, user, 0))
        while queue and free:
            waiting, number = queue.popleft()
            if request[waiting] == number:
                request[waiting] += 1
                free -= 1
                heappush(events, (now + next(draws), ENDS, waiting, 0))
    return late / (REQUESTS - uncounted)


def _draws(usages_ms: Vector) -> Iterator[float]:
    random = np.random.default_rng(SEED)
    while True:
        yield from random.choice(usages_ms, DRAWS).tolist()


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
    found = []
    for run in sorted(limited, key=lambda run: run.timeout_ms):
        latest = {step.pool_size: step for step in run.steps}
        found += [_exhaustion(unlimited, latest[size], run.timeout_ms) for size in sorted(latest)]
    return tuple(found)


def _exhaustion(unlimited: Analysis, step: Step, limit_ms: float) -> Exhaustion:
    failed, succeeded = step.error_count, sum(step.counted)
    sizes, limits_ms = range(1, unlimited.setting.plan.users + 1), range(1, LONGEST_MS + 1)
    saved = bisect_left(sizes, True, key=lambda size: _share(unlimited, size, limit_ms) <= HARDLY_ANY)
    enough = bisect_left(limits_ms, True, key=lambda limit: _share(unlimited, step.pool_size, limit) <= HARDLY_ANY)
    return Exhaustion(
        step.pool_size,
        limit_ms,
        failed / max(1, failed + succeeded),
        _share(unlimited, step.pool_size, limit_ms),
        _share_by(unlimited, step.pool_size, limit_ms, mean_ms([step.latencies.usage if step.latencies else None])),
        tuple(step.errors),
        sizes[saved],
        float(limits_ms[enough]) if enough < len(limits_ms) else None,
        tuple(result.check for result in step.failed_checks if result.check in IN_DOUBT),
    )


def _share(unlimited: Analysis, pool_size: int, limit_ms: float) -> float:
    """Return the predicted share of the transactions that find no connection in time, by the fitted network."""
    network, users = unlimited.models.network, unlimited.setting.plan.users
    assert network is not None
    rates = throughputs(network.stations, network.delay_ms, pool_size)
    variation = Departures(float(_usage_shape(unlimited).var()))
    source = finite_source(rates, users, unlimited.run.think_time_ms, variation, unlimited.run.timeout_ms)
    return _share_by(unlimited, pool_size, limit_ms, source.usage_ms)


def _share_by(unlimited: Analysis, pool_size: int, limit_ms: float, usage_ms: float) -> float:
    """Return the same by a mean usage time; the usage times are distributed as measured without a limit."""
    return timed_out_share(
        usage_ms * _usage_shape(unlimited),
        pool_size=pool_size,
        users=unlimited.setting.plan.users,
        think_time_ms=unlimited.run.think_time_ms,
        timeout_ms=limit_ms,
    )


def _usage_shape(unlimited: Analysis) -> Vector:
    return usage_shape(unlimited.models.usage_histogram)


COLUMNS = (
    "wait limit", "pool", "timed out", "predicted", "by own usage times", "connections needed", "wait limit needed",
)  # fmt: skip
NEEDED = (
    "Connections needed: the smallest pool that would lose hardly any transaction at this wait limit. Wait limit "
    "needed: the shortest that would do so at this pool size. Both are predicted from the run without a limit, as the "
    "share that times out is. By own usage times: the same by the usage times of the step with the limit, which differ "
    "where the machine has changed its speed."
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
    errors = sorted({name for timeout in timeouts for name in timeout.errors})
    notes = [NEEDED]
    if errors:
        notes.append(f"The transactions failed with: {', '.join(errors)}.")
    in_doubt = [_in_doubt(timeout) for timeout in timeouts if timeout.failed_checks]
    if in_doubt:
        notes.append(f"Caution: these steps failed a check: {'; '.join(in_doubt)}.")
    return f"{Table(COLUMNS, rows).as_text()}\n\n{bullets(notes)}"


def _in_doubt(timeout: Exhaustion) -> str:
    """Return a step whose checks failed, by wait limit and pool size, with these checks."""
    step = f"{milliseconds(timeout.limit_ms)} with {count(timeout.pool_size, 'connection')}"
    return f"{step} ({', '.join(timeout.failed_checks)})"
