"""Readings of metrics -> periods of pools and of the server: counters by their increase, gauges by their statistics."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, inf

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.vector import Vector
from poolsize.bounds import LARGEST_POOL, MOST_SECONDS, shortened
from poolsize.errors import BadInput
from poolsize.facts.pool_metrics import FRAMEWORKS, SERVER, Quantity, Sample
from poolsize.observe.observation import Buckets, PoolSpan, ServerSpan, filled_buckets, shown
from poolsize.observe.sums import DECIMALS, MOST_VALUE, Sums, span_of, squared_variation

PERIOD_SECONDS = 60.0
LONGEST_GAP_SECONDS, LONGEST_GAP_PERIODS = 300.0, 5
"""Counters are not followed over a longer gap between readings: nobody knows when in it they rose."""
READINGS_OF_PERIOD = 4
"""Readings of counters are kept if a period has so many: they show how the mean usage times between them differ."""
LEAST_SECONDS = 1e-9
"""A period with a shorter sum of usage times does not show how they vary."""
LEAST_COVERED = 0.5
"""The increase in a period is known if readings cover this part of it."""
MOST_RESTARTS, OFTEN_FALLS = 3, 0.1
"""A counter that falls more often, and at more of its readings, is that of several processes by turns."""
MOST_SERIES, MOST_PERIODS = 300_000, 50_000_000
"""Series of pools, and periods of all series together."""
LONGEST_LABELS = 500
"""Characters of a pool's and of an instance's name."""
MOMENTS = (0.0, 7e9)
"""Readings of other times, in seconds since the epoch, are not used."""
INSTANCE_LABELS = (
    ("cluster",),
    ("exported_namespace", "namespace"),
    ("exported_job", "job", "service_name", "service", "application", "app"),
    ("exported_pod", "pod", "host", "hostname", "node"),
    ("exported_instance", "service_instance_id", "instance"),
    ("container",), ("pid", "worker"),
)  # fmt: skip
"""Groups of labels that tell processes apart; of each group, the name of a process has the first that is there."""
SERVICE_LABELS = ("application", "app", "service_name", "service", "exported_job", "job")
"""Labels that name the service of a process; the first that is there does."""
TARGET_LABELS = (
    "cluster", "exported_job", "exported_instance", "service_name", "service_instance_id", "application", "pid",
    "worker", "instance",
)  # fmt: skip
"""Labels of a process that are the same, whichever job of Prometheus scrapes it; its address is the last."""
REPLICA_LABELS = {"prometheus_replica", "__replica__", "replica"}
"""Labels that tell Prometheus servers apart which scrape the same processes."""
PEAKS, SUMS = ("peak", "connected_peak"), ("usage_seconds", "wait_seconds", "uses", "timeouts")
USAGES: tuple[Quantity, Quantity] = ("uses", "usage_seconds")
COUNTED = (*SUMS, "refused", "aborted")
BUCKETS = ("usage_buckets", "wait_buckets")
_PORT = re.compile(r":\d+$")


def instance_of(labels: Mapping[str, str], page: str) -> str:
    """Return the name of the process that a sample is of. page: the name of the page that has the sample, or ""."""
    names = _first_labels(labels, INSTANCE_LABELS)
    if names[3] and _PORT.sub("", names[4]).startswith(names[3]):
        names[3] = ""  # the address names the host again
    return shortened("/".join(text for text in (page, *names) if text), LONGEST_LABELS)


def _first_labels(labels: Mapping[str, str], groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the first label that is there of each group; "" for none."""
    return [next((labels[name] for name in group if labels.get(name)), "") for group in groups]


@dataclass(frozen=True)
class _Grid:
    """The periods: period i begins at origin + i * seconds."""

    origin: float
    seconds: float

    @property
    def longest_gap(self) -> float:
        return max(LONGEST_GAP_SECONDS, LONGEST_GAP_PERIODS * self.seconds)

    def period(self, at: float) -> int:
        return floor((at - self.origin) / self.seconds)

    def has_several(self, at: Vector) -> bool:
        """Return whether a period has READINGS_OF_PERIOD or more at these times, on average."""
        return at.size > 1 and float(at[-1] - at[0]) <= (at.size - 1) * self.seconds / READINGS_OF_PERIOD


