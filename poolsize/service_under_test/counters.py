"""The counters of an application: of its pools, from its metrics page, and of its processes."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from poolsize.bounds import is_counter, shown
from poolsize.facts.pool_metrics import Quantity, page_samples

COUNTERS: dict[str, Quantity] = {
    "pool_active": "in_use",
    "pool_waiting": "waiting",
    "pool_max": "size",
    "pool_wait_seconds": "wait_seconds",
    "pool_usage_seconds": "usage_seconds",
    "pool_timeouts": "timeouts",
}
"""Counter of a step -> what its metric counts."""

ONE_CORE = ("python", "pypy", "node", "ruby", "php")
"""Beginnings of the names of programs that run one thread at a time."""
IDLE_SECONDS = 0.05
"""A process that has used less CPU time in a step is a supervisor, which needs no core."""
LEAST_PART = 0.25
"""A process serves users if it uses this part of the CPU time that it would use if all did the same.

Where chance distributes 16 users over 2 processes, one of them has fewer than this part in 0.05 % of the cases.
"""


def pool_metrics(text: str) -> tuple[dict[str, float], str | None]:
    """Return the counters that a metrics page has of its pools, summed over the pools; empty without any.

    Keys are those of COUNTERS, and `pool_count`, the number of pools. text: a Prometheus page, or Druid's JSON. A
    counter with a value that no pool can have is left out; beside the counters, the first such value is returned as
    "NAME is VALUE", or None.
    """
    samples = page_samples(text, COUNTERS.values())
    counters: dict[str, float] = {}
    unusable = None
    for counter, quantity in COUNTERS.items():
        counted = [sample for sample in samples if sample.metric.quantity == quantity]
        if not counted:
            continue
        best = min(counted, key=lambda sample: sample.metric.rank).metric
        values = {sample.pool: sample.value for sample in counted if sample.metric is best}
        bad = next((value for value in (*values.values(), sum(values.values())) if not is_counter(value)), None)
        if bad is not None:
            unusable = unusable or f"{best.name} is {shown(bad)}"
            continue
        counters[counter] = sum(values.values())
        counters["pool_count"] = max(float(len(values)), counters.get("pool_count", 0.0))
    return counters, unusable


class ProcessFamily:
    """The processes of an application, whenever they start: all descendants of its guard, which adopts orphans."""

    def __init__(self, guard_pid: int | None, pools: int = 1) -> None:
        """Read the CPU times of now. guard_pid: of the guard's process; None for a family without processes.

        pools: number of processes that have a pool each.
        """
        self._guard = None if guard_pid is None else psutil.Process(guard_pid)
        self._pools = pools
        self._begun = {process: seconds for process, seconds, _ in self._members()}

    def counters(self) -> dict[str, float]:
        """Return the CPU time so far in seconds, the cores and the memory now; empty without processes.

        With several pools, also the number of processes that serve users, where as many are visible as have a pool.
        """
        members = self._members()
        if self._guard is None or not members:
            return {}
        used = {process: seconds - self._begun.get(process, 0.0) for process, seconds, _ in members}
        busy = [process for process, seconds in used.items() if seconds > IDLE_SECONDS]
        of_ended = 0.0  # of descendants that have ended and were waited for
        for process in [self._guard, *(process for process, _, _ in members)]:
            with suppress(psutil.Error):
                times = process.cpu_times()
                of_ended += times.children_user + times.children_system
        counters = {
            "application_cpu": sum(seconds for _, seconds, _ in members) + of_ended,
            "application_memory_bytes": float(sum(memory for _, _, memory in members)),
        }
        if self._pools > 1 and len(members) >= self._pools and busy:
            least = LEAST_PART * sum(used.values()) / self._pools
            counters["application_processes"] = float(sum(used[process] >= least for process in busy))
        return counters | ({"application_cores": float(_cores(busy))} if busy else {})

    def _members(self) -> list[tuple[psutil.Process, float, int]]:
        """Return each process, its CPU time in seconds and its memory in bytes."""
        members = []
        with suppress(psutil.Error):
            for process in self._guard.children(recursive=True) if self._guard is not None else []:
                with suppress(psutil.Error):
                    times = process.cpu_times()
                    members.append((process, float(times.user + times.system), process.memory_info().rss))
        return members


def _cores(processes: Sequence[psutil.Process]) -> int:
    """Return the cores that processes may use together; one of an interpreter with one running thread uses one."""
    cores, alone = 0, 0
    for process in processes:
        with suppress(psutil.Error, AttributeError):
            if Path(process.exe()).name.startswith(ONE_CORE):
                alone += 1
            else:
                cores = max(cores, len(process.cpu_affinity()))
    return min(cores + alone, psutil.cpu_count() or 1)
