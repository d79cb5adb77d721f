"""A sweep's patience with a server that goes away: it waits for the server, and measures the step again."""

from collections.abc import Callable
from math import ceil
from time import monotonic, sleep
from typing import TypeVar

from poolsize.errors import BadInput
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.server.connection import NoAnswer, ServerGone
from poolsize.server.private_server import PrivateServer
from poolsize.sweep.events import ServerAwaited, ServerBack

DEFAULT_SECONDS = 60
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 5.0
"""Before an attempt to connect; each pause is twice as long as the pause before it."""
CRASH_SECONDS = 3
"""Longest time that a server that crashes may take to end, after it closed its connections."""

Measured = TypeVar("Measured")


class Patience:
    """Waits for a server that went away, in each step for a limited time."""

    def __init__(self, seconds: int, private: PrivateServer | None, progress: ProgressPipe) -> None:
        """seconds: the limit. private: a private server, which never comes back, or None. progress: shows the wait."""
        self._seconds = seconds
        self._private = private
        self._progress = progress

    def measured(self, measure: Callable[[], Measured], reconnect: Callable[[], object]) -> Measured:
        """Return the result of a function that measures a step; call the function again after the server was away.

        reconnect: connects to the server anew. Raises BadInput when the server can't be reached, and WorkFailed when
        another server answers. Raises ServerGone when the server stays away.
        """
        seconds_left = float(self._seconds)
        while True:
            try:
                return measure()
            except ServerGone as error:
                seconds_left -= self._wait(error, reconnect, seconds_left)

    def _wait(self, error: ServerGone, reconnect: Callable[[], object], seconds_left: float) -> float:
        """Connect anew as soon as the server answers, and return the seconds that it took.

        Raises ServerGone where it takes more than the seconds that are left of the limit.
        """
        if self._private is not None:
            raise ServerGone(_with_reason(error, self._private))
        limit = f"{self._seconds} s (`wait_for_server_seconds`)"
        if seconds_left <= 0:
            raise ServerGone(f"{error}; in this step, the waits for the server have reached {limit}")
        began = monotonic()
        self._progress.send(ServerAwaited(str(error), ceil(seconds_left)))
        pause_seconds = FIRST_PAUSE_SECONDS
        while True:
            sleep(pause_seconds)
            try:
                reconnect()
                break
            except (BadInput, ServerGone) as refused:
                if monotonic() >= began + seconds_left:
                    reason = refused.reason if isinstance(refused, NoAnswer) else refused
                    raise ServerGone(f"{error}, and did not come back within {limit}: {reason}") from None
            pause_seconds = min(2 * pause_seconds, LONGEST_PAUSE_SECONDS)
        self._progress.send(ServerBack(monotonic() - began))
        return monotonic() - began


def _with_reason(error: ServerGone, private: PrivateServer) -> str:
    """Return the error, and why the private server ended, where its log says so within a moment."""
    deadline = monotonic() + CRASH_SECONDS
    while (reason := private.reason_of_end()) is None and monotonic() < deadline:
        sleep(FIRST_PAUSE_SECONDS)
    return f"{error}; the private server ended: {reason}" if reason else str(error)