@dataclass
class _SumsByPeriod:
    """The rows of Sums, all four or the first two, with a column for each period from `first` on."""

    values: Vector = field(default_factory=lambda: np.zeros((4, 0)))
    first: int = 0

    def add(self, first: int, block: Vector) -> None:
        """Add a block of rows, whose first column is of the period `first`."""
        if not self.values.shape[1]:
            self.values, self.first = np.array(block), first
            return
        before, after = self.first - first, first + block.shape[1] - self.first - self.values.shape[1]
        if before > 0 or after > 0:
            self.values = np.pad(self.values, ((0, 0), (max(0, before), max(0, after))))
            self.first = min(self.first, first)
        part = self.values[:, first - self.first : first - self.first + block.shape[1]]
        part[:3] += block[:3]
        np.maximum(part[3:], block[3:], out=part[3:])

    def cut(self, first: int, until: int) -> Sums:
        """Return the sums of the periods from `first` to before `until`, 0 for those without."""
        width = self.values.shape[1]
        columns = np.arange(first, until) - self.first
        if not width:
            return Sums(*np.zeros((len(self.values), columns.size)))
        rows = np.where((columns >= 0) & (columns < width), self.values[:, np.clip(columns, 0, width - 1)], 0.0)
        return Sums(*rows)

    def drop(self, until: int) -> None:
        """Forget the periods before `until`."""
        self.values = self.values[:, max(0, until - self.first) :]
        self.first = max(self.first, until)


@dataclass
class _Counter:
    """A counter: its rate by period, whose weight is the seconds that readings cover. A lower value is a restart's.

    rises: of readings of which a period has several, as columns of (period, time, increase since the reading before);
    None where they are not kept.
    """

    rises: list[Vector] | None = None
    sums: _SumsByPeriod = field(default_factory=lambda: _SumsByPeriod(np.zeros((2, 0))))
    last: tuple[float, float] | None = None
    total: float = 0.0
    steps: int = 0
    falls: int = 0

    @property
    def is_mixed(self) -> bool:
        """Whether it falls so often that several processes must answer at its address: its increase says nothing."""
        return self.falls > MOST_RESTARTS and self.falls > OFTEN_FALLS * self.steps

    def add(self, grid: _Grid, at: Vector, values: Vector, *, by_period: bool = True) -> None:
        if self.last is not None:
            at, values = np.r_[self.last[0], at], np.r_[self.last[1], values]
        self.last = float(at[-1]), float(values[-1])
        rises = np.diff(values)
        self.steps, self.falls = self.steps + rises.size, self.falls + int((rises < 0).sum())
        rises = np.where(rises < 0, values[1:], rises)
        self.total += float(rises.sum())
        if at.size < 2 or not by_period:
            return
        gaps = np.diff(at)
        near = gaps <= grid.longest_gap
        if self.rises is not None and (often := gaps <= grid.seconds / READINGS_OF_PERIOD).any():
            periods = np.floor((at[1:] - grid.origin) / grid.seconds)
            self.rises.append(np.stack((periods, at[1:], rises))[:, often])
        counted = np.r_[0.0, np.cumsum(np.where(near, rises, 0.0))]
        covered = np.r_[0.0, np.cumsum(np.where(near, gaps, 0.0))]
        first = grid.period(at[0])
        ends = grid.origin + grid.seconds * np.arange(first, grid.period(at[-1]) + 2)
        edges = np.clip(ends, at[0], at[-1])
        self.sums.add(first, np.diff([np.interp(edges, at, covered), np.interp(edges, at, counted)]))

    def drop(self, until: int) -> None:
        """Forget the periods before `until`."""
        self.sums.drop(until)
        if self.rises is not None:
            self.rises = [kept for block in self.rises if (kept := block[:, block[0] >= until]).size]

    def increases(self, grid: _Grid, first: int, until: int) -> Vector:
        """Return the increase in each period; NaN where readings cover too little of the period."""
        covered, rate, *_ = self.sums.cut(first, until).statistics
        known = (covered >= LEAST_COVERED * grid.seconds) & (not self.is_mixed)
        return np.where(known, rate * grid.seconds, np.nan)


