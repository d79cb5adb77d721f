"""Decides the next step of a sweep: of a grid, a search, a confirmation and a verification."""

from dataclasses import dataclass, replace

from poolsize.analysis.attempts import attempt_counts, curve_steps, may_be_retried, needed_steps, step_key
from poolsize.runs.plan import MOST_STEPS, PlannedStep, SearchEnd
from poolsize.runs.run import Run, Step
from poolsize.sweep.confirmation import step_to_confirm
from poolsize.sweep.grid import grid_steps
from poolsize.sweep.search import next_of_search
from poolsize.sweep.verification import steps_to_verify


def next_step(run: Run) -> PlannedStep | SearchEnd | None:
    """Return the step to measure next, or the reason why a search ends now; None when the sweep is complete.

    A run of MOST_STEPS steps is complete: each planned step of a grid then has an attempt.
    """
    decision: PlannedStep | SearchEnd | None
    plan, is_full = run.plan, len(run.steps) >= MOST_STEPS
    if plan.search is not None and not run.ended:
        decision = SearchEnd.BUDGET if is_full else next_of_search(plan, plan.search, run.steps)
    elif is_full:
        return None
    else:
        decision = _next_of_curve(run) or next(iter(steps_to_verify(run)), None)
    return replace(decision, order=len(run.steps)) if isinstance(decision, PlannedStep) else decision


def _next_of_curve(run: Run) -> PlannedStep | None:
    """Return the next step of a grid or of its confirmation; None where both are complete, and after a search."""
    if run.plan.search is not None:
        return None
    return next(iter(missing_steps(run)), None) or step_to_confirm(run.plan, run.steps)


def missing_steps(run: Run) -> list[PlannedStep]:
    """Return the planned steps of a grid without a successful attempt that may have another, the least tried first."""
    planned = tuple(grid_steps(run.plan))
    counts = attempt_counts(planned, run.steps)
    needed = needed_steps(run.plan, planned, run.steps, curve_steps(run.plan, run.steps))
    return sorted(needed, key=lambda step: counts[step_key(step)])


def latest_attempt(run: Run, planned: PlannedStep) -> Step | None:
    """Return the latest attempt at a planned step, or None before the first."""
    return next((step for step in reversed(run.steps) if step_key(step) == step_key(planned)), None)


def is_retried(run: Run, decision: PlannedStep | SearchEnd | None) -> bool:
    """Return whether the run's latest step failed a check and is measured again.

    decision: the next step. A search measures the size again only where it needs the size.
    """
    step = run.steps[-1]
    if not step.retryable:
        return False
    if run.plan.search is not None and step.rate == run.plan.rate:
        return isinstance(decision, PlannedStep) and decision.pool_size == step.pool_size
    return may_be_retried(run.plan, step, attempt_counts([step], run.steps)[step_key(step)])


@dataclass(frozen=True)
class Remaining:
    """The part of an incomplete run that is not measured.

    missing, planned: numbers of steps of a grid; None for a search, whose number of steps is not known before its end.
    """

    missing: int | None = None
    planned: int | None = None

    def __str__(self) -> str:
        """Return the missing part in words: "2 of 5 steps are missing"."""
        if self.missing is None:
            return "the search for the pool size was cut off"
        return f"{self.missing} of {self.planned} steps are missing"


def remaining(run: Run) -> Remaining | None:
    """Return the part of the throughput curve that is not measured, or None where it is complete."""
    if run.plan.search is not None:
        return None if run.ended else Remaining()
    missing = len(missing_steps(run)) if len(run.steps) < MOST_STEPS else 0
    return Remaining(missing, len({*run.plan.sizes}) * run.plan.repeats) if missing else None
