"""The checks that show whether a step's figures are trustworthy: each returns its result and the figures compared."""

from math import isfinite, sqrt

import numpy as np

from poolsize.analysis.application_pool import NEARLY, wanting_requests
from poolsize.analysis.rate_evidence import rate_evidence
from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.analysis.stats.steady_state import drift
from poolsize.runs.check import Check
from poolsize.runs.run import CheckResult, Step, Value

LITTLE_TOLERANCE, RATE_TOLERANCE = 0.05, 0.05
"""Shares by which the users that Little's law accounts for, or an open loop's throughput, may deviate."""
MOST_ERRORS, MOST_TOLERANCE = 3, 0.5
"""Standard errors by which Little's law may be missed by chance, and the share of the users beyond which it may not."""
BUSY_CORE, LATE_LOOP_MS = 0.9, 50.0
"""A worker is a bottleneck from this share of a core, or from this lateness of its event loop, on."""
TIMER_MS = 2.0
"""The event loop's timers fire up to 1 ms late, even if a worker has nothing else to do; twice that is not a sign."""
CROWDED, OTHERS = 0.85, 0.1
"""Shares of a machine's cores. CROWDED: the machine is short of cores. OTHERS: more than an idle machine uses."""
FILLED = 1.1
"""Users per connection that keep a pool full: with hardly more than one each, some connections idle."""


def check_step(step: Step, error_budget: float, pools: int = 1, *, opens_all: bool = True) -> tuple[CheckResult, ...]:
    """Return the results of all checks that apply to a step; to a replayed step, two apply.

    error_budget: share of transactions that may fail. pools: number of pools of the step's size. opens_all: whether
    all connections are open before the load begins, and stay open.
    """
    if step.latencies is None:
        return (steady_state(step), recorded_users(step))
    results = (
        littles_law(step) if step.rate is None else arrivals(step),
        connections(step, pools) if opens_all and (step.knows_usage or step.server_connections is not None) else None,
        errors(step, error_budget),
        steady_state(step),
        workers(step),
        quiet(step),
        generator(step),
        users_limited(step, pools),
        service_threads(step, pools),
        pools_used(step, pools),
    )
    return tuple(result for result in results if result is not None)


def littles_law(step: Step) -> CheckResult:
    """Check in a closed loop that users = throughput x (mean total time + mean gap), within 5 % (Little, 1961).

    Starved users finish no transaction. They are missing on the right side, and the percentiles are wrong. Where a user
    is served only a few times in a step, the two sides differ by chance: so they may also differ by 3 standard errors.

    Figures: `users`; `accounted_users`, throughput x (total + gap); `deviation` of these users, a share.
    """
    accounted = step.mean_throughput * (mean_total_ms(step) + step.gap_ms) / 1000
    deviation = accounted / step.users - 1 if step.users else -1.0
    values = {"users": step.users, "accounted_users": accounted, "deviation": deviation}
    tolerance = max(LITTLE_TOLERANCE, min(MOST_TOLERANCE, MOST_ERRORS * _littles_error(step)))
    return CheckResult(Check.LITTLES_LAW, abs(deviation) <= tolerance, values)


def _littles_error(step: Step) -> float:
    """Return the standard error of the users that Little's law accounts for, a share.

    A transaction counts in full in the second in which it ends. So the law lacks what the users at the end of the
    counted time have spent on theirs, and has what those at its beginning had spent before. In a queue of n users
    these times add up n departures before: their variance is n (variability of the departures x total^2 / 3). Pauses
    that vary exponentially add n gap^2.
    """
    if not step.users or not step.mean_throughput:
        return 0.0
    variability = max(1.0, float(np.var(step.counted)) / step.mean_throughput)
    spent_ms2 = variability * mean_total_ms(step) ** 2 / 3 + step.gap_ms**2
    return sqrt(2 / step.users * spent_ms2) / (1000 * len(step.counted))