@dataclass
class _Gauge:
    """A gauge: the sums of its readings by period."""

    sums: _SumsByPeriod = field(default_factory=_SumsByPeriod)
    last: tuple[float, float] | None = None

    def add(self, grid: _Grid, at: Vector, values: Vector) -> None:
        self.last = float(at[-1]), float(values[-1])
        periods = np.floor((at - grid.origin) / grid.seconds).astype(np.int64)
        columns = periods - periods[0]
        highest = np.zeros(columns[-1] + 1)
        np.maximum.at(highest, columns, values)
        sums = [np.bincount(columns, weights) for weights in (np.ones_like(values), values, values * values)]
        self.sums.add(int(periods[0]), np.array([*sums, highest]))

    def drop(self, until: int) -> None:
        """Forget the periods before `until`."""
        self.sums.drop(until)


class _Peak(_Gauge):
    """The most since the start, by the periods in which it rose: a reading that is no record says nothing."""

    def add(self, grid: _Grid, at: Vector, values: Vector) -> None:
        before = np.r_[inf if self.last is None else self.last[1], values[:-1]]
        risen = values > before
        if risen.any():
            super().add(grid, at[risen], values[risen])
        self.last = float(at[-1]), float(values[-1])


@dataclass
class _Pool:
    """The readings of a pool, or of a server. library: of its best metric, whose rank is the lowest; "" for a server.

    job, target: which job scrapes which process. place: its cluster and namespace.
    series: (quantity, bound) -> rank of the metric -> labels -> readings.
    """

    job: str
    target: tuple[str, ...]
    place: str = ""
    rank: float = inf
    library: str = ""
    series: dict[tuple[Quantity, float], dict[int, dict[frozenset[tuple[str, str]], _Counter | _Gauge]]] = field(
        default_factory=dict
    )

    @property
    def all_series(self) -> list[_Counter | _Gauge]:
        return [each for ranks in self.series.values() for by_labels in ranks.values() for each in by_labels.values()]

    def periods(self, begin: int, end: int) -> tuple[int, int] | None:
        """Return the first period and the one after the last, between these two; None without any."""
        rows = [each.sums for each in self.all_series if each.sums.values.shape[1]]
        if not rows:
            return None
        first = max(begin, min(row.first for row in rows))
        until = min(end, max(row.first + row.values.shape[1] for row in rows))
        return (first, until) if first < until else None


def _new_series(quantity: Quantity) -> _Counter | _Gauge:
    if quantity in USAGES:
        return _Counter([])
    return _Peak() if quantity in PEAKS else _Counter() if quantity in (*COUNTED, *BUCKETS) else _Gauge()


