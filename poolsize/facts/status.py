"""The server's counters that explain a throughput curve, which of them are gauges, and the statements of others."""

import time
from collections.abc import Mapping
from contextlib import suppress

from poolsize.bounds import is_counter
from poolsize.errors import BadInput
from poolsize.facts.server import Cursor, read_pairs

SAMPLES_SECONDS = (0.2, 1.0)
"""The second sample is taken where the first is busy: a single burst, as of monitoring, is not a load."""
BUSY_PER_SECOND = 10.0
"""Statements of others from which on a load would disturb them, and be disturbed."""
GAUGES: Mapping[str, str] = {
    "Threads_running": "Threads that execute a statement.",
    "Threadpool_threads": "Threads of the thread pool (MariaDB).",
    "Threadpool_idle_threads": "Idle threads of the thread pool (MariaDB).",
    "process_cores": "Cores that the server's process may run on.",
    "process_memory_bytes": "Memory that the server's process has resident.",
    "application_processes": "Processes of the application that serve users, where several have a pool each.",
    "application_cores": "Cores that the application's processes may use; a process of Python, Node.js, Ruby or PHP "
    "uses a single core.",
    "application_memory_bytes": "Memory that the application's processes have resident; memory that they share counts "
    "for each of them.",
    "pool_active": "Connections in use, by the application's metrics; this and the further counters of pools are sums "
    "over the pools of the metrics page.",
    "pool_waiting": "Requests that wait for a connection, by the application's metrics.",
    "pool_max": "Connections that the pools may open, by the application's metrics.",
    "pool_count": "Pools on the metrics page.",
    "machine_cores": "Cores of the whole machine.",
    "machine_ports": "Ports that the system gives to outgoing connections, on the master's machine.",
    "machine_time_wait": "Closed connections whose port is not free yet (TCP's TIME_WAIT), on the master's machine.",
    "machine_time_wait_limit": "Connections that the system keeps in TIME_WAIT, at most.",
    "machine_speed": "Speed of the cores that load and local server may use: MB that a small fixed piece of work "
    "compresses per second of its own CPU time, measured on the master's machine.",
}
"""Counter whose value is a level -> its meaning."""
COUNTERS: Mapping[str, str] = {
    "Questions": "Statements that clients sent.",
    "Connections": "Attempts to connect.",
    "Connection_errors_max_connections": "Connections that max_connections refused.",
    "Innodb_buffer_pool_read_requests": "Pages that InnoDB needed.",
    "Innodb_buffer_pool_reads": "Pages that were not in the buffer pool, so that InnoDB read them from disk.",
    "Innodb_row_lock_waits": "Waits for a row lock.",
    "Innodb_row_lock_time": "Time spent in waits for row locks, ms.",
    "Innodb_os_log_written": "Redo log written, bytes.",
    "Innodb_os_log_fsyncs": "Fsyncs of the redo log.",
    "Innodb_data_fsyncs": "Fsyncs of data files.",
    "process_cpu": "CPU time of the server's process, in seconds: the number of cores that it kept busy.",
    "process_context_switches": "Context switches of the server's threads; not read for more than 30 threads.",
    "process_written_bytes": "Bytes that the server's process caused to be written to disk.",
    "application_cpu": "CPU time of the application's processes, in seconds: the number of cores that they kept busy. "
    "Only of an application that the sweep started.",
    "pool_wait_seconds": "Time that requests waited for a connection, in seconds, by the application's metrics.",
    "pool_usage_seconds": "Time that connections were in use, in seconds, by the application's metrics.",
    "pool_timeouts": "Requests for a connection that timed out, by the application's metrics.",
    "machine_cpu": "CPU time of the whole machine, in seconds: the number of busy cores.",
    "machine_interrupts": "CPU time of interrupts, in seconds, on the whole machine: work for network and disks.",
    "machine_context_switches": "Context switches on the whole machine.",
    "machine_steal": "CPU time that the hypervisor gave to other machines, in seconds, on the master's machine.",
    **GAUGES,
}
"""Counter -> its meaning; of all but gauges, the increase per second is stored.

Names with a capital letter are status variables of the server (queries/status.sql); the others come from the operating
system, where the server runs on this machine.
"""


def read_status(cursor: Cursor) -> dict[str, float]:
    """Return counter -> its value now, for every counter that the server has; the account needs no privilege.

    A value that is not a number, or that no counter can have, is left out.
    """
    counters = {}
    for name, text in read_pairs(cursor, "status").items():
        with suppress(ValueError):
            if name in COUNTERS and is_counter(value := float(text)):
                counters[name] = value
    return counters


def increases_per_second(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Return counter -> its increase per second between two readings; gauge -> its later value.

    seconds: time between the readings. A counter that went backwards (the server restarted) is left out, and so is a
    value that no run can hold.
    """
    rates = {}
    for name, value in after.items():
        if name in GAUGES:
            rates[name] = value
        elif name in before and value >= before[name]:
            rates[name] = (value - before[name]) / seconds
    return {name: rate for name, rate in rates.items() if is_counter(rate)}


def statements_of_others(cursor: Cursor) -> float:
    """Return the statements per second of others, while the cursor's connection is the only one of poolsize's.

    They are those of the quieter of two samples, or of the first where it is not busy.
    Raises BadInput where the server does not count statements.
    """
    statements = float("inf")
    for seconds in SAMPLES_SECONDS:
        if statements >= BUSY_PER_SECOND:
            before, started = read_status(cursor), time.perf_counter()
            time.sleep(seconds)
            after, passed = read_status(cursor), time.perf_counter() - started
            if "Questions" not in before or "Questions" not in after:
                raise BadInput(
                    "`url`: the server does not count its statements, so it may be serving others: add `yes`"
                )
            sampled = after["Questions"] - before["Questions"] - 1  # the sample's own
            statements = min(statements, max(0.0, sampled / passed))
    return statements
