"""next_step(plan, steps): what to measure next, or None when the answer is certain or the budget is spent.

A search begins with the size to start from, half of it and twice. Then it follows the curve up or down as long as the
best, or the plateau's beginning, may well lie outside of what was measured. Inside it measures where one more step
tells most: of two uncertainties, what the answer gives up in throughput and where the plateau begins, the step is put
where it takes away most (its expected reduction of their variances). It ends when both are as small as asked for.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.checks import telling
from poolsize.analysis.curve import Curves, Observation, candidates, curves
from poolsize.analysis.plateau import TOLERANCE, Plateau, plateau
from poolsize.analysis.vector import Vector
from poolsize.runs.plan import PlannedStep, Search, SweepPlan
from poolsize.runs.run import Step, best_attempts, missing_steps

WORTH_GOING = 0.03
"""A gain of throughput that is worth going beyond what was measured, as a share."""
MAY_GAIN, MAY_BEGIN = 0.12, 0.15
"""How likely the best, or the plateau's beginning, must lie beyond for the search to follow it there."""
CLEARLY_BELOW = 0.05
"""Doublings of the size."""
FEWEST_STEPS, CONFIRMED = 6, 2
"""Steps in all before it may end, and of every size that the answer hangs on: a lone one may be an accident."""
CROSSING_WEIGHT = 0.02
"""What an uncertain beginning of the plateau (variance in doublings) weighs against an uncertain loss."""

LEAST_SHARE = 0.05
TWO_SIDES = 1.96
"""Standard deviations on either side that hold 95 of 100."""


def next_step(plan: SweepPlan, steps: Sequence[Step]) -> PlannedStep | None:
    """What to measure next, or None at the end. A pure function: the same steps lead to the same next one.

    steps: all that were measured so far, void ones too.
    """
    if plan.search is None:
        missing = missing_steps(plan, steps)
        return missing[0] if missing else None
    measured = [step for step in steps if step.rate == plan.rate]
    size = None if _spent(plan, steps) else _next_size(plan, plan.search, measured)
    if size is None:
        return None
    repeat = sum(step.pool_size == size and not step.void for step in measured)
    return PlannedStep(len(measured), size, repeat, plan.rate)


def ending(plan: SweepPlan, steps: Sequence[Step]) -> str | None:
    """Why a search that has no next step is at its end; None for a grid.

    It is "certain"; its "budget" is spent; or it "failed", for no step could be told anything from.
    """
    if plan.search is None:
        return None
    if _spent(plan, steps):
        return "budget"
    return "certain" if any(step.mean_throughput for step in telling(best_attempts(plan, steps))) else "failed"


def seconds_left(plan: SweepPlan, steps: Sequence[Step]) -> int | None:
    """What is left of a search's budget, in seconds of load; None for a grid."""
    if plan.search is None:
        return None
    return plan.search.budget_seconds - sum(len(step.throughput) for step in steps if step.rate == plan.rate)


def _spent(plan: SweepPlan, steps: Sequence[Step]) -> bool:
    """Whether one more step would take more than the budget; the first one may."""
    left = seconds_left(plan, steps)
    return bool(steps) and left is not None and left < plan.warm_up_seconds + plan.step_seconds


def _next_size(plan: SweepPlan, search: Search, steps: Sequence[Step]) -> int | None:
    """None when the answer is certain, or nothing is left to measure."""
    told = telling(best_attempts(plan, steps))
    done = {step.pool_size for step in told}
    void = Counter(step.pool_size for step in steps if step.void)
    given_up = {size for size in void if void[size] >= plan.attempts}
    sizes = _sizes(search, steps, done, given_up)
    first = [size for size in _first_sizes(search, sizes) if size not in done]
    if first:
        return first[0]
    if not any(step.mean_throughput for step in told):
        return None
    drawn = curves([Observation.of(step) for step in told], sizes)
    low, high = min(done), max(done)
    inside = drawn.within(low, high)
    above, below = _above(drawn, high, inside, search.largest), _below(drawn, low, high)
    if above is not None:
        return above
    lone = {size for size, number in Counter(step.pool_size for step in steps).items() if number < CONFIRMED}
    if below is not None:
        return inside.best_size if inside.best_size in lone else below
    found = plateau(inside)
    if len(told) < FEWEST_STEPS or not _certain(inside, found, search):
        return _most_telling(inside, found, given_up)
    below_it = max((size for size in done if size < found.pool_size), default=found.pool_size)
    hangs_on = (found.pool_size, below_it, inside.best_size, high)
    return next((size for size in hangs_on if size in lone or size not in done), None)


