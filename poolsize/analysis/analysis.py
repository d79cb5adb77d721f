"""Run -> Analysis: throughput with its spread, percentiles, and the estimates of the right size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import log, nan
from statistics import fmean

import numpy as np
from hdrh.histogram import HdrHistogram

from poolsize.analysis.bimodal import TwoKinds, two_kinds
from poolsize.analysis.bottleneck import Cause, cause
from poolsize.analysis.checks import VOIDING, telling
from poolsize.analysis.curve import Curves, Observation, candidates, curves, gathered
from poolsize.analysis.estimates import Estimate, answers, estimates, fitted_network
from poolsize.analysis.models.closed_network import Station
from poolsize.analysis.models.network_fit import NO_CLIENT, FittedNetwork
from poolsize.analysis.plateau import TOLERANCE, Plateau, carrier, plateau
from poolsize.analysis.service_demand import Demands, at_size
from poolsize.analysis.stats.confidence import Interval, mean_interval
from poolsize.analysis.stats.percentiles import QUANTILES, UNKNOWN, Percentiles, merged, percentiles, quantile_interval
from poolsize.errors import WorkFailed
from poolsize.runs.run import LATENCIES, Check, Run, Setting, Step

PROCESSORS = ("server CPU", "shared CPU", "generator")
"""Causes that leave the database nothing but its processor to be short of."""


@dataclass(frozen=True)
class SizeSummary:
    """Everything measured at one pool size, its repeats together.

    throughput: transactions per second with its 95 % interval. wait, usage, total: milliseconds; of a replay
    only the total's p95 is known, the mean of its recording's seconds.
    intervals: latency -> quantile -> its 95 % interval in milliseconds; empty for runs that kept no sections.
    errors: failed transactions. failed_checks: of any repeat. demands: what a transaction takes of each side.
    """

    pool_size: int
    repeats: int
    throughput: Interval
    wait: Percentiles
    usage: Percentiles
    total: Percentiles
    intervals: Mapping[str, Mapping[str, Interval]]
    errors: int
    failed_checks: tuple[Check, ...]
    demands: Demands | None

    @property
    def valid(self) -> bool:
        """Whether every check passed in every repeat."""
        return not self.failed_checks

    def failed(self, name: str) -> bool:
        """Whether the named check failed in any repeat."""
        return any(check.name == name for check in self.failed_checks)


@dataclass(frozen=True)
class Verified:
    """A pool size measured at a fraction of its own capacity, with transactions that arrive by the clock.

    load: that fraction. rate: transactions due per second; throughput: those done. wait, total: milliseconds.
    """

    pool_size: int
    load: float
    rate: float
    throughput: float
    wait: Percentiles
    total: Percentiles
    failed_checks: tuple[Check, ...]


@dataclass(frozen=True)
class Analysis:
    """What a run says.

    sizes: ascending in pool size. curves: drawn through those that can tell, or None without any, and at a fixed rate.
    plateau: over them, or None. cause: what holds the throughput from there on. verified: the answer at the load that
    people run at, if that was asked for.
    """

    run: Run
    sizes: tuple[SizeSummary, ...]
    curves: Curves | None
    plateau: Plateau | None
    cause: Cause | None
    verified: tuple[Verified, ...]

    @property
    def setting(self) -> Setting:
        """Where and how it was measured."""
        return self.run.setting

    @property
    def of_grid(self) -> bool:
        """Whether somebody chose the sizes."""
        return self.setting.plan.search is None

    @property
    def knows_latencies(self) -> bool:
        """Whether it knows how long callers waited and used a connection; a replay does not."""
        return all(step.latencies for step in self.run.curve)

    @property
    def knows_p95(self) -> bool:
        """Whether it knows at least a p95 of the total time."""
        return any(size.total.p95 > 0 for size in self.sizes)

    @cached_property
    def failures(self) -> Mapping[str, Mapping[int, str]]:
        """Check -> pool size -> what it saw where it did not pass, the last time at that size."""
        failed: dict[str, dict[int, str]] = {}
        for size in self.sizes:
            for check in size.failed_checks:
                failed.setdefault(check.name, {})[size.pool_size] = check.detail
        return failed

    @cached_property
    def telling(self) -> tuple[SizeSummary, ...]:
        """The sizes whose throughput is the database's: callers could fill the pool, and none were lost."""
        return tuple(size for size in self.sizes if not any(size.failed(name) for name in VOIDING))

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """What each estimator makes of the telling sizes; none at a fixed rate, whose throughput is no answer."""
        if self.plateau is None or self.curves is None:
            return {}
        return estimates(_points(self.run), self.plateau.tolerance, self._client, of_grid=self.of_grid)

    @cached_property
    def answers(self) -> Mapping[str, int | None]:
        """Only the estimates' sizes, which is much quicker than to test each."""
        if self.plateau is None or self.curves is None:
            return {"plateau": self.plateau.pool_size if self.plateau else None}
        others = answers(_points(self.run), self.plateau.tolerance, self._client)
        return {"plateau": self.plateau.pool_size, **others}

    @cached_property
    def network(self) -> FittedNetwork | None:
        """The closed network fitted to the telling sizes, or None with too few."""
        return None if self.curves is None else fitted_network(_points(self.run), self._client)

    @property
    def statements(self) -> float | None:
        """How many statements a transaction has, by the server's own count; None where that was not read."""
        counted = [
            step.counter("Questions") / step.mean_throughput  # type: ignore[operator]  # known by the condition
            for step in telling(self.run.curve)
            if step.counter("Questions") and step.mean_throughput
        ]
        return fmean(counted) if counted else None

    @property
    def _client(self) -> Station:
        found = self.telling[-1].demands  # where the client is busiest, and its demand best known
        return Station(found.client_ms, found.client_processes) if found else NO_CLIENT

    def at(self, pool_size: int) -> SizeSummary:
        """The summary of one measured size; raises KeyError for another."""
        return self._summaries[pool_size]

    @cached_property
    def _summaries(self) -> Mapping[int, SizeSummary]:
        return {size.pool_size: size for size in self.sizes}

    def nearest(self, pool_size: int) -> SizeSummary:
        """The summary of the telling size that is nearest on a logarithmic scale."""
        return min(self.telling, key=lambda size: abs(log(size.pool_size / pool_size)))

    def throughput_at(self, pool_size: int) -> float:
        """Transactions per second at a size between the smallest and the largest.

        By the curve in the middle of all; at a fixed rate, as the nearest size was measured.
        """
        return self.curves.at(pool_size) if self.curves else self.nearest(pool_size).throughput.mean

    def measured(self, pool_size: int) -> bool:
        """Whether it is one of the telling sizes."""
        return any(size.pool_size == pool_size for size in self.telling)

    def around(self, pool_size: int) -> tuple[int, int]:
        """The nearest telling sizes below and above one that lies between."""
        sizes = [size.pool_size for size in self.telling]
        return max(one for one in sizes if one < pool_size), min(one for one in sizes if one > pool_size)

    @cached_property
    def two_kinds(self) -> TwoKinds | None:
        """Whether short and long transactions share the pool, by how long they hold a connection."""
        usage = self.usage_histogram
        if usage is None or self.plateau is None or self.nearest(self.plateau.pool_size).failed("generator"):
            return None  # a busy client parts usage times by its own turns
        return two_kinds(usage)

    @cached_property
    def usage_histogram(self) -> HdrHistogram | None:
        """How long connections were held at the measured size nearest to the plateau, in us; None in a replay."""
        return None if self.plateau is None else self.histogram("usage", self.nearest(self.plateau.pool_size).pool_size)

    def histogram(self, latency: str, pool_size: int) -> HdrHistogram | None:
        """A latency (wait, usage or total) at one measured size, its repeats together, in us; None in a replay."""
        stored = [getattr(step.latencies, latency) for step in self.steps_at(pool_size) if step.latencies]
        return merged(stored) if stored else None

    def counter(self, name: str, pool_size: int) -> float | None:
        """Mean of a server counter at one measured size, or None where it was not read."""
        read = [value for step in self.steps_at(pool_size) if (value := step.counter(name)) is not None]
        return fmean(read) if read else None

    def load_cores(self, pool_size: int) -> float:
        """Cores that the load processes kept busy at one measured size."""
        return fmean(sum(worker.cpu for worker in step.workers) for step in self.steps_at(pool_size))

    def steps_at(self, pool_size: int) -> tuple[Step, ...]:
        """The steps of one measured size, its repeats in their order."""
        return self._by_size[pool_size]

    @cached_property
    def _by_size(self) -> Mapping[int, tuple[Step, ...]]:
        steps = sorted(self.run.curve, key=lambda step: step.pool_size)
        return {size: tuple(same) for size, same in groupby(steps, key=lambda step: step.pool_size)}

    @cached_property
    def database_sizes(self) -> tuple[int, tuple[int, int]] | None:
        """What the database alone needs, by the demands at the plateau, and the range of that over all sizes.

        None where its processor is not what holds the throughput, or its part of a transaction is not known.
        """
        if self.plateau is None or self.cause is None or self.cause.name not in PROCESSORS:
            return None
        needs = {
            one.pool_size: one.demands.database_size(self.plateau.tolerance)
            for one in self.telling
            if one.demands and not one.demands.inferred and one.demands.server_ms > 0
        }
        known = [size for size in needs.values() if size]
        chosen = needs.get(self.nearest(self.plateau.pool_size).pool_size)
        return (chosen, (min(known), max(known))) if chosen else None

    @property
    def best_size(self) -> int | None:
        """The measured size with the most throughput, on the curve through all; None at a fixed rate."""
        return self.curves.best_size if self.curves else None

    def latency_ms_at(self, quantile: str, pool_size: int) -> float:
        """A quantile of the total time at a size, straight between measured ones when both axes are logarithmic.

        NaN where the run does not know it.
        """
        times = [(size.pool_size, getattr(size.total, quantile)) for size in self.telling]
        known = [(size, time) for size, time in times if time > 0]
        if not known:
            return nan
        sizes, milliseconds = np.log(np.array(known)).T
        return float(np.exp(np.interp(log(pool_size), sizes, milliseconds)))