def arrivals(step: Step) -> CheckResult:
    """Check in an open loop that the pool serves the arrival rate: its capacity is above the rate, and no queue grows.

    Otherwise a queue grows, and no percentile shows how long transactions in it wait. Capacity is above the rate if the
    95 % interval of the utilisation ends below 1. A step that leaves it undecided is measured for up to 4 times its
    planned length. The outstanding transactions (due, and not ended) and the p95 of a second must not grow
    significantly: by more than a random walk does with a probability of 2.5 %. Throughput must equal the rate within
    5 % or the arrivals' random variation.

    Figures: `due_per_second`; `throughput` per second; `utilisation`, `utilisation_low` and `utilisation_high`, the
    share of the connections that the rate needs, with its 95 % interval; of growing seconds `first_outstanding`,
    `last_outstanding`, `first_p95_ms` and `last_p95_ms`; after an early end also `stopped`, the reason, and its values.
    """
    due = step.rate or 0.0
    chance = 3 * sqrt(due / max(1, len(step.counted)))  # standard deviations of a Poisson count's mean
    as_due = abs(due - step.mean_throughput) <= max(RATE_TOLERANCE * due, chance)
    evidence = rate_evidence(step)
    values: dict[str, Value] = {"due_per_second": due, "throughput": step.mean_throughput}
    if evidence is not None and isfinite(evidence.utilisation.high):
        values |= {
            "utilisation": evidence.utilisation.mean,
            "utilisation_low": evidence.utilisation.low,
            "utilisation_high": evidence.utilisation.high,
        }
        for name, (first, last) in evidence.growth.items():
            values |= {f"first_{name}": first, f"last_{name}": last}
    if step.stopped:
        values |= {"stopped": step.stopped.reason.value, **step.stopped.values}
    is_served = evidence is not None and evidence.is_served
    return CheckResult(Check.ARRIVALS, step.stopped is None and as_due and is_served, values)


def mean_total_ms(step: Step) -> float:
    """Return the mean total time in ms; 0 for a replayed step, which does not know it."""
    return mean_ms([step.latencies.total]) if step.latencies else 0.0


def connections(step: Step, pools: int = 1) -> CheckResult:
    """Check that the server counts exactly as many connections as the pool has.

    The pools of an application are counted together, and may have fewer: a pool may open connections when it needs
    them. Where the application's database is not known, without a pool, and in a lazy pool, nothing is checked.

    Figures: `server_connections` by the server's count; `pool_size`; `pools`, their number, where it is not 1.
    """
    values: dict[str, Value] = {"server_connections": step.server_connections, "pool_size": step.pool_size}
    if pools > 1:
        values["pools"] = pools
    counted, own = step.server_connections or 0, pools * step.pool_size
    passed = counted == own if step.knows_usage else 0 < counted <= own
    return CheckResult(Check.CONNECTIONS, passed, values)


def errors(step: Step, budget: float) -> CheckResult:
    """Check that the share of failed transactions is within the error budget: a failed transaction does less work.

    Figures: `share` of the transactions that failed; `failed`, kind of error -> number.
    """
    by_kind = {kind: sum(series[step.warm_up_seconds :]) for kind, series in sorted(step.errors.items())}
    failed = {kind: number for kind, number in by_kind.items() if number}
    share = step.error_count / max(1, step.error_count + sum(step.counted))
    return CheckResult(Check.ERRORS, share <= budget, {"share": share, "failed": failed})


def steady_state(step: Step) -> CheckResult:
    """Check that throughput does not drift: the second half of the counted time is like the first.

    Figures: `change` of throughput from the first half to the second, a share; 0 if the change is not significant.
    """
    change = drift(step.counted)
    return CheckResult(Check.STEADY_STATE, not change, {"change": change})


def workers(step: Step) -> CheckResult:
    """Check that every worker stayed to the end of the step: the remaining connections add up to the pool size.

    Figures: `connections` of the workers that stayed to the end; `pool_size`.
    """
    shares = sum(worker.share for worker in step.workers)
    return CheckResult(Check.WORKERS, shares == step.pool_size, {"connections": shares, "pool_size": step.pool_size})


def quiet(step: Step) -> CheckResult:
    """Check that other programs use less than a tenth of a busy machine that server and load generator share.

    Where the process of the server, or of the application, is not visible (on another machine, for example), the check
    passes without figures. Interrupts are mostly the load's own, and time that the hypervisor gave to other machines
    does not belong to any program here (see `speed`).

    Figures: `other_cores` that other programs used; `busy_cores` of the machine's `cores`.
    """
    busy, cores, server = map(step.counter, ("machine_cpu", "machine_cores", "process_cpu"))
    no_programs = sum(step.counter(f"machine_{name}") or 0.0 for name in ("interrupts", "steal"))
    application = 0.0 if step.knows_usage else step.counter("application_cpu")
    if busy is None or server is None or application is None or not cores:
        return CheckResult(Check.QUIET, True, {})
    other_cores = max(0.0, busy - no_programs - server - application - step.busy_worker_cores)
    values = {"other_cores": other_cores, "cores": cores, "busy_cores": busy}
    return CheckResult(Check.QUIET, busy < CROWDED * cores or other_cores < OTHERS * cores, values)