def _first_sizes(search: Search, sizes: Sequence[int]) -> list[int]:
    """The start, half of it and twice, as far as they may be measured."""
    return list(dict.fromkeys(_nearest(sizes, size) for size in _beginning(search))) if sizes else []


def _beginning(search: Search) -> tuple[int, ...]:
    return search.start, max(1, search.start // 2), search.start * 2


def _sizes(search: Search, steps: Sequence[Step], done: set[int], given_up: set[int]) -> tuple[int, ...]:
    """Those that were measured, and those that may be: callers could fill them, and they were not void too often."""
    unfilled = {step.pool_size for step in steps if any(one.name == "users_limited" for one in step.failed_checks)}
    largest = max([min([search.largest, *(size - 1 for size in unfilled)]), *done])
    if largest < search.smallest:
        return ()
    regular = candidates(search.smallest, largest, (*_beginning(search), *done))
    return tuple(size for size in regular if size in done or size not in given_up | unfilled)


def _above(drawn: Curves, high: int, inside: Curves, largest: int) -> int | None:
    """The next size above all measured ones, or None where no gain is likely there.

    That is twice the highest; halfway on a logarithmic scale where callers were seen not to fill a larger one.
    """
    sizes = np.array(drawn.sizes)
    if high == sizes[-1]:
        return None
    best = inside.draws.max(axis=1)
    gains = drawn.draws[:, sizes > high].max(axis=1) > (1 + WORTH_GOING) * best
    wanted = 2 * high if sizes[-1] == largest else (high * sizes[-1]) ** 0.5
    return _nearest(sizes[sizes > high], wanted) if gains.mean() > MAY_GAIN else None


def _below(drawn: Curves, low: int, high: int) -> int | None:
    """The next size below all measured ones, or None where the plateau hardly begins there."""
    sizes = np.array(drawn.sizes)
    if low == sizes[0]:
        return None
    begins = drawn.within(int(sizes[0]), high).crossing(1 - TOLERANCE) < np.log2(low) - CLEARLY_BELOW
    return _nearest(sizes[sizes < low], low / 2) if begins.mean() > MAY_BEGIN else None


def _certain(drawn: Curves, found: Plateau, search: Search) -> bool:
    """Whether the answer's range is as narrow as asked for, and the throughput that it gives up as well known."""
    place = drawn.sizes.index(found.pool_size)
    next_to_it = place == 0 or found.low >= drawn.sizes[place - 1]
    narrow = found.high <= search.interval * found.low or (next_to_it and found.high <= found.pool_size)
    return narrow and float(_losses(drawn, found.pool_size).std()) <= search.loss / TWO_SIDES


def _most_telling(drawn: Curves, found: Plateau, given_up: set[int]) -> int | None:
    """The size between those measured where one more step tells most, or None where all were given up."""
    losses, begins = _losses(drawn, found.pool_size), drawn.crossing(1 - TOLERANCE)
    value = _explained(drawn, losses) + CROSSING_WEIGHT * _explained(drawn, begins)
    return next((drawn.sizes[one] for one in np.argsort(-value) if drawn.sizes[one] not in given_up), None)


def _losses(drawn: Curves, size: int) -> Vector:
    """What the size gives up on each curve against that curve's own best, a logarithm: wherever it may be."""
    shares = drawn.draws[:, drawn.sizes.index(size)] / drawn.draws.max(axis=1)
    return np.asarray(np.log(np.maximum(shares, LEAST_SHARE)))


def _explained(drawn: Curves, outcome: Vector) -> Vector:
    """By how much one more step at each size is expected to reduce the variance of what each curve makes of it."""
    away = drawn.draws - drawn.mean
    covariance = away.T @ (outcome - outcome.mean()) / len(outcome)
    return np.asarray(covariance**2 / ((away**2).mean(axis=0) + drawn.noise**2))


def _nearest(sizes: Sequence[int] | NDArray[np.int64], size: float) -> int:
    return int(min(sizes, key=lambda one: abs(np.log(one / size))))
