"""Observation -> PoolAnswer for each pool: what was in use, where demand was cut off, and the need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import groupby
from math import ceil, inf, isfinite, nan, sqrt
from statistics import median

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.answer.finding import Finding
from poolsize.answer.fleet import Service
from poolsize.answer.traffic import Traffic
from poolsize.answer.traffic_findings import (
    BurstsUnseen,
    CurrentPool,
    CutOff,
    Divided,
    HeldUnseen,
    HoldsWhile,
    InUse,
    KeepsWait,
    LimitBound,
    LittleHeadroom,
    Observed,
    ReadingTimes,
    ShortObservation,
    SpreadAssumed,
    ThreadsBound,
    TooFewThreads,
    UsageGrows,
)
from poolsize.answer.traffic_need import process_need
from poolsize.errors import BadInput, WorkFailed
from poolsize.observe.observation import Observation, ObservedPool, ObservedServer
from poolsize.observe.process_load import BUSY, ProcessLoad, process_load
from poolsize.traffic.usage_phases import UsageTimes

RARELY = 0.01
"""The share of the busy periods in which the pool may be at its maximum, or requests wait, by chance."""
WAITS = 0.1
"""A mean wait time above this share of the usage time shows that requests wait."""
LONG = 1.0
"""That share where readings show no waiting request and no full pool: tests and new connections take time, too."""
NEGLIGIBLE = 0.01
"""With a mean wait up to this share of the usage time, at most 1 % of the requests wait longer than the usage time."""
SHORT = 0.05
"""A mean wait time in busy periods up to this share of the usage time is that of a large enough pool."""
SILENT_PERIODS = 10
"""Periods without a reading after which the answer says that the pool has no readings."""
MOSTLY = 0.5
"""A server that is saturated for this share of the periods is saturated."""
MANY_RUNNING = 32
"""Running threads with which a server counts as saturated whose cores are not known, or not busy: by then they wait."""
FULL_CORES = 0.9
"""Share of its cores that a saturated server uses."""
LONGER = 1.2
"""Usage times that grow by this factor with the connections in use wait in the database, or beyond it."""
SURE = 4
"""Standard errors beyond which such a growth counts."""
FEWEST, EQUAL = 10, 1e-6
"""Periods that show such a growth, at least, and the relative spread of their connections in use that is none."""
RESAMPLES, BLOCKS, DAY = 400, 10, 86_400
SHARE_OF_DAY = 0.9
"""Share of a day that an observation needs at least, to have the day's busiest time."""
OF_WHOLE_DEMAND = (CurrentPool, HoldsWhile, InUse, KeepsWait, LittleHeadroom)
"""Findings of the model that hold where no demand was cut off."""
LEAST_LOAD = 0.001
"""Connections in use on average, of a pool that is hardly used."""


@dataclass(frozen=True)
class Censored:
    """Signs that a pool cuts demand off, or that its server does.

    at_maximum, waiting: periods with all connections in use, and with waiting requests, of so many busy `periods`.
    timeouts: requests that gave up. saturated: threads that run on the saturated server; None for another server. wait:
    mean wait time in these periods, in usage times; NaN where it is not known. is_ordinary: requests wait as rarely as
    they do in a pool that is larger than the need. pool_size: the largest that was full in these periods, and 1 more
    than the largest for which requests waited, and not only shortly; 0 for none.
    """

    periods: int
    at_maximum: int = 0
    waiting: int = 0
    timeouts: int = 0
    has_long_waits: bool = False
    saturated: float | None = None
    wait: float = nan
    is_ordinary: bool = False
    pool_size: int = 0

    def __bool__(self) -> bool:
        """Return whether demand was cut off, by more than chance."""
        rare = RARELY * self.periods
        is_full = not self.is_ordinary and max(self.at_maximum, self.waiting) > rare
        return is_full or self.timeouts > 0 or self.has_long_waits or self.saturated is not None

    @property
    def least_need(self) -> int:
        """The pool that is needed at least."""
        return self.pool_size if self else 0


