"""The server's counters that explain a throughput curve, and which of these counters are gauges."""

from collections.abc import Mapping

from poolsize.facts.server import Cursor, query

GAUGES = frozenset(
    {
        "Threads_running",
        "Threadpool_threads",
        "Threadpool_idle_threads",
        "process_cores",
        "machine_cores",
    }
)
"""Counters whose value is a level. Every other counter is stored as its increase per second.

Counters of the server's process, where the server runs on this machine: process_cpu (seconds of CPU time),
process_cores (cores that it may run on), process_context_switches (with up to 30 threads), process_written_bytes (to
the disk). machine_cpu (seconds) and machine_cores are the whole machine's. All other counters are the server's status
variables (queries/status.sql).
"""


def read_status(cursor: Cursor) -> dict[str, float]:
    """Return counter -> its value now, for every counter that the server has; the account needs no privilege."""
    cursor.execute(query("status"))
    return {name: float(value) for name, value in cursor.fetchall()}


def increases_per_second(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Return counter -> its increase per second between two readings; gauge -> its later value.

    seconds: time between the readings. A counter that went backwards (the server restarted) is left out.
    """
    rates = {}
    for name, value in after.items():
        if name in GAUGES:
            rates[name] = value
        elif name in before and value >= before[name]:
            rates[name] = (value - before[name]) / seconds
    return rates
