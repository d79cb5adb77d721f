"""Bottlenecks as sentences."""

from collections.abc import Mapping
from typing import Any

from poolsize.analysis.bottleneck import BottleneckName
from poolsize.present.text.sentences.checks import check_detail
from poolsize.present.text.sentences.findings import filled
from poolsize.runs.check import Check

EVIDENCE: Mapping[BottleneckName, str] = {
    BottleneckName.GENERATOR: "with {pool_size:#connection}, {generator}",
    BottleneckName.SERVER_CPU: "{busy_cores:number} of {cores:g} cores used",
    BottleneckName.APPLICATION_CPU: "the application uses {busy_cores:number} of {its_cores} that it can use, so no "
    "pool size makes it faster",
    BottleneckName.SHARED_CPU: "{busy_cores:number} of this machine's {cores:g} cores used: {server_cores:number} by "
    "the server, {load_cores:number} by the load generator{by_application}",
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
            by_application = ", {application_cores:number} by the application" if "application_cores" in values else ""
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
