"""The next step of a grid: every planned size and repeat once, then the steps whose attempts failed."""

import random
from array import array
from collections.abc import Iterator, Sequence

from poolsize.analysis.attempts import may_be_retried, replaces
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Step

UNMEASURED, FAILED, FAILED_VALID, GOOD = range(4)
"""What is known of a planned step by the attempt that counts: FAILED and FAILED_VALID may be measured again."""


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


class GridProgress:
    """The planned steps of a grid that are missing after the steps so far.

    It takes 17 bytes for each planned step, and the time to add a step does not depend on their number: a grid may have
    a million steps.
    """

    def __init__(self, plan: SweepPlan, steps: Sequence[Step] = ()) -> None:
        """steps: all steps of the run so far, failed attempts included."""
        self._plan = plan
        self._columns = {size: column for column, size in enumerate(dict.fromkeys(plan.sizes))}
        self.planned = len(self._columns) * plan.repeats
        self._sizes, self._orders, self._attempts, self._latest = (array("I", [0]) * self.planned for _ in range(4))
        self._states = bytearray(self.planned)
        for step in grid_steps(plan):
            self._sizes[step.order] = step.pool_size
            self._orders[self._cell(step)] = step.order
        self._failed: set[int] = set()
        self._first_unmeasured = 0
        self._added = 0
        for measured in steps:
            self.add(measured)

    def add(self, step: Step) -> None:
        """Count one more step of the run."""
        self._added += 1
        if not self.plans(step):
            return
        order = self._orders[self._cell(step)]
        state = self._states[order]
        self._attempts[order] += 1
        self._latest[order] = self._added - 1
        if state == UNMEASURED or replaces(step, retryable=state != GOOD, valid=state == FAILED_VALID):
            self._states[order] = (FAILED_VALID if step.valid else FAILED) if step.retryable else GOOD
        if self._states[order] != GOOD and may_be_retried(self._plan, step, self._attempts[order]):
            self._failed.add(order)
        else:
            self._failed.discard(order)
        while self._first_unmeasured < self.planned and self._attempts[self._first_unmeasured]:
            self._first_unmeasured += 1

    @property
    def has_unmeasured(self) -> bool:
        """Whether a planned step has no attempt yet."""
        return self._first_unmeasured < self.planned

    def missing_count(self) -> int:
        """Return the number of planned steps that have no successful attempt and may have another."""
        return self._attempts.count(0) + len(self._failed)

    def missing_steps(self) -> Iterator[PlannedStep]:
        """Yield the missing steps: those without an attempt first, then those whose attempts failed."""
        for order in range(self._first_unmeasured, self.planned):
            if not self._attempts[order]:
                yield self._step(order)
        for order in sorted(self._failed, key=lambda order: (self._attempts[order], order)):
            yield self._step(order)

    def attempts_at(self, step: Step | PlannedStep) -> int:
        """Return how often a step of the grid was measured."""
        return self._attempts[self._orders[self._cell(step)]]

    def latest_place(self, step: Step | PlannedStep) -> int | None:
        """Return the place in the run of the latest attempt at a step of the grid, or None before the first."""
        order = self._orders[self._cell(step)]
        return self._latest[order] if self._attempts[order] else None

    def plans(self, step: Step | PlannedStep) -> bool:
        """Return whether the grid plans the step. A grid plans no confirmation and no verification."""
        return step.rate == self._plan.rate and step.pool_size in self._columns and step.repeat < self._plan.repeats

    def _cell(self, step: Step | PlannedStep) -> int:
        return step.repeat * len(self._columns) + self._columns[step.pool_size]

    def _step(self, order: int) -> PlannedStep:
        return PlannedStep(order, self._sizes[order], order // len(self._columns), self._plan.rate)
