"""Bottlenecks as sentences."""

from collections.abc import Callable, Mapping
from typing import Any

from poolsize.analysis.bottleneck import BottleneckName
from poolsize.present.text.sentences.checks import check_detail
from poolsize.runs.check import Check
from poolsize.units import count, milliseconds, number, percent

Values = Mapping[str, Any]


def bottleneck_sentence(name: BottleneckName, values: Values) -> str:
    """Return a bottleneck with the figures that show it. values: of the Bottleneck."""
    return f"Bottleneck: {name} ({EVIDENCE[name](values)})."


def _application_cpu(values: Values) -> str:
    cores = "the only core" if values["cores"] == 1 else f"the {values['cores']:g} cores"
    busy = number(values["busy_cores"])
    return f"the application uses {busy} of {cores} that it can use, so no pool size makes it faster"


def _shared_cpu(values: Values) -> str:
    return (
        f"{number(values['busy_cores'])} of this machine's {values['cores']:g} cores used: "
        f"{number(values['server_cores'])} by the server, {number(values['load_cores'])} by the load generator"
        + (f", {number(values['application_cores'])} by the application" if "application_cores" in values else "")
    )


EVIDENCE: Mapping[BottleneckName, Callable[[Values], str]] = {
    BottleneckName.GENERATOR: lambda values: (
        f"with {count(values['pool_size'], 'connection')}, {check_detail(Check.GENERATOR, values)}"
    ),
    BottleneckName.SERVER_CPU: lambda values: f"{number(values['busy_cores'])} of {values['cores']:g} cores used",
    BottleneckName.APPLICATION_CPU: _application_cpu,
    BottleneckName.SHARED_CPU: _shared_cpu,
    BottleneckName.ROW_LOCKS: lambda values: (
        f"connections spent {percent(values['share'])} of their time in row lock waits "
        f"({number(values['waits_per_second'])} lock waits per second)"
    ),
    BottleneckName.DISK_READS: lambda values: (
        f"{percent(values['missed_share'])} of the page requests missed the buffer pool, "
        f"{number(values['reads_per_second'])} disk reads per second; for the formula, --cache-hit-rate "
        f"{1 - values['missed_share']:.3f} gives effective_disks = {number(values['disks'] * values['missed_share'])}"
    ),
    BottleneckName.REDO_LOG: lambda values: (
        f"the server used only {number(values['server_cores'])} cores; {number(values['throughput'])} transactions per "
        f"second wrote {number(values['written_bytes_per_second'] / 1e6)} MB/s of redo log with "
        f"{number(values['syncs_per_second'])} fsyncs per second, "
        f"{number(values['throughput'] / values['syncs_per_second'])} transactions per fsync"
    ),
    BottleneckName.THREAD_POOL: lambda values: (
        f"the server ran {number(values['running_threads'])} of {values['connections']} connections at a time"
    ),
    BottleneckName.ROUND_TRIP: lambda values: (
        f"{milliseconds(values['travelling_ms'])} of the {milliseconds(values['usage_ms'])} usage time is spent on "
        f"round trips between load generator and server: {number(values['statements'])} statements, "
        f"{number(values['round_trip_us'])} us each"
    ),
    BottleneckName.UNKNOWN: lambda _: "no recorded resource is saturated",
}
