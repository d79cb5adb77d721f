"""The pipe on which a sweep sends its events, one line of JSON each, to the process that started it."""

import os
import signal
from typing import Self

from poolsize.sweep.events import Event, write_event

DESCRIPTOR = "POOLSIZE_PROGRESS_FD"
"""Environment variable with the number of the pipe's descriptor."""
TURNS_DESCRIPTOR = "POOLSIZE_TURNS_FD"
"""Environment variable with the number of the descriptor of the pipe on which a sweep is given turns (see TurnPipe)."""


class ProgressPipe:
    """Sends events to the process that started this process; drops the events where no process listens."""

    def __init__(self, descriptor: int | None) -> None:
        """descriptor: of the pipe's writing end, or None to drop every event."""
        self._descriptor = descriptor

    @classmethod
    def from_environment(cls) -> Self:
        """Return the pipe that the starting process left open, or a pipe that drops every event."""
        descriptor = os.environ.get(DESCRIPTOR)
        return cls(int(descriptor) if descriptor else None)

    def send(self, event: Event) -> None:
        """Send an event. When the listening process is gone, end this process as by SIGTERM."""
        if self._descriptor is None:
            return
        try:
            os.write(self._descriptor, write_event(event) + b"\n")
        except BrokenPipeError:
            self._descriptor = None
            signal.raise_signal(signal.SIGTERM)
