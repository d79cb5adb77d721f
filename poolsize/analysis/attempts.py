"""The steps of a run as attempts at the planned steps: which of them count, and which steps need another attempt.

A place is the index of a step in the run.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Run, Step

CONFIRMED_OVERLOAD = 2
"""Attempts after which an overload is the answer: chance may make a queue grow, but hardly in both."""

StepKey = tuple[int, int, float | None]
"""Pool size, repeat and rate, which all attempts at one planned step have in common."""


def step_key(step: Step | PlannedStep) -> StepKey:
    """Return the key of a planned step, or of an attempt at it: pool size, repeat, and arrivals per second."""
    return step.pool_size, step.repeat, step.rate


def attempt_counts(planned: Sequence[Step | PlannedStep], steps: Sequence[Step]) -> Counter[StepKey]:
    """Return how often each of some planned steps was measured, failed attempts included. steps: all attempts."""
    keys = {*map(step_key, planned)}
    return Counter(key for step in steps if (key := step_key(step)) in keys)


def needed_steps(
    plan: SweepPlan, planned: Sequence[PlannedStep], steps: Sequence[Step], counted: Sequence[Step]
) -> tuple[PlannedStep, ...]:
    """Return the planned steps that have no successful attempt and may have another, in the planned order.

    steps: all attempts. counted: the attempt that counts at each planned step.
    """
    attempts = attempt_counts(planned, steps)
    done = {step_key(step) for step in counted if not may_be_retried(plan, step, attempts[step_key(step)])}
    return tuple(step for step in planned if step_key(step) not in done)


def may_be_retried(plan: SweepPlan, latest: Step, attempts: int) -> bool:
    """Return whether a planned step may have another attempt. latest: its latest attempt. attempts: their number."""
    most = plan.attempts if latest.disturbed else min(plan.attempts, CONFIRMED_OVERLOAD)
    return latest.retryable and attempts < most


def curve_places(plan: SweepPlan, steps: Sequence[Step]) -> list[int]:
    """Return the places of the steps of the throughput curve, ascending.

    At each planned step, the first attempt that need not be retried counts. If every attempt failed, the last valid
    attempt counts, or else the last attempt.
    In a search, which plans no repeats, every attempt that need not be retried counts: an earlier attempt may have
    failed by the usual speed of the steps so far, and pass by that of all steps. A failed attempt counts only where its
    pool size has no better step.
    """
    passed = {step.pool_size for step in steps if plan.search and step.rate == plan.rate and not step.retryable}
    counted: dict[StepKey | int, int] = {}
    for place, step in enumerate(steps):
        if step.rate != plan.rate or (step.pool_size in passed and step.retryable):
            continue
        key = place if step.pool_size in passed else step_key(step)
        earlier = counted.get(key)
        if earlier is None or (steps[earlier].retryable and (step.valid or not steps[earlier].valid)):
            counted[key] = place
    return sorted(counted.values())


def curve_steps(plan: SweepPlan, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps of the throughput curve, in the order they were measured: see curve_places."""
    return tuple(steps[place] for place in curve_places(plan, steps))


def verification_steps(run: Run) -> tuple[Step, ...]:
    """Return the steps that measured a pool size at a part of its own throughput: the last attempt at each."""
    last = {step_key(step): step for step in run.steps if step.rate != run.plan.rate}
    return tuple(last.values())


def valid_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that may enter an estimate."""
    return tuple(step for step in steps if step.valid)


def retried_places(run: Run) -> list[int]:
    """Return the places of the failed attempts that were measured again, ascending; they enter no figure."""
    verifying = {step_key(step): place for place, step in enumerate(run.steps) if step.rate != run.plan.rate}
    counted = {*curve_places(run.plan, run.steps), *verifying.values()}
    return [place for place in range(len(run.steps)) if place not in counted]


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
