"""The results of checks, and bottlenecks, as sentences."""

from collections.abc import Callable, Mapping
from typing import Any

from poolsize.analysis.bottleneck import BottleneckName
from poolsize.present.text.sentences.findings import filled
from poolsize.runs.check import Check
from poolsize.runs.run import CheckResult, StopReason

Values = Mapping[str, Any]
SHOWN_STEAL = 0.01
"""Cores; a smaller steal rounds to nothing."""
_BRIEFLY: Mapping[Check, str | Callable[[Values], str]] = {
    Check.LITTLES_LAW: "users starved",
    Check.ARRIVALS: lambda values: (
        "requests of the warm-up had waited" if _catches_up(values) else "the pool did not serve the rate"
    ),
    Check.CONNECTIONS: "the server counted another number of connections",
    Check.ERRORS: "too many transactions failed",
    Check.STEADY_STATE: "throughput rose or fell",
    Check.WORKERS: "a worker left",
    Check.QUIET: "other programs used the machine",
    Check.GENERATOR: "a worker was saturated or late",
    Check.USERS_LIMITED: "the users did not fill the pool",
    Check.SERVICE_THREADS: "the service never filled the pool",
    Check.SPEED: lambda values: (
        f"the machine was {'faster' if values['deviation'] > 0 else 'slower'} than usual so far"
    ),
    Check.POOLS_USED: "a part of the pools was not used",
}
"""Check -> what its failure means when the step ends, in a few words, or the function that chooses them."""


def check_briefly(result: CheckResult) -> str:
    """Return what the failure of a check means when the step ends, in a few words."""
    words = _BRIEFLY[result.check]
    return words if isinstance(words, str) else words(result.values)


def check_sentence(result: CheckResult) -> str:
    """Return the figures of a check's result as a sentence without its full stop."""
    return check_detail(result.check, result.values)


def check_detail(check: Check, values: Values) -> str:
    """Return the figures of a check as a sentence without its full stop. values: of the CheckResult."""
    template = _TEMPLATES[check]
    return filled(template if isinstance(template, str) else template(values), {"failed": {}, **values})


def _stopped(values: Values) -> str:
    match values["stopped"]:
        case StopReason.TOO_MANY_ERRORS:
            return "{failed} of {transactions} transactions failed, more than the error budget allows"
        case StopReason.BACKLOG:
            return "the backlog grew to {backlog} transactions: more arrive than this pool size serves"
        case _:
            return "{lost} of {workers} workers left before the end of the step"


def _catches_up(values: Values) -> bool:
    """Return whether more transactions ended than were due: a queue of the warm-up became shorter."""
    return "stopped" not in values and bool(values.get("throughput", 0) > values.get("due_per_second", 0))


def _arrivals(values: Values) -> str:
    ended = "{due_per_second:.1f} transactions per second were due, and {throughput:.1f} per second ended"
    if _catches_up(values):
        ended += ", because transactions of the warm-up had waited"
    if "stopped" in values:
        return f"{ended}: {_stopped(values)}"
    if "utilisation" not in values:  # too few transactions ended
        return ended
    growth = ""
    if "last_outstanding" in values:
        growth = (
            ", and the transactions that were due and had not ended grew from {first_outstanding:.0f} to "
            "{last_outstanding:.0f}"
        )
    elif "last_p95_ms" in values:
        growth = ", and the p95 of a second grew from {first_p95_ms:ms} to {last_p95_ms:ms}"
    elif values["utilisation_low"] <= 1 <= values["utilisation_high"]:
        growth = ", so it is not certain that the pool serves the rate"
    need = (
        "; this rate needs {utilisation:%} of the connections (95 % interval {utilisation_low:%} to "
        "{utilisation_high:%})"
    )
    return ended + need + growth


def _generator(values: Values) -> str:
    times = (
        (" more than the" if values["loop_lag_ms"] >= values[f"{name}_ms"] else " with a")
        + f" mean {name} time of {{{name}_ms:ms}}"
        for name in ("usage", "response")
        if values.get(f"{name}_ms")
    )
    return (
        "the busiest worker needed {worker_cores:.0f %} of a core; a worker's event loop was up to {loop_lag_ms:.1f} "
        "ms late" + "".join(f",{time}" for time in times)
    )


def _users_limited(values: Values) -> str:
    if "wanting_users" in values:
        return (
            "{pool_size} connections; on average, {wanting_users:.1f} of {users} users held or waited for a connection"
        )
    return "{pool_size} connections for " + ("{users} users" if values["users"] else "an unknown number of users")


def _speed(values: Values) -> str:
    steal = values["steal_cores"] or 0.0
    stolen = "; the hypervisor gave {steal_cores:.2f} cores to other virtual machines" if steal >= SHOWN_STEAL else ""
    return f"the machine ran at {100 * (1 + values['deviation']):.0f} % of its usual speed{stolen}"


