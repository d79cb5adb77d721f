"""The next step of a grid: every planned size and repeat once, then those whose attempts failed."""

import random
from collections.abc import Sequence

from poolsize.analysis.attempts import Place, attempt_counts, curve_steps, place
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Step


def grid_steps(plan: SweepPlan) -> tuple[PlannedStep, ...]:
    """Return every step of a grid in the order of measuring: each repeat has all sizes, shuffled by the seed.

    The shuffle keeps a drift of the machine (heat, a neighbour's load) from looking like a curve.
    """
    shuffle = random.Random(plan.seed)
    planned = []
    for repeat in range(plan.repeats):
        sizes = list(plan.sizes)
        shuffle.shuffle(sizes)
        planned += [(size, repeat) for size in sizes]
    return tuple(PlannedStep(order, size, repeat, plan.rate) for order, (size, repeat) in enumerate(planned))


def missing_steps(plan: SweepPlan, steps: Sequence[Step]) -> tuple[PlannedStep, ...]:
    """Return what a grid still needs: planned steps without an attempt, then those whose attempts all failed."""
    attempts = attempt_counts(steps)
    done = {place(step) for step in curve_steps(plan, steps) if not step.retryable}

    def key(planned: PlannedStep) -> Place:
        return planned.pool_size, planned.repeat, planned.rate

    missing = [step for step in grid_steps(plan) if key(step) not in done and attempts[key(step)] < plan.attempts]
    return tuple(sorted(missing, key=lambda step: attempts[key(step)]))


def next_of_grid(plan: SweepPlan, steps: Sequence[Step]) -> PlannedStep | None:
    """Return the step to measure next, or None when the grid is complete."""
    missing = missing_steps(plan, steps)
    return missing[0] if missing else None
