"""A value in a file, with its keys."""

import re
from dataclasses import dataclass

PART = re.compile(r"\"([^\"]{1,100})\"|([^.\"]+|\")")
"""A part of a key between full stops; Quarkus writes names with quotes."""


@dataclass(frozen=True)
class Entry:
    """A value in a file. path: its keys from the outermost. line: from 1."""

    path: tuple[str, ...]
    text: str
    line: int


def parts_of(key: str) -> tuple[str, ...]:
    """Return the parts of a key between full stops; a part in quotes may have some."""
    if '"' not in key:
        return tuple(key.split("."))
    return tuple(match[1] or match[2] for match in PART.finditer(key)) or (key,)
