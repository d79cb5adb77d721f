"""The measured pool sizes: the figures of each, with the noise that all sizes share, and their look-up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot, isfinite, log, nan, sqrt
from statistics import fmean
from typing import Self

import numpy as np
from hdrh.histogram import HdrHistogram

from poolsize.analysis.application_pool import SampledUsage, mean_times_ms, readings
from poolsize.analysis.attempts import mean_counter, valid_steps
from poolsize.analysis.rate_evidence import rate_evidence, unsettled_seconds
from poolsize.analysis.service_demand import ServiceDemands
from poolsize.analysis.speed import corrected, speed_correction
from poolsize.analysis.stats.confidence import Interval, Noise, mean_interval
from poolsize.analysis.stats.percentiles import (
    UNKNOWN,
    Percentiles,
    log_series,
    merged,
    percentiles,
    quantile_interval,
    total_percentiles,
    total_times,
)
from poolsize.runs.check import Check
from poolsize.runs.run import LATENCIES, QUANTILES, CheckResult, Latencies, Step

TWO_SIDED_95 = 1.96
"""Standard errors in half a 95 % interval of a normal variable."""


@dataclass(frozen=True, eq=False)
class RunNoise:
    """The noise of a run.

    throughput: of the counted seconds. in_use: of the readings of an application's metrics. latencies: latency (wait,
    usage, total) -> quantile -> noise of its logarithm in the sections of the steps.
    """

    throughput: Noise
    in_use: Noise
    latencies: Mapping[str, Mapping[str, Noise]]

    @classmethod
    def of(cls, sizes: Sequence[Sequence[Step]]) -> Self:
        """Return the noise of a run. sizes: the steps of each pool size; only valid steps count, if there are any."""
        valid = [valid_steps(steps) for steps in sizes]
        counted = valid if any(map(len, valid)) else sizes

        def of_sections(latency: str, quantile: str) -> Noise:
            return Noise.of(
                [
                    [log_series(step.sections[latency][quantile]) for step in steps if latency in step.sections]
                    for steps in counted
                ]
            )

        return cls(
            Noise.of([[corrected(step) for step in steps] for steps in counted]),
            Noise.of([[readings(step, "pool_active") for step in steps] for steps in counted]),
            {latency: {quantile: of_sections(latency, quantile) for quantile in QUANTILES} for latency in LATENCIES},
        )


@dataclass(frozen=True)
class KindSummary:
    """The figures of one kind of transaction at one pool size.

    transactions: number that succeeded. share: of all transactions that succeeded. wait, usage, total: milliseconds.
    """

    transactions: int
    share: float
    wait: Percentiles
    usage: Percentiles
    total: Percentiles


@dataclass(frozen=True)
class SizeSummary:
    """The figures of one pool size, from its valid steps, or from all its steps where none is valid.

    repeats: number of these steps. throughput: transactions per second with its 95 % interval, corrected to the
        machine's usual speed.
    wait, usage, total: milliseconds; the percentiles of the total time count failed transactions (see total_times).
        In a replay all are NaN but the recorded percentile of the total time, the mean of its seconds. Of an
        application, wait and usage have a mean alone, by its metrics; without metrics all are NaN.
    sampled_usage: the mean usage time of an application, from readings of the connections in use; else None.
    kinds: kind of transaction -> its figures; empty for a workload with one kind.
    intervals: latency -> quantile -> its 95 % interval in milliseconds; empty for runs without sections.
    errors: failed transactions. failed_checks: of all these steps.
    utilisation: share of the connections that the arrival rate needs; None in a closed loop.
    unsettled_seconds: relaxation time of a queue that the steps at an arrival rate are too short for, so that the
        percentiles are too low; None where they are long enough, and in a closed loop.
    demands: service demands of a transaction; None where they are not known.
    """

    pool_size: int
    repeats: int
    throughput: Interval
    wait: Percentiles
    usage: Percentiles
    total: Percentiles
    kinds: Mapping[str, KindSummary]
    intervals: Mapping[str, Mapping[str, Interval]]
    errors: int
    failed_checks: tuple[CheckResult, ...]
    utilisation: float | None
    unsettled_seconds: float | None
    demands: ServiceDemands | None
    sampled_usage: SampledUsage | None = None

    @property
    def valid(self) -> bool:
        """Whether the size may enter an estimate: no step failed a check that disqualifies."""
        return not self.disqualified_by

    @property
    def disqualified_by(self) -> set[Check]:
        """The failed checks that keep the size out of an estimate."""
        return {result.check for result in self.failed_checks if result.check.disqualifies}

    def failed(self, check: Check) -> bool:
        """Return whether a check failed in any repeat."""
        return any(result.check is check for result in self.failed_checks)


def size_summary(
    steps: Sequence[Step], demands: ServiceDemands | None, noise: RunNoise, timeout_ms: float, pools: int = 1
) -> SizeSummary:
    """Return the summary of one pool size.

    steps: not empty, all of that size. demands: its service demands. noise: of the whole run.
    timeout_ms: how long a user waits for a connection; a failed transaction counts as that long, or longer.
    pools: number of pools of that size.
    """
    latencies = _latencies(steps, timeout_ms)
    at_rate = (rate_evidence(step) for step in steps if step.rate is not None)
    utilisations = [evidence.utilisation.mean for evidence in at_rate if evidence is not None]
    sampled = None
    if not steps[0].knows_usage:
        wait_ms, usage_ms = map(fmean, zip(*(mean_times_ms(step, pools) for step in steps), strict=True))
        sampled = SampledUsage.of(steps, wait_ms, usage_ms, noise.in_use)
        latencies["wait"] = replace(UNKNOWN, mean=wait_ms)
        latencies["usage"] = replace(UNKNOWN, mean=usage_ms)
    return SizeSummary(
        pool_size=steps[0].pool_size,
        repeats=len(steps),
        throughput=_throughput(steps, noise),
        **latencies,
        kinds=_kinds(steps, timeout_ms),
        intervals={
            name: {
                quantile: quantile_interval(
                    getattr(values, quantile),
                    [step.sections[name][quantile] for step in steps],
                    noise.latencies[name][quantile],
                )
                for quantile in QUANTILES
            }
            for name, values in latencies.items()
            if all(name in step.sections for step in steps)
        },
        errors=sum(step.error_count for step in steps),
        failed_checks=tuple(result for step in steps for result in step.failed_checks),
        utilisation=fmean(utilisations) if utilisations else None,
        unsettled_seconds=max(filter(None, map(unsettled_seconds, steps)), default=None),
        demands=demands,
        sampled_usage=sampled,
    )


def checked_sizes(sizes: Sequence[SizeSummary]) -> tuple[SizeSummary, ...]:
    """Return the summaries of a run's sizes, without usage times that are longer than possible, unless by chance.

    One metrics page has all readings, so these sizes together show whether it counts too many connections.
    """
    usages = [size.sampled_usage for size in sizes if size.sampled_usage]
    longer = [usage for usage in usages if usage.mean_ms > usage.longest_ms and isfinite(usage.error)]
    excess_ms = sum(usage.mean_ms - usage.longest_ms for usage in longer)
    is_chance = excess_ms <= hypot(*(usage.error * usage.mean_ms for usage in longer))

    def checked(size: SizeSummary) -> SizeSummary:
        if size.sampled_usage is None:
            return size
        usage = replace(size.sampled_usage, is_possible=is_chance or size.sampled_usage not in longer)
        return replace(size, usage=replace(UNKNOWN, mean=usage.usage_ms), sampled_usage=usage)

    return tuple(map(checked, sizes))


def _throughput(steps: Sequence[Step], noise: RunNoise) -> Interval:
    """Return the mean throughput with its interval, to which the error of the speed's correction adds."""
    interval = mean_interval([corrected(step) for step in steps], noise.throughput)
    error = sqrt(sum(speed_correction(step)[1] ** 2 for step in steps)) / len(steps)
    if not error:
        return interval
    half = hypot(interval.high - interval.mean, TWO_SIDED_95 * error * interval.mean)
    return Interval(interval.mean, max(0.0, interval.mean - half), interval.mean + half)


