"""The checks that a step must pass before its figures are believed."""

from poolsize.analysis.percentiles import merged
from poolsize.run import Check, Step

LITTLE_TOLERANCE = 0.05
BUSY_CORE = 0.9
LATE_LOOP_MS = 50.0
FILLED = 1.1
"""Callers per connection that keep a pool full: with hardly more than one each, some connections idle."""


def check_step(step: Step) -> tuple[Check, ...]:
    """Every verdict on one measured step."""
    return (littles_law(step), connections(step), errors(step), generator(step), pool_can_fill(step))


def littles_law(step: Step) -> Check:
    """Callers must be where their own figures put them: users = throughput * (mean total + mean gap).

    Little (1961). Callers that were starved never finish, so they are missing on the right.
    """
    present = _rate(step) * (_mean_seconds(step.latencies.total) + step.gap_ms / 1000)
    deviation = present / step.users - 1
    return Check(
        "littles_law",
        abs(deviation) <= LITTLE_TOLERANCE,
        f"{step.users} users, of whom throughput x (total + gap) accounts for {present:.1f} ({deviation:+.1%})",
    )


def connections(step: Step) -> Check:
    """The server must count exactly as many connections as the pool has."""
    return Check(
        "connections",
        step.server_connections == step.pool_size,
        f"the server counted {step.server_connections} connections of {step.pool_size}",
    )


def errors(step: Step) -> Check:
    """Throughput of a step in which transactions fail is not the database's."""
    kinds = {kind: sum(series[step.warm_up_seconds :]) for kind, series in step.errors.items()}
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()) if number) or "none"
    share = step.error_count / max(1, step.error_count + sum(step.counted))
    return Check("errors", share <= 0.01, f"failed transactions: {told} ({share:.2%})")


def generator(step: Step) -> Check:
    """A load process with a full core or a late event loop measures itself."""
    busiest = max(worker.cpu for worker in step.workers)
    latest_ms = max(worker.loop_lag_ms for worker in step.workers)
    return Check(
        "generator",
        busiest < BUSY_CORE and latest_ms < LATE_LOOP_MS,
        f"the busiest load process used {busiest:.0%} of a core, its event loop was up to {latest_ms:.1f} ms late",
    )


def pool_can_fill(step: Step) -> Check:
    """A pool that its callers can't fill says nothing about the database.

    Callers that have or want a connection, throughput * mean total by Little's law, must outnumber the pool; with
    think time that can be far fewer than the users.
    """
    wanting = _rate(step) * _mean_seconds(step.latencies.total)
    return Check(
        "users_limited",
        step.pool_size < step.users and wanting >= FILLED * step.pool_size,
        f"{step.pool_size} connections for {wanting:.1f} callers at a time that had or wanted one, of {step.users}",
    )


def _rate(step: Step) -> float:
    return sum(step.counted) / len(step.counted) if step.counted else 0.0


def _mean_seconds(encoded: str) -> float:
    histogram = merged([encoded])
    return float(histogram.get_mean_value()) / 1e6 if histogram.get_total_count() else 0.0
