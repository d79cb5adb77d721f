"""The pipe on which a sweep reports its progress to the process that started it, one JSON line a message."""

import os
import signal
from typing import Self

from poolsize.sweep.events import Event, write_event

DESCRIPTOR = "POOLSIZE_PROGRESS_FD"
"""Environment variable with the number of the pipe's descriptor."""


class ProgressPipe:
    """Sends messages to the process that started this process, or drops them where none listens."""

    def __init__(self, descriptor: int | None) -> None:
        """descriptor: of the pipe's writing end, or None to drop every message."""
        self._descriptor = descriptor

    @classmethod
    def from_environment(cls) -> Self:
        """Return the pipe that the starting process left open, or a pipe that drops every message."""
        descriptor = os.environ.get(DESCRIPTOR)
        return cls(int(descriptor) if descriptor else None)

    def tell(self, message: Event) -> None:
        """Send a message. When the listening process is gone, end this process as if by SIGTERM."""
        if self._descriptor is None:
            return
        try:
            os.write(self._descriptor, write_event(message) + b"\n")
        except BrokenPipeError:
            self._descriptor = None
            signal.raise_signal(signal.SIGTERM)
