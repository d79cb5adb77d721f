"""Why the curve bends: what holds the throughput where it no longer rises, and the evidence for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.facts.server import Server
from poolsize.runs.run import Calibration, Step
from poolsize.units import milliseconds, number, per_second, percent

Name = Literal[
    "generator", "server CPU", "shared CPU", "row locks", "disk reads", "redo log", "thread pool", "round trip",
    "unknown",
]  # fmt: skip

FULL = 0.85
"""A processor busier than this, over whole seconds, has no room for another connection's work."""
MISSES = 0.01
LOCKED = 0.25
FEW_RUNNING = 0.5
MOSTLY = 0.5
WRITES_BYTES = 200
"""Redo log of a transaction that changes a row, at least."""


@dataclass(frozen=True)
class Cause:
    """name: what holds it. evidence: the figures that say so, a sentence without its end."""

    name: Name
    evidence: str


def cause(steps: Sequence[Step], server: Server, disks: int, calibration: Calibration | None) -> Cause:
    """What holds the throughput in these steps, those at the plateau and beyond.

    Asked in the order of certainty: what was seen to be full, then what connections were seen to wait for, then what
    is left when they wait for something that has no counter.
    """
    found = (
        _generator(steps)
        or _server_cpu(steps)
        or _shared_cpu(steps)
        or _row_locks(steps)
        or _disk_reads(steps, disks)
        or _thread_pool(steps, server)
        or _round_trip(steps, calibration)
        or _redo_log(steps, server)
    )
    return found or Cause("unknown", "nothing that was recorded is full, and nothing that was recorded is waited for")


def _generator(steps: Sequence[Step]) -> Cause | None:
    accused = [check for step in steps for check in step.failed_checks if check.name == "generator"]
    return Cause("generator", accused[-1].detail) if 2 * len(accused) > len(steps) else None


def _server_cpu(steps: Sequence[Step]) -> Cause | None:
    busy, cores = _mean(steps, "process_cpu"), _mean(steps, "process_cores")
    if busy is None or not cores or busy < FULL * cores:
        return None
    return Cause("server CPU", f"the server used {number(busy)} of the {cores:g} cores it may run on")


def _shared_cpu(steps: Sequence[Step]) -> Cause | None:
    busy, cores = _mean(steps, "machine_cpu"), _mean(steps, "machine_cores")
    mine = _mean(steps, "process_cpu")
    if busy is None or mine is None or not cores or busy < FULL * cores:
        return None
    load = fmean(sum(worker.cpu for worker in step.workers) for step in steps)
    return Cause(
        "shared CPU",
        f"of this machine's {cores:g} cores {number(busy)} were busy, {number(mine)} with the server and "
        f"{number(load)} with making the load",
    )


def _row_locks(steps: Sequence[Step]) -> Cause | None:
    waited_ms = _mean(steps, "Innodb_row_lock_time")
    if waited_ms is None:
        return None
    share = fmean((step.counter("Innodb_row_lock_time") or 0.0) / (1000 * step.pool_size) for step in steps)
    if share < LOCKED:
        return None
    waits = _mean(steps, "Innodb_row_lock_waits") or 0.0
    return Cause(
        "row locks", f"connections spent {percent(share)} of their time waiting for row locks, {per_second(waits)}"
    )


def _disk_reads(steps: Sequence[Step], disks: int) -> Cause | None:
    reads, requests = _mean(steps, "Innodb_buffer_pool_reads"), _mean(steps, "Innodb_buffer_pool_read_requests")
    if not reads or not requests or reads < MISSES * requests:
        return None
    missed = reads / requests
    return Cause(
        "disk reads",
        f"{percent(missed)} of the pages were not in the buffer pool, {per_second(reads)} were read from disk; of "
        f"{disks} disks the formula then wants effective_disks = {number(disks * missed)} "
        f"(--cache-hit-rate {1 - missed:.3f})",
    )


def _thread_pool(steps: Sequence[Step], server: Server) -> Cause | None:
    largest = max(steps, key=lambda step: step.pool_size)
    running = largest.counter("Threads_running")
    if not server.thread_pool or running is None or running > FEW_RUNNING * largest.pool_size:
        return None
    return Cause(
        "thread pool", f"with {largest.pool_size} connections at work the server let {number(running)} run at a time"
    )


def _redo_log(steps: Sequence[Step], server: Server) -> Cause | None:
    """What is left for transactions that write, on a server whose processor was seen to have room."""
    busy, written = _mean(steps, "process_cpu"), _mean(steps, "Innodb_os_log_written")
    syncs = _mean(steps, "Innodb_os_log_fsyncs") or _mean(steps, "Innodb_data_fsyncs")
    rate = fmean(step.mean_throughput for step in steps)
    if not server.durable or busy is None or not syncs or not written or written < WRITES_BYTES * rate:
        return None
    return Cause(
        "redo log",
        f"the server used {number(busy)} cores and had more; {per_second(rate)} wrote {number(written / 1e6)} MB/s of "
        f"redo log in {number(syncs)} fsyncs a second, {number(rate / syncs)} transactions to one",
    )


def _round_trip(steps: Sequence[Step], calibration: Calibration | None) -> Cause | None:
    statements, done = _mean(steps, "Questions"), fmean(step.mean_throughput for step in steps)
    usage_ms = mean_ms(step.latencies.usage for step in steps if step.latencies)
    if calibration is None or not statements or not done or not usage_ms:
        return None
    travelling_ms = statements / done * calibration.round_trip_us / 1000
    if travelling_ms < MOSTLY * usage_ms:
        return None
    return Cause(
        "round trip",
        f"a transaction of {number(statements / done)} statements held its connection for {milliseconds(usage_ms)}, "
        f"of which {milliseconds(travelling_ms)} are round trips of {number(calibration.round_trip_us)} us",
    )


def _mean(steps: Sequence[Step], counter: str) -> float | None:
    read = [value for step in steps if (value := step.counter(counter)) is not None]
    return fmean(read) if read else None
