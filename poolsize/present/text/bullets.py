"""Sentences one below the other, for a terminal."""

import textwrap
from collections.abc import Iterable

WIDTH = 88


def bullets(lines: Iterable[str]) -> str:
    """One dash a line, wrapped for a terminal."""
    return "\n".join(textwrap.fill(line, WIDTH, initial_indent="  - ", subsequent_indent="    ") for line in lines)