def analyze(run: Run, tolerance: float = TOLERANCE) -> Analysis:
    """Summarise a run by pool size. Raises WorkFailed when nothing was measured."""
    if not run.steps:
        raise WorkFailed("the run has no complete step, so there is nothing to analyze")
    steps = sorted(run.curve, key=lambda step: step.pool_size)
    sizes = tuple(
        _summary(list(same), at_size(steps, pool_size, run.setting.cores))
        for pool_size, same in groupby(steps, key=lambda step: step.pool_size)
    )
    points = _points(run)
    drawn = found = None
    if run.plan.rate is not None and points:
        found = carrier([one.pool_size for one in points], run.plan.rate, tolerance)
    elif any(one.throughput for one in points):
        measured = [one.pool_size for one in points]
        drawn = curves(points, candidates(min(measured), max(measured), measured))
        found = plateau(drawn, tolerance, of_grid=run.plan.search is None)
    verified = tuple(_verified(step, drawn) for step in run.verification)
    return Analysis(run, sizes, drawn, found, _cause(run, found), verified)


def _points(run: Run) -> Sequence[Observation]:
    """The telling steps as points of the curve, ascending in size."""
    steps = sorted(telling(run.curve), key=lambda step: step.pool_size)
    return gathered([Observation.of(step) for step in steps])


