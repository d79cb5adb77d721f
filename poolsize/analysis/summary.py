"""Run -> Analysis: throughput with its spread, percentiles, and the estimates of the right size."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from poolsize.analysis.confidence import Interval, mean_interval
from poolsize.analysis.percentiles import Percentiles, merged, percentiles
from poolsize.analysis.plateau import TOLERANCE, Plateau, plateau
from poolsize.errors import WorkFailed
from poolsize.run import Check, Run, Setting, Step


@dataclass(frozen=True)
class SizeSummary:
    """Everything measured at one pool size, its repeats together.

    throughput: transactions per second with its 95 % interval. wait, usage, total: milliseconds.
    errors: failed transactions. valid: no repeat failed a check. failed_checks: those that did.
    """

    pool_size: int
    repeats: int
    throughput: Interval
    wait: Percentiles
    usage: Percentiles
    total: Percentiles
    errors: int
    failed_checks: tuple[Check, ...]

    @property
    def valid(self) -> bool:
        """Whether every check passed in every repeat."""
        return not self.failed_checks

    def failed(self, name: str) -> bool:
        """Whether the named check failed in any repeat."""
        return any(check.name == name for check in self.failed_checks)


@dataclass(frozen=True)
class Analysis:
    """What a run says. sizes: ascending in pool size. plateau: over the sizes that can tell, or None."""

    setting: Setting
    sizes: tuple[SizeSummary, ...]
    plateau: Plateau | None
    missing_steps: int

    @property
    def telling(self) -> tuple[SizeSummary, ...]:
        """The sizes whose throughput is the database's: callers could fill the pool, and none were lost."""
        return telling(self.sizes)

    def at(self, pool_size: int) -> SizeSummary:
        """The summary of one measured size."""
        return next(size for size in self.sizes if size.pool_size == pool_size)


VOIDING = ("littles_law", "connections", "errors", "users_limited")
"""Checks without which a size is left out of every estimate. A busy generator is not among them: what the
client can reach with a pool of that size was measured, and the verdict says whose limit it is."""


def analyze(run: Run, tolerance: float = TOLERANCE) -> Analysis:
    """Summarise a run by pool size. Raises WorkFailed when nothing was measured."""
    if not run.steps:
        raise WorkFailed("the run has no complete step, so there is nothing to analyze")
    by_size = sorted(run.steps, key=lambda step: step.pool_size)
    sizes = tuple(_summary(list(steps)) for _, steps in groupby(by_size, key=lambda step: step.pool_size))
    curve = [(size.pool_size, size.throughput) for size in telling(sizes)]
    return Analysis(
        setting=run.setting,
        sizes=sizes,
        plateau=plateau(curve, tolerance) if any(interval.mean for _, interval in curve) else None,
        missing_steps=len(run.missing),
    )


def telling(sizes: Iterable[SizeSummary]) -> tuple[SizeSummary, ...]:
    """The sizes that may enter an estimate."""
    return tuple(size for size in sizes if not any(size.failed(name) for name in VOIDING))


def _summary(steps: list[Step]) -> SizeSummary:
    return SizeSummary(
        pool_size=steps[0].pool_size,
        repeats=len(steps),
        throughput=mean_interval([step.counted for step in steps]),
        wait=percentiles(merged(step.latencies.wait for step in steps)),
        usage=percentiles(merged(step.latencies.usage for step in steps)),
        total=percentiles(merged(step.latencies.total for step in steps)),
        errors=sum(step.error_count for step in steps),
        failed_checks=tuple(check for step in steps for check in step.failed_checks),
    )