@dataclass(frozen=True)
class PoolAnswer:
    """The pools of one name, in one or more processes, of which the busiest decides.

    processes: at the busiest times. busiest: the process with the highest load, of which every figure is unless it says
    otherwise. loads: of all processes. seconds: observed in all. together: connections in use of all processes on
    average; peak_together: in the busiest period. share: of the busiest process in that, over an even share.
    silent_since: when the last period ended, in seconds since the epoch, if the observation goes on without the pools.
    size_together: connections that all processes may open. pools: names of pools in the observation.
    """

    name: str
    processes: int
    busiest: ProcessLoad
    loads: tuple[ProcessLoad, ...]
    seconds: float
    together: float
    peak_together: float
    share: float
    size_together: int | None
    censored: Censored
    growing: UsageGrows | None
    cores: int | None
    pools: int
    silent_since: float | None = None

    @property
    def is_short(self) -> bool:
        """Whether the observation may miss the day's busiest time."""
        return self.seconds < SHARE_OF_DAY * DAY

    @property
    def is_used(self) -> bool:
        """Whether any connection was in use, or demand was cut off: otherwise the need is not known."""
        return bool(self.censored) or any(load.in_use.any() or load.highest for load in self.loads)

    @property
    def period(self) -> float:
        """The usual length of a period in seconds."""
        return float(np.median(self.busiest.seconds))

    @property
    def counts_timeouts(self) -> bool:
        """Whether a metric counts the requests that gave up."""
        return any(np.isfinite(load.pool["timeouts"]).any() for load in self.loads)

    @property
    def without_answer(self) -> int:
        """Requests that gave up while connections were free, because the database did not answer."""
        return round(sum(load.total("timeouts") - float(load.timeouts.sum()) for load in self.loads))

    @property
    def way_out(self) -> str:
        """What to do where no connection was in use."""
        elsewhere = ", or by --metrics in place of --url" if self.busiest.is_lower_bound else ""
        return f"observe for longer, or at the peak{elsewhere}"

    @property
    def is_lower_bound(self) -> bool:
        """Whether the need is a lower bound."""
        return bool(self.censored) or self.busiest.is_lower_bound

    @property
    def busiest_at(self) -> float:
        """Seconds since the epoch at which the busiest period starts."""
        return float(self.busiest.at[int(np.argmax(self.busiest.load))])

    @property
    def rate(self) -> float | None:
        """Requests per second of all processes in the busiest period; None where usage times are not known."""
        of_connection = self.busiest.requests_per_second
        return of_connection * self.peak_together if of_connection else None

    @property
    def most_used(self) -> ProcessLoad:
        """The process with the most connections in use in any sample; the busiest without samples."""
        return max((self.busiest, *self.loads), key=lambda load: load.highest or 0)

    @property
    def readings(self) -> ReadingTimes:
        """What shows the most connections in use."""
        number = self.most_used.readings
        return "each moment" if number is None else "single" if number == 1 else "several"

    def traffic(
        self,
        growth: float = 1.0,
        service: Service | None = None,
        usage: UsageTimes | None = None,
        max_wait_p99_ms: float | None = None,
        wait_limit_ms: float | None = None,
    ) -> Traffic:
        """Return the traffic of the busiest period.

        growth: factor on the observed rate. service: the processes, where they are not the observed processes. usage:
        the usage times where they are not known. The waits are limited as in Traffic; a limit above the observed mean
        wait time is not known to need a larger pool, unless requests gave up.
        """
        bursts, service = self.busiest.bursts, service or Service("application", self.processes)
        fewer = min(growth, 1.0) * min(self.processes / service.pools, 1.0)
        usage, wait_ms = usage or self.busiest.usage, self.busiest.wait_ms
        is_kept = max_wait_p99_ms is not None and wait_ms is not None and max_wait_p99_ms > wait_ms
        return Traffic(
            1000 * self.peak_together / usage.mean_ms * growth,
            usage,
            service,
            bursts.times,
            max_wait_p99_ms,
            wait_limit_ms,
            busiest=min(self.share, service.pools),
            busy_share=bursts.share,
            busy_seconds=bursts.seconds,
            least_need=1 if is_kept and not self.censored.timeouts else ceil(self.censored.least_need * fewer),
        )

    @cached_property
    def need(self) -> int:
        """The smallest pool that keeps the p99 wait within the usage time; of censored data, a lower bound."""
        return process_need(self.traffic()).pool_size

    def need_at(self, growth: float, *, twice: bool = False) -> int:
        """Return the need at so many times the observed rate. twice: at twice as many."""
        if growth == 1:
            return self.need_at_twice if twice else self.need
        traffic = self.traffic(growth)
        if twice:  # of cut-off demand, the least need grows up to the observed pool
            traffic = replace(traffic.twice(), least_need=self.traffic(min(2 * growth, 1.0)).least_need)
        return process_need(traffic).pool_size

    @cached_property
    def need_at_twice(self) -> int:
        """The need at twice the rate."""
        return process_need(self.traffic().twice()).pool_size

    def need_range(self, traffic: Traffic | None = None) -> tuple[int, int]:
        """Return the 95 % range of the need: by other days or parts of the observation, and by what is not known.

        traffic: of the pool, with growth or other processes; None for the observed traffic. Usage times do not grow.
        """
        load, traffic = self.busiest, traffic or self.traffic()
        need = process_need(traffic).pool_size
        highest = max(float(load.load.max()), LEAST_LOAD)
        at_low, at_high = (replace(traffic, rate=traffic.rate * each / highest) for each in _resampled(load))
        pairs = [(at_low, at_high)]
        mean_ms = traffic.usage.mean_ms
        if load.variations[0] < load.variations[1] and traffic.usage == load.usage_of(mean_ms=mean_ms):
            usages = [load.usage_of(each, mean_ms) for each in load.variations]
            pairs.append((replace(traffic, usage=usages[0]), replace(traffic, usage=usages[1])))
        bursts = [load.bursts_at(each) for each in (0.025, 0.975)]
        if bursts[0] != bursts[1]:
            changed = [replace(traffic, burst=each.times, busy_share=each.share) for each in bursts]
            pairs.append((changed[0], changed[1]))
        changes = np.array([[process_need(each).pool_size - need for each in pair] for pair in pairs])
        below, above = np.linalg.norm(np.minimum(changes[:, 0], 0)), np.linalg.norm(np.maximum(changes[:, 1], 0))
        return max(1, round(need - below)), round(need + above)

    def findings(
        self,
        traffic: Traffic,
        growth: float,
        need_range: tuple[int, int] | None,
        of_model: Sequence[Finding],
        beside: Sequence[Finding] = (),
    ) -> Iterator[Finding]:
        """Yield what the observation says of the answer for the traffic, then what the model says.

        need_range: None where it is not known. of_model: without those of a demand that was not cut off, where it was.
        beside: what the answer has of other pools.
        """
        signs, load = self.censored, self.busiest
        if signs:
            is_saturated = signs.saturated is not None
            yield CutOff(
                process_need(traffic).pool_size,
                signs.at_maximum,
                signs.waiting,
                signs.periods,
                signs.timeouts,
                is_saturated,
            )
        of_need = None if any(isinstance(each, KeepsWait) for each in of_model) else need_range
        yield Observed(self.seconds, of_need, growth, self.most_used.highest, self.most_used.size_then, self.readings)
        yield from beside
        yield from self._cautions(traffic.service.pools, growth)
        for each in of_model:
            if isinstance(each, SpreadAssumed) and not load.varies_as_assumed:
                continue  # it was observed, and is that of exponential times
            if not signs:
                yield replace(each, range=need_range) if isinstance(each, KeepsWait) else each
            elif not isinstance(each, OF_WHOLE_DEMAND):
                yield replace(each, wait_p99_ms=None) if isinstance(each, LimitBound) else each
        is_assumed = load.varies_as_assumed and traffic.usage == load.usage_of(mean_ms=traffic.usage.mean_ms)
        if is_assumed and not any(isinstance(each, SpreadAssumed | ThreadsBound | TooFewThreads) for each in of_model):
            yield SpreadAssumed(several=False, variation=traffic.usage.variation)

    def _cautions(self, processes: int, growth: float) -> Iterator[Finding]:
        """Yield what the observation may not show, and what it does not say of the database."""
        if processes > self.processes * max(growth, 1) and not self.busiest.is_lower_bound:  # a server counts them all
            yield Divided(self.processes, processes, max(growth, 1) * processes / self.processes)
        if self.growing:
            yield self.growing
        if self.busiest.is_lower_bound:
            yield HeldUnseen()
        if self.is_short:
            yield ShortObservation(self.seconds)
        if self.busiest.is_blind:
            yield BurstsUnseen()


