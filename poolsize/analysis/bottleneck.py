"""Why the curve bends: what limits the throughput where it no longer rises, and the figures that show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.facts.server import Server
from poolsize.runs.check import Check, Value
from poolsize.runs.run import Calibration, Step

FULL = 0.85
"""Share of a processor's cores; a busier one, over whole seconds, has no room for another connection's work."""
MISSES = 0.01
"""Share of page requests that miss the buffer pool."""
LOCKED = 0.25
"""Share of the connections' time spent in row lock waits."""
FEW_RUNNING = 0.5
"""Share of the connections that run at once where no thread pool holds them back."""
MOSTLY = 0.5
"""Share of the usage time that is network."""
WRITES_BYTES = 200
"""Redo log of a transaction that changes a row, at least."""


class BottleneckName(StrEnum):
    """What limits throughput; the values are printed in JSON."""

    GENERATOR = "generator"
    SERVER_CPU = "server CPU"
    SHARED_CPU = "shared CPU"
    ROW_LOCKS = "row locks"
    DISK_READS = "disk reads"
    REDO_LOG = "redo log"
    THREAD_POOL = "thread pool"
    ROUND_TRIP = "round trip"
    UNKNOWN = "unknown"

    @property
    def is_processor(self) -> bool:
        """Whether a processor limits throughput, so that the database has nothing else to be short of."""
        return self in {BottleneckName.GENERATOR, BottleneckName.SERVER_CPU, BottleneckName.SHARED_CPU}


@dataclass(frozen=True)
class Bottleneck:
    """What limits throughput. values: the figures that show it, by names with units."""

    name: BottleneckName
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Evidence:
    """What a bottleneck is looked for in: the valid steps at the plateau and beyond, and what they ran on.

    disks: of the database's host. calibration: None where it was not measured.
    """

    steps: Sequence[Step]
    server: Server
    disks: int
    calibration: Calibration | None

    def mean(self, counter: str) -> float | None:
        """Return a server counter's mean over the steps in which it was read, or None."""
        values = [value for step in self.steps if (value := step.counter(counter)) is not None]
        return fmean(values) if values else None

    @property
    def throughput(self) -> float:
        """Transactions per second, the mean of the steps."""
        return fmean(step.mean_throughput for step in self.steps)


def bottleneck(evidence: Evidence) -> Bottleneck:
    """Return the most certain bottleneck, or UNKNOWN.

    First what is seen to be saturated, then what connections are seen to wait for, then what remains when they wait
    for something that has no counter.
    """
    for name, show in _IN_ORDER_OF_CERTAINTY.items():
        if (values := show(evidence)) is not None:
            return Bottleneck(name, values)
    return Bottleneck(BottleneckName.UNKNOWN, {})


Values = Mapping[str, Value] | None
"""The figures that show a bottleneck; None where it is not shown."""


def _generator(evidence: Evidence) -> Values:
    failed = [result for step in evidence.steps for result in step.failed_checks if result.check is Check.GENERATOR]
    return failed[-1].values if 2 * len(failed) > len(evidence.steps) else None


def _server_cpu(evidence: Evidence) -> Values:
    busy, cores = evidence.mean("process_cpu"), evidence.mean("process_cores")
    if busy is None or not cores or busy < FULL * cores:
        return None
    return {"busy_cores": busy, "cores": cores}


def _shared_cpu(evidence: Evidence) -> Values:
    busy, cores = evidence.mean("machine_cpu"), evidence.mean("machine_cores")
    server = evidence.mean("process_cpu")
    if busy is None or server is None or not cores or busy < FULL * cores:
        return None
    load = fmean(sum(worker.cpu for worker in step.workers) for step in evidence.steps)
    return {"cores": cores, "busy_cores": busy, "server_cores": server, "load_cores": load}


def _row_locks(evidence: Evidence) -> Values:
    if evidence.mean("Innodb_row_lock_time") is None:
        return None
    share = fmean((step.counter("Innodb_row_lock_time") or 0.0) / (1000 * step.pool_size) for step in evidence.steps)
    if share < LOCKED:
        return None
    return {"share": share, "waits_per_second": evidence.mean("Innodb_row_lock_waits") or 0.0}


def _disk_reads(evidence: Evidence) -> Values:
    reads, requests = evidence.mean("Innodb_buffer_pool_reads"), evidence.mean("Innodb_buffer_pool_read_requests")
    if not reads or not requests or reads < MISSES * requests:
        return None
    return {"missed_share": reads / requests, "reads_per_second": reads, "disks": evidence.disks}


def _thread_pool(evidence: Evidence) -> Values:
    largest = max(evidence.steps, key=lambda step: step.pool_size)
    running = largest.counter("Threads_running")
    if not evidence.server.thread_pool or running is None or running > FEW_RUNNING * largest.pool_size:
        return None
    return {"pool_size": largest.pool_size, "running_threads": running}


def _round_trip(evidence: Evidence) -> Values:
    statements, throughput = evidence.mean("Questions"), evidence.throughput
    usage_ms = mean_ms(step.latencies.usage for step in evidence.steps if step.latencies)
    if evidence.calibration is None or not statements or not throughput or not usage_ms:
        return None
    round_trip_us = evidence.calibration.round_trip_us
    travelling_ms = statements / throughput * round_trip_us / 1000
    if travelling_ms < MOSTLY * usage_ms:
        return None
    return {
        "statements": statements / throughput,
        "usage_ms": usage_ms,
        "travelling_ms": travelling_ms,
        "round_trip_us": round_trip_us,
    }


def _redo_log(evidence: Evidence) -> Values:
    """Shown for transactions that write, on a server whose processor is seen to have room."""
    busy, written = evidence.mean("process_cpu"), evidence.mean("Innodb_os_log_written")
    syncs = evidence.mean("Innodb_os_log_fsyncs") or evidence.mean("Innodb_data_fsyncs")
    throughput = evidence.throughput
    if not evidence.server.durable or busy is None or not syncs or not written or written < WRITES_BYTES * throughput:
        return None
    return {
        "server_cores": busy,
        "throughput": throughput,
        "written_bytes_per_second": written,
        "syncs_per_second": syncs,
    }


_IN_ORDER_OF_CERTAINTY: Mapping[BottleneckName, Callable[[Evidence], Values]] = {
    BottleneckName.GENERATOR: _generator,
    BottleneckName.SERVER_CPU: _server_cpu,
    BottleneckName.SHARED_CPU: _shared_cpu,
    BottleneckName.ROW_LOCKS: _row_locks,
    BottleneckName.DISK_READS: _disk_reads,
    BottleneckName.THREAD_POOL: _thread_pool,
    BottleneckName.ROUND_TRIP: _round_trip,
    BottleneckName.REDO_LOG: _redo_log,
}
