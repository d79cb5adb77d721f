"""The checks that a step must pass before its figures are believed."""

from math import sqrt

from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.analysis.stats.steady_state import drift
from poolsize.runs.check import Check, CheckResult, Value
from poolsize.runs.run import Step

LITTLE_TOLERANCE = 0.05
RATE_TOLERANCE = 0.05
BUSY_CORE = 0.9
LATE_LOOP_MS = 50.0
CROWDED, OTHERS = 0.85, 0.2
"""Shares of a machine's cores. CROWDED: the machine is short of cores. OTHERS: more than an idle machine uses."""
FILLED = 1.1
"""Users per connection that keep a pool full: with hardly more than one each, some connections idle."""


def check_step(step: Step, error_budget: float) -> tuple[CheckResult, ...]:
    """Return the result of every check on one step; a replayed step has figures for two of them.

    error_budget: share of transactions that may fail.
    """
    if step.latencies is None:
        return (steady_state(step), recorded_users(step))
    population = littles_law(step) if step.rate is None else arrivals(step)
    return (
        population,
        connections(step),
        errors(step, error_budget),
        steady_state(step),
        workers(step),
        quiet(step),
        generator(step),
        pool_can_fill(step),
    )


def littles_law(step: Step) -> CheckResult:
    """Users = throughput x (mean total time + mean gap), within 5 % (Little, 1961).

    Starved users never finish a transaction, so they are missing on the right side.
    """
    accounted = step.mean_throughput * (mean_total_ms(step) + step.gap_ms) / 1000
    deviation = accounted / step.users - 1 if step.users else -1.0
    values = {"users": step.users, "accounted_users": accounted, "deviation": deviation}
    return CheckResult(Check.LITTLES_LAW, abs(deviation) <= LITTLE_TOLERANCE, values)


def arrivals(step: Step) -> CheckResult:
    """In an open loop, transactions are done at the rate at which they are due.

    Otherwise a queue grows that no percentile shows.
    """
    due = step.rate or 0.0
    chance = 3 * sqrt(due / max(1, len(step.counted)))  # standard deviations of a Poisson count's mean
    missing = due - step.mean_throughput
    values: dict[str, Value] = {"due_per_second": due, "throughput": step.mean_throughput}
    if step.stopped:
        values |= {"stopped": step.stopped.reason.value, **step.stopped.values}
    return CheckResult(
        Check.ARRIVALS, step.stopped is None and abs(missing) <= max(RATE_TOLERANCE * due, chance), values
    )


def mean_total_ms(step: Step) -> float:
    """Return the mean total time in ms; 0 for a replayed step, which does not know it."""
    return mean_ms([step.latencies.total]) if step.latencies else 0.0


def connections(step: Step) -> CheckResult:
    """The server counts exactly as many connections as the pool has."""
    values = {"server_connections": step.server_connections, "pool_size": step.pool_size}
    return CheckResult(Check.CONNECTIONS, step.server_connections == step.pool_size, values)


def errors(step: Step, budget: float) -> CheckResult:
    """Failed transactions are at most a share `budget` of all: throughput with failures is not the database's."""
    by_kind = {kind: sum(series[step.warm_up_seconds :]) for kind, series in sorted(step.errors.items())}
    failed = {kind: number for kind, number in by_kind.items() if number}
    share = step.error_count / max(1, step.error_count + sum(step.counted))
    return CheckResult(Check.ERRORS, share <= budget, {"share": share, "failed": failed})


def steady_state(step: Step) -> CheckResult:
    """Throughput does not drift: the second half of the counted time is like the first."""
    change = drift(step.counted)
    return CheckResult(Check.STEADY_STATE, not change, {"change": change})


def workers(step: Step) -> CheckResult:
    """Every worker stayed to the end of the step."""
    shares = sum(worker.share for worker in step.workers)
    return CheckResult(Check.WORKERS, shares == step.pool_size, {"connections": shares, "pool_size": step.pool_size})


def quiet(step: Step) -> CheckResult:
    """No other program needs the last cores of a machine that runs both server and load.

    Programs on another machine can't be seen: then the check passes without figures.
    """
    busy, cores, server = map(step.counter, ("machine_cpu", "machine_cores", "process_cpu"))
    if busy is None or server is None or not cores:
        return CheckResult(Check.QUIET, True, {})
    others = max(0.0, busy - server - sum(worker.cpu for worker in step.workers))
    values = {"other_cores": others, "cores": cores, "busy_cores": busy}
    return CheckResult(Check.QUIET, busy < CROWDED * cores or others < OTHERS * cores, values)


def generator(step: Step) -> CheckResult:
    """No worker needs 90 % of a core, and no event loop is late by 50 ms; otherwise the worker measures itself.

    The time that a worker was ready to run and had no core counts as well: then others use the core that it needs.
    """
    busiest = max((worker.cpu + worker.cpu_wait for worker in step.workers), default=0.0)
    latest_ms = max((worker.loop_lag_ms for worker in step.workers), default=0.0)
    return CheckResult(
        Check.GENERATOR,
        busiest < BUSY_CORE and latest_ms < LATE_LOOP_MS,
        {"worker_cores": busiest, "loop_lag_ms": latest_ms},
    )


def recorded_users(step: Step) -> CheckResult:
    """In a recording with a fixed number of users, the pool is smaller than that number."""
    return CheckResult(
        Check.USERS_LIMITED,
        not step.users or step.pool_size < step.users,
        {"pool_size": step.pool_size, "users": step.users},
    )


def pool_can_fill(step: Step) -> CheckResult:
    """Users who hold or want a connection outnumber the pool: a pool that never fills says nothing of the database.

    Their number is throughput x mean total time (Little's law); with think time it can be far below `users`. In an
    open loop the rate decides, and an idle connection is no fault.
    """
    wanting = step.mean_throughput * mean_total_ms(step) / 1000
    return CheckResult(
        Check.USERS_LIMITED,
        step.rate is not None or (step.pool_size < step.users and wanting >= FILLED * step.pool_size),
        {"pool_size": step.pool_size, "wanting_users": wanting, "users": step.users},
    )
