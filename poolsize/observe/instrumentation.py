"""instrument: record how an application uses the pool of its SQLAlchemy engine, from inside its process."""

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from sqlalchemy import Engine, event
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import Pool, QueuePool, _ConnectionFairy

from poolsize.errors import BadInput
from poolsize.observe.pool_events import BATCH, BOUNDS_NS, PoolEvents, Times

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from sqlalchemy.ext.asyncio import AsyncEngine

    from poolsize.observe.span_writer import SpanWriter

PREFIX, POOL_LABEL = "db_client_connection", "db_client_connection_pool_name"
"""OpenTelemetry's names, db.client.connection.*, as Prometheus writes them."""
PAGE_BOUNDS = [place for place in range(len(BOUNDS_NS)) if str(BOUNDS_NS[place]).strip("0") in {"1", "2", "5"}]
"""Places of the bounds that a metrics page has: 1, 2 and 5 in each decade."""

_in_this_process: WeakSet["PoolMetrics"] = WeakSet()


def instrument(
    engine: "Engine | AsyncEngine", observation: str | os.PathLike[str] | None = None, name: str | None = None
) -> "PoolMetrics":
    """Record wait times, usage times and connections in use of an engine's pool, and return its metrics.

    Each process of a forked application records for itself, from zero. observation: a file to which each process
    appends what it counted, each minute and at exit; the first process writes the file, another process a file with its
    process id in the name, such as shop-4711.jsonl. Python runs nothing at exit where SIGTERM ends a process, as it
    ends uvicorn: `metrics.writer.close()` in the application's shutdown keeps the last minute. name: of the pool; by
    default "host:port/database".
    Raises BadInput for an engine that is already instrumented, and for a folder that can't be written.
    """
    sync_engine = engine if isinstance(engine, Engine) else engine.sync_engine
    pool = sync_engine.pool
    if hasattr(type(pool), "poolsize_metrics"):
        raise BadInput("the engine is already instrumented: call `instrument` once for each engine")
    metrics = PoolMetrics(sync_engine, _pool_name(sync_engine) if name is None else name)
    if observation is not None:
        from poolsize.observe.span_writer import SpanWriter

        metrics.writer = SpanWriter(metrics, observation)
    pool.__class__ = _instrumented(type(pool), metrics)
    event.listen(pool, "connect", metrics.events.opened)
    event.listen(pool, "detach", metrics.events.detached)
    _in_this_process.add(metrics)
    return metrics


class PoolMetrics:
    """What was recorded of an engine's pool in this process: a collector of prometheus_client.

    `prometheus_client.REGISTRY.register(metrics)` adds the metrics to an existing page of one engine.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine, self.name = engine, name
        self.events = PoolEvents(_limit(engine.pool))
        self.writer: SpanWriter | None = None

    def page(self, *others: "PoolMetrics") -> str:
        """Return a metrics page in Prometheus' text format, of this pool and of the others given."""
        from prometheus_client import generate_latest

        page: Any = SimpleNamespace(collect=lambda: _families((self, *others)))
        return generate_latest(page).decode()

    def collect(self) -> Iterator["Metric"]:
        """Yield the metrics as families of prometheus_client."""
        return _families((self,))

    def restart(self) -> None:
        """Begin at zero, in a process that was forked."""
        self.events.restart()
        if self.writer:
            self.writer.restart()


def _pool_name(engine: Engine) -> str:
    """Return a pool's name, as OpenTelemetry recommends it: without the account and the password."""
    url = engine.url
    port = f":{url.port}" if url.port else ""
    return f"{url.host or url.get_backend_name()}{port}/{url.database or ''}"


def _limit(pool: Pool) -> int | None:
    """Return the number of connections that a pool may open; None without a limit."""
    if not isinstance(pool, QueuePool) or pool._max_overflow < 0:  # it has no public name
        return None
    return pool.size() + pool._max_overflow