def _kinds(steps: Sequence[Step], timeout_ms: float) -> dict[str, KindSummary]:
    names = dict.fromkeys(name for step in steps for name in step.kinds)
    stored = {name: [step.kinds[name] for step in steps if name in step.kinds] for name in names}
    transactions = {name: sum(kind.transactions for kind in kinds) for name, kinds in stored.items()}
    every = sum(transactions.values())
    return {
        name: KindSummary(
            transactions=transactions[name],
            share=transactions[name] / every if every else 0.0,
            **_stored_latencies([kind.latencies for kind in kinds], timeout_ms),
        )
        for name, kinds in stored.items()
    }


def _latencies(steps: Sequence[Step], timeout_ms: float) -> dict[str, Percentiles]:
    """Return latency (wait, usage, total) -> its percentiles in ms over all steps."""
    stored = [step.latencies for step in steps if step.latencies]
    if stored:
        return _stored_latencies(stored, timeout_ms, sum(step.error_count for step in steps))
    known_ms = {quantile: [ms for step in steps for ms in step.counted_ms(quantile)] for quantile in QUANTILES}
    total = replace(UNKNOWN, **{quantile: fmean(values) for quantile, values in known_ms.items() if values})
    return {"wait": UNKNOWN, "usage": UNKNOWN, "total": total}


