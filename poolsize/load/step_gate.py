"""The gate where a worker's users wait for the next step."""

from typing import TYPE_CHECKING

from gevent.event import AsyncResult

from poolsize.load.behavior import Behavior

if TYPE_CHECKING:
    from poolsize.load.worker_step import WorkerStep


class StepGate:
    """Holds back a worker's users between steps. A step opens the gate when it begins, and shuts it when it ends."""

    def __init__(self) -> None:
        self._step: AsyncResult[WorkerStep] = AsyncResult()

    def take_part(self, behavior: Behavior) -> None:
        """Wait for a step, and run one user's transactions until the step ends."""
        self._step.get().run_user(behavior)  # type: ignore[union-attr]  # the only value that is ever set is a step

    def open(self, step: "WorkerStep") -> None:
        """Let all users take part in a step, also those that come later."""
        self._step.set(step)

    def shut(self) -> None:
        """Let users wait for the next step."""
        if self._step.ready():
            self._step = AsyncResult()
