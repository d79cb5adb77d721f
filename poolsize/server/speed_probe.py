"""The speed of this machine's cores, by a small fixed piece of work that is timed by its own thread's CPU clock.

A neighbour on the same physical core, a lower clock rate and heat make the work take more CPU time; another program
that only takes turns with it does not.
"""

import os
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import cycle
from random import Random
from statistics import fmean
from typing import Any

import psutil
from gevent.monkey import get_original

PAUSE_SECONDS = 0.1
"""Between two probes; each probes the next core."""
SHARE = 0.01
"""The probe uses this share of one core at most, however many cores it probes."""
WORK = bytes(value & 31 for value in Random(1).randbytes(12_000))
"""Data that is compressed in about a quarter of a millisecond."""

_start_thread: Callable[[Callable[..., None], tuple[Any, ...]], int] = get_original("_thread", "start_new_thread")
_sleep: Callable[[float], None] = get_original("time", "sleep")


class SpeedProbe:
    """Probes cores in turn, between start and stop, in a thread of its own; it also runs under gevent."""

    def __init__(self) -> None:
        self._running: list[bool] = []
        self._speeds: deque[float] = deque()

    def start(self, cores: Iterable[int]) -> None:
        """Begin to probe these cores; do nothing without cores."""
        self.stop()
        self._speeds.clear()
        cores = tuple(cores)
        if cores:
            running = self._running = [True]
            _start_thread(_probe, (cores, self._speeds, running))

    def stop(self) -> None:
        """Let the thread end after its current probe."""
        self._running.clear()

    def take(self) -> float | None:
        """Return the mean speed since the last call, or None without a probe; MB compressed per second of CPU time."""
        speeds = [self._speeds.popleft() for _ in range(len(self._speeds))]
        return fmean(speeds) if speeds else None


def usable_cores(server: "psutil.Process | None") -> tuple[int, ...]:
    """Return the cores on which this process or a local server may run, ascending; empty where that is not known."""
    with suppress(psutil.Error, AttributeError, OSError):
        own = os.sched_getaffinity(0)
        return tuple(sorted(own.union(server.cpu_affinity() if server else ())))
    return ()


def _work() -> None:
    """Compress the data; the interpreter's lock is free meanwhile."""
    zlib.compressobj(level=1, wbits=12, memLevel=4).compress(WORK)  # its state, 24 KB, fits into the core's own caches


def _probe(cores: tuple[int, ...], speeds: "deque[float]", running: list[bool]) -> None:
    for core in cycle(cores):
        if not running:
            return
        used_ns = time.thread_time_ns()
        with suppress(OSError):  # a container may not admit the server's cores
            os.sched_setaffinity(0, {core})
            _work()  # brings code and data into the caches
            started_ns = time.thread_time_ns()
            _work()
            speeds.append(1e3 * len(WORK) / max(1, time.thread_time_ns() - started_ns))
        used_seconds = (time.thread_time_ns() - used_ns) / 1e9
        _sleep(max(PAUSE_SECONDS, used_seconds / SHARE - used_seconds))
