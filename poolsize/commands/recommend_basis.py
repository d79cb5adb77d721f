"""What the answers of `poolsize recommend` rest on: the analysis of a run, the facts of a server, and its limit."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.fleet_options import FLEET_OPTIONS, FleetOptions, limit_of
from poolsize.command_line.options import LIMITS, Encryption, flag, inspected, is_typed
from poolsize.command_line.run_file import Source
from poolsize.command_line.traffic_options import TRAFFIC_OPTIONS
from poolsize.errors import BadInput

if TYPE_CHECKING:  # the formula's answer starts without them
    from poolsize.analysis.analysis import Analysis
    from poolsize.answer.fleet import ServerLimit
    from poolsize.facts.inspection import Inspection

OF_THREADS = ("app_threads", "connections_per_thread")
OF_FLEET = (*OF_THREADS, "instance_class")
"""Parameters of a fleet's options that no run contains."""
OF_OBSERVATION = ("observation", "pool", "growth")
OF_CLIENT = ("usage_time_ms", "app_cpu_time_ms", "app_cores")


def analysis_of(source: Source, facts: dict[str, Any], may_have: tuple[str, ...]) -> "Analysis":
    """Return the analysis of a run or a curve. Raises BadInput for an option that it has no use for.

    may_have: parameters of options that the run does not contain.
    """
    of_fleet = set(FLEET_OPTIONS) - set(OF_THREADS)
    known = {
        "why",
        "as_json",
        *OF_CLIENT,
        *OF_OBSERVATION,
        *TRAFFIC_OPTIONS,
        *LIMITS,
        *of_fleet,
        *may_have,
        *source.parameters,
    }
    for name in click.get_current_context().params:
        if name not in known and is_typed(name):
            why = "a curve has no use for this value" if source.curve else "the run contains this value"
            raise BadInput(f"{flag(name)}: {why}; leave the option out")
    return source.analysis(facts["cores"], facts["disks"] if is_typed("disks") else None)


def inspection_of(url: str | None, facts: dict[str, Any], encryption: Encryption) -> "Inspection | None":
    """Return the facts of the server whose URL is given, or that POOLSIZE_URL names where no cores are given.

    Set the facts that no option gives: the hit rate, and a local server's cores.
    """
    url = encryption.of(url or (os.environ.get("POOLSIZE_URL") if facts["cores"] is None else None))
    if not url:
        return None
    inspection = inspected(url)
    if facts["cache_hit_rate"] is None:
        facts["cache_hit_rate"] = inspection.cache_hit_rate
    if facts["cores"] is None and inspection.is_here:
        from poolsize.facts.machine import this_machine

        facts["cores"] = this_machine().usable_cores
    return inspection


def server_limit(fleet: FleetOptions, inspection: "Inspection | None") -> "ServerLimit":
    """Return the limit of the options, of the inspected server, of the server in POOLSIZE_URL, or of the class."""
    if inspection:
        return limit_of(inspection.server, inspection.connection_bytes, replace(fleet, instance_class=None).limit())
    return fleet.limit(os.environ.get("POOLSIZE_URL") if fleet.max_connections is None else None)
