"""When a step ends: after its length, when it is steady and precise enough, or early when it can't succeed."""

from collections.abc import Sequence
from dataclasses import dataclass

from poolsize.analysis.stats.confidence import mean_interval
from poolsize.analysis.stats.steady_state import drift, warm_up_seconds
from poolsize.load.step_seconds import StepSecond
from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Stopped, StopReason

FEWEST_FAILURES = 20
BACKLOG_SECONDS = 5.0
LARGEST_BACKLOG = 100_000
"""A backlog of this many transactions, or of the arrivals of so many seconds, is no hiccup: it grows without end."""
LOOKS = (1, 2, 4)
"""Lengths at which a step with a precision looks at its interval, in planned step lengths.

A step that looks every second ends when its interval happens to be narrow, and its interval is then too narrow."""


@dataclass(frozen=True)
class Ending:
    """The counted seconds of a step, from first until before last. stopped: why it ended early, or None."""

    first: int
    last: int
    stopped: Stopped | None


def ending(plan: SweepPlan, seconds: Sequence[StepSecond], rate: float | None) -> Ending | None:
    """Return where the step ends, or None while it must go on. rate: arrivals per second in an open loop, or None."""
    last = len(seconds)
    if reason := _early_end(plan, seconds, rate):
        return Ending(min(plan.warm_up_seconds, last), last, reason)
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


def _early_end(plan: SweepPlan, seconds: Sequence[StepSecond], rate: float | None) -> Stopped | None:
    """Return why the step must end before its length, or None."""
    counted = seconds[plan.warm_up_seconds :]
    failed = sum(second.errors.total() for second in counted)
    succeeded = sum(second.transactions for second in counted)
    if failed >= FEWEST_FAILURES and failed > plan.error_budget * (failed + succeeded):
        return Stopped(StopReason.TOO_MANY_ERRORS, {"failed": failed, "transactions": failed + succeeded})
    backlog = seconds[-1].backlog if seconds else 0
    if rate and backlog > min(LARGEST_BACKLOG, BACKLOG_SECONDS * rate):
        return Stopped(StopReason.BACKLOG, {"backlog": backlog})
    return None
