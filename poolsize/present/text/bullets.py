"""Prose and bullet lists for a terminal."""

import textwrap
from collections.abc import Iterable

from poolsize.present.text.width import PIPED, terminal_width


def bullets(lines: Iterable[str]) -> str:
    """Return a bullet list of the lines, each wrapped at the terminal's width, or at 88 columns without a terminal."""
    return "\n".join(_wrapped(line, "  - ", "    ") for line in lines)


def paragraph(text: str) -> str:
    """Return a text wrapped like the bullets."""
    return _wrapped(text, "", "")


def _wrapped(text: str, first: str, further: str) -> str:
    """Return a wrapped text. first, further: what its first line and the further lines begin with."""
    return textwrap.fill(text, terminal_width() or PIPED, initial_indent=first, subsequent_indent=further)
