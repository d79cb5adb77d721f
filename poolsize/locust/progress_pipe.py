"""The pipe through which a load process tells its progress to whoever started it, one JSON line a message."""

import os
import signal
from typing import Self

from poolsize.sweep.events import Event, write_event

DESCRIPTOR = "POOLSIZE_PROGRESS_FD"
"""Environment variable with the number of the pipe's descriptor."""


class ProgressPipe:
    """Tells messages to the process that started this one, or to nobody."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @classmethod
    def from_environment(cls) -> Self:
        """The pipe that the starting process left open for us, if it did."""
        descriptor = os.environ.get(DESCRIPTOR)
        return cls(int(descriptor) if descriptor else None)

    def tell(self, message: Event) -> None:
        """Pass a message on. When the process that listened is gone, end this one as if it had said so."""
        if self._descriptor is None:
            return
        try:
            os.write(self._descriptor, write_event(message) + b"\n")
        except BrokenPipeError:
            self._descriptor = None
            signal.raise_signal(signal.SIGTERM)
