"""The width of the terminal that a text is printed to."""

import sys

NARROWEST, WIDEST = 40, 120
PIPED = 88
"""Columns of a line of prose that goes to a file or to another program."""


def terminal_width() -> int | None:
    """Return the columns of the terminal, 40 to 120, or None where standard output is no terminal.

    The environment variable COLUMNS counts before the terminal's own size.
    """
    if not sys.stdout.isatty():
        return None
    import shutil  # text that goes to a file or to another program starts without it

    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size().columns))
