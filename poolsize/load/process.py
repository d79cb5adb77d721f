"""One load process: opens its share of the pool, lets its callers loose for a step, and reports."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic
from typing import Any

import gevent
from gevent.event import Event
from sqlalchemy import URL, Engine

from poolsize.errors import WorkFailed
from poolsize.load.client_cost import ProcessWatch
from poolsize.load.closed_loop import call
from poolsize.load.open_loop import Arrivals, serve
from poolsize.load.pool import open_pool
from poolsize.load.recorder import Second, histogram
from poolsize.load.transaction import Load, Transaction
from poolsize.runs.run import LATENCIES

DRAIN_SECONDS = 60
SECTIONS = 8
"""Equal parts of the counted seconds that are kept apart, to tell how certain a percentile is."""


@dataclass(frozen=True)
class Report:
    """What one process measured in the counted seconds of a step; plain values, so that it can cross a network.

    gap_seconds: summed over the transactions. sections: for each equal part of the time, the encoded histograms of
    wait, usage and total. cpu, cpu_wait, loop_lag_ms: see run.Worker.
    """

    users: int
    gap_seconds: float
    sections: list[dict[str, str]]
    cpu: float
    cpu_wait: float
    loop_lag_ms: float


class LoadProcess:
    """The callers of this process and the pool they share, one step after another.

    on_second: told each second that ends, its index first, with the transactions that no caller was free for.
    on_failure: told when the step can't go on, and why.
    """

    def __init__(self, on_second: Callable[[int, Second, int], None], on_failure: Callable[[str], None]) -> None:
        self._on_second = on_second
        self._on_failure = on_failure
        self._engine: Engine | None = None
        self._load: Load | None = None
        self._arrivals: Arrivals | None = None
        self._think_seconds = 0.0
        self._started = Event()
        self._clock: gevent.Greenlet[..., None] | None = None
        self._watch: ProcessWatch | None = None

    def take_part(self, transaction: Transaction) -> None:
        """Be one caller: wait for the next step, and call until it ends."""
        self._started.wait()
        load, arrivals = self._load, self._arrivals
        assert load is not None
        try:
            if arrivals is None:
                call(load, transaction, self._think_seconds)
            else:
                serve(load, transaction, arrivals)
        except Exception as error:
            self._switch_off()
            self._on_failure(f"the workload's transaction failed: {type(error).__name__}: {error}")

    def open(self, url: URL, share: int, timeout_seconds: float) -> None:
        """Open this process's share of the step's connections; none for a share of 0."""
        self.close()
        self._engine = open_pool(url, share, timeout_seconds) if share else None

    def start(self, think_seconds: float, rate: float | None) -> None:
        """Let the callers loose: in a closed loop, or on transactions that arrive at this process's rate."""
        self._think_seconds = think_seconds
        self._load = Load(self._engine.pool.connect if self._engine else _no_pool)
        self._arrivals = Arrivals(rate) if rate else None
        self._watch = ProcessWatch()
        if self._engine is not None:
            self._started.set()
        self._clock = gevent.spawn(self._tick, self._load, self._watch)

    def finish(self, first: int, last: int) -> Report:
        """End the step and wait until every caller has returned its connection.

        Reports the seconds from first until before last. Raises WorkFailed when a caller hangs.
        """
        load, watch = self._load, self._watch
        assert load is not None
        assert watch is not None
        users = load.callers
        self._switch_off()
        self._drain(load)
        cost = watch.cost(first, last)
        counted = load.recorder.seconds[first:last]
        return Report(
            users=users,
            gap_seconds=sum(second.gap_seconds for second in counted),
            sections=[_encoded(part) for part in _parts(counted)],
            cpu=cost.cpu,
            cpu_wait=cost.cpu_wait,
            loop_lag_ms=cost.loop_lag_ms,
        )

    def close(self) -> None:
        """Close the pool's connections."""
        self._switch_off()
        if self._engine is not None:
            self._engine.dispose()
        self._engine = None

    def _tick(self, load: Load, watch: ProcessWatch) -> None:
        started = monotonic()
        while True:
            index = len(load.recorder.seconds)
            gevent.sleep(max(0.0, started + index + 1 - monotonic()))
            watch.end_second()
            backlog = self._arrivals.backlog if self._arrivals else 0
            self._on_second(index, load.recorder.end_second(), backlog)

    def _switch_off(self) -> None:
        self._started.clear()
        if self._load is not None:
            self._load.on = False
        if self._arrivals is not None and self._load is not None:
            self._arrivals.end(self._load.callers)
        if self._clock is not None:
            self._clock.kill()
        if self._watch is not None:
            self._watch.close()

    def _drain(self, load: Load) -> None:
        deadline = monotonic() + DRAIN_SECONDS
        while load.callers and monotonic() < deadline:
            gevent.sleep(0.005)
        if load.callers:
            raise WorkFailed(
                f"{load.callers} callers had not finished their transaction {DRAIN_SECONDS} s after the step's end: "
                "the server hangs, or the workload's transaction is that long"
            )


def _no_pool() -> Any:
    raise AssertionError("a process with a share of 0 has no callers")


def _parts(seconds: list[Second]) -> list[list[Second]]:
    """The seconds in SECTIONS equal parts, the first ones a second longer where that does not divide evenly."""
    number = min(SECTIONS, len(seconds))
    bounds = [round(len(seconds) * place / number) for place in range(number + 1)] if number else [0]
    return [seconds[start:end] for start, end in pairwise(bounds)]


def _encoded(seconds: list[Second]) -> dict[str, str]:
    return {name: str(histogram([getattr(second, name) for second in seconds]).encode(), "ascii") for name in LATENCIES}
