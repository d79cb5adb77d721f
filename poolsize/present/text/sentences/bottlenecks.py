"""The figures that show a bottleneck, as sentences."""

from collections.abc import Callable, Mapping
from typing import Any

from poolsize.analysis.bottleneck import BottleneckName
from poolsize.present.text.sentences.checks import check_detail
from poolsize.runs.check import Check
from poolsize.units import count, milliseconds, number, percent

Values = Mapping[str, Any]


def bottleneck_evidence(name: BottleneckName, values: Values) -> str:
    """Return the figures that show a bottleneck, as a sentence without its full stop. values: of the Bottleneck."""
    return EVIDENCE[name](values)


def _generator(values: Values) -> str:
    return f"with {count(values['pool_size'], 'connection')}, {check_detail(Check.GENERATOR, values)}"


def _server_cpu(values: Values) -> str:
    return f"{number(values['busy_cores'])} of {values['cores']:g} cores used"


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


def _row_locks(values: Values) -> str:
    return (
        f"connections spent {percent(values['share'])} of their time in row lock waits "
        f"({number(values['waits_per_second'])} lock waits per second)"
    )


def _disk_reads(values: Values) -> str:
    missed, disks = values["missed_share"], values["disks"]
    return (
        f"{percent(missed)} of the page requests missed the buffer pool, {number(values['reads_per_second'])} disk "
        f"reads per second; for the formula, --cache-hit-rate {1 - missed:.3f} gives effective_disks = "
        f"{number(disks * missed)}"
    )


def _thread_pool(values: Values) -> str:
    running = number(values["running_threads"])
    return f"the server ran {running} of {values['connections']} connections at a time"


def _redo_log(values: Values) -> str:
    throughput, syncs = values["throughput"], values["syncs_per_second"]
    return (
        f"the server used only {number(values['server_cores'])} cores; {number(throughput)} transactions per second "
        f"wrote {number(values['written_bytes_per_second'] / 1e6)} MB/s of redo log with {number(syncs)} fsyncs per "
        f"second, {number(throughput / syncs)} transactions per fsync"
    )


def _round_trip(values: Values) -> str:
    return (
        f"{milliseconds(values['travelling_ms'])} of the {milliseconds(values['usage_ms'])} usage time is spent on "
        f"round trips between load generator and server: {number(values['statements'])} statements, "
        f"{number(values['round_trip_us'])} us each"
    )


def _unknown(_: Values) -> str:
    return "no recorded resource is saturated"


EVIDENCE: Mapping[BottleneckName, Callable[[Values], str]] = {
    BottleneckName.GENERATOR: _generator,
    BottleneckName.SERVER_CPU: _server_cpu,
    BottleneckName.APPLICATION_CPU: _application_cpu,
    BottleneckName.SHARED_CPU: _shared_cpu,
    BottleneckName.ROW_LOCKS: _row_locks,
    BottleneckName.DISK_READS: _disk_reads,
    BottleneckName.REDO_LOG: _redo_log,
    BottleneckName.THREAD_POOL: _thread_pool,
    BottleneckName.ROUND_TRIP: _round_trip,
    BottleneckName.UNKNOWN: _unknown,
}