def generator(step: Step) -> CheckResult:
    """Check that no worker needs 90 % of a core or has a late event loop; it would measure its own delay.

    Time in which a worker was ready to run but had no core, because another program or another virtual machine had it,
    counts as needed CPU time. An event loop is late if the 99th percentile of its lateness reaches 50 ms, or the mean
    usage time where that is shorter (of an application, the mean response time). Up to 2 ms is never late.

    Figures: `worker_cores` that the busiest worker needed; `loop_lag_ms` of the latest event loop, ms; `usage_ms`, the
    mean usage time; of an application `response_ms`, the mean response time.
    """
    busiest = max((worker.cpu + worker.cpu_wait for worker in step.workers), default=0.0)
    latest_ms = max((worker.loop_lag_ms for worker in step.workers), default=0.0)
    lasting_ms = mean_ms([step.latencies.usage]) if step.latencies and step.knows_usage else mean_total_ms(step)
    late_ms = min(LATE_LOOP_MS, max(TIMER_MS, lasting_ms)) if lasting_ms else LATE_LOOP_MS
    lasting = "usage_ms" if step.knows_usage else "response_ms"
    values = {"worker_cores": busiest, "loop_lag_ms": latest_ms, lasting: lasting_ms}
    return CheckResult(Check.GENERATOR, busiest < BUSY_CORE and latest_ms < late_ms, values)


def recorded_users(step: Step) -> CheckResult:
    """Check that the pool of a replayed step is smaller than the number of users, where the recording knows it.

    Figures: `pool_size`; `users`.
    """
    values = {"pool_size": step.pool_size, "users": step.users}
    return CheckResult(Check.USERS_LIMITED, not step.users or step.pool_size < step.users, values)


def users_limited(step: Step, pools: int = 1) -> CheckResult:
    """Check that users who have or wait for a connection outnumber the pool by 10 %.

    A pool that never fills says nothing about the database. The number of these users is throughput x mean total time
    (Little's law); with think time it can be far below `users`. An open loop passes: its rate decides the load. Of an
    application, these are the users who wait for a response; the pools share them equally.

    Figures: `pool_size`; `wanting_users` of a pool who held or wanted a connection, on average; `users`.
    """
    wanting_users = _waiting_users(step, pools)
    filled = pools * step.pool_size < step.users and wanting_users >= FILLED * step.pool_size
    values = {"pool_size": step.pool_size, "wanting_users": wanting_users, "users": step.users}
    return CheckResult(Check.USERS_LIMITED, step.rate is not None or filled, values)


def _waiting_users(step: Step, pools: int) -> float:
    """Return the users of a pool that wait for the end of a transaction, on average, by Little's law."""
    return step.mean_throughput * mean_total_ms(step) / 1000 / pools


def service_threads(step: Step, pools: int) -> CheckResult | None:
    """Check that the service of an application lets enough requests ask for a connection to fill the pool.

    A service works on as many requests at a time as it has worker threads. With fewer threads than connections, the
    pool is never full, however many users wait for a response. The application's metrics show that; without metrics, a
    pool that opened fewer connections than it may.

    Figures: `pool_size`; `wanting_requests` of a pool that held or wanted a connection, on average;
    `waiting_users` of a pool that waited for a response.
    """
    wanting = wanting_requests(step, pools)
    if wanting is None:
        return None
    waiting_users = _waiting_users(step, pools)
    passed = waiting_users < FILLED * step.pool_size or wanting >= NEARLY * step.pool_size
    values = {"pool_size": step.pool_size, "wanting_requests": wanting, "waiting_users": waiting_users}
    return CheckResult(Check.SERVICE_THREADS, passed, values)


def pools_used(step: Step, pools: int) -> CheckResult | None:
    """Check that every process of an application serves users, where several have a pool each.

    Users that keep their connections to the service open (HTTP keep-alive) stay with the process that accepted them,
    and one process may accept nearly all. Its pool alone is then full, and throughput is that of fewer pools. A process
    serves users if it uses at least a quarter of the CPU time that it would use if all processes did the same. There is
    no such check for a single pool, nor where the sweep does not start the processes on this machine.

    Figures: `used`, the pools whose process serves users; `pools`, their number.
    """
    processes = step.counter("application_processes")
    if pools == 1 or processes is None:
        return None
    used = min(pools, round(processes))
    return CheckResult(Check.POOLS_USED, used == pools, {"used": used, "pools": pools})
