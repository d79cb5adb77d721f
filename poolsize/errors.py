"""The exceptions that poolsize raises on purpose, and the exit code each one means."""


class PoolsizeError(Exception):
    """A failure that poolsize explains in one line; the command line prints that line and no traceback."""

    exit_code = 1


class WorkFailed(PoolsizeError):
    """Valid input, but the work failed: the server went away, for example, or a run is incomplete."""


class BadInput(PoolsizeError):
    """An input that poolsize can't use; the message names the value and the way out."""

    exit_code = 2
