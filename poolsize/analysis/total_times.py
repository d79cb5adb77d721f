"""The total times of all transactions of some steps, failed transactions included."""

from collections.abc import Sequence
from dataclasses import replace

from hdrh.histogram import HdrHistogram

from poolsize.analysis.stats.percentiles import Percentiles, merged, percentiles, with_failures
from poolsize.runs.run import Latencies, Step


def total_times(steps: Sequence[Step], timeout_ms: float) -> HdrHistogram:
    """Return the histogram, in us, of the total times of steps with latencies; a failed transaction took the timeout.

    It took at least the timeout: see with_failures. The times of a lost worker's failures are not known.
    """
    latencies = [step.latencies for step in steps if step.latencies]
    return _all_times(latencies, timeout_ms, sum(step.error_count for step in steps))


def total_percentiles(latencies: Sequence[Latencies], timeout_ms: float, failed: int = 0) -> Percentiles:
    """Return the percentiles of the total times in ms, failed transactions included; the mean is without them.

    failed: number of failed transactions, timed or not.
    """
    succeeded = percentiles(merged(stored.total for stored in latencies))
    if not failed and not any(stored.failed for stored in latencies):
        return succeeded
    return replace(percentiles(_all_times(latencies, timeout_ms, failed)), mean=succeeded.mean)


def _all_times(latencies: Sequence[Latencies], timeout_ms: float, failed: int) -> HdrHistogram:
    timed = merged(stored.failed for stored in latencies if stored.failed)
    succeeded = merged(stored.total for stored in latencies)
    return with_failures(succeeded, timed, timeout_ms, untimed=failed - timed.get_total_count())
