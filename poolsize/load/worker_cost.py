"""The cost of a worker, second by second: its CPU time, its wait for a core, and the lateness of its event loop."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, thread_time

import gevent

from poolsize.analysis.stats.percentiles import HIGHEST_US, empty_histogram, percentiles

LAG_INTERVAL_SECONDS = 0.02


@dataclass(frozen=True)
class Cost:
    """The cost of a worker in some seconds; the fields are as in run.Worker."""

    cpu: float
    cpu_wait: float
    loop_lag_ms: float


class WorkerCost:
    """Measures the cost of this thread, which runs all users, from `begin` to `end`."""

    def __init__(self) -> None:
        self._boundaries: list[tuple[float, float, float]] = []
        """At the end of each second: the clock, this thread's CPU time and its wait for a core so far, in seconds."""
        self._lags_ms: list[list[float]] = []
        self._lag_meter = gevent.Greenlet(self._measure_lag)

    def begin(self) -> None:
        """Begin the first second now."""
        self.end_second()
        self._lag_meter.start()

    def end_second(self) -> None:
        """End the current second, and begin the next."""
        self._boundaries.append((monotonic(), thread_time(), _run_queue_seconds()))
        self._lags_ms.append([])

    def over(self, first: int, last: int) -> Cost:
        """Return the cost of the seconds from first (included) to last (excluded)."""
        begun, ended = self._boundaries[first], self._boundaries[last]
        span, cpu, wait = (after - before for before, after in zip(begun, ended, strict=True))
        lag_ms = late_ms([lag for second in self._lags_ms[first:last] for lag in second])
        return Cost(cpu / span if span else 0.0, wait / span if span else 0.0, lag_ms)

    def end(self) -> None:
        """Stop measuring."""
        self._lag_meter.kill()

    def _measure_lag(self) -> None:
        while True:
            asleep_from = monotonic()
            gevent.sleep(LAG_INTERVAL_SECONDS)
            self._lags_ms[-1].append((monotonic() - asleep_from - LAG_INTERVAL_SECONDS) * 1000)


def late_ms(lags_ms: Sequence[float]) -> float:
    """Return the 99th percentile of the lateness of an event loop, weighted by time; 0 without timers.

    lags_ms: delay of each timer. A timer starts when the timer before it has fired, so a stall delays one timer
    only. It counts as all the timers that should have fired in it: HdrHistogram's correction by the expected interval.
    """
    histogram, interval_us = empty_histogram(), round(1e6 * LAG_INTERVAL_SECONDS)
    for lag_ms in lags_ms:
        histogram.record_corrected_value(min(max(1, round(1000 * lag_ms)), HIGHEST_US), interval_us)
    return percentiles(histogram).p99


def _run_queue_seconds() -> float:
    """Return the seconds that this thread has waited for a core so far; 0 where the system does not count them."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    return 0.0
