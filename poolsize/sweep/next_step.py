"""The next step of a sweep; Decisions alone decides it, in a grid, a search, a repeat and a verification."""

from dataclasses import dataclass, replace

from poolsize.analysis.attempts import attempt_counts, step_key
from poolsize.runs.plan import PlannedStep, SearchEnd
from poolsize.runs.run import Run, Step
from poolsize.runs.step_speed import step_speed
from poolsize.sweep.confirmation import step_to_confirm
from poolsize.sweep.grid import GridProgress
from poolsize.sweep.search import next_of_search
from poolsize.sweep.verification import steps_to_verify


class Decisions:
    """Decides the next step of a run, after each of its steps.

    A decision depends on the run alone: the same steps lead to the same decision.
    """

    def __init__(self, run: Run) -> None:
        self._grid = None if run.plan.search else GridProgress(run.plan, run.steps)

    def add(self, run: Run) -> None:
        """Count the run's latest step, which may change the speed checks of earlier steps."""
        if self._grid is None:
            return
        step = run.steps[-1]
        if self._grid.measures_first or step_speed(step) is None:
            self._grid.add(step)
        if not self._grid.measures_first and step_speed(step) is not None:
            self._grid = GridProgress(run.plan, run.steps)

    def next_step(self, run: Run) -> PlannedStep | SearchEnd | None:
        """Return the step to measure next, or the reason why a search ends now; None when the sweep is complete."""
        decision: PlannedStep | SearchEnd | None
        if self._grid is not None:
            decision = next(self._grid.steps(), None) or step_to_confirm(run.plan, run.steps)
        elif run.plan.search is not None and not run.ended:
            decision = next_of_search(run.plan, run.plan.search, run.steps)
        else:
            decision = None
        if decision is None and (verifying := steps_to_verify(run)):
            decision = verifying[0]
        return replace(decision, order=len(run.steps)) if isinstance(decision, PlannedStep) else decision

    def attempts_at(self, run: Run, step: Step | PlannedStep) -> int:
        """Return how often a planned step was measured."""
        attempts = self._grid.attempts_at(step) if self._grid else None
        return attempt_counts([step], run.steps)[step_key(step)] if attempts is None else attempts

    def is_retried(self, run: Run, decision: PlannedStep | SearchEnd | None) -> bool:
        """Return whether the run's latest step failed a check and is measured again.

        decision: the next step. A search measures the size again only where it needs the size.
        """
        step = run.steps[-1]
        if not step.retryable:
            return False
        if self._grid is None and step.rate == run.plan.rate:
            return isinstance(decision, PlannedStep) and decision.pool_size == step.pool_size
        return self.attempts_at(run, step) < run.plan.attempts


def next_step(run: Run) -> PlannedStep | SearchEnd | None:
    """Return the step to measure next, or the reason why a search ends now; None when the sweep is complete."""
    return Decisions(run).next_step(run)


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
    grid = GridProgress(run.plan, run.steps)
    return Remaining(grid.missing, grid.planned) if grid.missing else None