def _summary(steps: list[Step], found: Demands | None) -> SizeSummary:
    stored = [step.latencies for step in steps if step.latencies]
    if stored:
        wait, usage, total = (percentiles(merged(getattr(one, name) for one in stored)) for name in LATENCIES)
    else:
        seconds = [value for step in steps for value in step.p95_ms[step.warm_up_seconds :] if value > 0]
        wait = usage = UNKNOWN
        total = replace(UNKNOWN, p95=fmean(seconds)) if seconds else UNKNOWN
    return SizeSummary(
        pool_size=steps[0].pool_size,
        repeats=len(steps),
        throughput=mean_interval([step.counted for step in steps]),
        wait=wait,
        usage=usage,
        total=total,
        intervals={
            name: {
                quantile: quantile_interval(
                    getattr(values, quantile), [step.sections[name][quantile] for step in steps]
                )
                for quantile in QUANTILES
            }
            for name, values in zip(LATENCIES, (wait, usage, total), strict=True)
            if all(name in step.sections for step in steps)
        },
        errors=sum(step.error_count for step in steps),
        failed_checks=tuple(check for step in steps for check in step.failed_checks),
        demands=found,
    )


def _cause(run: Run, found: Plateau | None) -> Cause | None:
    if found is None or run.plan.rate is not None:  # then it is the rate that holds it
        return None
    steps = telling(run.curve)
    largest = max(step.pool_size for step in steps)
    beyond = [step for step in steps if step.pool_size >= min(found.pool_size, largest)]
    if run.setting.server is None:
        return None
    return cause(beyond, run.setting.server, run.setting.disks, run.calibration)


def _verified(step: Step, drawn: Curves | None) -> Verified:
    rate = step.rate or 0.0
    capacity = drawn.at(step.pool_size) if drawn else rate
    latencies = step.latencies
    assert latencies is not None  # a replay has no open loop
    return Verified(
        pool_size=step.pool_size,
        load=rate / capacity,
        rate=rate,
        throughput=step.mean_throughput,
        wait=percentiles(merged([latencies.wait])),
        total=percentiles(merged([latencies.total])),
        failed_checks=step.failed_checks,
    )
