"""The next step of a search for the pool size: bracket, extend, refine, confirm.

Bracket: measure the size to start from, half of it, and twice. Extend: measure larger or smaller sizes as long as the
best size, or the plateau's start, may lie beyond the measured sizes. Refine: between the measured sizes, measure where
one more step most reduces the variance of two outcomes. These are the throughput loss at the answer and the start of
the plateau. Confirm: when both are as certain as the plan requires, measure every decisive size twice.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.attempts import curve_steps, valid_steps
from poolsize.analysis.curve import FittedCurve, candidates, fit_curve
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import TOLERANCE, Plateau, plateau
from poolsize.analysis.vector import Vector
from poolsize.runs.check import Check
from poolsize.runs.plan import PlannedStep, Search, SearchEnd, SweepPlan
from poolsize.runs.run import Step

LEAST_GAIN = 0.03
"""The search extends up only for a gain of more than this share of throughput."""
MAY_GAIN, MAY_BEGIN = 0.12, 0.15
"""Probabilities: the search extends up where a gain, down where the plateau's start is more likely than this."""
CLEARLY_BELOW = 0.05
"""Doublings of the pool size by which the plateau must start below the smallest measured size."""
FEWEST_STEPS, CONFIRMED = 6, 2
"""Valid steps in all, and of each decisive size, before a search may end."""
CROSSING_WEIGHT = 0.02
"""Weight of the variance of the plateau's start (in doublings) against the variance of the loss (a logarithm)."""
LEAST_SHARE = 0.05
"""A lower share of the best throughput counts as this share, so that its logarithm stays finite."""
NORMAL_95 = 1.96
"""Standard deviations on either side of the mean that contain 95 % of a normal distribution."""


def next_of_search(plan: SweepPlan, search: Search, steps: Sequence[Step]) -> PlannedStep | SearchEnd:
    """Return the step to measure next, or the reason why the search ends.

    steps: all steps of the run so far, failed attempts included.
    """
    if _is_spent(plan, steps):
        return SearchEnd.BUDGET
    measured = [step for step in steps if step.rate == plan.rate]
    progress = Progress(plan, search, measured)
    size = _bracket(progress)
    if size is None and progress.has_throughput:
        size = _extend(progress) or _refine(progress) or _confirm(progress)
    if size is None:
        return SearchEnd.CERTAIN if progress.has_throughput else SearchEnd.FAILED
    repeat = sum(step.pool_size == size and not step.retryable for step in measured)
    return PlannedStep(len(measured), size, repeat, plan.rate)


def seconds_left(plan: SweepPlan, steps: Sequence[Step]) -> int | None:
    """Return the rest of a search's budget, in seconds of load; None for a grid."""
    if plan.search is None:
        return None
    return plan.search.budget_seconds - sum(len(step.throughput) for step in steps if step.rate == plan.rate)


def _is_spent(plan: SweepPlan, steps: Sequence[Step]) -> bool:
    """Return whether one more step would exceed the budget. The first step may exceed it."""
    left = seconds_left(plan, steps)
    return bool(steps) and left is not None and left < plan.warm_up_seconds + plan.step_seconds


@dataclass(frozen=True)
class Progress:
    """The state of a search. steps: all measured so far, failed attempts included."""

    plan: SweepPlan
    search: Search
    steps: Sequence[Step]

    @cached_property
    def valid(self) -> tuple[Step, ...]:
        """The valid steps of the curve."""
        return valid_steps(curve_steps(self.plan, self.steps))

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
    def sizes(self) -> tuple[int, ...]:
        """The measured pool sizes and those that may be measured, ascending.

        A size may be measured if users can fill the pool and the size was not given up.
        """
        unfilled = {
            step.pool_size
            for step in self.steps
            if any(result.check is Check.USERS_LIMITED for result in step.failed_checks)
        }
        largest = max([min([self.search.largest, *(size - 1 for size in unfilled)]), *self.measured])
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
        """Whether the answer's range is as narrow, and its throughput loss as certain, as the plan requires."""
        answer, sizes = self.plateau, self.inside.sizes
        position = sizes.index(answer.pool_size)
        adjacent = position == 0 or answer.low >= sizes[position - 1]
        narrow = answer.high <= self.search.interval * answer.low or (adjacent and answer.high <= answer.pool_size)
        return narrow and float(_log_shares(self.inside, answer.pool_size).std()) <= self.search.loss / NORMAL_95


