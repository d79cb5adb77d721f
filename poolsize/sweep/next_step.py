"""Decides the next step of a sweep: of a grid, a search, a confirmation and a verification."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from poolsize.analysis.analysis import analyze
from poolsize.analysis.attempts import (
    attempt_counts,
    curve_steps,
    may_be_retried,
    needed_steps,
    step_key,
    verification_steps,
)
from poolsize.analysis.curve import fit_between
from poolsize.analysis.observation import Observation, group_neighbouring_sizes
from poolsize.analysis.plateau import plateau
from poolsize.runs.plan import MOST_STEPS, PlannedStep, SearchEnd, SweepPlan
from poolsize.runs.run import Run, Step
from poolsize.sweep.search import CONFIRMED, next_of_search, seconds_left

DEPENDS = 0.2
"""The answer depends on a size if it changes by more than this share when the size is left out."""
FEWEST_SIZES = 4
"""With fewer sizes, one that is left out leaves no curve to judge it by."""
NEAREST = 2
"""Measured sizes below the answer, and above it, on which the answer may hang."""


def next_step(run: Run) -> PlannedStep | SearchEnd | None:
    """Return the step to measure next, or the reason why a search ends now; None when the sweep is complete.

    A run of MOST_STEPS steps is complete: each planned step of a grid then has an attempt. A step of a search may be
    extended as far as the budget allows beside the open-loop steps that follow.
    """
    decision: PlannedStep | SearchEnd | None = None
    plan, is_full, further = run.plan, len(run.steps) >= MOST_STEPS, 0
    if plan.search is not None and not run.ended:
        decision = SearchEnd.BUDGET if is_full else next_of_search(plan, plan.search, run.steps)
        further = len(plan.verify)
    elif not is_full:
        if plan.search is None:
            decision = next(iter(missing_steps(run)), None) or _step_to_confirm(plan, run.steps)
        if decision is None:
            decision, *others = steps_to_verify(run) or (None,)
            further = len(others)
    if not isinstance(decision, PlannedStep):
        return decision
    left = seconds_left(plan, run.steps)
    most_seconds = None if left is None else max(plan.planned_seconds, left - further * plan.planned_seconds)
    return replace(decision, order=len(run.steps), most_seconds=most_seconds)


def grid_steps(plan: SweepPlan) -> Iterator[PlannedStep]:
    """Yield every step of a grid in order: each repeat has all sizes in a random order, which the plan's seed fixes."""
    # A random order keeps a drift of the machine (heat, another load) from looking like an effect of the pool size.
    shuffle, order = random.Random(plan.seed), count()
    for repeat in range(plan.repeats):
        sizes = [*dict.fromkeys(plan.sizes)]
        shuffle.shuffle(sizes)
        yield from (PlannedStep(next(order), size, repeat, plan.rate) for size in sizes)


def missing_steps(run: Run) -> list[PlannedStep]:
    """Return a grid's steps that need an attempt, the least tried first; a run of MOST_STEPS steps misses none."""
    if len(run.steps) >= MOST_STEPS:
        return []
    planned = tuple(grid_steps(run.plan))
    counts = attempt_counts(planned, run.steps)
    needed = needed_steps(run.plan, planned, run.steps, curve_steps(run.plan, run.steps))
    return sorted(needed, key=lambda step: counts[step_key(step)])


def is_retried(run: Run, decision: PlannedStep | SearchEnd | None) -> bool:
    """Return whether the run's latest step failed a check and is measured again. decision: the next step."""
    step = run.steps[-1]
    if not step.retryable:
        return False
    if run.plan.search is not None:  # it measures a size again only where it needs it, and has the time
        return isinstance(decision, PlannedStep) and step_key(decision) == step_key(step)
    return may_be_retried(run.plan, step, attempt_counts([step], run.steps)[step_key(step)])


def remaining(run: Run) -> str | None:
    """Return what the throughput curve of a run misses: "2 of 5 steps are missing"; None where it is complete."""
    if run.plan.search is not None:
        return None if run.ended else "the search for the pool size was cut off"
    missing = len(missing_steps(run))
    return f"{missing} of {len({*run.plan.sizes}) * run.plan.repeats} steps are missing" if missing else None


def steps_to_verify(run: Run) -> tuple[PlannedStep, ...]:
    """Return the steps of the plan's `verify` that the run still needs, at the size that the run's answer has.

    The least tried come first. A search repeats such a step only within its budget.
    """
    plan = run.plan
    if not plan.verify or (analysis := analyze(run)).plateau is None:
        return ()
    size = analysis.size_within(plan.limits_ms)[0] or analysis.plateau.pool_size
    rates = [analysis.throughput_at(size) * percentage / 100 for percentage in plan.verify]
    planned = [PlannedStep(len(run.steps), size, repeat=0, rate=rate) for rate in rates if rate]
    left, tried = seconds_left(plan, run.steps), attempt_counts(planned, run.steps)
    if left is not None and left < plan.planned_seconds:
        planned = [step for step in planned if not tried[step_key(step)]]
    needed = needed_steps(plan, planned, run.steps, verification_steps(run))
    return tuple(sorted(needed, key=lambda step: tried[step_key(step)]))


def _step_to_confirm(plan: SweepPlan, steps: Sequence[Step]) -> PlannedStep | None:
    """Return the next step that confirms a size of a complete grid, the largest first; None where no size needs it."""
    if plan.rate is not None:
        return None
    good = [Observation.of(step) for step in curve_steps(plan, steps) if step.valid and not step.retryable]
    if not any(observation.throughput for observation in good):
        return None
    for size in reversed(_unconfirmed(good)):
        repeat = sum(observation.pool_size == size for observation in good)
        planned = PlannedStep(len(steps), size, max(plan.repeats, repeat), plan.rate)
        if attempt_counts([planned], steps)[step_key(planned)] < plan.attempts:
            return planned
    return None


def _unconfirmed(good: Sequence[Observation]) -> list[int]:
    """Return the sizes, ascending, on which the answer depends and which have too few steps, or a disturbed step.

    good: of the steps that need no other attempt; not empty.
    """
    observations = group_neighbouring_sizes(sorted(good, key=lambda observation: observation.pool_size))
    sizes = sorted({observation.pool_size for observation in observations})
    if len(sizes) < FEWEST_SIZES:
        return []
    curve = fit_between(observations)
    answer = plateau(curve, of_grid=True).pool_size
    counts = Counter(observation.pool_size for observation in observations)
    below, above = [size for size in sizes if size <= answer], [size for size in sizes if size > answer]
    decisive = {*below[-NEAREST:], *above[:NEAREST], sizes[-1]}
    return [
        size
        for size in sorted(decisive)
        if (counts[size] <= CONFIRMED and curve.disturbed[size] > 1 / 2)
        or (
            counts[size] < CONFIRMED
            and _changes(answer, [observation for observation in observations if observation.pool_size != size])
        )
    ]


def _changes(answer: int, observations: Sequence[Observation]) -> bool:
    """Return whether these observations give another answer."""
    if not any(observation.throughput for observation in observations):
        return True
    other = plateau(fit_between(observations), of_grid=True).pool_size
    return max(answer, other) > (1 + DEPENDS) * min(answer, other)
