"""SpanWriter: what `instrument` recorded, minute by minute, in an observation's file of each process."""

import atexit
import logging
import os
import socket
from datetime import UTC, datetime
from importlib.metadata import version
from math import inf
from multiprocessing import util as multiprocessing_util
from pathlib import Path
from threading import Event, Lock, Thread
from time import time
from typing import TYPE_CHECKING

import numpy as np

from poolsize.errors import BadInput, PoolsizeError
from poolsize.observe.observation import PoolSpan, Source, filled_buckets
from poolsize.observe.pool_events import BOUNDS_NS, Integers, Totals
from poolsize.observe.store import ObservationWriter
from poolsize.observe.sums import span_of

if TYPE_CHECKING:
    from poolsize.observe.instrumentation import PoolMetrics

PERIOD_SECONDS = 60
SHORTEST_SECONDS = 1e-3
"""A shorter period has no rates that mean something."""
BOUNDS_MS = (*(BOUNDS_NS / 1e6).tolist(), inf)

_log = logging.getLogger("poolsize.observe")


class SpanWriter:
    """Appends what was recorded of a pool to a file, each minute of the clock, from a thread of its own.

    The file is made when the pool was used first: a process that only forks others leaves none.
    """

    def __init__(self, metrics: "PoolMetrics", path: str | os.PathLike[str]) -> None:
        """Raise BadInput for a folder that can't be written."""
        self._metrics, self._path = metrics, Path(path).absolute()
        if not os.access(self._path.parent, os.W_OK):
            raise BadInput(f"{self._path} can't be written: name an `observation` in a folder that you may write")
        self.restart()
        atexit.register(self.close)
        multiprocessing_util.register_after_fork(self, SpanWriter._close_with_process)

    def restart(self) -> None:
        """Begin in this process: the file, the thread and the locks of its parent are not its own."""
        self._file: ObservationWriter | None = None
        self._before = self._metrics.events.totals(end_period=True)
        self._started = time()
        self._writing, self._ended = Lock(), Event()
        Thread(target=self._run, args=(self._ended,), name="poolsize-observation", daemon=True).start()

    def close(self) -> None:
        """Append what was recorded since the last minute, and end."""
        if not self._ended.is_set():
            self._ended.set()
            self.write()

    def write(self) -> None:
        """Append the period that ends now. A file that can't be written costs one line of the log, and ends this."""
        with self._writing:
            after, ended = self._metrics.events.totals(end_period=True), time()
            before, started = self._before, self._started
            self._before, self._started = after, ended
            if self._file is None and not after.used and not after.timeouts:
                return
            try:
                if span := _span(self._metrics, before, after, started):
                    self._file = self._file or self._opened(started)
                    self._file.append([span])
            except PoolsizeError as error:
                self._ended.set()
                _log.warning("poolsize records no more of the pool %s: %s", self._metrics.name, error)

    def _run(self, ended: Event) -> None:
        while not ended.wait(PERIOD_SECONDS - time() % PERIOD_SECONDS):
            self.write()

    def _close_with_process(self) -> None:
        """Append the last minute of a process that multiprocessing forked: such a process runs no atexit functions."""
        multiprocessing_util.Finalize(None, self.close, exitpriority=1)

    def _opened(self, started: float) -> ObservationWriter:
        """Return a new file, with this process's id in its name if another process has made the file."""
        source = Source(
            "instrument", self._metrics.name, version("poolsize"), datetime.fromtimestamp(started, UTC).isoformat()
        )
        path, number = self._path, 0
        while True:
            try:
                return ObservationWriter(path, source)
            except BadInput:
                if not path.exists():
                    raise
            number += 1
            path = self._path.with_stem(f"{self._path.stem}-{os.getpid()}" + (f"-{number}" if number > 1 else ""))


def _span(metrics: "PoolMetrics", before: Totals, after: Totals, started: float) -> PoolSpan | None:
    """Return what happened between two readings; None where they are too near. started: seconds since the epoch."""
    nanoseconds = after.at - before.at
    if nanoseconds < SHORTEST_SECONDS * 1e9:
        return None
    _, _, variance, in_use_max = after.in_use.sums.statistics
    _, waiting_mean, _, waiting_max = after.pending.sums.statistics
    usages, waits = after.usages.counts - before.usages.counts, after.waits.counts - before.waits.counts
    names = {
        "pool": metrics.name, "instance": f"{socket.gethostname()}:{os.getpid()}", "library": "SQLAlchemy",
        "usage_buckets": filled_buckets(BOUNDS_MS, usages.tolist()),
        "wait_buckets": filled_buckets(BOUNDS_MS, waits.tolist()),
    }  # fmt: skip
    return span_of(
        PoolSpan, started, nanoseconds / 1e9, names,
        size=metrics.events.limit, in_use_mean=(after.used - before.used) / nanoseconds, in_use_max=in_use_max,
        in_use_variance=variance, samples=_independent_samples(usages, nanoseconds),
        waiting_mean=waiting_mean, waiting_max=waiting_max, uses=usages.sum(),
        usage_seconds=(after.usages.nanoseconds - before.usages.nanoseconds) / 1e9,
        wait_seconds=(after.waits.nanoseconds - before.waits.nanoseconds) / 1e9,
        timeouts=after.timeouts - before.timeouts,
    )  # fmt: skip


def _independent_samples(counts: Integers, nanoseconds: int) -> float:
    """Return the number of independent samples that tell as much of the number in use as its course in a period.

    With Poisson arrivals, the number in use forgets its value within the mean residual usage time, E[S^2] / 2 E[S]. Its
    mean over a period is worth one sample for each two of these times.
    """
    usages = np.append(BOUNDS_NS, BOUNDS_NS[-1]).astype(float)
    squares = float(counts @ usages**2)
    return nanoseconds * float(counts @ usages) / squares if squares else 0.0