def _bracket(progress: Progress) -> int | None:
    """Return the first size to begin with that is not measured; None when all are."""
    if not progress.sizes:
        return None
    first = (_nearest(progress.sizes, size) for size in progress.beginning)
    return next((size for size in first if size not in progress.measured), None)


def _extend(progress: Progress) -> int | None:
    """Return a size beyond the measured sizes if the best size or the plateau's start may lie there, or None.

    Before a smaller size is measured, the best size must be confirmed.
    """
    above = _above(progress)
    if above is not None:
        return above
    below = _below(progress)
    if below is not None and progress.inside.best_size in progress.unconfirmed:
        return progress.inside.best_size
    return below


def _above(progress: Progress) -> int | None:
    """Return a size above the measured sizes, or None where throughput hardly gains there.

    It is twice the largest measured size. Where users could not fill a larger pool, it is halfway to the largest size
    that they can fill, on a logarithmic scale.
    """
    curve, high = progress.curve, max(progress.measured)
    sizes = np.array(curve.sizes)
    if high == sizes[-1]:
        return None
    best = progress.inside.samples.max(axis=1)
    gains = curve.samples[:, sizes > high].max(axis=1) > (1 + LEAST_GAIN) * best
    target = 2 * high if sizes[-1] == progress.search.largest else (high * sizes[-1]) ** 0.5
    return _nearest(sizes[sizes > high], target) if gains.mean() > MAY_GAIN else None


def _below(progress: Progress) -> int | None:
    """Return half of the smallest measured size, or None where the plateau hardly starts below the smallest."""
    curve, low = progress.curve, min(progress.measured)
    sizes = np.array(curve.sizes)
    if low == sizes[0]:
        return None
    starts = curve.within(int(sizes[0]), max(progress.measured)).crossing(1 - TOLERANCE)
    begins_below = starts < np.log2(low) - CLEARLY_BELOW
    return _nearest(sizes[sizes < low], low / 2) if begins_below.mean() > MAY_BEGIN else None


def _refine(progress: Progress) -> int | None:
    """Return the size at which one more step reduces uncertainty most; None when the answer is certain."""
    if len(progress.valid) >= FEWEST_STEPS and progress.is_certain:
        return None
    curve = progress.inside
    losses, starts = _log_shares(curve, progress.plateau.pool_size), curve.crossing(1 - TOLERANCE)
    value = _expected_reduction(curve, losses) + CROSSING_WEIGHT * _expected_reduction(curve, starts)
    best_first = (curve.sizes[position] for position in np.argsort(-value))
    return next((size for size in best_first if size not in progress.exhausted), None)


def _confirm(progress: Progress) -> int | None:
    """Return a decisive size that has too few valid steps, or None.

    Decisive are the answer, the next smaller measured size, the best size, and the largest measured size.
    """
    if not progress.is_certain:
        return None
    answer = progress.plateau.pool_size
    below = max((size for size in progress.measured if size < answer), default=answer)
    decisive = (answer, below, progress.inside.best_size, max(progress.measured))
    unmeasured = set(decisive) - progress.measured
    return next((size for size in decisive if size in progress.unconfirmed | unmeasured), None)


def _log_shares(curve: FittedCurve, size: int) -> Vector:
    """Return for each sample the logarithm of the throughput at a size, as a share of the sample's own maximum."""
    shares = curve.samples[:, curve.sizes.index(size)] / curve.samples.max(axis=1)
    return np.asarray(np.log(np.maximum(shares, LEAST_SHARE)))


def _expected_reduction(curve: FittedCurve, outcome: Vector) -> Vector:
    """Return for each size the expected reduction of an outcome's variance by one more step at that size.

    outcome: one value a posterior sample.
    """
    deviations = curve.samples - curve.mean
    covariance = deviations.T @ (outcome - outcome.mean()) / len(outcome)
    return np.asarray(covariance**2 / ((deviations**2).mean(axis=0) + curve.noise**2))


def _nearest(sizes: Sequence[int] | NDArray[np.int64], target: float) -> int:
    """Return the size that is nearest to the target on a logarithmic scale."""
    return int(min(sizes, key=lambda size: abs(np.log(size / target))))
