"""Observation: what the pools of an application, and the database under them, did in production, period by period."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import chain, groupby
from operator import attrgetter
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from poolsize.analysis.vector import Vector
from poolsize.bounds import LARGEST_POOL, LONGEST_NAME_SHOWN, shortened
from poolsize.errors import BadInput
from poolsize.record import Amount, Cores, Count, Moment, Name, Series, record
from poolsize.terminal import visible

MOST_BUCKETS, LONGEST_SELECTOR = 2_000, 20_000
LAST = datetime(3000, 1, 1, tzinfo=UTC).timestamp()
"""Seconds since the epoch at which no period ends; the dates of all others can be shown."""
Period = Annotated[float, Field(ge=10**-3, le=10**9)]
"""Seconds; the one period of a page that was read once is as long as its process runs."""
Values = Series[Amount | None]
"""One value for each period, None where it is not known; empty where no period has one."""
Buckets = Annotated[tuple[tuple[Amount | None, Amount], ...], Field(max_length=MOST_BUCKETS)]
"""(Upper bound in ms, number of times up to it and above the bound before), ascending; None for no upper bound."""


@record
class Source:
    """Where an observation comes from.

    kind: "server" (the server's own counts), "page" (metrics pages), "prometheus", or "instrument" (from inside a
    process). name: of the server or the page, without a password. poolsize: the version that made the observation.
    started: when it began. selector: the labels that the pools have, in PromQL; "" for all pools.
    """

    kind: Literal["server", "page", "prometheus", "instrument"]
    name: Name
    poolsize: Name
    started: Moment
    selector: Annotated[str, Field(max_length=LONGEST_SELECTOR)] = ""


class Span:
    """Consecutive periods. A series is a field with a value for each period.

    started: of the first period. period_seconds: length of each period. instance: that names the span among several.
    """

    started: Moment
    period_seconds: Period
    instance: Name

    def __post_init__(self) -> None:
        """Refuse series of different lengths, and periods of far centuries."""
        values, names = vars(self), series_of(type(self))  # type: ignore[arg-type]  # a class is hashable
        lengths = {len(values[name]) for name in names if values[name]}
        if len(lengths) != 1:
            raise BadInput(
                f"`instance` {self.instance!r}: its series have {sorted(lengths) or 'no'} values: give as many each"
            )
        if self.at + self.period_seconds * lengths.pop() > LAST:
            raise BadInput(f"`period_seconds` {self.period_seconds:g}: its periods end after the year 2999")

    @property
    def at(self) -> float:
        """Seconds since the epoch at which the first period starts."""
        return datetime.fromisoformat(self.started).timestamp()


@cache
def series_of(kind: type) -> tuple[str, ...]:
    """Return the names of the fields that have a value for each period."""
    return tuple(field.name for field in fields(kind) if field.type == Values)


@record
class PoolSpan(Span):
    """Consecutive periods of the pool of one process, or of an account on a server.

    pool: its name, or the account's. instance: of the process, or the client's host; "" where nothing names it.
    library: that names the pool's metrics, such as "HikariCP"; "" where it is not known. started: of the first period.
    period_seconds: length of each period.

    size: connections that the pool may open. in_use_mean: connections in use on average. in_use_max: the most in any
    sample. in_use_variance: the sum of the samples' squared distances from their mean, over their number. samples:
    number of readings of the connections in use. waiting_mean, waiting_max: requests that wait for a connection. uses:
    usages that ended. usage_seconds, wait_seconds: sums of their usage times, and of the wait times. usage_variation:
    the squared coefficient of variation of usage times, estimated from the mean usage times between readings.
    usage_means: the number of these means. timeouts: requests that gave up. usage_buckets, wait_buckets: histograms of
    all periods together; empty without.
    held_max: the most connections that were open in any sample. active_mean, in_transaction_mean: connections that run
    a statement, and that have an open transaction, on average. idle_seconds_max: since the last statement of the
    connection that is idle for longest. Only a server counts these.
    """

    pool: Name
    instance: Name
    library: Name
    started: Moment
    period_seconds: Period
    size: Values = ()
    in_use_mean: Values = ()
    in_use_max: Values = ()
    in_use_variance: Values = ()
    samples: Values = ()
    waiting_mean: Values = ()
    waiting_max: Values = ()
    uses: Values = ()
    usage_seconds: Values = ()
    wait_seconds: Values = ()
    usage_variation: Values = ()
    usage_means: Values = ()
    timeouts: Values = ()
    held_max: Values = ()
    active_mean: Values = ()
    in_transaction_mean: Values = ()
    idle_seconds_max: Values = ()
    usage_buckets: Buckets = ()
    wait_buckets: Buckets = ()

    def __post_init__(self) -> None:
        """Refuse also buckets that do not ascend."""
        super().__post_init__()
        for name, buckets in (("usage_buckets", self.usage_buckets), ("wait_buckets", self.wait_buckets)):
            bounds = [np.inf if bound is None else bound for bound, _ in buckets]
            if bounds != sorted(set(bounds)):
                raise BadInput(f"`{name}` of `pool` {self.pool!r}: give bounds that ascend")


CONNECTIONS = ("size", "in_use_mean", "in_use_max")
"""Those of which no value is above the largest pool."""


@record
class ServerSpan(Span):
    """Consecutive periods of the database's server; the fields of series as in PoolSpan.

    running_mean, running_max: threads that execute a statement. connected_max: connections. refused, aborted:
    connections that the server refused because of max_connections, and that were aborted. busy_cores: that
    the server's process used, where it runs on this machine. cores: of the server; max_connections: its limit; None
    where they are not known. instance: the server's name among several.
    """

    started: Moment
    period_seconds: Period
    running_mean: Values = ()
    running_max: Values = ()
    connected_max: Values = ()
    refused: Values = ()
    aborted: Values = ()
    busy_cores: Values = ()
    cores: Cores | None = None
    max_connections: Count | None = None
    instance: Name = ""


S = TypeVar("S", PoolSpan, ServerSpan)
Append = Callable[[Sequence[PoolSpan], Sequence[ServerSpan]], None]
"""Takes periods of pools, and of servers, as they end."""


@dataclass(frozen=True)
class Periods:
    """All periods of a pool of one process, or of a server: its spans, joined in the order of time.

    at: seconds since the epoch at which each period starts. seconds: length of each period. values: name of a series of
    PoolSpan or ServerSpan -> its values, NaN where they are not known.
    """

    at: Vector
    seconds: Vector
    values: dict[str, Vector]

    def __getitem__(self, name: str) -> Vector:
        """Return the values of a series."""
        return self.values[name]

    def mean(self, name: str) -> float | None:
        """Return the mean of a series, in which a longer period counts more; None where no value is known."""
        known = np.isfinite(self[name])
        return float(np.average(self[name][known], weights=self.seconds[known])) if known.any() else None

    def highest(self, name: str) -> float | None:
        """Return the highest value of a series; None where none is known."""
        return float(np.nanmax(self[name])) if np.isfinite(self[name]).any() else None

    def total(self, name: str) -> float | None:
        """Return the sum of a series; None where no value is known."""
        return float(np.nansum(self[name])) if np.isfinite(self[name]).any() else None


@dataclass(frozen=True)
class ObservedPool(Periods):
    """The pool of one process, or of an account on a server; the fields as in PoolSpan."""

    pool: str
    instance: str
    library: str
    usage_buckets: Buckets
    wait_buckets: Buckets

    @classmethod
    def of(cls, spans: Sequence[PoolSpan]) -> Self:
        """Return the pool of these spans, which are those of one pool of one process."""
        first = spans[0]
        return cls(
            *_joined(PoolSpan, spans), first.pool, first.instance, first.library,
            _sum([span.usage_buckets for span in spans]), _sum([span.wait_buckets for span in spans]),
        )  # fmt: skip


@dataclass(frozen=True)
class ObservedServer(Periods):
    """A server; the fields as in ServerSpan, by the last span that knows them."""

    instance: str
    cores: int | None
    max_connections: int | None

    @classmethod
    def of(cls, spans: Sequence[ServerSpan]) -> Self:
        """Return the server of these spans, which are those of one server."""
        cores = next((span.cores for span in reversed(spans) if span.cores), None)
        limit = next((span.max_connections for span in reversed(spans) if span.max_connections), None)
        return cls(*_joined(ServerSpan, spans), spans[0].instance, cores, limit)


def shown(name: str) -> str:
    """Return the name of a pool, which a stranger gave, on one line of a terminal, without control characters."""
    return shortened(" ".join(visible(name).split()), LONGEST_NAME_SHOWN) or "(no name)"


def filled_buckets(bounds_ms: Sequence[float], numbers: Sequence[float]) -> Buckets:
    """Return the buckets that have times, and the bound below each of them. bounds_ms: inf for no upper bound."""
    return tuple(
        (None if bound == np.inf else float(bound), float(number))
        for bound, number, above in zip(bounds_ms, numbers, [*numbers, 0][1:], strict=True)
        if number > 0 or above > 0
    )


def _joined(kind: type, spans: Sequence[PoolSpan] | Sequence[ServerSpan]) -> tuple[Vector, Vector, dict[str, Vector]]:
    """Return the times, the lengths and the series of the periods of spans of a kind, in the order of time."""
    starts = np.array([span.at for span in spans])
    order = starts.argsort(kind="stable")
    fields_of = [vars(spans[place]) for place in order.tolist()]
    series = {name: [each[name] for each in fields_of] for name in series_of(kind)}
    periods = np.array([max(map(len, of_span)) for of_span in zip(*series.values(), strict=True)])
    seconds = np.repeat([each["period_seconds"] for each in fields_of], periods)
    before = np.repeat(periods.cumsum() - periods, periods)
    at = np.repeat(starts[order], periods) + seconds * (np.arange(len(seconds)) - before)
    return at, seconds, {name: _values(name, values, periods) for name, values in series.items()}


def _values(name: str, series: list[Values], periods: NDArray[np.int64]) -> Vector:
    """Return the values of a series in spans, NaN where they are not known, or are no number of connections."""
    if not any(series):
        return np.broadcast_to(np.nan, periods.sum())  # takes no memory: most series of many pools are unknown
    known = (each or (None,) * number for each, number in zip(series, periods.tolist(), strict=True))
    values = np.array(list(chain.from_iterable(known)), dtype=float)
    return np.where(values > LARGEST_POOL, np.nan, values) if name in CONNECTIONS else values


def _sum(all_buckets: list[Buckets]) -> Buckets:
    """Return the sum of histograms; a bound that only some of them have counts for these."""
    flat = chain.from_iterable(chain.from_iterable(all_buckets))  # several times as fast as an array of pairs
    pairs = np.array(list(flat), dtype=float).reshape(-1, 2)
    bounds, places = np.unique(np.where(np.isnan(pairs[:, 0]), np.inf, pairs[:, 0]), return_inverse=True)
    numbers = np.bincount(places, pairs[:, 1])
    sums = zip(bounds.tolist(), numbers.tolist(), strict=True)
    return tuple((None if bound == np.inf else bound, number) for bound, number in sums)


@dataclass(frozen=True)
class Observation:
    """What was counted in production. spans, server: in the order of the file."""

    source: Source
    spans: tuple[PoolSpan, ...]
    server: tuple[ServerSpan, ...] = ()

    @cached_property
    def pools(self) -> tuple[ObservedPool, ...]:
        """The pools of all processes, by name and process."""
        return tuple(map(ObservedPool.of, _grouped(self.spans, attrgetter("pool", "instance"))))

    @cached_property
    def servers(self) -> tuple[ObservedServer, ...]:
        """The servers, by name."""
        return tuple(map(ObservedServer.of, _grouped(self.server, attrgetter("instance"))))


def _grouped(spans: Iterable[S], key: Callable[[S], Any]) -> Iterator[list[S]]:
    return (list(group) for _, group in groupby(sorted(spans, key=key), key=key))
