"""LoadRun: the figures that a load tool wrote of a run at one pool size; and readers that the importers share."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from poolsize.errors import BadInput
from poolsize.recordings.recording import can_be

LONGEST_LINE_SHOWN = 60
MOST_JSON_BYTES = 2**22
"""The largest summary: k6 has a few figures for each of its metrics, BenchBase few in all."""
FEWEST_SECONDS = 5
"""A tool passes through a number of users while it starts them; such a short time is not a measurement."""

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
    quantile: str | None = None
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


def json_of(path: Path, text: bytes) -> dict[str, Any]:
    """Return the JSON object in a file. Raises BadInput for any other file."""
    if len(text) > MOST_JSON_BYTES:
        raise BadInput(f"{path} is longer than {MOST_JSON_BYTES // 2**20} MiB: give the summary of the run")
    try:
        value = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadInput(f"{path} is not complete JSON") from None
    if not isinstance(value, dict):
        raise BadInput(f"{path} is not the summary of k6 or BenchBase: its JSON has no names")
    return value


def number_at(values: Any, name: str) -> float | None:
    """Return the number under a name in a JSON object; None where there is none."""
    value = values.get(name) if isinstance(values, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def common_interval(moments: Sequence[float]) -> float | None:
    """Return the median time between moments in the order of their file; None where they do not differ.

    Time may start again: a file may have several runs.
    """
    steps = [abs(after - before) for before, after in pairwise(moments) if after != before]
    return float(median(steps)) if steps else None
