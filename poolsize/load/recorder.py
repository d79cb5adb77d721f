"""A worker's record, second by second: its transactions, timed in microseconds, and the cost of the worker itself."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic, thread_time
from typing import Any, TypeVar

import gevent
import numpy as np
import psutil
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from poolsize.analysis.stats.percentiles import HIGHEST_US, empty_histogram, percentiles
from poolsize.server.sampler import BUSY
from poolsize.server.speed_probe import usable_cores

LAG_INTERVAL_SECONDS = 0.02
Part = TypeVar("Part")
Counts = dict[int, int]
"""A time in microseconds -> how many transactions took it."""
Times = tuple[int, int, int]
"""The times of one transaction in ns: the gap before it, its wait time and its usage time."""
Observer = Callable[[str, int, Exception | None], None]
"""Called with each transaction's kind, total time in ns, and database error; None for success."""


@dataclass(frozen=True)
class WorkerSecond:
    """One second of one worker.

    transactions: number that ended in this second. gap_seconds: sum of the gaps before these transactions.
    wait, usage, total: their times, rounded as the stored histograms round.
    errors: kind of error -> failed transactions. failed: the total times of failed transactions, rounded likewise.
    kinds: kind of transaction -> its part of the second; empty for a workload with one kind.
    """

    transactions: int
    gap_seconds: float
    wait: Counts
    usage: Counts
    total: Counts
    errors: dict[str, int]
    failed: Counts = field(default_factory=dict)
    kinds: Mapping[str, "WorkerSecond"] = field(default_factory=dict)


class Recorder:
    """Records the times of one kind of transaction, and sums them up once a second.

    record: the function that records one transaction. To cost little, it only appends three numbers to an array.
    """

    def __init__(self, observe: Callable[[int, Exception | None], None] | None = None) -> None:
        """observe: called with each transaction's total time in ns and its error; None to call nothing."""
        self._times: array[int] = array("q")
        self._errors: Counter[str] = Counter()
        self._failed: array[int] = array("q")
        self._observe = observe
        self.record: Callable[[Times], None] = self._times.extend
        if observe is not None:

            def record_observed(times: Times) -> None:
                self._times.extend(times)
                observe(times[1] + times[2], None)

            self.record = record_observed

    def failed(self, kind: str, error: Exception | None, total_ns: int) -> None:
        """Count one failed transaction. kind: of the error. total_ns: time until it failed."""
        self._errors[kind] += 1
        self._failed.append(total_ns)
        if self._observe is not None:
            self._observe(total_ns, error)

    def end_second(self) -> WorkerSecond:
        """End the current second, and return its record."""
        times = np.frombuffer(self._times, np.int64).reshape(-1, 3).copy()
        del self._times[:]
        gap, wait, usage = times[:, 0], times[:, 1], times[:, 2]
        second = WorkerSecond(
            transactions=len(times),
            gap_seconds=float(gap.sum()) / 1e9,
            wait=_counts(wait),
            usage=_counts(usage),
            total=_counts(wait + usage),
            errors=dict(self._errors),
            failed=_counts(np.array(self._failed, np.int64)),
        )
        self._errors.clear()
        del self._failed[:]
        return second


class StepRecorder:
    """Records the transactions of one worker in one step, each kind apart. seconds: the seconds that ended."""

    def __init__(self, kinds: Sequence[str], observe: Observer | None = None) -> None:
        """kinds: names of all kinds of the workload. observe: called with each transaction; None to call nothing."""
        self.seconds: list[WorkerSecond] = []
        self._recorders = {kind: Recorder(partial(observe, kind) if observe else None) for kind in kinds}

    def of(self, kind: str) -> Recorder:
        """Return the recorder of a kind of transaction."""
        return self._recorders[kind]

    def end_second(self) -> WorkerSecond:
        """End the current second of every kind, and return its record."""
        kinds = {kind: recorder.end_second() for kind, recorder in self._recorders.items()}
        second = next(iter(kinds.values())) if len(kinds) == 1 else sum_of_kinds(kinds)
        self.seconds.append(second)
        return second


def histogram(counts: Iterable[Counts]) -> HdrHistogram:
    """Return the histogram, in microseconds, of a latency over several seconds. counts: one a second."""
    result = empty_histogram()
    for time_us, number in merged_counts(counts).items():
        result.record_value(time_us, number)
    return result


