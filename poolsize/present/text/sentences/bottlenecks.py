"""The figures that show a bottleneck, as sentences."""

from collections.abc import Callable, Mapping
from typing import Any

from poolsize.analysis.bottleneck import BottleneckName
from poolsize.present.text.sentences.checks import check_detail
from poolsize.runs.check import Check
from poolsize.units import milliseconds, number, per_second, percent

Values = Mapping[str, Any]


def bottleneck_evidence(name: BottleneckName, values: Values) -> str:
    """Return the figures that show a bottleneck, as a sentence without its full stop. values: of the Bottleneck."""
    return EVIDENCE[name](values)


def _generator(values: Values) -> str:
    return check_detail(Check.GENERATOR, values)


def _server_cpu(values: Values) -> str:
    return f"the server used {number(values['busy_cores'])} of the {values['cores']:g} cores it may run on"


def _shared_cpu(values: Values) -> str:
    return (
        f"of this machine's {values['cores']:g} cores {number(values['busy_cores'])} were busy, "
        f"{number(values['server_cores'])} with the server and {number(values['load_cores'])} with making the load"
    )


def _row_locks(values: Values) -> str:
    return (
        f"connections spent {percent(values['share'])} of their time waiting for row locks, "
        f"{per_second(values['waits_per_second'])}"
    )


def _disk_reads(values: Values) -> str:
    missed, disks = values["missed_share"], values["disks"]
    return (
        f"{percent(missed)} of the pages were not in the buffer pool, {per_second(values['reads_per_second'])} were "
        f"read from disk; of {disks} disks the formula then wants effective_disks = {number(disks * missed)} "
        f"(--cache-hit-rate {1 - missed:.3f})"
    )


def _thread_pool(values: Values) -> str:
    running = number(values["running_threads"])
    return f"with {values['pool_size']} connections at work the server let {running} run at a time"


def _redo_log(values: Values) -> str:
    throughput, syncs = values["throughput"], values["syncs_per_second"]
    return (
        f"the server used {number(values['server_cores'])} cores and had more; {per_second(throughput)} wrote "
        f"{number(values['written_bytes_per_second'] / 1e6)} MB/s of redo log in {number(syncs)} fsyncs a second, "
        f"{number(throughput / syncs)} transactions to one"
    )


def _round_trip(values: Values) -> str:
    return (
        f"a transaction of {number(values['statements'])} statements held its connection for "
        f"{milliseconds(values['usage_ms'])}, of which {milliseconds(values['travelling_ms'])} are round trips of "
        f"{number(values['round_trip_us'])} us"
    )


def _unknown(_: Values) -> str:
    return "nothing that was recorded is full, and nothing that was recorded is waited for"


EVIDENCE: Mapping[BottleneckName, Callable[[Values], str]] = {
    BottleneckName.GENERATOR: _generator,
    BottleneckName.SERVER_CPU: _server_cpu,
    BottleneckName.SHARED_CPU: _shared_cpu,
    BottleneckName.ROW_LOCKS: _row_locks,
    BottleneckName.DISK_READS: _disk_reads,
    BottleneckName.REDO_LOG: _redo_log,
    BottleneckName.THREAD_POOL: _thread_pool,
    BottleneckName.ROUND_TRIP: _round_trip,
    BottleneckName.UNKNOWN: _unknown,
}
