"""The processes of an application that the sweep started: their CPU time, their cores, and their memory."""

from contextlib import suppress
from pathlib import Path

import psutil

ONE_CORE = ("python", "pypy", "node", "ruby", "php")
"""Beginnings of the names of programs that run one thread at a time."""
IDLE_SECONDS = 0.05
"""A process that has used less CPU time in a step is a supervisor, which needs no core."""


class ProcessFamily:
    """A process and its descendants, as they were when the application was ready."""

    def __init__(self, pid: int | None) -> None:
        """Find the descendants now. pid: of the process; None for a family without processes."""
        self._processes: list[psutil.Process] = []
        with suppress(psutil.Error):
            if pid is not None:
                leader = psutil.Process(pid)
                self._processes = [leader, *leader.children(recursive=True)]
        self._begun = self._seconds()

    def counters(self) -> dict[str, float]:
        """Return the CPU time so far in seconds, the cores and the memory now; empty without processes."""
        seconds = self._seconds()
        if not seconds:
            return {}
        busy = [process for process, used in seconds.items() if used - self._begun.get(process, 0.0) > IDLE_SECONDS]
        counters = {"application_cpu": sum(seconds.values()), "application_memory_bytes": self._memory_bytes()}
        return counters | ({"application_cores": float(_cores(busy))} if busy else {})

    def _memory_bytes(self) -> float:
        memory = 0.0
        for process in self._processes:
            with suppress(psutil.Error):
                memory += process.memory_info().rss
        return memory

    def _seconds(self) -> dict[psutil.Process, float]:
        seconds = {}
        for process in self._processes:
            with suppress(psutil.Error):
                seconds[process] = float(sum(process.cpu_times()[:2]))
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
