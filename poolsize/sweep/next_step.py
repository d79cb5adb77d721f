"""The next step of a sweep; `next_step` alone decides it, in a grid, a search, a repeat and a verification."""

from dataclasses import dataclass, replace

from poolsize.analysis.attempts import attempt_counts, step_key
from poolsize.runs.plan import PlannedStep, SearchEnd
from poolsize.runs.run import Run, Step
from poolsize.sweep.confirmation import step_to_confirm
from poolsize.sweep.grid import grid_steps, missing_steps, next_of_grid
from poolsize.sweep.search import next_of_search
from poolsize.sweep.verification import steps_to_verify


def next_step(run: Run) -> PlannedStep | SearchEnd | None:
    """Return the step to measure next, or the reason why a search ends now; None when the sweep is complete.

    The decision depends on the run alone: the same steps lead to the same decision.
    """
    if run.plan.search is None:
        decision: PlannedStep | SearchEnd | None = next_of_grid(run.plan, run.steps) or step_to_confirm(
            run.plan, run.steps
        )
    else:
        decision = None if run.ended else next_of_search(run.plan, run.plan.search, run.steps)
    if decision is None and (verifying := steps_to_verify(run)):
        decision = verifying[0]
    return replace(decision, order=len(run.steps)) if isinstance(decision, PlannedStep) else decision


def is_retried(run: Run, step: Step, decision: PlannedStep | SearchEnd | None) -> bool:
    """Return whether the run's latest step failed a check and is measured again.

    decision: the result of next_step after this step. A search measures the size again only where it needs the size.
    """
    if not step.retryable:
        return False
    if run.plan.search is not None and step.rate == run.plan.rate:
        return isinstance(decision, PlannedStep) and decision.pool_size == step.pool_size
    return attempt_counts(run.steps)[step_key(step)] < run.plan.attempts


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
    missing = len(missing_steps(run.plan, run.steps))
    return Remaining(missing, len(grid_steps(run.plan))) if missing else None
