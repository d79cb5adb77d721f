"""The next step of a search for the pool size: bracket, extend, refine, confirm.

Bracket: measure the size to start from, half of it, and twice. Extend: measure larger or smaller sizes as long as the
best size, or the plateau's start, may lie beyond the measured sizes. Refine: between the measured sizes, measure where
one more step tells most about the plateau's start. Confirm: when the answer is as certain as the plan requires, measure
every decisive size twice; where the best measured size contradicts the answer, both a third time.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2

import numpy as np

from poolsize.analysis.attempts import curve_steps, valid_steps
from poolsize.analysis.checks import FILLED
from poolsize.analysis.curve import FittedCurve, candidates, fit_curve
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import TOLERANCE, Plateau, contradicts, plateau
from poolsize.runs.check import Check
from poolsize.runs.plan import PlannedStep, Search, SearchEnd, SweepPlan
from poolsize.runs.run import CheckResult, Step

LEAST_GAIN = 0.03
"""The search extends up only for a gain of more than this share of throughput."""
MAY_GAIN, MAY_BEGIN = 0.08, 0.1
"""Probabilities: the search extends up where a gain, down where the plateau's start is more likely than this."""
FEWEST_STEPS = 8
"""Valid steps before a search may end."""
CONFIRMED = 2
"""Valid steps that confirm a size on which the answer depends."""
SLACK = 1.2
"""A larger pool has no more users who want a connection than a smaller pool; this factor allows for noise."""
MAX_SHORT, MAX_EXCESS = 0.0035, 0.5
"""A search may end when the expected loss is within these bounds: see Progress.is_certain.

Both are shares of the doublings between the ends of the widest range with which the search may end.
"""


def next_of_search(plan: SweepPlan, search: Search, steps: Sequence[Step]) -> PlannedStep | SearchEnd:
    """Return the step to measure next, or why the search ends. steps: all so far, failed attempts included."""
    left = seconds_left(plan, steps)
    if steps and left is not None and left < (1 + len(plan.verify)) * plan.planned_seconds:
        return SearchEnd.BUDGET  # the first step may exceed it
    measured = [step for step in steps if step.rate == plan.rate]
    progress = Progress(plan, search, measured)
    size = _bracket(progress)
    if size is None and progress.has_throughput:
        size = _above(progress) or _below(progress) or _refine(progress) or _confirm(progress)
    if size is None:
        return SearchEnd.CERTAIN if progress.has_throughput else SearchEnd.FAILED
    repeat = sum(step.pool_size == size and not step.retryable for step in measured)
    return PlannedStep(len(measured), size, repeat, plan.rate)