class Readings:
    """Readings of many pools and servers, summed up by period as they come."""

    def __init__(
        self, period_seconds: float = PERIOD_SECONDS, origin: float = 0.0, note: Callable[[str], None] = lambda _: None
    ) -> None:
        """origin: seconds since the epoch at which a period begins. note: shows which pools are left out, and why."""
        self._grid, self._note = _Grid(origin, period_seconds), note
        self._pools: dict[tuple[str, str], _Pool] = {}
        self._number = self._periods = 0
        self._until = -(2**62)

    @property
    def pools(self) -> int:
        """Number of pools."""
        return sum(bool(pool.library) for pool in self._pools.values())

    @property
    def is_empty(self) -> bool:
        """Whether no reading was of a pool or of a server."""
        return not self._pools

    def add(self, sample: Sample, page: str, at: Vector, values: Vector) -> None:
        """Add readings of a metric in the order of time. values: in seconds, if they are times.

        sample: the metric and its labels, which tell processes apart. page: the name of the page that has them, or "".
        Values that nothing can have are left out, and a second value of the same time. Raises BadInput for too many
        series.
        """
        quantity = sample.metric.quantity
        kept = (values >= 0) & (values <= MOST_VALUE) & (at > MOMENTS[0]) & (at < MOMENTS[1])
        at, values = at[kept], values[kept]
        if not at.size or quantity in ("process_started", "process_uptime"):
            return
        series = self._series(sample, instance_of(sample.labels, page))
        if series.last is not None and at[0] <= series.last[0]:
            later = at > series.last[0]
            at, values = at[later], values[later]
        if at.size > 1 and (np.diff(at) <= 0).any():
            at, firsts = np.unique(at, return_index=True)
            values = values[firsts]
        if not at.size:
            return
        if quantity not in BUCKETS:
            self._require_room(series, at)
        if isinstance(series, _Counter):
            series.add(self._grid, at, values, by_period=quantity not in BUCKETS)
        else:
            series.add(self._grid, at, values)

    def _require_room(self, series: "_Counter | _Gauge", at: Vector) -> None:
        """Raise BadInput where readings at these times make too many periods; readings that are kept count, too."""
        begin = self._grid.period(at[0]) - 1 if series.last is None else self._grid.period(series.last[0])
        self._periods += self._grid.period(at[-1]) - begin
        if isinstance(series, _Counter) and series.rises is not None and self._grid.has_several(at):
            self._periods += at.size
        if self._periods > MOST_PERIODS:
            raise BadInput(f"there are more than {MOST_PERIODS:,} periods of all series: read a shorter range")

    def _series(self, sample: Sample, instance: str) -> _Counter | _Gauge:
        metric = sample.metric
        quantity = metric.quantity
        service = next(filter(None, map(sample.labels.get, SERVICE_LABELS)), "")
        name = "/".join(filter(None, (service, *sample.pool))) if metric.library else ""
        key = instance, shortened(name, LONGEST_LABELS)
        if (pool := self._pools.get(key)) is None:
            target = (*sample.pool, *(sample.labels.get(label, "") for label in TARGET_LABELS))
            has_address = _PORT.search(target[-1])
            place = "/".join(filter(None, _first_labels(sample.labels, INSTANCE_LABELS[:2])))
            pool = self._pools[key] = _Pool(sample.labels.get("job", ""), target if has_address else key, place)
        if metric.library and metric.rank < pool.rank:
            pool.rank, pool.library = metric.rank, metric.library
        by_labels = pool.series.setdefault((quantity, sample.bound), {}).setdefault(metric.rank, {})
        labels = frozenset((name, value) for name, value in sample.labels.items() if name not in REPLICA_LABELS)
        if labels not in by_labels:
            self._number += 1
            if self._number > MOST_SERIES:
                raise BadInput(
                    f"there are more than {MOST_SERIES:,} series of pools: name fewer pages, or use --selector"
                )
            by_labels[labels] = _new_series(quantity)
        return by_labels[labels]

    def take(self, until: float = inf) -> tuple[list[PoolSpan], list[ServerSpan]]:
        """Return the periods that end before this time and were not returned yet, and forget them.

        Histograms count what was added since the last call.
        """
        end = 2**62 if until == inf else self._grid.period(until)
        spans: list[PoolSpan] = []
        servers: list[ServerSpan] = []
        copies = self._copies(end)
        others = {key[0] for key, pool in self._pools.items() if pool.library not in {"", *FRAMEWORKS}}
        for (instance, name), pool in self._pools.items():
            periods = pool.periods(self._until, end)
            is_copy = (instance, name) in copies or (pool.library in FRAMEWORKS and instance in others)
            if periods is not None and not is_copy:
                title = "/".join(filter(None, (pool.place, name or pool.library)))
                try:
                    of_pool, of_server = _taken_spans(_Taken(self._grid, pool.series, *periods), pool, instance, title)
                except BadInput as error:
                    self._note(f"the pool {shown(title)} of {shown(instance)} is left out: {error}")
                else:
                    spans += filter(None, [of_pool])
                    servers += filter(None, [of_server])
            for each in pool.all_series:
                each.drop(end)
        if until == inf:
            self._pools.clear()
        self._until = end
        return spans, servers

    def _copies(self, end: int) -> set[tuple[str, str]]:
        """Return the pools that a job with fewer processes scrapes, too: at other times, the address is another's."""
        processes = Counter(pool.job for pool in self._pools.values())
        scraped: dict[tuple[str, ...], list[tuple[str, int, int]]] = {}
        copies = set()
        for key, pool in sorted(self._pools.items(), key=lambda item: processes[item[1].job]):
            begin, stop = pool.periods(self._until, end) or (end, end)
            for other, first, until in scraped.setdefault(pool.target, []):
                if other != pool.job and 2 * (min(stop, until) - max(begin, first)) > min(stop - begin, until - first):
                    copies.add(key)
            scraped[pool.target].append((pool.job, begin, stop))
        return copies


