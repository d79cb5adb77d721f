"""The report of one worker on one step."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from poolsize.analysis.stats.percentiles import encoded
from poolsize.load.recorder import WorkerSecond, histogram
from poolsize.load.worker_cost import Cost
from poolsize.runs.run import LATENCIES

RECORDED = (*LATENCIES, "failed")
"""The recorded times of a second: of successful transactions, and the total time of failed transactions."""

SECTIONS = 8
"""Equal parts of the counted seconds that are stored apart; a percentile's interval follows from their scatter."""


@dataclass(frozen=True)
class KindReport:
    """One kind of transaction in the counted seconds of a step.

    transactions: number that succeeded. latencies: wait, usage, total and failed -> encoded histogram.
    """

    transactions: int
    latencies: dict[str, str]


@dataclass(frozen=True)
class WorkerReport:
    """The measurements of one worker in the counted seconds of a step, as plain values that can cross a network.

    users: number of users that took part. connection_ids: as in pool.OpenPool.
    gap_seconds: sum of the gaps before the transactions.
    sections: for each equal part of the time, wait, usage, total and failed -> encoded histogram.
    kinds: kind of transaction -> its part; empty for a workload with one kind.
    cpu, cpu_wait, loop_lag_ms: as in run.Worker.
    """

    users: int
    connection_ids: list[int]
    gap_seconds: float
    sections: list[dict[str, str]]
    kinds: dict[str, KindReport]
    cpu: float
    cpu_wait: float
    loop_lag_ms: float

    @classmethod
    def of(cls, users: int, connection_ids: list[int], counted: Sequence[WorkerSecond], cost: Cost) -> Self:
        """Return the report of the counted seconds. users, connection_ids: as in the report. cost: of the worker."""
        return cls(
            users=users,
            connection_ids=connection_ids,
            gap_seconds=sum(second.gap_seconds for second in counted),
            sections=[_encoded(section) for section in _sections(counted)],
            kinds=_kinds(counted),
            cpu=cost.cpu,
            cpu_wait=cost.cpu_wait,
            loop_lag_ms=cost.loop_lag_ms,
        )


def _sections(seconds: Sequence[WorkerSecond]) -> list[Sequence[WorkerSecond]]:
    """Return the seconds in SECTIONS parts, as equal as whole seconds can be; fewer parts for fewer seconds."""
    number = min(SECTIONS, len(seconds))
    bounds = [round(len(seconds) * place / number) for place in range(number + 1)] if number else [0]
    return [seconds[start:end] for start, end in pairwise(bounds)]


def _kinds(seconds: Sequence[WorkerSecond]) -> dict[str, KindReport]:
    names = dict.fromkeys(name for second in seconds for name in second.kinds)
    parts = {name: [second.kinds[name] for second in seconds if name in second.kinds] for name in names}
    return {name: KindReport(sum(part.transactions for part in kind), _encoded(kind)) for name, kind in parts.items()}


def _encoded(seconds: Sequence[WorkerSecond]) -> dict[str, str]:
    return {name: encoded(histogram([getattr(second, name) for second in seconds])) for name in RECORDED}
