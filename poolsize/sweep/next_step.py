"""next_step(run): what a sweep does next, whether grid, search, repeat or verification. Nothing else decides it."""

from dataclasses import dataclass

from poolsize.analysis.attempts import attempt_counts, place
from poolsize.runs.plan import PlannedStep, SearchEnd
from poolsize.runs.run import Run, Step
from poolsize.sweep.grid import grid_steps, missing_steps, next_of_grid
from poolsize.sweep.search import next_of_search
from poolsize.sweep.verification import steps_to_verify


def next_step(run: Run) -> PlannedStep | SearchEnd | None:
    """Return the step to measure next, why a search ends now, or None when nothing is left to do.

    A pure function: the same steps lead to the same decision.
    """
    if run.plan.search is None:
        decision: PlannedStep | SearchEnd | None = next_of_grid(run.plan, run.steps)
    else:
        decision = None if run.ended else next_of_search(run.plan, run.plan.search, run.steps)
    if decision is None and (verifying := steps_to_verify(run)):
        return verifying[0]
    return decision


def is_retried(run: Run, step: Step, decision: PlannedStep | SearchEnd | None) -> bool:
    """Return whether a step just measured failed a check and is measured again.

    decision: what comes next. A search measures the size again only where it needs the size.
    """
    if not step.retryable:
        return False
    if run.plan.search is not None and step.rate == run.plan.rate:
        return isinstance(decision, PlannedStep) and decision.pool_size == step.pool_size
    return attempt_counts(run.steps)[place(step)] < run.plan.attempts


@dataclass(frozen=True)
class Remaining:
    """What an unfinished run lacks.

    missing, planned: steps of a grid; None for a search, which was cut off.
    """

    missing: int | None = None
    planned: int | None = None

    def __str__(self) -> str:
        """In words: 2 of 5 steps are missing."""
        if self.missing is None:
            return "its search for the size was cut off"
        return f"{self.missing} of {self.planned} steps are missing"


def remaining(run: Run) -> Remaining | None:
    """Return what is left to measure for the curve, or None when the run is complete."""
    if run.plan.search is not None:
        return None if run.ended else Remaining()
    missing = len(missing_steps(run.plan, run.steps))
    return Remaining(missing, len(grid_steps(run.plan))) if missing else None
