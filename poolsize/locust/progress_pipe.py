"""The pipes between a sweep and the process that started it: events, one line of JSON each, and turns to measure."""

import os
import signal
from typing import Self

import gevent
from gevent.monkey import get_original
from gevent.socket import wait_read

from poolsize.sweep.events import Event, TurnAwaited, write_event

DESCRIPTOR = "POOLSIZE_PROGRESS_FD"
"""Environment variable with the number of the pipe's descriptor."""
TURNS_DESCRIPTOR = "POOLSIZE_TURNS_FD"
"""Environment variable with the number of the descriptor of the pipe on which a sweep is given turns (see TurnPipe)."""

LOOK_SECONDS = 0.5
"""Seconds between two checks that the listening process is there."""


class ProgressPipe:
    """Sends events to the process that started this process; drops the events where no process listens."""

    def __init__(self, descriptor: int | None) -> None:
        """descriptor: of the pipe's writing end, or None to drop every event."""
        self._descriptor = descriptor
        self._watching: gevent.Greenlet[[int], None] | None = None

    @classmethod
    def from_environment(cls) -> Self:
        """Return the pipe that the starting process left open, or a pipe that drops every event."""
        descriptor = os.environ.get(DESCRIPTOR)
        return cls(int(descriptor) if descriptor else None)

    @property
    def is_heard(self) -> bool:
        """Whether a process started this process and listens."""
        return self._descriptor is not None

    def watch(self) -> None:
        """From now on, end this process as by SIGTERM soon after the listening process is gone."""
        if self._descriptor is not None:
            self._watching = gevent.spawn(self._watch, self._descriptor)

    def stop_watching(self) -> None:
        """Let this process finish a clean-up, whether or not the listening process is there."""
        if self._watching is not None:
            self._watching.kill(block=False)

    def _watch(self, descriptor: int) -> None:
        poll = get_original("select", "poll")()  # gevent's own does not see errors alone
        poll.register(descriptor, 0)  # errors alone: nobody reads any more
        while not poll.poll(0):
            gevent.sleep(LOOK_SECONDS)
        signal.raise_signal(signal.SIGTERM)

    def send(self, event: Event) -> None:
        """Send an event. When the listening process is gone, end this process as by SIGTERM."""
        if self._descriptor is None:
            return
        try:
            os.write(self._descriptor, write_event(event) + b"\n")
        except BrokenPipeError:
            self._descriptor = None
            signal.raise_signal(signal.SIGTERM)


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