def seconds_left(plan: SweepPlan, steps: Sequence[Step]) -> int | None:
    """Return the rest of a search's budget, in seconds of load and of changes of size; None for a grid."""
    if plan.search is None:
        return None
    spent = sum(len(step.throughput) + step.change_seconds for step in steps)
    return plan.search.budget_seconds - ceil(spent)


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
    def counts(self) -> Counter[int]:
        """The number of valid steps of each pool size."""
        return Counter(step.pool_size for step in self.valid)

    @cached_property
    def unconfirmed(self) -> frozenset[int]:
        """Pool sizes with fewer valid steps than a confirmation takes, without those given up."""
        return frozenset(size for size in self.measured if self.counts[size] < CONFIRMED) - self.exhausted

    @property
    def contradicting(self) -> frozenset[int]:
        """The answer and the best measured size, without those given up, where a further step must decide.

        That is where the best measured size contradicts the answer, until both have one step more than a confirmation
        takes.
        """
        means = {
            size: sum(step.mean_throughput for step in self.valid if step.pool_size == size) / self.counts[size]
            for size in self.measured
        }
        best = max(means, key=means.__getitem__)
        if not contradicts(self.plateau, best, means[best]):
            return frozenset()
        both = {size for size in (self.plateau.pool_size, best) if self.counts[size] <= CONFIRMED}
        return frozenset(both) - self.exhausted

    @property
    def beginning(self) -> tuple[int, ...]:
        """The sizes to begin with: the start, half of it, and twice."""
        return self.search.start, max(1, self.search.start // 2), self.search.start * 2

    @cached_property
    def unfilled(self) -> tuple[Step, ...]:
        """The steps whose pool the users could not fill, without those that may pass another time."""
        return tuple(
            step for step in self.steps if not step.retryable and (check := _filling(step)) and not check.passed
        )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The measured pool sizes, and those that users can fill and that were not given up, ascending."""
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
        """Whether the answer is expected to be hardly too small, and hardly too large or of a range narrow enough.

        shortfall: throughput that the answer is expected to lack, below the tolerance, a logarithm.
        excess: doublings by which the answer is expected to exceed the plateau's start.
        """
        answer, curve, doublings = self.plateau, self.inside, log2(self.search.interval)
        place = curve.sizes.index(answer.pool_size)
        adjacent = place == 0 or answer.low >= curve.sizes[place - 1]
        narrow = answer.high <= self.search.interval * answer.low or (adjacent and answer.high <= answer.pool_size)
        shortfall = float(curve.against(curve.best_size).at(place).shortfall(1 - TOLERANCE)[0])
        excess = float(np.diff(np.log2(curve.sizes[: place + 1])) @ curve.begun(1 - TOLERANCE)[:place])
        return shortfall <= MAX_SHORT * doublings and (narrow or excess <= MAX_EXCESS * doublings)


def _filling(step: Step) -> CheckResult | None:
    """Return the check that users filled the pool of a step; None where that was not checked."""
    return next((result for result in step.checks if result.check is Check.USERS_LIMITED), None)


def _filled_by_its_users(step: Step) -> int | None:
    """Return the largest pool that as many users fill as want a connection in a step; None where that is not known."""
    check = _filling(step)
    wanting = check.values.get("wanting_users") if check else None
    return int(wanting / FILLED) if isinstance(wanting, int | float) else None


def _bracket(progress: Progress) -> int | None:
    """Return the first size to begin with that is not measured; None when all are.

    Once users could not fill a pool, the search begins among the sizes that they surely fill, because no fewer want a
    connection of a smaller pool.
    """
    if not progress.sizes:
        return None
    filled = [size for step in progress.unfilled if (size := _filled_by_its_users(step)) is not None]
    largest = max([*filled, *progress.measured]) if filled else progress.search.largest
    sizes = [size for size in progress.sizes if size <= largest] or progress.sizes[:1]
    first = (_nearest(sizes, size) for size in progress.beginning)
    return next((size for size in first if size not in progress.measured), None)


def _above(progress: Progress) -> int | None:
    """Return twice the largest size, at most halfway to the largest that users fill; None for little gain."""
    curve, high = progress.curve, max(progress.measured)
    larger = [size for size in curve.sizes if size > high]
    if not larger:
        return None
    gains = curve.against(progress.inside.best_size).at_least(1 + LEAST_GAIN)[-len(larger) :]
    target = 2 * high if larger[-1] == progress.search.largest else (high * larger[-1]) ** 0.5
    return _nearest(larger, target) if gains.max() > MAY_GAIN else None


def _below(progress: Progress) -> int | None:
    """Return half of the smallest measured size, before it an unconfirmed best; None if no plateau may start there."""
    best, low = progress.inside.best_size, min(progress.measured)
    smaller = [size for size in progress.curve.sizes if size < low]
    if not smaller or progress.curve.against(best).at_least(1 - TOLERANCE)[len(smaller) - 1] <= MAY_BEGIN:
        return None
    return best if best in progress.unconfirmed else _nearest(smaller, low / 2)


def _refine(progress: Progress) -> int | None:
    """Return the size at which one more step reduces uncertainty most; None when the answer is certain.

    The value of one more step is the expected reduction of the variance of throughput, against the best size's, over
    the sizes at which the plateau may start, each weighted by its probability.
    """
    if len(progress.valid) >= FEWEST_STEPS and progress.is_certain:
        return None
    curve = progress.inside
    starts = np.diff(curve.begun(1 - TOLERANCE), prepend=0.0)
    _, covariance = curve.moments
    contrasts = covariance - covariance[:, [curve.sizes.index(curve.best_size)]]
    noise = curve.between_variance + curve.second_variance / progress.plan.step_seconds
    value = contrasts**2 @ starts / (np.diagonal(covariance) + noise)
    best_first = (curve.sizes[place] for place in np.argsort(-value, kind="stable"))
    return next((size for size in best_first if size not in progress.exhausted), None)


def _confirm(progress: Progress) -> int | None:
    """Return a decisive size that has too few valid steps, or None."""
    if not progress.is_certain:
        return None
    answer = progress.plateau.pool_size
    below = max((size for size in progress.measured if size < answer), default=answer)
    decisive = (answer, below, progress.inside.best_size, max(progress.measured))
    unmeasured = set(decisive) - progress.measured
    first = next((size for size in decisive if size in progress.unconfirmed | unmeasured), None)
    return first or min(progress.contradicting, default=None)


def _nearest(sizes: Sequence[int], target: float) -> int:
    """Return the size that is nearest to the target on a logarithmic scale."""
    return min(sizes, key=lambda size: abs(np.log(size / target)))
