"""What metrics show of simulated pools in production, whose truth is known."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poolsize.observe.observation import Observation, PoolSpan, ServerSpan, Source
from poolsize.observe.store import ObservationWriter
from tests.observe.workload import Floats, Served, Workload, serve

BOUNDS_MS = (1.0, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 2_000, 5_000, 10_000)
"""Upper bounds of the buckets of a histogram."""
STARTED = datetime(2026, 1, 5, tzinfo=UTC)
Shown = Literal["gauges", "counters", "buckets"]
"""What metrics show: samples of gauges; with sums of counters; with buckets of the usage times."""


@cache
def two_hours(pool_size: int) -> Served:
    """Return the requests of a workload with a day's shape in two hours, which about 9 connections serve."""
    return serve(Workload(30.0, 0.1, "log-normal", 3.0, day=0.6), pool_size, 7_200.0, 1, timeout_s=1.0)


def true_need(workload: Workload, seconds: float, seed: int) -> int:
    """Return the smallest pool whose p99 wait time stays within the mean usage time, by trying."""
    size = int(workload.load) + 1
    while np.quantile(serve(workload, size, seconds, seed).waits, 0.99) > workload.usage_s:
        size += 1
    return size


def span_of(
    served: Served, shown: Shown, *, period: float = 60.0, every: float = 15.0, name: str = "shop", instance: str = "a"
) -> PoolSpan:
    """Return what metrics show of a pool. every: seconds between two samples of the gauges."""
    edges = np.arange(0.0, served.seconds + 1e-9, period)
    periods, samples = len(edges) - 1, round(period / every)
    times: Floats = np.asarray((np.arange(periods * samples) + 0.5) * every, float)
    in_use, waiting = (values.reshape(periods, samples) for values in (served.in_use(times), served.waiting(times)))

    def sums(at: Floats, values: Floats) -> tuple[float, ...]:
        return tuple(np.histogram(at, edges, weights=values)[0].tolist())

    ended = served.begun + served.usages
    series: dict[str, Any] = {}
    if shown != "gauges":
        series = {
            "uses": sums(ended, np.ones(len(ended))),
            "usage_seconds": sums(ended, served.usages),
            "wait_seconds": sums(served.begun, served.waits),
        }
    if shown == "buckets":
        counts = np.histogram(1000 * served.usages, (0.0, *BOUNDS_MS, np.inf))[0]
        series["usage_buckets"] = tuple(zip((*BOUNDS_MS, None), counts.tolist(), strict=True))
    return PoolSpan(
        name, instance, "HikariCP", STARTED.isoformat(), period,
        size=(float(served.pool_size),) * periods,
        in_use_mean=tuple(in_use.mean(1).tolist()),
        in_use_max=tuple(in_use.max(1).tolist()),
        in_use_variance=tuple(in_use.var(1).tolist()),
        samples=(float(samples),) * periods,
        waiting_mean=tuple(waiting.mean(1).tolist()),
        waiting_max=tuple(waiting.max(1).tolist()),
        timeouts=sums(served.timed_out, np.ones(len(served.timed_out))),
        **series,
    )  # fmt: skip


def plain(name: str = "shop", instance: str = "a", *, periods: int = 60, **series: float | Floats) -> PoolSpan:
    """Return a pool whose series have the same value in each minute, or these values."""
    values: dict[str, Any] = {key: tuple(np.broadcast_to(value, periods).tolist()) for key, value in series.items()}
    return PoolSpan(name, instance, "HikariCP", STARTED.isoformat(), 60.0, **values)


def observed(spans: Sequence[PoolSpan], server: Sequence[ServerSpan] = ()) -> Observation:
    return Observation(Source("page", "127.0.0.1", "0.1", STARTED.isoformat()), tuple(spans), tuple(server))


def stored(path: Path, observation: Observation) -> str:
    """Store an observation, and return the name of its file."""
    with ObservationWriter(path, observation.source) as writer:
        writer.append(observation.spans, observation.server)
    return str(path)


def server_of(running: float, cores: int | None, periods: int) -> ServerSpan:
    return ServerSpan(STARTED.isoformat(), 60.0, running_mean=(running,) * periods, cores=cores)
