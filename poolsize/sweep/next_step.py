"""Decides the next step of a sweep: of a grid, a search, a confirmation and a verification."""

from dataclasses import dataclass, replace

from poolsize.analysis.attempts import attempt_counts, may_be_retried, step_key
from poolsize.runs.plan import PlannedStep, SearchEnd
from poolsize.runs.run import Run, Step
from poolsize.runs.step_speed import step_speed
from poolsize.runs.usual_speed import UsualSpeed
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
        self._usual: UsualSpeed | None = None
        self._is_provisional = False

    def add(self, run: Run) -> None:
        """Count the run's latest step.

        A step may change the usual speed, and with it the speed checks of all earlier steps. Which steps failed matters
        once every planned step has an attempt, so only then the earlier steps are read again.
        """
        if self._grid is None:
            return
        step = run.steps[-1]
        self._grid.add(step)
        if self._grid.has_unmeasured:
            self._is_provisional = True
        elif self._is_provisional or step_speed(step) is not None:
            usual = UsualSpeed.of(run)
            if self._is_provisional or usual != self._usual:
                self._grid, self._usual, self._is_provisional = GridProgress(run.plan, run.steps), usual, False

    def next_step(self, run: Run) -> PlannedStep | SearchEnd | None:
        """Return the step to measure next, or the reason why a search ends now; None when the sweep is complete."""
        decision: PlannedStep | SearchEnd | None
        if self._grid is not None:
            decision = next(self._grid.missing_steps(), None) or step_to_confirm(run.plan, run.steps)
        elif run.plan.search is not None and not run.ended:
            decision = next_of_search(run.plan, run.plan.search, run.steps)
        else:
            decision = None
        if decision is None and (verifying := steps_to_verify(run)):
            decision = verifying[0]
        return replace(decision, order=len(run.steps)) if isinstance(decision, PlannedStep) else decision

    def latest_attempt(self, run: Run, planned: PlannedStep) -> Step | None:
        """Return the latest attempt at a planned step, or None before the first."""
        if self._grid is not None and self._grid.plans(planned):
            place = self._grid.latest_place(planned)
            return None if place is None else run.steps[place]
        attempts = [step for step in run.steps if step_key(step) == step_key(planned)]
        return attempts[-1] if attempts else None

    def is_retried(self, run: Run, decision: PlannedStep | SearchEnd | None) -> bool:
        """Return whether the run's latest step failed a check and is measured again.

        decision: the next step. A search measures the size again only where it needs the size.
        """
        step = run.steps[-1]
        if not step.retryable:
            return False
        if self._grid is None and step.rate == run.plan.rate:
            return isinstance(decision, PlannedStep) and decision.pool_size == step.pool_size
        if self._grid is not None and self._grid.plans(step):
            return may_be_retried(run.plan, step, self._grid.attempts_at(step))
        return may_be_retried(run.plan, step, attempt_counts([step], run.steps)[step_key(step)])

    def remaining(self, run: Run) -> "Remaining | None":
        """Return the part of the throughput curve that is not measured, or None where it is complete.

        The steps that were added one by one count with the usual speed that was known when they were added.
        """
        if self._grid is None:
            return None if run.ended else Remaining()
        missing = self._grid.missing_count()
        return Remaining(missing, self._grid.planned) if missing else None


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
    return Decisions(run).remaining(run)