_TEMPLATES: Mapping[Check, str | Callable[[Values], str]] = {
    Check.LITTLES_LAW: "by Little's law, the measured times account for {accounted_users:.1f} of {users} users "
    "({deviation:+.1f %})",
    Check.ARRIVALS: _arrivals,
    Check.CONNECTIONS: lambda values: (
        "the server counted {server_connections:#connection}, and "
        + ("the {pools} pools have {pool_size} each" if "pools" in values else "the pool has {pool_size}")
    ),
    Check.SERVICE_THREADS: "{waiting_users:number} users waited for a response, but on average only "
    "{wanting_requests:number} requests used or wanted one of the {pool_size} connections: the service's worker "
    "threads, or its CPU, keep it from using more",
    Check.POOLS_USED: lambda values: (
        "only {used} of {pools:#pool} " + ("was" if values["used"] == 1 else "were") + " used: users that keep their "
        "connections to the service open stay with the process that accepted them"
    ),
    Check.ERRORS: "failed transactions: {failed:kinds} ({share:.2f %})",
    Check.STEADY_STATE: "throughput changed by {change:+.1f %} from the first half of the step to the second",
    Check.WORKERS: "the workers that stayed to the end of the step had {connections} of the {pool_size} connections",
    Check.QUIET: lambda values: (
        "other programs used {other_cores:.2f} of this machine's {cores:g} cores; {busy_cores:.2f} cores were busy in "
        "all"
        if values
        else "other programs on this machine are not known"
    ),
    Check.GENERATOR: _generator,
    Check.USERS_LIMITED: _users_limited,
    Check.SPEED: _speed,
}
"""Check -> the template of its figures, for `filled`, or the function that chooses it."""


EVIDENCE: Mapping[BottleneckName, str] = {
    BottleneckName.GENERATOR: "with {pool_size:#connection}, {generator}",
    BottleneckName.SERVER_CPU: "{busy_cores:number} of {cores:#core} used",
    BottleneckName.APPLICATION_CPU: "the application uses {busy_cores:number} of {its_cores} that it can use, so no "
    "pool size makes it faster",
    BottleneckName.SHARED_CPU: "{busy_cores:.2f} of the machine's {cores:#core} used: {server_cores:.2f} by "
    "the server, {load_cores:.2f} by the load generator{by_application}",
    BottleneckName.ROW_LOCKS: "connections spent {share:%} of their time in row lock waits ({waits_per_second:number} "
    "lock waits per second)",
    BottleneckName.DISK_READS: "{missed_share:%} of the page requests missed the buffer pool, "
    "{reads_per_second:number} disk reads per second; for the formula, --cache-hit-rate {hit_share:.3f} gives "
    "effective_disks = {effective_disks:number}",
    BottleneckName.REDO_LOG: "the server used only {server_cores:number} cores; {throughput:number} transactions per "
    "second wrote {written_megabytes:number} MB/s of redo log with {syncs_per_second:number} fsyncs per second, "
    "{for_each_sync:number} transactions per fsync",
    BottleneckName.THREAD_POOL: "the server ran {running_threads:number} of {connections} connections at a time",
    BottleneckName.ROUND_TRIP: "{travelling_ms:ms} of the {usage_ms:ms} usage time is spent on round trips between "
    "load generator and server: {statements:number} statements, {round_trip_us:number} us each",
    BottleneckName.UNKNOWN: "no recorded resource is saturated",
}
"""Bottleneck -> the template of its figures, for `filled`."""


def bottleneck_sentence(name: BottleneckName, values: Mapping[str, Any]) -> str:
    """Return a bottleneck with the figures that show it. values: of the Bottleneck."""
    return f"Bottleneck: {bottleneck_text(name, values)}."


def bottleneck_text(name: BottleneckName, values: Mapping[str, Any]) -> str:
    """Return the name of a bottleneck, with its figures in brackets. values: of the Bottleneck."""
    return f"{name} ({filled(EVIDENCE[name], {**values, **_derived(name, values)})})"


def _derived(name: BottleneckName, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the figures of a sentence that follow from the bottleneck's."""
    match name:
        case BottleneckName.GENERATOR:
            return {"generator": check_detail(Check.GENERATOR, values)}
        case BottleneckName.APPLICATION_CPU:
            return {"its_cores": "the only core" if values["cores"] == 1 else f"the {values['cores']:g} cores"}
        case BottleneckName.SHARED_CPU:
            by_application = ", {application_cores:.2f} by the application" if "application_cores" in values else ""
            return {"by_application": filled(by_application, values)}
        case BottleneckName.DISK_READS:
            missed = values["missed_share"]
            return {"hit_share": 1 - missed, "effective_disks": values["disks"] * missed}
        case BottleneckName.REDO_LOG:
            return {
                "written_megabytes": values["written_bytes_per_second"] / 1e6,
                "for_each_sync": values["throughput"] / values["syncs_per_second"],
            }
        case _:
            return {}