@dataclass(frozen=True)
class _Taken:
    """The periods of a pool, from `first` to before `until`. series: as in _Pool.

    Of several metrics of a quantity, the best counts; its readings with different labels count together.
    """

    grid: _Grid
    series: Mapping[tuple[Quantity, float], Mapping[int, Mapping[frozenset[tuple[str, str]], _Counter | _Gauge]]]
    first: int
    until: int

    def counters(self, quantity: Quantity, bound: float = 0.0) -> list[_Counter]:
        ranks = self.series.get((quantity, bound))
        return [each for each in ranks[min(ranks)].values() if isinstance(each, _Counter)] if ranks else []

    def gauges(self, quantity: Quantity) -> list[_Gauge]:
        ranks = self.series.get((quantity, 0.0))
        return [each for each in ranks[min(ranks)].values() if isinstance(each, _Gauge)] if ranks else []

    @property
    def started(self) -> float:
        return self.grid.origin + self.grid.seconds * self.first

    @property
    def unknown(self) -> Vector:
        return np.full(self.until - self.first, np.nan)

    def increases(self, quantity: Quantity) -> Vector:
        increases = [each.increases(self.grid, self.first, self.until) for each in self.counters(quantity)]
        return _total(increases) if increases else self.unknown

    def statistics(self, quantity: Quantity) -> tuple[Vector, Vector, Vector, Vector]:
        """Return number, mean, variance and maximum of a gauge in each period."""
        statistics = [each.sums.cut(self.first, self.until).statistics for each in self.gauges(quantity)]
        if not statistics:
            return (self.unknown,) * 4
        numbers, means, variances, highest = zip(*statistics, strict=True)
        return np.fmax.reduce(numbers), _total(means), _total(variances), _total(highest)

    def usage_variation(self) -> tuple[Vector, Vector]:
        """Return the squared coefficient of variation of the usage times in each period, and the number of means used.

        It is estimated from the mean usage times between readings.
        """
        of_uses, of_seconds = ([each for each in self.counters(name) if each.rises] for name in USAGES)
        if len(of_uses) != 1 or len(of_seconds) != 1 or of_uses[0].is_mixed or of_seconds[0].is_mixed:
            return self.unknown, self.unknown
        (periods, at, uses), (_, other_at, seconds) = (
            np.concatenate(each.rises or [], axis=1) for each in (of_uses[0], of_seconds[0])
        )
        _, places, others = np.intersect1d(at, other_at, assume_unique=True, return_indices=True)
        periods, uses, seconds = periods[places].astype(np.int64) - self.first, uses[places], seconds[others]
        read = (uses >= 1) & (periods >= 0) & (periods < self.until - self.first)
        return _variation(periods[read], uses[read], seconds[read], self.until - self.first)

    def is_counted(self, quantity: Quantity) -> bool:
        """Return whether a counter of one process has the quantity, in some periods at least."""
        return any(each.sums.values.shape[1] and not each.is_mixed for each in self.counters(quantity))

    def mean(self, quantity: Quantity) -> Vector:
        return self.statistics(quantity)[1]

    def highest(self, *quantities: Quantity) -> Vector:
        highest: Vector = np.fmax.reduce([self.statistics(quantity)[3] for quantity in quantities], axis=0)
        return highest

    def buckets(self, quantity: Quantity) -> Buckets:
        bounds = sorted(bound for name, bound in self.series if name == quantity)
        up_to = []
        for bound in bounds:
            counters = self.counters(quantity, bound)
            up_to.append(sum(each.total for each in counters if not each.is_mixed))
            for each in counters:
                each.total = 0.0
        numbers = np.diff(np.maximum.accumulate([0.0, *up_to]))
        return filled_buckets(np.round(bounds, DECIMALS).tolist(), np.minimum(numbers, MOST_VALUE).tolist())