def _instrumented(kind: type[Pool], metrics: PoolMetrics) -> type[Pool]:
    """Return a kind of pool that records requests and usages. A pool that dispose() makes anew has the same kind.

    SQLAlchemy has no event for the start of a request: `Pool.connect` is the entrance of all pools. A connection goes
    back by `_return_conn`. Both only call another method: to take their places costs much less than events.
    """
    events = metrics.events
    clock, used, most = events.clock, events.used, 2 * BATCH
    begin, serve, end, give_back = events.begun.append, events.served.extend, events.ended.append, used.extend
    hold, release = events.held.setdefault, events.held.pop
    connect_as_before: Any = _ConnectionFairy._checkout if kind.connect is Pool.connect else kind.connect
    return_as_before: Any = kind._do_return_conn if kind._return_conn is Pool._return_conn else kind._return_conn

    def connect(self: Pool) -> Any:
        begun = clock()
        begin(begun)
        try:
            connection = connect_as_before(self)
        except BaseException as error:
            end(clock())
            if isinstance(error, PoolTimeout):
                events.timeouts.append(1)
            events.relieve()
            raise
        got = clock()
        if hold(connection._connection_record, got) is got:
            serve((got, begun))
        else:  # a StaticPool, or a thread's second request of a SingletonThreadPool: the connection is in use already
            end(got)
        return connection

    def return_conn(self: Pool, record: Any) -> None:
        taken = release(record, None)
        if taken is not None:  # a request that failed gives its record back too
            give_back((clock(), taken))
        return_as_before(self, record)
        if len(used) >= most:  # other requests have the connection meanwhile
            events.relieve()

    namespace = {
        "connect": connect, "_return_conn": return_conn, "poolsize_metrics": metrics,
        "__module__": kind.__module__, "__doc__": kind.__doc__,
    }  # fmt: skip
    return type(kind.__name__, (kind,), namespace)  # the name and the module are those of the pool's logger


def _families(pools: tuple[PoolMetrics, ...]) -> Iterator["Metric"]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    def gauge(name: str, meaning: str, *labels: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(name, meaning, labels=(POOL_LABEL, *labels))

    count = gauge(f"{PREFIX}_count", "Connections that are in this state.", f"{PREFIX}_state")
    most = gauge(f"{PREFIX}_max", "Connections that the pool may open.")
    pending = gauge(f"{PREFIX}_pending_requests", "Requests that wait because all connections are in use.")
    timeouts = CounterMetricFamily(f"{PREFIX}_timeouts", "Requests that gave up.", labels=(POOL_LABEL,))
    highest = gauge("poolsize_connections_in_use_max", "Most connections in use since the process started.")
    most_pending = gauge("poolsize_pending_requests_max", "Most pending requests since the process started.")
    waits, usages, creations = (
        HistogramMetricFamily(f"{PREFIX}_{name}_time", meaning, labels=(POOL_LABEL,), unit="seconds")
        for name, meaning in (
            ("wait", "Time until a request had its connection."),
            ("use", "Time from taking a connection to its return."),
            ("create", "Time to open a connection."),
        )
    )
    for pool in pools:
        totals, limit, name, of_engine = pool.events.totals(), pool.events.limit, pool.name, pool.engine.pool
        count.add_metric((name, "used"), totals.in_use.now)
        count.add_metric((name, "idle"), of_engine.checkedin() if isinstance(of_engine, QueuePool) else 0)
        if limit is not None:
            most.add_metric((name,), limit)
        pending.add_metric((name,), totals.pending.now)
        timeouts.add_metric((name,), totals.timeouts)
        highest.add_metric((name,), totals.in_use.highest)
        most_pending.add_metric((name,), totals.pending.highest)
        for family, times in ((waits, totals.waits), (usages, totals.usages), (creations, totals.creations)):
            family.add_metric((name,), *_buckets(times))
    yield from (count, most, pending, timeouts, waits, usages, creations, highest, most_pending)


def _buckets(times: Times) -> tuple[list[tuple[str, float]], float]:
    """Return the cumulative buckets, bounds in s, and the sum in s."""
    below = times.counts.cumsum()
    buckets = [(repr(float(BOUNDS_NS[place] / 1e9)), float(below[place])) for place in PAGE_BOUNDS]
    return [*buckets, ("+Inf", float(below[-1]))], times.nanoseconds / 1e9


def _after_fork() -> None:
    for metrics in list(_in_this_process):
        metrics.restart()


os.register_at_fork(after_in_child=_after_fork)
