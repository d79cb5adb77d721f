"""The exceptions that poolsize raises on purpose, and the exit code each one means."""


class PoolsizeError(Exception):
    """Anything poolsize can explain in one line; the command line prints that line and no traceback."""

    exit_code = 1


class WorkFailed(PoolsizeError):
    """The request was fine but the work could not be done: the server went away, a run is incomplete."""


class BadInput(PoolsizeError):
    """A value that can't be used; the message names the value and the way out."""

    exit_code = 2
