"""Bullet lists for a terminal."""

import textwrap
from collections.abc import Iterable

WIDTH = 88


def bullets(lines: Iterable[str]) -> str:
    """Return a bullet list of the lines, each wrapped at 88 columns."""
    return "\n".join(textwrap.fill(line, WIDTH, initial_indent="  - ", subsequent_indent="    ") for line in lines)
