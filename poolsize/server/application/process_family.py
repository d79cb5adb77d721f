"""The processes of an application that the sweep started: their CPU time, their cores, and their memory."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

ONE_CORE = ("python", "pypy", "node", "ruby", "php")
"""Beginnings of the names of programs that run one thread at a time."""
IDLE_SECONDS = 0.05
"""A process that has used less CPU time in a step is a supervisor, which needs no core."""


class ProcessFamily:
    """The processes of an application, whenever they start: all descendants of its guard, which adopts orphans."""

    def __init__(self, guard_pid: int | None) -> None:
        """Read the CPU times of now. guard_pid: of the guard's process; None for a family without processes."""
        self._guard = None if guard_pid is None else psutil.Process(guard_pid)
        self._begun = _cpu_seconds(self._members())

    def counters(self) -> dict[str, float]:
        """Return the CPU time so far in seconds, the cores and the memory now; empty without processes."""
        members = self._members()
        seconds = _cpu_seconds(members)
        if self._guard is None or not seconds:
            return {}
        busy = [process for process, used in seconds.items() if used - self._begun.get(process, 0.0) > IDLE_SECONDS]
        ended = _cpu_seconds([self._guard, *members], of_ended=True)
        counters = {
            "application_cpu": sum(seconds.values()) + sum(ended.values()),
            "application_memory_bytes": _memory_bytes(members),
        }
        return counters | ({"application_cores": float(_cores(busy))} if busy else {})

    def _members(self) -> list[psutil.Process]:
        with suppress(psutil.Error):
            return self._guard.children(recursive=True) if self._guard is not None else []
        return []


def _memory_bytes(processes: Sequence[psutil.Process]) -> float:
    memory = 0.0
    for process in processes:
        with suppress(psutil.Error):
            memory += process.memory_info().rss
    return memory


def _cpu_seconds(processes: Sequence[psutil.Process], *, of_ended: bool = False) -> dict[psutil.Process, float]:
    """Return the CPU time of each process, or that of its descendants that have ended and that it waited for."""
    seconds = {}
    for process in processes:
        with suppress(psutil.Error):
            times = process.cpu_times()
            used = times.children_user + times.children_system if of_ended else times.user + times.system
            seconds[process] = float(used)
    return seconds


def _cores(processes: list[psutil.Process]) -> int:
    """Return the cores that processes may use together; one of an interpreter with one running thread uses one."""
    cores, alone = 0, 0
    for process in processes:
        with suppress(psutil.Error, AttributeError):
            if Path(process.exe()).name.startswith(ONE_CORE):
                alone += 1
            else:
                cores = max(cores, len(process.cpu_affinity()))
    return min(cores + alone, psutil.cpu_count() or 1)
