"""Observation: what the pools of an application, and the database under them, did in production, period by period."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import chain, groupby, pairwise
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field

from poolsize.analysis.vector import Vector
from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.record import Amount, Cores, Count, Moment, Name, Series, record

MOST_BUCKETS = 2_000
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
    started: when it began.
    """

    kind: Literal["server", "page", "prometheus", "instrument"]
    name: Name
    poolsize: Name
    started: Moment


class Span:
    """Consecutive periods. A series is a field with a value for each period.

    started: of the first period. period_seconds: length of each period. instance: that names the span among several.
    """

    started: Moment
    period_seconds: Period
    instance: Name

    def __post_init__(self) -> None:
        """Refuse series of different lengths, and periods of far centuries."""
        lengths = set(self._lengths())
        if len(lengths) != 1:
            raise BadInput(
                f"`instance` {self.instance!r}: its series have {sorted(lengths) or 'no'} values: give as many each"
            )
        if datetime.fromisoformat(self.started).timestamp() + self.period_seconds * self.periods > LAST:
            raise BadInput(f"`period_seconds` {self.period_seconds:g}: its periods end after the year 2999")

    @property
    def periods(self) -> int:
        """Number of periods."""
        return next(self._lengths())

    def _lengths(self) -> Iterator[int]:
        names = series_of(type(self))  # type: ignore[arg-type]  # a class is hashable
        return (len(values) for name in names if (values := getattr(self, name)))


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
    usages that ended. usage_seconds, wait_seconds: sums of their usage times, and of the wait times. timeouts: requests
    that gave up. usage_buckets, wait_buckets: histograms of all periods together; empty without.
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
        for name in ("usage_buckets", "wait_buckets"):
            bounds = [np.inf if bound is None else bound for bound, _ in getattr(self, name)]
            if bounds and any(bound >= following for bound, following in pairwise(bounds)):
                raise BadInput(f"`{name}` of `pool` {self.pool!r}: give bounds that ascend")


CONNECTIONS = ("size", "in_use_mean", "in_use_max")
"""Those of which no value is above the largest pool."""


@record
class ServerSpan(Span):
    """Consecutive periods of the database's server; the fields of series as in PoolSpan.

    running_mean, running_max: threads that execute a statement. connected_max: connections. refused, aborted:
    connections that the server refused because of max_connections, and that were aborted. statements: that
    clients sent. busy_cores: that the server's process used, where it runs on this machine. cores: of the server;
    max_connections: its limit; None where they are not known. instance: the server's name among several.
    """

    started: Moment
    period_seconds: Period
    running_mean: Values = ()
    running_max: Values = ()
    connected_max: Values = ()
    refused: Values = ()
    aborted: Values = ()
    statements: Values = ()
    busy_cores: Values = ()
    cores: Cores | None = None
    max_connections: Count | None = None
    instance: Name = ""


Append = Callable[[Iterable[PoolSpan], ServerSpan | None], None]
"""Takes periods of pools, and of a server, as they end."""


@dataclass(frozen=True)
class ObservedPool:
    """All periods of one pool of one process: the spans of a pool, joined in the order of time.

    at: seconds since the epoch at which each period starts. seconds: length of each period. values: name of a series of
    PoolSpan -> its values, NaN where they are not known.
    """

    pool: str
    instance: str
    library: str
    at: Vector
    seconds: Vector
    values: dict[str, Vector]
    usage_buckets: Buckets
    wait_buckets: Buckets

    @classmethod
    def of(cls, spans: list[PoolSpan]) -> Self:
        """Return the pool of these spans, which are those of one pool of one process."""
        spans = sorted(spans, key=lambda span: datetime.fromisoformat(span.started))
        starts = [datetime.fromisoformat(span.started).timestamp() for span in spans]
        at = [start + span.period_seconds * np.arange(span.periods) for start, span in zip(starts, spans, strict=True)]
        values = {name: _values(name, spans) for name in series_of(PoolSpan)}
        seconds = np.repeat([span.period_seconds for span in spans], [span.periods for span in spans])
        first = spans[0]
        return cls(
            first.pool, first.instance, first.library, np.concatenate(at), seconds, values,
            _joined([span.usage_buckets for span in spans]), _joined([span.wait_buckets for span in spans]),
        )  # fmt: skip

    def __getitem__(self, name: str) -> Vector:
        """Return the values of a series of PoolSpan."""
        return self.values[name]


def filled_buckets(bounds_ms: Sequence[float], numbers: Sequence[float]) -> Buckets:
    """Return the buckets that have times, and the bound below each of them. bounds_ms: inf for no upper bound."""
    return tuple(
        (None if bound == np.inf else float(bound), float(number))
        for bound, number, above in zip(bounds_ms, numbers, [*numbers, 0][1:], strict=True)
        if number > 0 or above > 0
    )


def _values(name: str, spans: list[PoolSpan]) -> Vector:
    """Return the values of a series in spans, NaN where they are not known, or are no number of connections."""
    series = (getattr(span, name) or (None,) * span.periods for span in spans)
    values = np.array(list(chain.from_iterable(series)), dtype=float)
    return np.where(values > LARGEST_POOL, np.nan, values) if name in CONNECTIONS else values


def _joined(all_buckets: list[Buckets]) -> Buckets:
    """Return the sum of histograms; a bound that only some of them have counts for these."""
    sums: dict[float, float] = {}
    for buckets in all_buckets:
        for bound, number in buckets:
            key = np.inf if bound is None else bound
            sums[key] = sums.get(key, 0.0) + number
    return tuple((None if bound == np.inf else bound, number) for bound, number in sorted(sums.items()))


@dataclass(frozen=True)
class Observation:
    """What was counted in production. spans, server: in the order of the file."""

    source: Source
    spans: tuple[PoolSpan, ...]
    server: tuple[ServerSpan, ...] = ()

    @cached_property
    def pools(self) -> tuple[ObservedPool, ...]:
        """The pools of all processes, by name and process."""

        def key(span: PoolSpan) -> tuple[str, str]:
            return span.pool, span.instance

        return tuple(ObservedPool.of(list(spans)) for _, spans in groupby(sorted(self.spans, key=key), key=key))
