"""When a step may end: after its length, once it is steady and as precise as asked, or when it is beyond help."""

from collections.abc import Sequence
from dataclasses import dataclass

from poolsize.analysis.stats.confidence import mean_interval
from poolsize.analysis.stats.steady_state import drift, warm_up_seconds
from poolsize.load.step_course import CourseSecond
from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Stopped, StopReason

FEWEST_FAILURES = 20
QUEUE_SECONDS = 5.0
MOST_QUEUED = 100_000
"""A queue of arrivals that holds this many, or those of so many seconds, is no hiccup: it grows without end."""
LOOKS = (1, 2, 4)
"""In lengths of the step, for an aim of precision: an interval that is looked at until it happens to be narrow is too
narrow."""


@dataclass(frozen=True)
class Ending:
    """The counted seconds of a step, from first until before last; stopped: why it ended early, or None."""

    first: int
    last: int
    stopped: Stopped | None


def ending(plan: SweepPlan, seconds: Sequence[CourseSecond], rate: float | None) -> Ending | None:
    """Where the step ends, or None when it must go on. rate: of an open loop's arrivals."""
    last = len(seconds)
    if beyond_help := _beyond_help(plan, seconds, rate):
        return Ending(min(plan.warm_up_seconds, last), last, beyond_help)
    if last < plan.warm_up_seconds + plan.step_seconds:
        return None
    throughput = [second.transactions for second in seconds]
    first = warm_up_seconds(throughput, plan.warm_up_seconds)
    counted = throughput[first:]
    enough = len(counted) >= plan.step_seconds and not drift(counted) and _precise(plan, counted)
    return Ending(first, last, None) if enough or last >= plan.longest_seconds else None


def _precise(plan: SweepPlan, counted: Sequence[int]) -> bool:
    if plan.precision is None:
        return True
    if len(counted) not in [plan.step_seconds * times for times in LOOKS]:
        return False
    interval = mean_interval([counted])
    return interval.high - interval.mean <= plan.precision * interval.mean


def _beyond_help(plan: SweepPlan, seconds: Sequence[CourseSecond], rate: float | None) -> Stopped | None:
    counted = seconds[plan.warm_up_seconds :]
    failed = sum(second.errors.total() for second in counted)
    done = sum(second.transactions for second in counted)
    if failed >= FEWEST_FAILURES and failed > plan.error_budget * (failed + done):
        return Stopped(StopReason.TOO_MANY_ERRORS, {"failed": failed, "transactions": failed + done})
    backlog = seconds[-1].backlog if seconds else 0
    if rate and backlog > min(MOST_QUEUED, QUEUE_SECONDS * rate):
        return Stopped(StopReason.BACKLOG, {"backlog": backlog})
    return None
