"""The lines of a run's file: read within limits, and damage named with its line."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from poolsize.bounds import within
from poolsize.errors import BadInput, did_you_mean
from poolsize.files import opened
from poolsize.record import wrong_field

MOST_LINE_BYTES = 2**23
"""The longest line of a run's file. A step takes up to 12 hours, of about 125 bytes a second: 5.4 MB."""
MOST_BYTES = 2**27
"""The longest file of a run: 5,000 steps of two minutes, of about 125 bytes a second, each with 10 KB of histograms."""
MOST_PARTS = 100_000
"""The most objects, lists and fields on a line; a step's long lists hold only numbers."""
ESCAPE, REPLACEMENT = b"\\", "\ufffd"
"""A control character in ASCII JSON begins with a backslash; what stands in its place."""


@dataclass(frozen=True)
class RunLine:
    """A line of a run's file. number: from 1. offset: byte at which it begins. text: with its newline, if any."""

    number: int
    offset: int
    text: bytes

    @property
    def is_torn(self) -> bool:
        """Whether the line was cut off while it was written."""
        return not self.text.endswith(b"\n")


def run_lines(path: Path) -> Iterator[RunLine]:
    """Yield the lines of a run's file.

    Raises BadInput for a file that can't be read, for a line that is longer than a step's can be, and at the line at
    which the file becomes longer than a run's can be.
    """
    number = offset = 0
    try:
        with opened(path) as file:
            while text := file.readline(MOST_LINE_BYTES + 1):
                number += 1
                if offset + len(text) > MOST_BYTES:
                    raise BadInput(f"{path} is longer than {MOST_BYTES // 2**20} MiB: no run is that long")
                yield RunLine(number, offset, within(f"{path}: line {number}", text, MOST_LINE_BYTES))
                offset += len(text)
    except OSError as error:
        nearest = _nearest(path) if isinstance(error, FileNotFoundError) else ""
        raise BadInput(f"{path} can't be read: {error.strerror}{nearest}") from None


def _nearest(path: Path) -> str:
    """Return "; did you mean a.jsonl?" with the nearest name of a run in the same folder; "" without a near name."""
    try:
        return did_you_mean(path.name, [each.name for each in path.parent.glob("*.jsonl")])
    except OSError:
        return ""


def record_of(path: Path, line: RunLine) -> dict[str, Any]:
    """Return the JSON object on a line, without control characters. Raises BadInput for anything else."""
    if why := why_unreadable(line.text):
        raise damaged(path, line, why)
    try:
        record = json.loads(line.text)
        if ESCAPE in line.text or not line.text.isascii():
            record = _without_controls(record)
    except (ValueError, RecursionError):  # also of lists in lists that json reads and _without_controls does not
        record = None
    if not isinstance(record, dict):
        raise BadInput(f"{path}: line {line.number} is not a JSON object: the file is not poolsize's, or is damaged")
    return record


def why_unreadable(text: bytes) -> str:
    """Return why a line is not read, however it continues; "" for a line of a size that a run can have."""
    if len(text) > MOST_LINE_BYTES:
        return f"the line is longer than {MOST_LINE_BYTES:,} bytes"
    if sum(map(text.count, (b":", b"[", b"{"))) > MOST_PARTS:
        return f"the line has more than {MOST_PARTS:,} objects, lists and fields"
    return ""


@contextmanager
def naming_line(path: Path, line: RunLine) -> Iterator[None]:
    """Turn the refusal of a line's record into BadInput that names the line, the field and the value."""
    try:
        yield
    except ValidationError as error:
        raise damaged(path, line, wrong_field(error)) from None
    except BadInput as error:
        raise damaged(path, line, str(error)) from None


def damaged(path: Path, line: RunLine, why: str) -> BadInput:
    """Return the refusal of a line."""
    return BadInput(f"{path}: line {line.number}: {why}; the file was changed by hand, or is damaged")


def _without_controls(value: Any) -> Any:
    """Return a value of JSON with every control character in its texts replaced: a terminal would obey some of them."""
    if isinstance(value, str):
        return "".join(character if character.isprintable() else REPLACEMENT for character in value)
    if isinstance(value, list):
        return [_without_controls(item) for item in value]
    if isinstance(value, dict):
        return {_without_controls(name): _without_controls(item) for name, item in value.items()}
    return value
