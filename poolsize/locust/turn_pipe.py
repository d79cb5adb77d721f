"""The pipe on which the process that started two sweeps lets one of them measure its next step."""

import os
import signal
from typing import Self

from gevent.socket import wait_read

from poolsize.locust.progress_pipe import TURNS_DESCRIPTOR, ProgressPipe
from poolsize.sweep.events import TurnAwaited


class TurnPipe:
    """Waits for a turn; returns at once where the sweep measures alone."""

    def __init__(self, descriptor: int | None, progress: ProgressPipe) -> None:
        """Make a pipe that waits, or not.

        descriptor: of the pipe's reading end, or None for a sweep that measures alone. progress: announces the wait.
        """
        self._descriptor = descriptor
        self._progress = progress

    @classmethod
    def from_environment(cls, progress: ProgressPipe) -> Self:
        """Return the pipe that the starting process left open, or a pipe that waits for nothing."""
        descriptor = os.environ.get(TURNS_DESCRIPTOR)
        return cls(int(descriptor) if descriptor else None, progress)

    def wait(self, awaited: TurnAwaited) -> None:
        """Wait for a turn. When the starting process is gone, end this process as by SIGTERM."""
        if self._descriptor is None:
            return
        self._progress.send(awaited)
        wait_read(self._descriptor)
        if not os.read(self._descriptor, 1):
            signal.raise_signal(signal.SIGTERM)