def pool_answers(observation: Observation) -> tuple[PoolAnswer, ...]:
    """Return the answers of all pools whose connections in use are known, the most used first."""
    saturated = saturated_threads(observation.servers)
    cores = next((server.cores for server in observation.servers if server.cores), None)
    by_name = groupby(observation.pools, key=lambda pool: pool.pool)
    loads = {name: [load for pool in pools if (load := process_load(pool))] for name, pools in by_name}
    all_loads = [load for each in loads.values() for load in each]
    answers = [_answer(name, each, all_loads, saturated, cores, len(loads)) for name, each in loads.items() if each]
    ends = [max(_end(load.pool) for load in each.loads) for each in answers]
    if observation.source.kind != "server":  # an account may have no connections any more
        end = max([*ends, _end_of_prometheus(observation)])
        answers = [
            replace(answer, silent_since=pool_end) if end - pool_end > SILENT_PERIODS * answer.period else answer
            for answer, pool_end in zip(answers, ends, strict=True)
        ]
    return tuple(sorted(answers, key=lambda answer: -answer.together))


def _end(pool: ObservedPool) -> float:
    """Return when the last period of a pool ended, in seconds since the epoch."""
    return float(pool.at[-1] + pool.seconds[-1])


def _end_of_prometheus(observation: Observation) -> float:
    """Return when the observation of a Prometheus server ends; 0 for another source."""
    source = observation.source
    is_server = source.kind == "prometheus" and "://" in source.name
    return datetime.fromisoformat(source.started).timestamp() if is_server else 0.0


