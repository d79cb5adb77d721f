"""Attempts at the planned steps of a run: which attempts count, and which planned steps need another attempt."""

from collections import Counter
from collections.abc import Sequence

from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Run, Step

StepKey = tuple[int, int, float | None]
"""Pool size, repeat and rate, which all attempts at one planned step have in common."""


def step_key(step: Step | PlannedStep) -> StepKey:
    """Return the key of a planned step, or of an attempt at it: pool size, repeat, and arrivals per second."""
    return step.pool_size, step.repeat, step.rate


def attempt_counts(steps: Sequence[Step]) -> Counter[StepKey]:
    """Return how often each planned step was measured, failed attempts included."""
    return Counter(map(step_key, steps))


def needed_steps(
    plan: SweepPlan, planned: Sequence[PlannedStep], steps: Sequence[Step], counted: Sequence[Step]
) -> tuple[PlannedStep, ...]:
    """Return the planned steps that have no successful attempt and may have another, in the planned order.

    steps: all attempts. counted: the attempt that counts at each planned step.
    """
    attempts = attempt_counts(steps)
    done = {step_key(step) for step in counted if not step.retryable}
    return tuple(step for step in planned if step_key(step) not in done and attempts[step_key(step)] < plan.attempts)


def curve_steps(plan: SweepPlan, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps of the throughput curve, in the order they were measured.

    At each planned step, the first attempt that need not be retried counts. If every attempt failed, the last valid
    attempt counts, or else the last attempt.
    In a search, which plans no repeats, a failed attempt counts only where its pool size has no better step.
    """
    best: dict[StepKey, Step] = {}
    for step in steps:
        key = step_key(step)
        if step.rate == plan.rate and (key not in best or _replaces(step, best[key])):
            best[key] = step
    chosen = tuple(step for step in steps if best.get(step_key(step)) is step)
    if plan.search is None:
        return chosen
    good_sizes = {step.pool_size for step in chosen if not step.retryable}
    return tuple(step for step in chosen if not step.retryable or step.pool_size not in good_sizes)


def _replaces(step: Step, earlier: Step) -> bool:
    """Return whether an attempt counts in place of an earlier attempt at the same planned step."""
    return earlier.retryable and (step.valid or not earlier.valid)


def verification_steps(run: Run) -> tuple[Step, ...]:
    """Return the steps that measured a pool size at a part of its own throughput: the last attempt at each."""
    last = {step_key(step): step for step in run.steps if step.rate != run.plan.rate}
    return tuple(last.values())


def valid_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that may enter an estimate."""
    return tuple(step for step in steps if step.valid)


def retried_steps(run: Run) -> tuple[Step, ...]:
    """Return the failed attempts that were measured again, in the order of the run; they enter no figure."""
    counted = {id(step) for step in (*curve_steps(run.plan, run.steps), *verification_steps(run))}
    return tuple(step for step in run.steps if id(step) not in counted)
