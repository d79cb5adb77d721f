"""The results of checks as sentences."""

from collections.abc import Callable, Mapping
from typing import Any

from poolsize.runs.check import Check, CheckResult
from poolsize.runs.run import StopReason

Values = Mapping[str, Any]


def check_sentence(result: CheckResult) -> str:
    """Return the figures of a check's result as a sentence without its full stop."""
    return check_detail(result.check, result.values)


def check_detail(check: Check, values: Values) -> str:
    """Return the figures of a check as a sentence without its full stop.

    values: of the CheckResult; a run of an older format may have the sentence itself, as "detail".
    """
    return str(values["detail"]) if "detail" in values else _SENTENCES[check](values)


def stop_sentence(values: Values) -> str:
    """Return why a step ended early. values: "stopped", which is the StopReason, and the figures of the reason."""
    match values["stopped"]:
        case StopReason.TOO_MANY_ERRORS:
            return (
                f"{values['failed']} of {values['transactions']} transactions failed, more than the error budget allows"
            )
        case StopReason.BACKLOG:
            return (
                f"the queue grew to {values['backlog']} transactions that were due: more arrive than this pool serves"
            )
        case _:
            return f"lost {values['lost']} of {values['workers']} load processes"


def _littles_law(values: Values) -> str:
    return (
        f"{values['users']} users, of whom throughput x (total + gap) accounts for {values['accounted_users']:.1f} "
        f"({values['deviation']:+.1%})"
    )


def _arrivals(values: Values) -> str:
    stopped = f": {stop_sentence(values)}" if "stopped" in values else ""
    return f"{values['due_per_second']:.1f}/s were due and {values['throughput']:.1f}/s were done{stopped}"


def _connections(values: Values) -> str:
    return f"the server counted {values['server_connections']} connections of {values['pool_size']}"


def _errors(values: Values) -> str:
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(values.get("failed", {}).items())) or "none"
    return f"failed transactions: {kinds} ({values['share']:.2%})"


def _steady_state(values: Values) -> str:
    return f"the second half of the time had {values['change']:+.1%} throughput against the first"


def _workers(values: Values) -> str:
    return f"load processes with {values['connections']} of {values['pool_size']} connections stayed to the end"


def _quiet(values: Values) -> str:
    if not values:
        return "what else this machine did is not known"
    return (
        f"other programs used {values['other_cores']:.2f} of this machine's {values['cores']:g} cores, "
        f"{values['busy_cores']:.2f} of which were busy"
    )


def _generator(values: Values) -> str:
    return (
        f"the busiest load process wanted {values['worker_cores']:.0%} of a core, its event loop was up to "
        f"{values['loop_lag_ms']:.1f} ms late"
    )


def _users_limited(values: Values) -> str:
    if "wanting_users" not in values:
        return f"{values['pool_size']} connections for {values['users'] or 'an unknown number of'} callers"
    return (
        f"{values['pool_size']} connections for {values['wanting_users']:.1f} callers at a time that had or wanted "
        f"one, of {values['users']}"
    )


_SENTENCES: Mapping[Check, Callable[[Values], str]] = {
    Check.LITTLES_LAW: _littles_law,
    Check.ARRIVALS: _arrivals,
    Check.CONNECTIONS: _connections,
    Check.ERRORS: _errors,
    Check.STEADY_STATE: _steady_state,
    Check.WORKERS: _workers,
    Check.QUIET: _quiet,
    Check.GENERATOR: _generator,
    Check.USERS_LIMITED: _users_limited,
}