def unknown_pools(observation: Observation, answers: Sequence[PoolAnswer]) -> tuple[str, ...]:
    """Return the names of the pools that have no answer: nothing says how many of their connections are in use."""
    known = {answer.name for answer in answers}
    return tuple(sorted({span.pool for span in observation.spans} - known))


def pool_named(observation: Observation, name: str | None) -> tuple[PoolAnswer, ...]:
    """Return the answers of the pool of this name, or of all pools for None. Raises as answers_named."""
    return answers_named(pool_answers(observation), name)


def answers_named(answers: Sequence[PoolAnswer], name: str | None) -> tuple[PoolAnswer, ...]:
    """Return the answer of the pool of this name, or all answers for None.

    A part of a name is enough if a single pool has it. Raises BadInput where no pool has it, or several have, and
    WorkFailed where none of the pools has a connection in use.
    """
    chosen = tuple(answer for answer in answers if name in {None, answer.name})
    if not chosen:
        similar = tuple(answer for answer in answers if name and name in answer.name)
        chosen = similar if len(similar) == 1 else ()
    if answers and not chosen:
        names = ", ".join(ascii(answer.name)[1:-1] for answer in (similar or answers)[:FEWEST])
        why = "is a part of several names" if similar else "is not in the observation, which has"
        raise BadInput(f"`pool` {name!a} {why}{':' if similar else ''} {names}: name one of these")
    if not any(answer.is_used for answer in chosen):
        way_out = chosen[0].way_out if chosen else "observe for longer, or another source"
        raise WorkFailed(f"no connection was in use in the observation: {way_out}")
    return chosen


