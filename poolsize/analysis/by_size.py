"""The measurements of a run, looked up by pool size."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, nan
from statistics import fmean

import numpy as np
from hdrh.histogram import HdrHistogram

from poolsize.analysis.size_summary import SizeSummary
from poolsize.analysis.stats.percentiles import merged, total_times
from poolsize.errors import BadInput
from poolsize.runs.run import Step


def steps_by_size(steps: Sequence[Step]) -> Iterator[tuple[int, Sequence[Step]]]:
    """Yield each pool size, ascending, with its valid steps, or with all of them where none is valid."""
    by_size: dict[int, list[Step]] = {}
    for step in steps:
        by_size.setdefault(step.pool_size, []).append(step)
    for pool_size, repeats in sorted(by_size.items()):
        yield pool_size, [step for step in repeats if step.valid] or repeats


def mean_counter(steps: Sequence[Step], name: str) -> float | None:
    """Return the mean of a server counter over the steps in which it was read; None if it never was."""
    values = [value for step in steps if (value := step.counter(name)) is not None]
    return fmean(values) if values else None


@dataclass(frozen=True)
class BySize:
    """An index of the measured pool sizes.

    summaries: one per pool size, ascending. steps: pool size -> the steps that its summary combines.
    timeout_ms: how long a user waits for a connection.
    """

    summaries: tuple[SizeSummary, ...]
    steps: Mapping[int, Sequence[Step]]
    timeout_ms: float

    @cached_property
    def valid(self) -> tuple[SizeSummary, ...]:
        """The summaries of the sizes that may enter an estimate, ascending."""
        return tuple(summary for summary in self.summaries if summary.valid)

    def at(self, pool_size: int) -> SizeSummary:
        """Return the summary of a measured size. Raises BadInput that names the measured sizes for another size."""
        by_pool_size = {summary.pool_size: summary for summary in self.summaries}
        if pool_size not in by_pool_size:
            measured = ", ".join(map(str, by_pool_size))
            raise BadInput(f"`pool_size` {pool_size} was not measured; the measured sizes are {measured}")
        return by_pool_size[pool_size]

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
        if latency == "total" and any(step.latencies for step in self.steps[pool_size]):
            times = total_times(self.steps[pool_size], self.timeout_ms)
        else:
            times = merged([getattr(step.latencies, latency) for step in self.steps[pool_size] if step.knows_usage])
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
