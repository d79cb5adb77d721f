"""Prose and bullet lists for a terminal, and its width."""

import sys
import textwrap
from collections.abc import Iterable

NARROWEST, WIDEST = 40, 120
PIPED = 88
"""Columns of a line of prose that goes to a file or to another program."""


def terminal_width() -> int | None:
    """Return the columns of the terminal, 40 to 120, or None where standard output is not a terminal.

    The environment variable COLUMNS counts before the terminal's own size.
    """
    if not sys.stdout.isatty():
        return None
    import shutil  # text that goes to a file or to another program starts without it

    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size().columns))


def bullets(lines: Iterable[str]) -> str:
    """Return a bullet list of the lines, each wrapped at the terminal's width, or at 88 columns without a terminal."""
    return "\n".join(_wrapped(line, "  - ", "    ") for line in lines)


def paragraph(text: str) -> str:
    """Return a text wrapped like the bullets."""
    return _wrapped(text, "", "")


def _wrapped(text: str, first: str, further: str) -> str:
    """Return a wrapped text. first, further: what its first line and the further lines begin with."""
    return textwrap.fill(text, terminal_width() or PIPED, initial_indent=first, subsequent_indent=further)
