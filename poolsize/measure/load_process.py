"""One load process: opens its share of the pool, lets its callers loose for a step, and reports."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import gevent
import psutil
from gevent.event import Event
from sqlalchemy import URL, Engine

from poolsize.errors import WorkFailed
from poolsize.measure.closed_loop import Load, Transaction, call
from poolsize.measure.pool import open_pool
from poolsize.measure.recorder import Recorder, Second, histogram

DRAIN_SECONDS = 60
LAG_INTERVAL_SECONDS = 0.02


@dataclass(frozen=True)
class Report:
    """What one process measured in one step; plain values, so that it can cross a network.

    throughput, errors: per second, warm-up included. gap_seconds: summed over the counted transactions.
    wait, usage, total: encoded histograms of the counted seconds. cpu, loop_lag_ms: see run.Worker.
    """

    users: int
    throughput: list[int]
    errors: dict[str, list[int]]
    gap_seconds: float
    wait: str
    usage: str
    total: str
    cpu: float
    loop_lag_ms: float


class LoadProcess:
    """The callers of this process and the pool they share, one step after another."""

    def __init__(self, on_second: Callable[[Second], None]) -> None:
        self._on_second = on_second
        self._engine: Engine | None = None
        self._load: Load | None = None
        self._started = Event()
        self._broken: str | None = None

    def take_part(self, transaction: Transaction) -> None:
        """Be one caller: wait for the next step, and call until it ends."""
        self._started.wait()
        load = self._load
        assert load is not None
        try:
            call(load, transaction)
        except Exception as error:
            self._broken = f"the workload's transaction failed: {type(error).__name__}: {error}"
            self._stop(load)

    def open(self, url: URL, share: int) -> None:
        """Open this process's share of the step's connections; none for a share of 0."""
        self.close()
        self._engine = open_pool(url, share) if share else None

    def measure(self, warm_up_seconds: int, step_seconds: int, think_seconds: float) -> Report:
        """Run the callers for the warm-up and the step, then wait until each has returned its connection."""
        recorder = Recorder()
        lag = LoopLag()
        if self._engine is not None:
            self._load = Load(self._engine, recorder, think_seconds)
            self._started.set()
        started = monotonic()
        busy_from = 0.0
        for second in range(warm_up_seconds + step_seconds):
            if second == warm_up_seconds:
                busy_from = _cpu_seconds()
                lag.start()
            gevent.sleep(max(0.0, started + second + 1 - monotonic()))
            self._on_second(recorder.end_second())
            if self._broken:
                break
        cpu = (_cpu_seconds() - busy_from) / step_seconds
        users = self._load.callers if self._load else 0
        self._drain()
        return _report(recorder.seconds, warm_up_seconds, users, cpu, lag.stop_ms())

    def close(self) -> None:
        """Close the pool's connections."""
        if self._engine is not None:
            self._engine.dispose()
        self._engine = None

    def _stop(self, load: Load) -> None:
        load.on = False
        self._started.clear()

    def _drain(self) -> None:
        if self._load is not None:
            self._stop(self._load)
            deadline = monotonic() + DRAIN_SECONDS
            while self._load.callers and monotonic() < deadline:
                gevent.sleep(0.005)
            if self._load.callers:
                raise WorkFailed(
                    f"{self._load.callers} callers had not finished their transaction {DRAIN_SECONDS} s after "
                    "the step's end: the server hangs, or the workload's transaction is that long"
                )
        self._load = None
        if self._broken:
            raise WorkFailed(self._broken)


class LoopLag:
    """How late the event loop serves a timer, while it is watched."""

    def __init__(self) -> None:
        self._late_ms: list[float] = []
        self._watcher: gevent.Greenlet[..., None] | None = None

    def start(self) -> None:
        """Begin to watch."""
        self._watcher = gevent.spawn(self._watch)

    def stop_ms(self) -> float:
        """End, and return the 99th percentile of the lateness in milliseconds."""
        if self._watcher is not None:
            self._watcher.kill()
        late = sorted(self._late_ms) or [0.0]
        return late[int(0.99 * (len(late) - 1))]

    def _watch(self) -> None:
        while True:
            asleep_from = monotonic()
            gevent.sleep(LAG_INTERVAL_SECONDS)
            self._late_ms.append((monotonic() - asleep_from - LAG_INTERVAL_SECONDS) * 1000)


def _report(seconds: list[Second], warm_up: int, users: int, cpu: float, loop_lag_ms: float) -> Report:
    counted = seconds[warm_up:]
    kinds = sorted({kind for second in seconds for kind in second.errors})
    return Report(
        users=users,
        throughput=[second.transactions for second in seconds],
        errors={kind: [second.errors.get(kind, 0) for second in seconds] for kind in kinds},
        gap_seconds=sum(second.gap_seconds for second in counted),
        wait=_encoded([second.wait for second in counted]),
        usage=_encoded([second.usage for second in counted]),
        total=_encoded([second.total for second in counted]),
        cpu=cpu,
        loop_lag_ms=loop_lag_ms,
    )


def _encoded(counts: list[dict[int, int]]) -> str:
    encoded: Any = histogram(counts).encode()
    return str(encoded, "ascii")


def _cpu_seconds() -> float:
    times = psutil.Process().cpu_times()
    return float(times.user + times.system)
