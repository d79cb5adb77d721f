"""Run -> Analysis: throughput with its spread, percentiles, and the estimates of the right size."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from poolsize.analysis.cause import Cause, cause
from poolsize.analysis.closed_network import Station
from poolsize.analysis.confidence import Interval, mean_interval
from poolsize.analysis.demands import Demands, at_size
from poolsize.analysis.estimates import Estimate, estimates
from poolsize.analysis.network_fit import NO_CLIENT
from poolsize.analysis.percentiles import QUANTILES, Percentiles, merged, percentiles, quantile_interval
from poolsize.analysis.plateau import TOLERANCE, Plateau, carrier, plateau
from poolsize.errors import WorkFailed
from poolsize.run import LATENCIES, Calibration, Check, Run, Setting, Step


@dataclass(frozen=True)
class SizeSummary:
    """Everything measured at one pool size, its repeats together.

    throughput: transactions per second with its 95 % interval. wait, usage, total: milliseconds.
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

    sizes: ascending in pool size. plateau: over the sizes that can tell, or None. cause: what holds the throughput
    from there on. verified: the answer at the load that people run at, if that was asked for. void: steps that chance
    spoiled, and that were measured again. calibration: what making the load costs by itself.
    """

    setting: Setting
    sizes: tuple[SizeSummary, ...]
    plateau: Plateau | None
    cause: Cause | None
    verified: tuple[Verified, ...]
    void: tuple[Step, ...]
    calibration: Calibration | None
    missing_steps: int

    @property
    def telling(self) -> tuple[SizeSummary, ...]:
        """The sizes whose throughput is the database's: callers could fill the pool, and none were lost."""
        return telling(self.sizes)

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """What each estimator makes of the telling sizes; none at a fixed rate, whose throughput is no answer."""
        if self.plateau is None or self.setting.plan.rate is not None:
            return {}
        found = self.telling[-1].demands  # where the client is busiest, and its demand best known
        client = Station(found.client_ms, found.client_processes) if found else NO_CLIENT
        curve = [(size.pool_size, size.throughput) for size in self.telling]
        return estimates(curve, self.plateau.tolerance, client)

    def at(self, pool_size: int) -> SizeSummary:
        """The summary of one measured size."""
        return next(size for size in self.sizes if size.pool_size == pool_size)


VOIDING = ("littles_law", "arrivals", "connections", "errors", "workers", "quiet", "users_limited")
"""Checks without which a size is left out of every estimate. A busy generator is not among them: what the
client can reach with a pool of that size was measured, and the verdict says whose limit it is. Nor is a drift: it
widens the interval by itself."""


def analyze(run: Run, tolerance: float = TOLERANCE) -> Analysis:
    """Summarise a run by pool size. Raises WorkFailed when nothing was measured."""
    if not run.steps:
        raise WorkFailed("the run has no complete step, so there is nothing to analyze")
    steps = sorted(run.curve, key=lambda step: step.pool_size)
    sizes = tuple(
        _summary(list(same), at_size(steps, pool_size, run.setting.cores))
        for pool_size, same in groupby(steps, key=lambda step: step.pool_size)
    )
    curve = [(size.pool_size, size.throughput) for size in telling(sizes)]
    found = None
    if run.plan.rate is not None and curve:
        found = carrier([size for size, _ in curve], run.plan.rate, tolerance)
    elif any(interval.mean for _, interval in curve):
        found = plateau(curve, tolerance)
    return Analysis(
        setting=run.setting,
        sizes=sizes,
        plateau=found,
        cause=_cause(run, sizes, found),
        verified=tuple(_verified(step, sizes) for step in run.verification),
        void=run.void,
        calibration=run.calibration,
        missing_steps=len(run.missing),
    )


def telling(sizes: Iterable[SizeSummary]) -> tuple[SizeSummary, ...]:
    """The sizes that may enter an estimate."""
    return tuple(size for size in sizes if not any(size.failed(name) for name in VOIDING))


def _summary(steps: list[Step], found: Demands | None) -> SizeSummary:
    wait, usage, total = (percentiles(merged(getattr(step.latencies, name) for step in steps)) for name in LATENCIES)
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


def _cause(run: Run, sizes: Iterable[SizeSummary], found: Plateau | None) -> Cause | None:
    if found is None or run.plan.rate is not None:  # then it is the rate that holds it
        return None
    beyond = {size.pool_size for size in telling(sizes) if size.pool_size >= found.pool_size}
    steps = [step for step in run.curve if step.pool_size in beyond]
    return cause(steps, run.setting.server, run.setting.disks, run.calibration)


def _verified(step: Step, sizes: Iterable[SizeSummary]) -> Verified:
    capacity = next(size.throughput.mean for size in sizes if size.pool_size == step.pool_size)
    rate = step.rate or 0.0
    return Verified(
        pool_size=step.pool_size,
        load=rate / capacity,
        rate=rate,
        throughput=step.mean_throughput,
        wait=percentiles(merged([step.latencies.wait])),
        total=percentiles(merged([step.latencies.total])),
        failed_checks=step.failed_checks,
    )