def sum_of_kinds(kinds: Mapping[str, WorkerSecond]) -> WorkerSecond:
    """Return the second of all kinds together."""
    parts = kinds.values()
    counts = ("wait", "usage", "total", "errors", "failed")
    return WorkerSecond(
        transactions=sum(part.transactions for part in parts),
        gap_seconds=sum(part.gap_seconds for part in parts),
        **{name: merged_counts(getattr(part, name) for part in parts) for name in counts},
        kinds=kinds,
    )


def by_kind(parts: Iterable[Mapping[str, Part]]) -> dict[str, list[Part]]:
    """Return kind of transaction -> its parts. parts: kind -> part, of each second or worker."""
    kinds: dict[str, list[Part]] = {}
    for part in parts:
        for kind, value in part.items():
            kinds.setdefault(kind, []).append(value)
    return kinds


def merged_counts(counts: Iterable[Mapping[Any, int]]) -> dict[Any, int]:
    """Return the sums of several counts, key by key."""
    total: Counter[Any] = Counter()
    for part in counts:
        total.update(part)
    return dict(total)


def _counts(times_ns: NDArray[np.int64]) -> Counts:
    """Return the counts of times, rounded as the histogram rounds: to 11 binary digits of whole microseconds."""
    times_us = np.clip(times_ns // 1000, 1, HIGHEST_US)
    shift = np.maximum(np.frexp(times_us)[1] - 11, 0)
    rounded_us, numbers = np.unique(times_us >> shift << shift, return_counts=True)
    return dict(zip(rounded_us.tolist(), numbers.tolist(), strict=True))


@dataclass(frozen=True)
class Cost:
    """The cost of a worker in some seconds; the fields are as in run.Worker."""

    cpu: float
    cpu_wait: float
    loop_lag_ms: float


@dataclass(frozen=True)
class Boundary:
    """What has passed so far, in seconds.

    clock: of the monotonic clock. cpu: CPU time of this thread. waited: its time in the run queue.
    busy: time in which programs wanted the cores that this thread may use. stolen: the part of it that the hypervisor
    gave to other machines. waited, busy and stolen are 0 where the system does not count them.
    """

    clock: float
    cpu: float
    waited: float
    busy: float
    stolen: float

    @classmethod
    def now(cls) -> "Boundary":
        """Read the clocks of this thread and of its cores."""
        waited = busy = stolen = 0.0
        with suppress(OSError, ValueError, IndexError):
            waited = int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
        with suppress(OSError, AttributeError, IndexError):
            every = psutil.cpu_times(percpu=True)
            own = [every[core] for core in usable_cores(None)]
            stolen = sum(core.steal for core in own)
            busy = sum(getattr(core, kind) for core in own for kind in BUSY)
        return cls(monotonic(), thread_time(), waited, busy, stolen)


def cost_between(begun: Boundary, ended: Boundary, loop_lag_ms: float) -> Cost:
    """Return a thread's cost between two boundaries; 0 if no time passed.

    The hypervisor takes a core from the thread as often as from every program that runs there. The thread's clock does
    not count that time.
    """
    span, busy = ended.clock - begun.clock, ended.busy - begun.busy
    if span <= 0:
        return Cost(0.0, 0.0, loop_lag_ms)
    cpu, waited = ended.cpu - begun.cpu, ended.waited - begun.waited
    stolen_share = (ended.stolen - begun.stolen) / busy if busy > 0 else 0.0
    stolen = cpu * stolen_share / (1 - stolen_share) if 0 < stolen_share < 1 else 0.0
    return Cost(cpu / span, min(waited + stolen, max(0.0, span - cpu)) / span, loop_lag_ms)


class WorkerCost:
    """Measures the cost of this thread, which runs all users, from `begin` to `end`."""

    def __init__(self) -> None:
        self._boundaries: list[Boundary] = []
        """The end of each second."""
        self._lags_ms: list[list[float]] = []
        self._lag_meter = gevent.Greenlet(self._measure_lag)

    def begin(self) -> None:
        """Begin the first second now."""
        self.end_second()
        self._lag_meter.start()

    def end_second(self) -> None:
        """End the current second, and begin the next."""
        self._boundaries.append(Boundary.now())
        self._lags_ms.append([])

    def over(self, first: int, last: int) -> Cost:
        """Return the cost of the seconds from first (included) to last (excluded)."""
        lag_ms = late_ms([lag for second in self._lags_ms[first:last] for lag in second])
        return cost_between(self._boundaries[first], self._boundaries[last], lag_ms)

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