def _variation(periods: NDArray[np.int64], uses: Vector, seconds: Vector, number: int) -> tuple[Vector, Vector]:
    """Return the squared coefficient of variation of usage times in each of `number` periods, and the number of means.

    periods, uses, seconds: the place of a reading's period, and the usages and their summed time since the reading
    before.
    """
    period_uses, period_seconds = (np.bincount(periods, of, number) for of in (uses, seconds))
    mean = np.where(period_seconds >= LEAST_SECONDS, period_seconds, np.nan) / np.maximum(period_uses, 1)
    later, means = np.flatnonzero(np.diff(periods) == 0) + 1, seconds / uses
    of_pair = periods[later]
    squares = squared_variation((means[later] - means[later - 1]) / mean[of_pair], uses[later - 1], uses[later])
    pairs = np.bincount(of_pair, minlength=number).astype(float)
    pairs[pairs == 0] = np.nan
    return np.bincount(of_pair, squares, number) / pairs, pairs + 1


def _total(rows: Sequence[Vector]) -> Vector:
    """Return the sum of rows, in which what is not known counts as 0; NaN where none is known."""
    return np.where(np.isnan(rows).all(axis=0), np.nan, np.nansum(rows, axis=0))


def _taken_spans(taken: _Taken, pool: _Pool, instance: str, name: str) -> tuple[PoolSpan | None, ServerSpan | None]:
    """Return the spans of a pool and of a server. Raises BadInput where there are too many periods or other values."""
    if (periods := taken.until - taken.first) > MOST_SECONDS:
        raise BadInput(f"its readings are {periods:,} periods apart, of at most {MOST_SECONDS:,}")
    of_pool = _pool_span(taken, instance, name, pool.library) if pool.library else None
    has_server = any(quantity in SERVER for quantity, _ in pool.series)
    return of_pool, _server_span(taken, instance) if has_server else None


def _pool_span(taken: _Taken, instance: str, name: str, library: str) -> PoolSpan | None:
    """Return the span of a pool; None if no period of it is known."""
    number, gauge_mean, variance, _ = taken.statistics("in_use")
    size = taken.highest("size")
    size[~((size > 0) & (size < LARGEST_POOL))] = np.nan  # 0, -1 and the largest integer mean that there is no limit
    usage_seconds, wait_seconds = taken.increases("usage_seconds"), taken.increases("wait_seconds")
    if taken.is_counted("usage_seconds"):  # a few readings do not stand for the part of a period that counters miss
        gauge_mean = np.where(np.isnan(usage_seconds), np.nan, gauge_mean)
    waiting = taken.mean("waiting")
    usage_variation, usage_means = taken.usage_variation()
    names = {
        "pool": name, "instance": instance, "library": library,
        "usage_buckets": taken.buckets("usage_buckets"), "wait_buckets": taken.buckets("wait_buckets"),
    }  # fmt: skip
    return span_of(
        PoolSpan, taken.started, taken.grid.seconds, names,
        size=size, in_use_mean=gauge_mean,
        in_use_max=taken.highest("in_use", "in_use_max", "peak"),
        in_use_variance=_known(taken.mean("in_use_variance"), variance),
        samples=_known(taken.mean("samples"), number),
        waiting_mean=wait_seconds / taken.grid.seconds if np.isnan(waiting).all() else waiting,
        waiting_max=taken.highest("waiting", "waiting_max"),
        usage_seconds=usage_seconds, wait_seconds=wait_seconds,
        uses=taken.increases("uses"), timeouts=taken.increases("timeouts"),
        usage_variation=usage_variation, usage_means=usage_means,
    )  # fmt: skip


def _server_span(taken: _Taken, instance: str) -> ServerSpan | None:
    """Return the span of a server; None if no period of it is known."""
    limit = taken.highest("max_connections")
    known = limit[~np.isnan(limit)]
    return span_of(
        ServerSpan, taken.started, taken.grid.seconds,
        {"instance": instance, "max_connections": int(known[-1]) if known.size else None},
        running_mean=taken.mean("running"), running_max=taken.highest("running", "running_max"),
        connected_max=taken.highest("connected", "connected_peak"), refused=taken.increases("refused"),
        aborted=taken.increases("aborted"),
    )  # fmt: skip


def _known(first: Vector, other: Vector) -> Vector:
    """Return the values of the first, and of the other where those are not known."""
    return np.where(np.isnan(first), other, first)
