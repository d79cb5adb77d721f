"""Ways out of a finding as text, with the options of the command line."""

from collections.abc import Callable, Mapping
from typing import Any

from poolsize.answer.finding import Remedy, WayOut
from poolsize.units import count, milliseconds

Values = Mapping[str, Any]
SHORTER_PAUSES = "with shorter pauses of the users: they want a connection too rarely to fill the pool"


def way_out_sentence(way_out: WayOut) -> str:
    """Return the way out of a finding, as part of a sentence."""
    return SENTENCES[way_out.remedy](way_out.values)


def _measure_longer(values: Values) -> str:
    return f"measure longer, with --step-time {values['step_seconds']}s or --repeats {values['repeats']}"


def _search_longer(values: Values) -> str:
    return f"search again with --budget {values['budget_minutes']}m"


def _fill_gap(values: Values) -> str:
    return f"measure more pool sizes between {values['below']} and {values['above']}"


def _sweep_beyond(values: Values) -> str:
    sizes = f"measure --pool-sizes {','.join(map(str, values['pool_sizes']))}"
    if values["shorter_pauses"]:
        return f"{sizes} {SHORTER_PAUSES}"
    return f"{sizes} --users {values['users']}" if "users" in values else sizes


def _sweep_recording_beyond(_: Values) -> str:
    return "replay other --pool-sizes, if the recording contains them"


def _more_users(values: Values) -> str:
    if values.get("shorter_pauses"):
        return f"measure {SHORTER_PAUSES}"
    users = [f"--users {values['users']}"] if "users" in values else []
    smaller = ["smaller --pool-sizes"] if values.get("smaller_sizes") else []
    return f"use {' or '.join([*users, *smaller])}"


def _more_workers(values: Values) -> str:
    """Return how many workers let the server limit throughput, by the service demands."""
    machine = "Give the load generator a core or a machine of its own."
    if not values:
        return f"{machine} Or divide the load among workers with --processes 2 or more."
    demands = (
        f"At {count(values['pool_size'], 'connection')}, a transaction takes {milliseconds(values['client_ms'])} of "
        f"CPU time in the load generator and {milliseconds(values['server_ms'])} of CPU time on the server, which has "
        f"{count(values['server_cores'], 'core')}."
    )
    if "workers" not in values:
        return f"{demands} {machine}"
    return (
        f"{demands} Use --processes {values['workers']} on a machine with cores that the server does not need, or "
        "workers on other machines (--expect-workers)."
    )


def _end_programs(values: Values) -> str:
    if quiet := values["quiet_steps"]:
        return f"The last {count(quiet, 'step')} passed, so the machine may be quiet now: measure again"
    return "The other programs ran until the end of the sweep: end them, or wait until they end, and measure again"


def _measure_again(_: Values) -> str:
    return "Measure again; `poolsize analyze` shows the checks"


def _correct_workload(_: Values) -> str:
    return "Find out why transactions fail, correct the workload or the server, and measure again"


SENTENCES: Mapping[Remedy, Callable[[Values], str]] = {
    Remedy.MEASURE_LONGER: _measure_longer,
    Remedy.SEARCH_LONGER: _search_longer,
    Remedy.FILL_GAP: _fill_gap,
    Remedy.SWEEP_BEYOND: _sweep_beyond,
    Remedy.SWEEP_RECORDING_BEYOND: _sweep_recording_beyond,
    Remedy.MORE_USERS: _more_users,
    Remedy.MORE_WORKERS: _more_workers,
    Remedy.END_PROGRAMS: _end_programs,
    Remedy.MEASURE_AGAIN: _measure_again,
    Remedy.CORRECT_WORKLOAD: _correct_workload,
}
