"""The results of checks as sentences."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from poolsize.runs.check import Check
from poolsize.units import count, milliseconds, number, percent, signed_percent

if TYPE_CHECKING:  # pydantic stays out of `poolsize recommend --cores 8`
    from poolsize.runs.run import CheckResult

Values = Mapping[str, Any]
SHOWN_STEAL = 0.01
"""Cores; a smaller steal rounds to nothing."""
BRIEFLY: Mapping[Check, str] = {
    Check.LITTLES_LAW: "users starved",
    Check.ARRIVALS: "the pool did not serve the rate",
    Check.CONNECTIONS: "the server counted another number of connections",
    Check.ERRORS: "too many transactions failed",
    Check.STEADY_STATE: "throughput rose or fell",
    Check.WORKERS: "a worker left",
    Check.QUIET: "other programs used the machine",
    Check.GENERATOR: "a worker was saturated or late",
    Check.USERS_LIMITED: "the users did not fill the pool",
    Check.SERVICE_THREADS: "the service never filled the pool",
    Check.SPEED: "the machine was slower or faster than usual",
}
"""Check -> what its failure means, in a few words."""


def check_sentence(result: "CheckResult") -> str:
    """Return the figures of a check's result as a sentence without its full stop."""
    return check_detail(result.check, result.values)


def check_detail(check: Check, values: Values) -> str:
    """Return the figures of a check as a sentence without its full stop. values: of the CheckResult."""
    return _SENTENCES[check](values)


def stop_sentence(values: Values) -> str:
    """Return why a step ended early. values: "stopped", which is the StopReason, and the figures of the reason."""
    from poolsize.runs.run import StopReason

    match values["stopped"]:
        case StopReason.TOO_MANY_ERRORS:
            return (
                f"{values['failed']} of {values['transactions']} transactions failed, more than the error budget allows"
            )
        case StopReason.BACKLOG:
            return f"the backlog grew to {values['backlog']} transactions: more arrive than this pool size serves"
        case _:
            return f"{values['lost']} of {values['workers']} workers left before the end of the step"


def _arrivals(values: Values) -> str:
    ended = (
        f"{values['due_per_second']:.1f} transactions per second were due, and {values['throughput']:.1f} per second "
        "ended"
    )
    if "stopped" in values:
        return f"{ended}: {stop_sentence(values)}"
    if "utilisation" not in values:  # too few transactions ended
        return ended
    interval = f"{percent(values['utilisation_low'])} to {percent(values['utilisation_high'])}"
    need = f"this rate needs {percent(values['utilisation'])} of the connections (95 % interval {interval})"
    growth = ""
    if "last_outstanding" in values:
        grew = f"{values['first_outstanding']:.0f} to {values['last_outstanding']:.0f}"
        growth = f", and the transactions that were due and had not ended grew from {grew}"
    elif "last_p95_ms" in values:
        grew = f"{milliseconds(values['first_p95_ms'])} to {milliseconds(values['last_p95_ms'])}"
        growth = f", and the p95 of a second grew from {grew}"
    elif values["utilisation_low"] <= 1 <= values["utilisation_high"]:
        growth = ", so it is not certain that the pool serves the rate"
    return f"{ended}; {need}{growth}"


def _connections(values: Values) -> str:
    counted = count(values["server_connections"], "connection")
    pools = f"the {values['pools']} pools have {{}} each" if "pools" in values else "the pool has {}"
    return f"the server counted {counted}, and {pools.format(values['pool_size'])}"


def _kinds(failed: Mapping[str, int]) -> str:
    return ", ".join(f"{quantity} {kind}" for kind, quantity in sorted(failed.items())) or "none"


def _quiet(values: Values) -> str:
    if not values:
        return "other programs on this machine are not known"
    return (
        f"other programs used {values['other_cores']:.2f} of this machine's {values['cores']:g} cores; "
        f"{values['busy_cores']:.2f} cores were busy in all"
    )


def _generator(values: Values) -> str:
    usage = "".join(
        f", with a mean {name} time of {milliseconds(values[f'{name}_ms'])}"
        for name in ("usage", "response")
        if values.get(f"{name}_ms")
    )
    return (
        f"the busiest worker needed {100 * values['worker_cores']:.0f} % of a core; a worker's event loop was up to "
        f"{values['loop_lag_ms']:.1f} ms late{usage}"
    )


def _users_limited(values: Values) -> str:
    if "wanting_users" not in values:
        return f"{values['pool_size']} connections for {values['users'] or 'an unknown number of'} users"
    return (
        f"{values['pool_size']} connections; on average, {values['wanting_users']:.1f} of {values['users']} users held "
        "or waited for a connection"
    )


def _speed(values: Values) -> str:
    steal = values["steal_cores"] or 0.0
    stolen = f"; the hypervisor gave {steal:.2f} cores to other virtual machines" if steal >= SHOWN_STEAL else ""
    return f"the machine ran at {100 * (1 + values['deviation']):.0f} % of its usual speed{stolen}"


_SENTENCES: Mapping[Check, Callable[[Values], str]] = {
    Check.LITTLES_LAW: lambda values: (
        f"by Little's law, the measured times account for {values['accounted_users']:.1f} of {values['users']} users "
        f"({signed_percent(values['deviation'])})"
    ),
    Check.ARRIVALS: _arrivals,
    Check.CONNECTIONS: _connections,
    Check.SERVICE_THREADS: lambda values: (
        f"{number(values['waiting_users'])} users waited for a response, but on average only "
        f"{number(values['wanting_requests'])} requests used or wanted one of the {values['pool_size']} connections: "
        "the service's worker threads, or its CPU, keep it from using more"
    ),
    Check.ERRORS: lambda values: (
        f"failed transactions: {_kinds(values.get('failed', {}))} ({100 * values['share']:.2f} %)"
    ),
    Check.STEADY_STATE: lambda values: (
        f"throughput changed by {signed_percent(values['change'])} from the first half of the step to the second"
    ),
    Check.WORKERS: lambda values: (
        f"the workers that stayed to the end of the step had {values['connections']} of the {values['pool_size']} "
        "connections"
    ),
    Check.QUIET: _quiet,
    Check.GENERATOR: _generator,
    Check.USERS_LIMITED: _users_limited,
    Check.SPEED: _speed,
}
