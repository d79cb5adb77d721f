"""The exceptions that poolsize raises on purpose, the exit code each one means, and the nearest name for a typo."""

import signal
from collections.abc import Iterable

FOUND_WRONG = 3
"""The exit code of a check that found something wrong. It has done its work: this is no error."""


class PoolsizeError(Exception):
    """A failure that poolsize explains in one line; the command line prints that line and no traceback."""

    exit_code = 1

    def __str__(self) -> str:
        """Return the message in one line: a part of it may be the longer text of a library's or a workload's error."""
        return " ".join(line.strip() for line in super().__str__().splitlines())


class WorkFailed(PoolsizeError):
    """Valid input, but the work failed: the server went away, for example, or a run is incomplete."""


class BadInput(PoolsizeError):
    """An input that poolsize can't use; the message names the value and the way out."""

    exit_code = 2


class Interrupted(PoolsizeError):
    """A signal, such as Ctrl-C's, ended the work. The exit code is the shell's: 128 and the signal's number."""

    exit_code = 128 + signal.SIGINT

    def __init__(self, message: str, number: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """Return "; did you mean sweep?" with the known name that is nearest to a typed name; "" without a near name."""
    from difflib import get_close_matches  # a command without a typo starts without it

    nearest = get_close_matches(typed.lower(), list(known), n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""
