"""The LoadGenerator protocol: whatever can measure one planned step."""

from typing import Protocol

from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Calibration, Step


class LoadGenerator(Protocol):
    """Measures steps, one at a time. notes: what it can't record here, and why."""

    notes: tuple[str, ...]

    def calibrate(self) -> Calibration | None:
        """What making the load costs by itself, or None where that means nothing."""

    def measure(self, planned: PlannedStep) -> Step:
        """Measure one pool size once; its checks are not made yet. Raises WorkFailed when it can't."""
