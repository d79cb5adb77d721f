"""The steps of a grid: every planned size and repeat once."""

import random
from collections.abc import Iterator

from poolsize.runs.plan import PlannedStep, SweepPlan


def grid_steps(plan: SweepPlan) -> Iterator[PlannedStep]:
    """Yield every step of a grid, in the order to measure them: each repeat has all sizes in a random order.

    The plan's seed fixes the order. A random order keeps a drift of the machine (heat, another load) from looking like
    an effect of the pool size.
    """
    shuffle = random.Random(plan.seed)
    order = 0
    for repeat in range(plan.repeats):
        sizes = [*dict.fromkeys(plan.sizes)]
        shuffle.shuffle(sizes)
        for size in sizes:
            yield PlannedStep(order, size, repeat, plan.rate)
            order += 1