def _answer(
    name: str,
    loads: list[ProcessLoad],
    all_loads: list[ProcessLoad],
    saturated: float | None,
    cores: int | None,
    pools: int,
) -> PoolAnswer:
    """Return the answer of the pools of one name. all_loads: of all pools, which share the database."""
    busiest = max(loads, key=lambda load: float(load.load.max()))
    peak = max(float(busiest.load.max()), LEAST_LOAD)
    period = float(np.median(busiest.seconds))
    times, together, number = summed([(load.at, load.load) for load in loads], period)
    all_in_use = max(float(together.max()), peak)
    processes = round(median(number[together >= BUSY * together.max()].tolist()))  # others may start for the peak
    share = max(1.0, peak / (all_in_use / processes))
    sizes = [load.size for load in loads if load.size is not None]
    size_together = round(median(sizes) * processes) if sizes else None
    mean = float(together.mean()) if len(times) else busiest.mean
    censored = _censored(busiest, loads, saturated)
    growing = _growing(busiest, all_loads)
    seconds = max(float(busiest.seconds.sum()), len(times) * period)
    answer = PoolAnswer(
        name, processes, busiest, tuple(loads), seconds, mean, all_in_use, share, size_together, censored, growing,
        cores, pools,
    )  # fmt: skip
    ordinary = replace(answer, censored=replace(censored, is_ordinary=True))
    is_large = censored.wait <= SHORT and busiest.size is not None and ordinary.need < busiest.size
    return ordinary if censored and (is_large or censored.wait <= NEGLIGIBLE) else answer


def summed(series: list[tuple[Vector, Vector]], period: float) -> tuple[Vector, Vector, Vector]:
    """Return times, the sum of the values of several series at each time, and the number of series that have a value.

    series: times and values. Times within a period are the same.
    """
    places = np.concatenate([np.floor(at / period + 0.5) for at, _ in series]).astype(np.int64)
    known, where = np.unique(places, return_inverse=True)
    sums = np.bincount(where, np.concatenate([values for _, values in series]), len(known))
    numbers = np.bincount(where, minlength=len(known))
    return np.asarray(known * period, float), np.asarray(sums, float), np.asarray(numbers, float)


def _censored(busiest: ProcessLoad, loads: list[ProcessLoad], saturated: float | None) -> Censored:
    """Return the signs of cut-off demand, in the busy periods of any of the processes."""
    periods = at_maximum = waiting = 0
    of_usage, readings, full_size, waited_size = list[float](), 0.0, 0.0, 0.0
    share = LONG if any(load.highest is not None for load in loads) else WAITS
    floor = BUSY * float(busiest.load.max())
    for load in loads:
        size, highest, waits = (load.series(name) for name in ("size", "in_use_max", "waiting_max"))
        mean_waits = load.series("waiting_mean")
        full = (np.isfinite(size) & (size >= 1)) & ((highest >= size) | (load.in_use >= size))
        waits_now = (waits > 0) | (mean_waits > 0)
        busy = (load.load >= floor) | full | waits_now
        periods += int(busy.sum())
        at_maximum += int(full.sum())
        waiting += int(waits_now.sum())
        in_use, waited = load.in_use * load.seconds, load.series("wait_seconds")
        is_counted = np.isfinite(waited)
        waited = np.where(is_counted, waited, mean_waits * load.seconds)
        readings += float(np.nansum(np.where(is_counted, inf, load.series("samples"))[busy]))
        if (known := busy & np.isfinite(waited)).any():
            of_usage.append(waited[known].sum() / max(in_use[known].sum(), LEAST_LOAD))
        is_long = waited > np.where(full | waits_now, SHORT, share) * in_use
        has_waited = busy & np.where(is_counted, is_long, waits_now) | (load.timeouts[load.known] > 0)
        full_size = max(full_size, np.nanmax(size, where=full, initial=0.0))
        waited_size = max(waited_size, np.nanmax(size + 1, where=has_waited, initial=0.0))
    timeouts = sum(float(load.timeouts.sum()) for load in loads)
    usage_ms, wait_ms = busiest.usage_ms, busiest.wait_ms
    share = WAITS if at_maximum or waiting or timeouts else share
    has_long_waits = usage_ms is not None and wait_ms is not None and wait_ms > share * usage_ms
    wait = max(of_usage, default=nan) if readings * RARELY >= 1 else nan  # few readings show no rare waits
    signs = at_maximum, waiting, ceil(timeouts), has_long_waits, saturated, wait
    pool_size = full_size if saturated is not None or wait <= SHORT else max(full_size, waited_size)
    return Censored(periods, *signs, pool_size=int(pool_size))


