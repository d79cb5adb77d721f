"""The LoadGenerator protocol: whatever can measure one planned step."""

from typing import Protocol

from poolsize.plan import PlannedStep
from poolsize.run import Step


class LoadGenerator(Protocol):
    """Measures steps, one at a time."""

    def measure(self, planned: PlannedStep) -> Step:
        """Measure one pool size once; its checks are not made yet. Raises WorkFailed when it can't."""
