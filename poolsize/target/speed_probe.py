"""The speed of this machine's cores, by a small fixed piece of work that is timed by its own thread's CPU clock.

A neighbour on the same physical core, a lower clock rate and heat make the work take more CPU time; another program
that only takes turns with it does not.
"""

import os
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import cycle
from random import Random
from statistics import fmean, median
from typing import Any

import gevent
import psutil
from gevent.monkey import get_original

PAUSE_SECONDS = 0.1
"""Between two probes; each probes the next core."""
SHARE = 0.01
"""The probe uses this share of one core at most, however many cores it probes."""
WORK = bytes(value & 31 for value in Random(1).randbytes(12_000))
"""Data that is compressed in about a quarter of a millisecond."""
BUSY_WORK = WORK * 100
"""Keeps a core busy for 25 ms without the interpreter's lock."""
TURNS, TURN_SECONDS, TURN_PAUSE_SECONDS = 4, 0.25, 0.02
"""Of a comparison of idle and busy cores."""
LEVEL, WINDOW_BITS, MEMORY_LEVEL = 1, 12, 4
"""Of the compression: its state, 24 KB, fits into the core's own caches."""

_start_thread: Callable[[Callable[..., None], tuple[Any, ...]], int] = get_original("_thread", "start_new_thread")
_sleep: Callable[[float], None] = get_original("time", "sleep")


class SpeedProbe:
    """Probes cores in turn, between start and stop, in a thread of its own; it also runs under gevent."""

    def __init__(self, pause_seconds: float = PAUSE_SECONDS, share: float = SHARE) -> None:
        """Probe nothing yet. pause_seconds: between two probes, at least. share: of one core's time, at most."""
        self._pause_seconds, self._share = pause_seconds, share
        self._running: list[bool] = []
        self._speeds: deque[float] = deque()

    def start(self, cores: Iterable[int]) -> None:
        """Begin to probe these cores; do nothing without cores, or where a thread has no CPU clock."""
        self.stop()
        self._speeds.clear()
        cores = tuple(cores)
        if cores and hasattr(time, "thread_time_ns"):
            running = self._running = [True]
            _start_thread(_probe, (cores, self._speeds, running, self._pause_seconds, self._share))

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


def present_speed(cores: tuple[int, ...]) -> float | None:
    """Return the mean speed of these cores in the next second, or None where it can't be measured."""
    if not cores:
        return None
    probe = SpeedProbe()
    probe.start(cores)
    try:
        gevent.sleep(1)
    finally:
        probe.stop()
    return probe.take()


def core_speeds(cores: tuple[int, ...]) -> tuple[float | None, float | None]:
    """Return the speed of these cores as they are, and while all of them are busy; None where it can't be measured.

    Both are medians of short turns in alternation, so that a change of the machine meets both. It takes two seconds.
    """
    as_they_are, busy = [], []
    for _ in range(TURNS if cores else 0):
        as_they_are.append(_turn(cores))
        working = [True]
        try:
            for core in cores:
                _start_thread(_keep_busy, (core, working))
            busy.append(_turn(cores))
        finally:
            working.clear()
    return _median(as_they_are), _median(busy)


def _median(speeds: Sequence[float | None]) -> float | None:
    known = [speed for speed in speeds if speed is not None]
    return median(known) if known else None


def _turn(cores: tuple[int, ...]) -> float | None:
    probe = SpeedProbe(TURN_PAUSE_SECONDS, share=1.0)
    probe.start(cores)
    try:
        gevent.sleep(TURN_SECONDS)
    finally:
        probe.stop()
    return probe.take()


def _keep_busy(core: int, working: list[bool]) -> None:
    with suppress(OSError):
        os.sched_setaffinity(0, {core})
        while working:
            _work(BUSY_WORK)


def speed_of_this_core() -> float:
    """Return the speed of the core that this thread runs on, in MB per second of CPU time."""
    _work()  # brings code and data into the caches
    started_ns = time.thread_time_ns()
    _work()
    return 1e3 * len(WORK) / max(1, time.thread_time_ns() - started_ns)


def _work(data: bytes = WORK) -> None:
    """Compress the data; the interpreter's lock is free meanwhile."""
    zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW_BITS, MEMORY_LEVEL).compress(data)


def _probe(
    cores: tuple[int, ...], speeds: "deque[float]", running: list[bool], pause_seconds: float, share: float
) -> None:
    for core in cycle(cores):
        if not running:
            return
        used_ns = time.thread_time_ns()
        with suppress(OSError):  # a container may not admit the server's cores
            os.sched_setaffinity(0, {core})
            speeds.append(speed_of_this_core())
        used_seconds = (time.thread_time_ns() - used_ns) / 1e9
        _sleep(max(pause_seconds, used_seconds / share - used_seconds))
