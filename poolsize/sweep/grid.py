"""The next step of a grid: every planned size and repeat once, then the steps whose attempts failed."""

import random
from collections.abc import Sequence

from poolsize.analysis.attempts import attempt_counts, curve_steps, needed_steps, step_key
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Step


def grid_steps(plan: SweepPlan) -> tuple[PlannedStep, ...]:
    """Return every step of a grid, in the order to measure them: each repeat has all sizes in a random order.

    The plan's seed fixes the order. A random order keeps a drift of the machine (heat, another load) from looking like
    an effect of the pool size.
    """
    shuffle = random.Random(plan.seed)
    planned = []
    for repeat in range(plan.repeats):
        sizes = list(plan.sizes)
        shuffle.shuffle(sizes)
        planned += [(size, repeat) for size in sizes]
    return tuple(PlannedStep(order, size, repeat, plan.rate) for order, (size, repeat) in enumerate(planned))


def missing_steps(plan: SweepPlan, steps: Sequence[Step]) -> tuple[PlannedStep, ...]:
    """Return the steps that a grid still needs: those without an attempt first, then those whose attempts failed."""
    attempts = attempt_counts(steps)
    needed = needed_steps(plan, grid_steps(plan), steps, curve_steps(plan, steps))
    return tuple(sorted(needed, key=lambda step: attempts[step_key(step)]))


def next_of_grid(plan: SweepPlan, steps: Sequence[Step]) -> PlannedStep | None:
    """Return the step to measure next, or None when the grid is complete."""
    missing = missing_steps(plan, steps)
    return missing[0] if missing else None
