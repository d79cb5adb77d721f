"""The evidence of an open-loop step: whether its pool serves the arrival rate, or a queue grows.

Utilisation law (Denning and Buzen, 1978): utilisation = arrival rate x time that a transaction occupies a connection /
connections. A queue is stable only while its utilisation is below 1 (Kleinrock, "Queueing Systems", volume 1, 1975).
The occupied time is what overload shows first. It scatters less than the number of transactions, and a full pool
serves exactly as many transactions as the occupied times allow.

A queue forgets its length in the relaxation time, usage time / connections / (1 - sqrt(utilisation))^2 (Cohen, "The
Single Server Queue", 1982; of one server that works as fast as all connections). A shorter time shows too low
percentiles, for it begins with an empty queue and holds few of the moments at which the queue is long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Self

import numpy as np
from scipy.special import stdtrit

from poolsize.analysis.stats.confidence import TAILS, Interval, half_width
from poolsize.analysis.stats.percentiles import Percentiles, merged, percentiles, quantile_interval, total_percentiles
from poolsize.runs.run import CheckResult, Step

WARM_UP, COUNTED = 3, 10
"""Relaxation times after which a queue has forgotten its start, and of which percentiles need to be counted."""
FEWEST_INCREMENTS = 3
"""A series with fewer increments shows no growth."""


@dataclass(frozen=True)
class RateEvidence:
    """The evidence of a step's counted seconds.

    utilisation: share of the pool's connections that the arrival rate needs, with its 95 % interval; above 1 in an
    overload. growth: "outstanding" (the transactions that are due and have not ended) and "p95_ms" (of the total time
    of each second), where it grows significantly -> its first and its last value.
    """

    utilisation: Interval
    growth: Mapping[str, tuple[float, float]]

    @classmethod
    def of(
        cls,
        rate: float,
        pool_size: int,
        transactions: Sequence[float],
        busy: Sequence[float],
        backlog: Sequence[float],
        p95_ms: Sequence[float],
    ) -> Self | None:
        """Return the evidence, or None where no transaction ended or no busy connections were recorded.

        rate: arrivals per second. The series have one value a second, as in run.Step.

        The time that a transaction occupies a connection is the ratio of two series. Each second's value is linearised
        around the ratio (Cochran, "Sampling Techniques", 1977, chapter 6): a second with many transactions also has
        busy connections, so the ratio scatters less than both.
        """
        ended = sum(transactions)
        if not ended or not busy:
            return None
        occupied = sum(busy) / ended
        per_second, seconds = ended / len(transactions), zip(transactions, busy, strict=True)
        half = half_width([[occupied + (used - occupied * number) / per_second for number, used in seconds]])
        scale = rate / pool_size
        low, high = scale * max(0.0, occupied - half), scale * (occupied + half)
        series = {
            "outstanding": [waiting + used for waiting, used in zip(backlog, busy, strict=True)],
            "p95_ms": [value for value in p95_ms if value],
        }
        growth = {name: (values[0], values[-1]) for name, values in series.items() if is_growing(values)}
        return cls(Interval(scale * occupied, low, high), growth)

    @property
    def is_served(self) -> bool:
        """Whether the pool's capacity is above the rate for certain, and nothing grows."""
        return self.utilisation.high < 1 and not self.growth

    @property
    def is_decided(self) -> bool:
        """Whether the rate is served for certain, or not served for certain."""
        return self.is_served or bool(self.growth) or self.utilisation.low > 1


def rate_evidence(step: Step) -> RateEvidence | None:
    """Return the evidence of an open-loop step; None where no transaction ended."""
    counted = slice(step.warm_up_seconds, None)
    return RateEvidence.of(
        step.rate or 0.0, step.pool_size, step.counted, step.busy[counted], step.backlog[counted], step.p95_ms[counted]
    )


def relaxation_seconds(rate: float, pool_size: int, transactions: Sequence[float], busy: Sequence[float]) -> float:
    """Return the time in which a pool's queue forgets its length: 0 where it is not known, infinite in an overload."""
    used = rate * sum(busy) / (pool_size * sum(transactions)) if any(transactions) else 0.0
    return used / rate / (1 - sqrt(used)) ** 2 if used < 1 else inf


def unsettled_seconds(step: Step) -> float | None:
    """Return a queue's relaxation time if the step is too short for it, else None, as in a closed loop."""
    if step.rate is None:
        return None
    seconds = relaxation_seconds(step.rate, step.pool_size, step.counted, step.busy[step.warm_up_seconds :])
    return None if len(step.throughput) >= (WARM_UP + COUNTED) * seconds else seconds


def is_growing(series: Sequence[float]) -> bool:
    """Return whether a series, one value a second, grows significantly (97.5 % one-sided, Student's t).

    The increments are tested as if they were independent, so that growth must exceed the wandering of a random walk. A
    queue near its capacity wanders like one for many seconds, and a straight line through it would look like a trend.
    """
    increments = np.diff(np.asarray(series, float))
    if len(increments) < FEWEST_INCREMENTS:
        return False
    error = float(increments.std(ddof=1)) / np.sqrt(len(increments))
    return bool(increments.mean() > float(stdtrit(len(increments) - 1, TAILS[1])) * error)


@dataclass(frozen=True)
class VerifiedStep:
    """A pool size measured with arrivals at a fixed rate: `load`, a share of its closed-loop throughput.

    throughput: transactions that ended per second. wait, total: milliseconds. total_p95: with its 95 % interval.
    unsettled_seconds: as in SizeSummary.
    """

    pool_size: int
    load: float
    rate: float
    throughput: float
    wait: Percentiles
    total: Percentiles
    total_p95: Interval
    unsettled_seconds: float | None
    failed_checks: tuple[CheckResult, ...]


def verified_step(step: Step, capacity: float, timeout_ms: float) -> VerifiedStep:
    """Return the figures of an open-loop step. capacity: the pool size's throughput per second in a closed loop.

    timeout_ms: how long a user waits for a connection; a failed transaction counts as that long, or longer.
    """
    rate, latencies = step.rate or 0.0, step.latencies
    assert latencies is not None  # a replay has no open loop
    total = total_percentiles([latencies], timeout_ms, step.error_count)
    sections_ms = step.sections["total"]["p95"] if "total" in step.sections else ()
    return VerifiedStep(
        pool_size=step.pool_size,
        load=rate / capacity,
        rate=rate,
        throughput=step.mean_throughput,
        wait=percentiles(merged([latencies.wait])),
        total=total,
        total_p95=quantile_interval(total.p95, [sections_ms]),
        unsettled_seconds=unsettled_seconds(step),
        failed_checks=step.failed_checks,
    )
