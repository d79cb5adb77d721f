"""The state of a search by the steps so far: the fitted curve, the answer, and how certain it is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2

import numpy as np

from poolsize.analysis.attempts import curve_steps, valid_steps
from poolsize.analysis.checks import FILLED
from poolsize.analysis.curve import FittedCurve, candidates, fit_curve
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import TOLERANCE, Plateau, begun, plateau
from poolsize.runs.check import Check
from poolsize.runs.plan import Search, SweepPlan
from poolsize.runs.run import CheckResult, Step

CONFIRMED = 2
"""Valid steps that confirm a size on which the answer hangs."""
SLACK = 1.2
"""A larger pool has no more users who want a connection than a smaller pool; this factor allows for noise."""
MAX_SHORT, MAX_EXCESS = 0.0035, 0.5
"""A search may end when the expected loss is within these bounds: see Progress.shortfall and Progress.excess.

Both are shares of the doublings between the ends of the widest range with which the search may end.
"""


@dataclass(frozen=True)
class Progress:
    """The state of a search. steps: all measured so far, failed attempts included."""

    plan: SweepPlan
    search: Search
    steps: Sequence[Step]

    @cached_property
    def valid(self) -> tuple[Step, ...]:
        """The valid steps of the curve, without those at another speed of the machine that are measured again."""
        steps = valid_steps(curve_steps(self.plan, self.steps))
        return tuple(step for step in steps if not step.had_other_speed or step.pool_size in self.exhausted)

    @cached_property
    def has_throughput(self) -> bool:
        """Whether any valid step did a transaction."""
        return any(step.mean_throughput for step in self.valid)

    @cached_property
    def measured(self) -> frozenset[int]:
        """Pool sizes with a valid step."""
        return frozenset(step.pool_size for step in self.valid)

    @cached_property
    def exhausted(self) -> frozenset[int]:
        """Pool sizes that are not measured again, because as many attempts failed as the plan allows."""
        failed = Counter(step.pool_size for step in self.steps if step.retryable)
        return frozenset(size for size, number in failed.items() if number >= self.plan.attempts)

    @cached_property
    def unconfirmed(self) -> frozenset[int]:
        """Pool sizes with fewer valid steps than a confirmation takes, without those given up."""
        confirmed = Counter(step.pool_size for step in self.valid)
        return frozenset(size for size in self.measured if confirmed[size] < CONFIRMED) - self.exhausted

    @property
    def beginning(self) -> tuple[int, ...]:
        """The sizes to begin with: the start, half of it, and twice."""
        return self.search.start, max(1, self.search.start // 2), self.search.start * 2

    @cached_property
    def unfilled(self) -> tuple[Step, ...]:
        """The steps whose pool the users could not fill, without those that may pass another time."""
        checked = ((step, _filling(step)) for step in self.steps if not step.retryable)
        return tuple(step for step, check in checked if check is not None and not check.passed)

    @cached_property
    def surely_filled(self) -> int:
        """The largest size that users fill, because no fewer want a connection of a smaller pool."""
        known = [size for step in self.unfilled if (size := _filled_by_its_users(step)) is not None]
        return max([*known, *self.measured]) if known else self.search.largest

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The measured pool sizes and those that may be measured, ascending.

        A size may be measured if users can fill the pool and the size was not given up.
        """
        unfilled = {step.pool_size for step in self.unfilled}
        counted = self.valid if unfilled else ()
        most = [int(SLACK * (_filled_by_its_users(step) or self.search.largest)) for step in counted]
        largest = max([min([self.search.largest, *(size - 1 for size in unfilled), *most]), *self.measured])
        if largest < self.search.smallest:
            return ()
        regular = candidates(self.search.smallest, largest, (*self.beginning, *self.measured))
        return tuple(size for size in regular if size in self.measured or size not in self.exhausted | unfilled)

    @cached_property
    def curve(self) -> FittedCurve:
        """The curve fitted to the valid steps, over all of `sizes`."""
        return fit_curve([Observation.of(step) for step in self.valid], self.sizes)

    @cached_property
    def inside(self) -> FittedCurve:
        """The part of the curve between the smallest and the largest measured size."""
        return self.curve.within(min(self.measured), max(self.measured))

    @cached_property
    def plateau(self) -> Plateau:
        """The plateau by the steps so far."""
        return plateau(self.inside, of_grid=False)

    @property
    def is_certain(self) -> bool:
        """Whether the answer is expected to be hardly too small, and hardly too large or of a range narrow enough."""
        answer, curve = self.plateau, self.inside
        place = curve.sizes.index(answer.pool_size)
        adjacent = place == 0 or answer.low >= curve.sizes[place - 1]
        narrow = answer.high <= self.search.interval * answer.low or (adjacent and answer.high <= answer.pool_size)
        doublings = log2(self.search.interval)
        return self.shortfall <= MAX_SHORT * doublings and (narrow or self.excess <= MAX_EXCESS * doublings)

    @property
    def shortfall(self) -> float:
        """Throughput that the answer is expected to lack, below the tolerance: a logarithm."""
        place = self.inside.sizes.index(self.plateau.pool_size)
        return float(self.inside.against(self.inside.best_size).at(place).shortfall(1 - TOLERANCE)[0])

    @property
    def excess(self) -> float:
        """Doublings by which the answer is expected to exceed the plateau's start."""
        place = self.inside.sizes.index(self.plateau.pool_size)
        return float(np.diff(np.log2(self.inside.sizes[: place + 1])) @ begun(self.inside)[:place])


def _filling(step: Step) -> CheckResult | None:
    """Return the check that users filled the pool of a step; None where that was not checked."""
    return next((result for result in step.checks if result.check is Check.USERS_LIMITED), None)


def _filled_by_its_users(step: Step) -> int | None:
    """Return the largest pool that as many users fill as want a connection in a step; None where that is not known."""
    check = _filling(step)
    wanting = check.values.get("wanting_users") if check else None
    return int(wanting / FILLED) if isinstance(wanting, int | float) else None
