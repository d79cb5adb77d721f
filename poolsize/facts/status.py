"""The server's counters: which ones explain a curve, and which of them are gauges."""

from collections.abc import Mapping

from poolsize.facts.server import Cursor, query

GAUGES = frozenset(
    {
        "Threads_running",
        "Threads_connected",
        "Threadpool_threads",
        "Threadpool_idle_threads",
        "process_cores",
        "machine_cores",
    }
)
"""Counters that are read as they are; every other is the increase over one second.

Those that begin with process_ are of the server's process, where it runs on this machine: process_cpu (seconds of
processor time), process_cores (cores it may run on), process_context_switches (with up to 30 threads),
process_read_bytes and process_written_bytes (by the disk); machine_cpu and machine_cores are the whole machine's. The
rest are the server's own status variables (queries/status.sql).
"""


def read_status(cursor: Cursor) -> dict[str, float]:
    """What the server counts now, of what it knows; needs no privilege."""
    cursor.execute(query("status"))
    return {name: float(value) for name, value in cursor.fetchall()}


def over_a_second(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Increases between two readings as rates per second, gauges as the later reading has them.

    A counter that went backwards (the server restarted) is left out.
    """
    rates = {}
    for name, value in after.items():
        if name in GAUGES:
            rates[name] = value
        elif name in before and value >= before[name]:
            rates[name] = (value - before[name]) / seconds
    return rates
