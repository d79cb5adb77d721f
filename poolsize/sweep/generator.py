"""The LoadGenerator protocol: an object that measures planned steps."""

from typing import Protocol

from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Calibration, Step


class LoadGenerator(Protocol):
    """Measures steps, one at a time."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that name figures it can't record, and why; a step may add to them."""

    def calibrate(self) -> Calibration | None:
        """Return the cost of a worker, or None where it is not known or there is no worker."""

    def speed(self) -> float | None:
        """Return the machine's present speed, which takes a second, or None where it is not known."""

    def measure(self, planned: PlannedStep) -> Step:
        """Measure one pool size once, and return the step, without checks. Raises WorkFailed when that fails."""