def saturated_threads(servers: Sequence[ObservedServer]) -> float | None:
    """Return the threads that run on the server on average, if it is saturated for most of the time; else None.

    Of several servers, nothing says which of them a pool uses: all must be saturated, and the least busy server counts.
    """
    periods = [_saturated_periods(server) for server in servers]
    if not all(each and sum(each) >= MOSTLY * len(each) for each in periods):
        return None
    running = [_running(server) for server in servers]
    return min((float(np.nanmean(each)) if np.isfinite(each).any() else inf for each in running), default=None)


def _running(server: ObservedServer) -> Vector:
    return np.where(np.isfinite(server["running_mean"]), server["running_mean"], server["running_max"])


def _saturated_periods(server: ObservedServer) -> list[bool]:
    """Return whether the server is saturated in each period that shows it.

    A thread that sleeps in a statement runs, too: where the busy cores are known, they decide, or very many threads.
    """
    threads, busy, cores = _running(server), server["busy_cores"], server.cores or inf
    most = max(MANY_RUNNING, server.cores or 0)
    enough = most if server.cores is None else np.where(np.isfinite(busy), most, cores)
    is_known = np.isfinite(threads) | (np.isfinite(busy) & isfinite(cores))
    saturated: list[bool] = ((threads >= enough) | (busy >= FULL_CORES * cores))[is_known].tolist()
    return saturated


def _growing(busiest: ProcessLoad, all_loads: list[ProcessLoad]) -> UsageGrows | None:
    """Return how usage times grow with the connections in use of all pools; None where they do not, or by chance.

    Mean usage times are those at the 5th and the 95th percentile of the connections in use.
    A period's connections in use are those of its neighbours: a long usage makes both its own.
    """
    uses, seconds = busiest.series("uses"), busiest.series("usage_seconds")
    period = float(np.median(busiest.seconds))
    times, in_use, _ = summed([(load.at, load.in_use) for load in all_loads], period)
    around = np.interp(busiest.at - period, times, in_use) / 2 + np.interp(busiest.at + period, times, in_use) / 2
    read = (uses > 0) & (seconds > 0)
    if read.sum() < FEWEST or around[read].std() <= EQUAL * around[read].mean():
        return None
    usages_ms, weights = 1000 * seconds[read] / uses[read], uses[read] / uses[read].sum()
    mean, off = float(weights @ usages_ms), around[read] - weights @ around[read]
    square = float(weights @ off**2)
    slope = float(weights @ (off * usages_ms)) / square
    left = usages_ms - mean - slope * off
    error = sqrt(float(weights**2 @ (off * left) ** 2)) / square
    low_ms, high_ms = (mean + slope * float(end) for end in np.quantile(off, [0.05, 0.95]))
    if slope < SURE * error or low_ms <= 0 or high_ms < LONGER * low_ms:
        return None
    return UsageGrows(float(low_ms), float(high_ms))


def _resampled(load: ProcessLoad) -> tuple[float, float]:
    """Return the 95 % range of the highest load, of other days, or of other parts of the observation, like these."""
    days = ((load.at - load.at[0]) // DAY).astype(int)
    parts = days if days[-1] >= 2 else np.arange(len(load.at)) * BLOCKS // len(load.at)
    peaks = np.array([load.load[parts == part].max() for part in np.unique(parts)])
    random = np.random.default_rng(0)
    chosen = random.integers(0, len(peaks), (RESAMPLES, len(peaks)))
    highest = peaks[chosen].max(axis=1) + random.normal(0.0, load.load_error, RESAMPLES)
    low, high = np.quantile(highest, [0.025, 0.975])
    return max(float(low), LEAST_LOAD), float(high)
