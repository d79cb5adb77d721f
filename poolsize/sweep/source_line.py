"""The line of the user's own code from which an error comes."""

import os
import re
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from traceback import extract_tb

import poolsize

FOREIGN = tuple(
    f"{folder}{os.sep}"
    for folder in (*map(sysconfig.get_path, ("stdlib", "purelib", "platlib")), Path(poolsize.__file__).parent)
)
"""Folders of Python, of libraries and of poolsize: an error's line there tells a workload's author nothing."""
TRACEBACK_LINE = re.compile(r' *File "(.+)", line (\d+)')


def located(error: BaseException) -> str:
    """Return an error with the innermost line of the user's own code: "checkout.py:12: NameError: ..."."""
    place = place_of(error)
    return f"{f'{place}: ' if place else ''}{type(error).__name__}: {error}"


def place_of(error: BaseException) -> str:
    """Return the innermost line of the user's own code from which an error comes: "checkout.py:12"; else empty."""
    frames = extract_tb(error.__traceback__)
    return _innermost((frame.filename, frame.lineno or 0) for frame in frames)


def located_in(lines: Iterable[str]) -> str:
    """Return the innermost place of the user's own code in a printed traceback: "checkout.py:12: "; else empty."""
    matches = map(TRACEBACK_LINE.match, lines)
    place = _innermost((match[1], int(match[2])) for match in matches if match)
    return place and f"{place}: "


def _innermost(places: Iterable[tuple[str, int]]) -> str:
    """Return the last place in the user's own code; a file below the current folder is named as seen from there."""
    own = [(Path(path), line) for path, line in places if not path.startswith((*FOREIGN, "<"))]
    if not own:
        return ""
    path, line = own[-1]
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{line}"
