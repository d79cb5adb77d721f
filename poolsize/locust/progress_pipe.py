"""The pipes between a sweep and the process that started it: events, one line of JSON each, and turns to measure."""

import os
import signal

import gevent
from gevent.monkey import get_original
from gevent.socket import wait_read

from poolsize.sweep.events import PROGRESS_DESCRIPTOR, TURNS_DESCRIPTOR, Event, TurnAwaited, write_event

LOOK_SECONDS = 0.5
"""Seconds between two checks that the listening process is there."""


class ProgressPipe:
    """Sends events to the process that started this process; drops the events where no process listens."""

    def __init__(self) -> None:
        numbers = map(os.environ.get, (PROGRESS_DESCRIPTOR, TURNS_DESCRIPTOR))
        self._events, self._turns = (int(number) if number else None for number in numbers)
        self._watching: gevent.Greenlet[[], None] | None = None

    @property
    def is_heard(self) -> bool:
        """Whether a process started this process and listens."""
        return self._events is not None

    def watch(self) -> None:
        """From now on, end this process as by SIGTERM soon after the listening process is gone."""
        if self._events is None:
            return
        poll = get_original("select", "poll")()  # gevent's own does not see errors alone
        poll.register(self._events, 0)  # errors alone: nobody reads any more

        def end_without_reader() -> None:
            while not poll.poll(0):
                gevent.sleep(LOOK_SECONDS)
            signal.raise_signal(signal.SIGTERM)

        self._watching = gevent.spawn(end_without_reader)

    def stop_watching(self) -> None:
        """Let this process finish a clean-up, whether or not the listening process is there."""
        if self._watching is not None:
            self._watching.kill(block=False)

    def send(self, event: Event) -> None:
        """Send an event. When the listening process is gone, end this process as by SIGTERM."""
        if self._events is None:
            return
        try:
            os.write(self._events, write_event(event) + b"\n")
        except BrokenPipeError:
            self._events = None
            signal.raise_signal(signal.SIGTERM)

    def await_turn(self, awaited: TurnAwaited) -> None:
        """Wait for a turn where two sweeps take turns. Without the starting process, end this one as by SIGTERM."""
        if self._turns is None:
            return
        self.send(awaited)
        wait_read(self._turns)
        if not os.read(self._turns, 1):
            signal.raise_signal(signal.SIGTERM)
