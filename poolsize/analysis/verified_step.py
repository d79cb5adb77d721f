"""A verified step: a pool size measured at a part of its own throughput, in an open loop."""

from dataclasses import dataclass

from poolsize.analysis.stats.percentiles import Percentiles, merged, percentiles
from poolsize.analysis.total_times import total_percentiles
from poolsize.runs.check_result import CheckResult
from poolsize.runs.run import Step


@dataclass(frozen=True)
class VerifiedStep:
    """A pool size measured at a part of its own throughput, with arrivals at a fixed rate.

    load: arrival rate as a share of the size's throughput in a closed loop. rate: arrivals per second.
    throughput: transactions that ended per second. wait, total: milliseconds. failed_checks: of this step.
    """

    pool_size: int
    load: float
    rate: float
    throughput: float
    wait: Percentiles
    total: Percentiles
    failed_checks: tuple[CheckResult, ...]


def verified_step(step: Step, capacity: float, timeout_ms: float) -> VerifiedStep:
    """Return the figures of an open-loop step. capacity: the pool size's throughput per second in a closed loop.

    timeout_ms: how long a user waits for a connection; a failed transaction counts as that long, or longer.
    """
    rate, latencies = step.rate or 0.0, step.latencies
    assert latencies is not None  # a replay has no open loop
    return VerifiedStep(
        pool_size=step.pool_size,
        load=rate / capacity,
        rate=rate,
        throughput=step.mean_throughput,
        wait=percentiles(merged([latencies.wait])),
        total=total_percentiles([latencies], timeout_ms, step.error_count),
        failed_checks=step.failed_checks,
    )
