"""The checks that a step must pass before its figures are believed."""

from collections.abc import Sequence
from math import sqrt

from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.analysis.stats.steady_state import drift
from poolsize.runs.run import Check, Step

LITTLE_TOLERANCE = 0.05
RATE_TOLERANCE = 0.05
BUSY_CORE = 0.9
LATE_LOOP_MS = 50.0
CROWDED, OTHERS = 0.85, 0.2
"""Shares of a machine's cores: busy from the first on, they are short; the second is more than it does by itself."""
FILLED = 1.1
"""Callers per connection that keep a pool full: with hardly more than one each, some connections idle."""


VOIDING = ("littles_law", "arrivals", "connections", "errors", "workers", "quiet", "users_limited")
"""Checks without which a size is left out of every estimate. A busy generator is not among them: what the
client can reach with a pool of that size was measured, and the verdict says whose limit it is. Nor is a drift: it
widens the interval by itself."""


def telling(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps that may enter an estimate: those of sizes at which none failed a check that voids it."""
    spoiled = {step.pool_size for step in steps if any(check.name in VOIDING for check in step.failed_checks)}
    return tuple(step for step in steps if step.pool_size not in spoiled)


def check_step(step: Step, error_budget: float) -> tuple[Check, ...]:
    """Every verdict on one measured step; a recording's window has little to be judged by."""
    if step.latencies is None:
        return (steady_state(step), recorded_callers(step))
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


def littles_law(step: Step) -> Check:
    """Callers must be where their own figures put them: users = throughput * (mean total + mean gap).

    Little (1961). Callers that were starved never finish, so they are missing on the right.
    """
    present = step.mean_throughput * (mean_total_ms(step) + step.gap_ms) / 1000
    deviation = present / step.users - 1 if step.users else -1.0
    return Check(
        "littles_law",
        abs(deviation) <= LITTLE_TOLERANCE,
        f"{step.users} users, of whom throughput x (total + gap) accounts for {present:.1f} ({deviation:+.1%})",
    )


def arrivals(step: Step) -> Check:
    """In an open loop what arrives must also leave; otherwise a queue grows that no percentile shows."""
    offered = step.rate or 0.0
    chance = 3 * sqrt(offered / max(1, len(step.counted)))  # standard deviations of a Poisson count's mean
    missing = offered - step.mean_throughput
    return Check(
        "arrivals",
        step.stopped is None and abs(missing) <= max(RATE_TOLERANCE * offered, chance),
        f"{offered:.1f}/s were due and {step.mean_throughput:.1f}/s were done"
        + (f": {step.stopped}" if step.stopped else ""),
    )


def mean_total_ms(step: Step) -> float:
    """The mean total time, which a replay does not know: then 0."""
    return mean_ms([step.latencies.total]) if step.latencies else 0.0


def connections(step: Step) -> Check:
    """The server must count exactly as many connections as the pool has."""
    return Check(
        "connections",
        step.server_connections == step.pool_size,
        f"the server counted {step.server_connections} connections of {step.pool_size}",
    )


def errors(step: Step, budget: float) -> Check:
    """Throughput of a step in which transactions fail is not the database's."""
    kinds = {kind: sum(series[step.warm_up_seconds :]) for kind, series in step.errors.items()}
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()) if number) or "none"
    share = step.error_count / max(1, step.error_count + sum(step.counted))
    return Check("errors", share <= budget, f"failed transactions: {told} ({share:.2%})")


def steady_state(step: Step) -> Check:
    """Throughput must not drift: the second half of the counted time must be like the first."""
    found = drift(step.counted)
    return Check(
        "steady_state", not found, f"the second half of the time had {found:+.1%} throughput against the first"
    )


def workers(step: Step) -> Check:
    """Every load process must have stayed to the end."""
    shares = sum(worker.share for worker in step.workers)
    return Check(
        "workers",
        shares == step.pool_size,
        f"load processes with {shares} of {step.pool_size} connections stayed to the end",
    )


def quiet(step: Step) -> Check:
    """On a machine whose cores are all busy, nobody but the server and the load may need them.

    Known where the server runs on this machine; a program that is elsewhere can't be seen.
    """
    busy, cores, server = map(step.counter, ("machine_cpu", "machine_cores", "process_cpu"))
    if busy is None or server is None or not cores:
        return Check("quiet", True, "what else this machine did is not known")
    others = max(0.0, busy - server - sum(worker.cpu for worker in step.workers))
    return Check(
        "quiet",
        busy < CROWDED * cores or others < OTHERS * cores,
        f"other programs used {others:.2f} of this machine's {cores:g} cores, {busy:.2f} of which were busy",
    )


def generator(step: Step) -> Check:
    """A load process with a full core or a late event loop measures itself.

    Time that it was ready to run and had no core counts as well: then others use the core it needs.
    """
    busiest = max((worker.cpu + worker.cpu_wait for worker in step.workers), default=0.0)
    latest_ms = max((worker.loop_lag_ms for worker in step.workers), default=0.0)
    return Check(
        "generator",
        busiest < BUSY_CORE and latest_ms < LATE_LOOP_MS,
        f"the busiest load process wanted {busiest:.0%} of a core, its event loop was up to {latest_ms:.1f} ms late",
    )


def recorded_callers(step: Step) -> Check:
    """In a recording with a fixed number of callers no more connections than that were ever at work."""
    return Check(
        "users_limited",
        not step.users or step.pool_size < step.users,
        f"{step.pool_size} connections for {step.users or 'an unknown number of'} callers",
    )


def pool_can_fill(step: Step) -> Check:
    """A pool that its callers can't fill says nothing about the database.

    Callers that have or want a connection, throughput * mean total by Little's law, must outnumber the pool; with
    think time that can be far fewer than the users. Where transactions arrive by the clock it is the rate that
    decides, and an idle connection is no fault.
    """
    wanting = step.mean_throughput * mean_total_ms(step) / 1000
    return Check(
        "users_limited",
        step.rate is not None or (step.pool_size < step.users and wanting >= FILLED * step.pool_size),
        f"{step.pool_size} connections for {wanting:.1f} callers at a time that had or wanted one, of {step.users}",
    )
