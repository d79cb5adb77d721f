"""The confirmation of a grid: the sizes on which the answer hangs are measured again."""

from collections import Counter
from collections.abc import Sequence

from poolsize.analysis.attempts import attempt_counts, curve_steps, step_key
from poolsize.analysis.curve import fit_between
from poolsize.analysis.observation import Observation, group_neighbouring_sizes
from poolsize.analysis.plateau import plateau
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Step
from poolsize.sweep.progress import CONFIRMED

HANGS = 0.2
"""The answer hangs on a size if it changes by more than this share when the size is left out."""
FEWEST_SIZES = 4
"""With fewer sizes, one that is left out leaves no curve to judge it by."""
NEAREST = 2
"""Measured sizes below the answer, and above it, on which the answer may hang."""


def step_to_confirm(plan: SweepPlan, steps: Sequence[Step]) -> PlannedStep | None:
    """Return the next step that confirms a size of a complete grid, or None where the answer hangs on no single step.

    Of several sizes, the largest comes first.
    """
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
    """Return the sizes with too few steps on which the answer hangs, ascending.

    A size needs another step where a step was probably disturbed, even if the answer stays the same.
    good: of the steps that need no other attempt, at least one.
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
    return max(answer, other) > (1 + HANGS) * min(answer, other)
