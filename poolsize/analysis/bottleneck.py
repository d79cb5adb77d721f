"""The bottleneck: what limits throughput where the curve no longer rises, and the figures that show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from statistics import fmean

from poolsize.analysis.attempts import mean_counter
from poolsize.analysis.service_demand import SATURATED
from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.runs.check import Check
from poolsize.runs.run import Calibration, Setting, Step, Value

MISSES = 0.01
"""Disk reads are a bottleneck from this share of page requests that miss the buffer pool on."""
LOCKED = 0.25
"""Row locks are a bottleneck from this share of the connections' time on that is spent waiting for them."""
FEW_RUNNING = 0.5
"""A thread pool is a bottleneck where at most this share of the connections has a running thread."""
MOSTLY = 0.5
"""The round trip is a bottleneck from this share of the usage time on."""
WRITES_BYTES = 200
"""Redo log, in bytes, of a transaction that changes one row: transactions with less do not write."""


class BottleneckName(StrEnum):
    """What limits throughput; the values are printed in JSON."""

    GENERATOR = "generator"
    SERVER_CPU = "server CPU"
    APPLICATION_CPU = "application CPU"
    SHARED_CPU = "shared CPU"
    ROW_LOCKS = "row locks"
    DISK_READS = "disk reads"
    REDO_LOG = "redo log"
    THREAD_POOL = "thread pool"
    ROUND_TRIP = "round trip"
    UNKNOWN = "unknown"


OF_APPLICATION = frozenset({BottleneckName.APPLICATION_CPU, BottleneckName.SHARED_CPU})
"""Bottlenecks of an application's run that lie in the application: other instances have cores of their own."""
OF_DATABASE = frozenset(
    {
        BottleneckName.SERVER_CPU, BottleneckName.ROW_LOCKS, BottleneckName.DISK_READS, BottleneckName.REDO_LOG,
        BottleneckName.THREAD_POOL,
    }
)  # fmt: skip
"""Bottlenecks in the database: a run then shows how many connections it can use, also the run of an application."""


@dataclass(frozen=True)
class Bottleneck:
    """What limits throughput. values: the figures that show it, by names with units; shares are fractions."""

    name: BottleneckName
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Evidence:
    """The measurements that show a bottleneck.

    steps: the valid steps at the plateau and above, not empty. setting: of their run.
    calibration: the cost of a worker; None where it was not measured.
    """

    steps: Sequence[Step]
    setting: Setting
    calibration: Calibration | None

    def mean(self, counter: str) -> float | None:
        """Return the mean of a server counter over the steps in which it was read; None if it never was."""
        return mean_counter(self.steps, counter)

    @property
    def throughput(self) -> float:
        """Mean transactions per second over the steps."""
        return fmean(step.mean_throughput for step in self.steps)


def bottleneck(evidence: Evidence) -> Bottleneck:
    """Return the most certain bottleneck that the measurements show, or UNKNOWN.

    The order of certainty: saturated processors; waits that a counter shows (locks, disks, thread pool); waits without
    a counter, which are inferred (round trip, redo log).
    """
    for name, figures in _IN_ORDER_OF_CERTAINTY.items():
        if (values := figures(evidence)) is not None:
            return Bottleneck(name, values)
    return Bottleneck(BottleneckName.UNKNOWN, {})


Values = Mapping[str, Value] | None
"""The figures that show a bottleneck; None where the measurements don't show it."""


def _generator(evidence: Evidence) -> Values:
    failed = [
        (step.pool_size, result.values)
        for step in evidence.steps
        for result in step.failed_checks
        if result.check is Check.GENERATOR
    ]
    if 2 * len(failed) <= len(evidence.steps):
        return None
    pool_size, values = max(failed, key=lambda each: each[0])
    return {"pool_size": pool_size, **values}


def _saturated_cpu(whose: str, evidence: Evidence) -> Values:
    busy, cores = evidence.mean(f"{whose}_cpu"), evidence.mean(f"{whose}_cores")
    if busy is None or not cores or busy < SATURATED * cores:
        return None
    return {"busy_cores": busy, "cores": cores}


def _shared_cpu(evidence: Evidence) -> Values:
    values, server = _saturated_cpu("machine", evidence), evidence.mean("process_cpu")
    if values is None or server is None:
        return None
    load_cores = fmean(step.busy_worker_cores for step in evidence.steps)
    application = evidence.mean("application_cpu")
    further = {} if application is None else {"application_cores": application}
    return {"cores": values["cores"], **values, "server_cores": server, "load_cores": load_cores, **further}


def _row_locks(evidence: Evidence) -> Values:
    if evidence.mean("Innodb_row_lock_time") is None:
        return None
    share = fmean(
        (step.counter("Innodb_row_lock_time") or 0.0) / (1000 * evidence.setting.connections(step.pool_size))
        for step in evidence.steps
    )
    if share < LOCKED:
        return None
    return {"share": share, "waits_per_second": evidence.mean("Innodb_row_lock_waits") or 0.0}


def _disk_reads(evidence: Evidence) -> Values:
    reads, requests = evidence.mean("Innodb_buffer_pool_reads"), evidence.mean("Innodb_buffer_pool_read_requests")
    if not reads or not requests or reads < MISSES * requests:
        return None
    return {"missed_share": reads / requests, "reads_per_second": reads, "disks": evidence.setting.disks}


def _thread_pool(evidence: Evidence) -> Values:
    largest = max(evidence.steps, key=lambda step: step.pool_size)
    running, server = largest.counter("Threads_running"), evidence.setting.server
    connections = evidence.setting.connections(largest.pool_size)
    if server is None or not server.thread_pool or running is None or running > FEW_RUNNING * connections:
        return None
    return {"connections": connections, "running_threads": running}


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
    """Return the redo log's figures for transactions that write to a durable server.

    The process's CPU time must be known: only then is it certain that the processor is not the bottleneck.
    """
    busy, written = evidence.mean("process_cpu"), evidence.mean("Innodb_os_log_written")
    syncs = evidence.mean("Innodb_os_log_fsyncs") or evidence.mean("Innodb_data_fsyncs")
    throughput = evidence.throughput
    server = evidence.setting.server
    durable = server is not None and server.durable
    if not durable or busy is None or not syncs or not written or written < WRITES_BYTES * throughput:
        return None
    return {
        "server_cores": busy,
        "throughput": throughput,
        "written_bytes_per_second": written,
        "syncs_per_second": syncs,
    }


_IN_ORDER_OF_CERTAINTY: Mapping[BottleneckName, Callable[[Evidence], Values]] = {
    BottleneckName.GENERATOR: _generator,
    BottleneckName.SERVER_CPU: partial(_saturated_cpu, "process"),
    BottleneckName.APPLICATION_CPU: partial(_saturated_cpu, "application"),
    BottleneckName.SHARED_CPU: _shared_cpu,
    BottleneckName.ROW_LOCKS: _row_locks,
    BottleneckName.DISK_READS: _disk_reads,
    BottleneckName.THREAD_POOL: _thread_pool,
    BottleneckName.ROUND_TRIP: _round_trip,
    BottleneckName.REDO_LOG: _redo_log,
}
