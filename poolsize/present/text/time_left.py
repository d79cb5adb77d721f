"""The time that a sweep still takes, from its plan and from the time that its steps took so far."""

from collections.abc import Callable
from time import monotonic

from poolsize.sweep.events import SweepStarted

MOST_ATTEMPTS = 2.0
"""Mean attempts at a step in the estimate, at most: what disturbs a machine passes."""


class TimeLeft:
    """Estimates the rest of a sweep, in seconds on the clock.

    A step takes longer than planned where it is prolonged, and where opening the pool or restoring tables takes time. A
    step that fails a check is measured again. Both are learned from the steps so far; the plan counts as one more step.
    """

    def __init__(self, sweep: SweepStarted, clock: Callable[[], float] | None = None) -> None:
        """Begin with the plan. clock: seconds, from any beginning; None for the machine's."""
        self._sweep = sweep
        self._clock = clock or monotonic
        self._begun = self._step_begun = self._clock()
        self._verifying = False
        self._planned_done = self._verified = 0
        self._attempts, self._step_seconds = 0, 0.0
        self._load_seconds = self._load_of_ended_steps = 0

    @property
    def elapsed(self) -> float:
        """Seconds since the sweep began."""
        return self._clock() - self._begun

    def begin_step(self, *, verifies: bool) -> None:
        """Note that a step begins. verifies: whether it is a step of the verification, after a search."""
        self._step_begun = self._clock()
        self._verifying = verifies

    def pass_second(self) -> None:
        """Note that a second of load is over."""
        self._load_seconds += 1

    def end_step(self, *, again: bool) -> None:
        """Note that a step ended. again: whether it is measured again."""
        self._attempts += 1
        self._step_seconds += self._clock() - self._step_begun
        self._step_begun = self._clock()
        self._load_of_ended_steps = self._load_seconds
        if not again:
            self._planned_done += not self._verifying
            self._verified += self._verifying

    @property
    def seconds(self) -> float:
        """Seconds that are left, at least 0. In a search, at most so many: it may end before its budget is spent."""
        per_step = (self._sweep.step_seconds + self._step_seconds) / (1 + self._attempts)
        attempts_per_step = min(MOST_ATTEMPTS, (1 + self._attempts) / (1 + self._planned_done + self._verified))
        of_this_step = self._clock() - self._step_begun
        if self._sweep.budget_seconds is None:
            steps = self._sweep.steps - self._sweep.steps_done - self._planned_done - self._verified
            return max(0.0, steps * attempts_per_step * per_step - of_this_step)
        verification = (self._sweep.to_verify - self._verified) * attempts_per_step * per_step
        if self._verifying:
            return max(0.0, verification - of_this_step)
        load_seconds = self._sweep.step_seconds + self._load_of_ended_steps
        clock_per_load = max(1.0, (1 + self._attempts) * per_step / load_seconds)
        return max(0.0, self._sweep.budget_seconds - self._load_seconds) * clock_per_load + verification
