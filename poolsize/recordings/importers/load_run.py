"""LoadRun: the figures that a load tool wrote of a run at one pool size; and readers that the importers share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TypeVar

from poolsize.recordings.recording import can_be

T = TypeVar("T")


@dataclass(frozen=True)
class LoadRun:
    """One run, or one part of a run, at one pool size.

    throughput: successful transactions per second in each interval, or a single mean of the whole run.
    latency_ms: a percentile of the total time in each; 0 where unknown. quantile: its name, such as p95; None where
    unknown. interval_seconds: of each interval; None for a mean of the whole run.
    """

    pool_size: int
    throughput: tuple[float, ...]
    latency_ms: tuple[float, ...]
    quantile: str | None
    interval_seconds: float | None = None

    @property
    def can_be(self) -> bool:
        """Whether these figures can have been measured."""
        return all(can_be(self.pool_size, *pair) for pair in zip(self.throughput, self.latency_ms, strict=True))


def mean_of_run(pool_size: int, throughput: float, latency_ms: float = 0.0, quantile: str | None = None) -> LoadRun:
    """Return a run of which only the mean throughput per second is known."""
    return LoadRun(pool_size, (throughput,), (latency_ms,), quantile if latency_ms else None)


def quantile_name(percentage: str) -> str:
    """Return the name of a percentile: p95 of "95", p99_9 of "99.9"."""
    whole, _, decimals = percentage.partition(".")
    decimals = decimals.rstrip("0")
    return f"p{int(whole)}{'_' + decimals if decimals else ''}"


def usual_quantile(values: Mapping[str, T]) -> tuple[str, T] | None:
    """Return the name and the value of p95, else of the highest percentile; None without any. values: by percentage."""
    percentage = max(values, key=lambda each: (float(each) == 95, float(each)), default=None)
    return None if percentage is None else (quantile_name(percentage), values[percentage])


def common_interval(moments: Sequence[float]) -> float | None:
    """Return the median time between moments in the order of their file; None where they do not differ.

    Time may start again: a file may have several runs.
    """
    steps = [abs(after - before) for before, after in pairwise(moments) if after != before]
    return float(median(steps)) if steps else None
