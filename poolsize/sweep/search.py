"""The next step of a search for the pool size: bracket, extend, refine, confirm.

Bracket: measure the size to start from, half of it, and twice. Extend: measure larger or smaller sizes as long as the
best size, or the plateau's start, may lie beyond the measured sizes. Refine: between the measured sizes, measure where
one more step tells most about the plateau's start. Confirm: when the answer is as certain as the plan requires, measure
every decisive size twice.
"""

from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.curve import FittedCurve
from poolsize.analysis.plateau import TOLERANCE, begun
from poolsize.analysis.vector import Vector
from poolsize.runs.plan import PlannedStep, Search, SearchEnd, SweepPlan
from poolsize.runs.run import Step
from poolsize.sweep.progress import Progress

LEAST_GAIN = 0.03
"""The search extends up only for a gain of more than this share of throughput."""
MAY_GAIN, MAY_BEGIN = 0.08, 0.1
"""Probabilities: the search extends up where a gain, down where the plateau's start is more likely than this."""
FEWEST_STEPS = 8
"""Valid steps before a search may end."""


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
    """Return the rest of a search's budget, in seconds of load and of changes of size; None for a grid."""
    if plan.search is None:
        return None
    spent = sum(len(step.throughput) + step.change_seconds for step in steps if step.rate == plan.rate)
    return plan.search.budget_seconds - ceil(spent)


def _is_spent(plan: SweepPlan, steps: Sequence[Step]) -> bool:
    """Return whether one more step would exceed the budget. The first step may exceed it."""
    left = seconds_left(plan, steps)
    return bool(steps) and left is not None and left < plan.warm_up_seconds + plan.step_seconds


def _bracket(progress: Progress) -> int | None:
    """Return the first size to begin with that is not measured; None when all are.

    Once users could not fill a pool, the search begins among the sizes that they fill.
    """
    if not progress.sizes:
        return None
    sizes = [size for size in progress.sizes if size <= progress.surely_filled] or progress.sizes[:1]
    first = (_nearest(sizes, size) for size in progress.beginning)
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
    gains = curve.against(progress.inside.best_size).at_least(1 + LEAST_GAIN)[sizes > high]
    target = 2 * high if sizes[-1] == progress.search.largest else (high * sizes[-1]) ** 0.5
    return _nearest(sizes[sizes > high], target) if gains.max() > MAY_GAIN else None


def _below(progress: Progress) -> int | None:
    """Return half of the smallest measured size, or None where the plateau hardly starts below the smallest."""
    curve, low = progress.curve, min(progress.measured)
    sizes = np.array(curve.sizes)
    smaller = sizes[sizes < low]
    if not len(smaller):
        return None
    within = curve.against(progress.inside.best_size).at_least(1 - TOLERANCE)
    return _nearest(smaller, low / 2) if within[len(smaller) - 1] > MAY_BEGIN else None


def _refine(progress: Progress) -> int | None:
    """Return the size at which one more step reduces uncertainty most; None when the answer is certain."""
    if len(progress.valid) >= FEWEST_STEPS and progress.is_certain:
        return None
    curve = progress.inside
    best_first = (curve.sizes[place] for place in np.argsort(-_value(curve), kind="stable"))
    return next((size for size in best_first if size not in progress.exhausted), None)


def _value(curve: FittedCurve) -> Vector:
    """Return the value of one more step at each size.

    It is the expected reduction of the variance of throughput, against the best size's, over the sizes at which the
    plateau may start, each weighted by its probability.
    """
    best = curve.sizes.index(curve.best_size)
    starts = np.diff(begun(curve), prepend=0.0)
    _, covariance = curve.moments
    contrasts = covariance - covariance[:, [best]]
    return np.asarray(contrasts**2 @ starts / (np.diagonal(covariance) + curve.noise**2))


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


def _nearest(sizes: Sequence[int] | NDArray[np.int64], target: float) -> int:
    """Return the size that is nearest to the target on a logarithmic scale."""
    return int(min(sizes, key=lambda size: abs(np.log(size / target))))