def _stored_latencies(stored: Sequence[Latencies], timeout_ms: float, failed: int = 0) -> dict[str, Percentiles]:
    wait, usage = [each.wait for each in stored if each.wait], [each.usage for each in stored if each.usage]
    return {
        "wait": percentiles(merged(wait)) if wait else UNKNOWN,
        "usage": percentiles(merged(usage)) if usage else UNKNOWN,
        "total": total_percentiles(stored, timeout_ms, failed),
    }


@dataclass(frozen=True)
class BySize:
    """An index of the measured pool sizes.

    summaries: of each pool size, ascending. steps: pool size -> the steps that its summary combines.
    timeout_ms: how long a user waits for a connection.
    """

    summaries: tuple[SizeSummary, ...]
    steps: Mapping[int, Sequence[Step]]
    timeout_ms: float

    @cached_property
    def valid(self) -> tuple[SizeSummary, ...]:
        """The summaries of the sizes that may enter an estimate, ascending."""
        return tuple(summary for summary in self.summaries if summary.valid)

    def nearest(self, pool_size: float) -> SizeSummary:
        """Return the summary of the valid size that is nearest on a logarithmic scale; if none is valid, of all."""
        return min(self.valid or self.summaries, key=lambda summary: abs(log(summary.pool_size / pool_size)))

    def is_measured(self, pool_size: int) -> bool:
        """Return whether the size was measured by a valid step."""
        return any(summary.pool_size == pool_size for summary in self.valid)

    def around(self, pool_size: int) -> tuple[int, int]:
        """Return the nearest valid sizes below and above a size. Raises ValueError for a size without both."""
        sizes = [summary.pool_size for summary in self.valid]
        return max(size for size in sizes if size < pool_size), min(size for size in sizes if size > pool_size)

    def histogram(self, latency: str, pool_size: int) -> HdrHistogram | None:
        """Return the histogram of a latency (wait, usage or total) at a measured size, in us.

        The result is None where the latency is not known, and where no transaction has it. The histogram of the total
        time counts failed transactions, as long as the pool timeout or longer. Raises KeyError for a size that was not
        measured, as `counter` and `worker_cores` do.
        """
        steps = self.steps[pool_size]
        stored = [step.latencies for step in steps if step.latencies]
        if latency == "total" and stored:
            times = total_times(stored, self.timeout_ms, sum(step.error_count for step in steps))
        else:
            times = merged([getattr(step.latencies, latency) for step in steps if step.knows_usage])
        return times if times.get_total_count() else None

    def counter(self, name: str, pool_size: int) -> float | None:
        """Return the mean of a server counter at a measured size, or None where it was not read."""
        return mean_counter(self.steps[pool_size], name)

    def worker_cores(self, pool_size: int) -> float:
        """Return the cores that the workers kept busy at a measured size, the mean of its steps."""
        return fmean(step.busy_worker_cores for step in self.steps[pool_size])

    def latency_ms(self, quantile: str, pool_size: int) -> float:
        """Return a quantile ("p95") of the total time in ms, interpolated between the valid sizes on logarithmic axes.

        Beyond the measured sizes it has the value of the nearest. NaN where the run does not know the quantile.
        """
        times_ms = [(summary.pool_size, getattr(summary.total, quantile)) for summary in self.valid]
        known = [(size, time_ms) for size, time_ms in times_ms if time_ms > 0]
        if not known:
            return nan
        log_sizes, log_times = np.log(np.array(known)).T
        return float(np.exp(np.interp(log(pool_size), log_sizes, log_times)))
