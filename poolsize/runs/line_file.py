"""The lines of a run's or an observation's file: written whole, read within limits, damage named with its line."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ValidationError

from poolsize.bounds import shown, within
from poolsize.errors import BadInput, WorkFailed, did_you_mean
from poolsize.files import opened
from poolsize.record import wrong_field

MOST_LINE_BYTES = 2**23
"""The longest line of a run's file. A step takes up to 12 hours, of about 125 bytes a second: 5.4 MB."""
MOST_BYTES = 2**27
"""The longest file of a run: 5,000 steps of two minutes, of about 125 bytes a second, each with 10 KB of histograms."""
MOST_PARTS = 100_000
"""The most objects, lists and fields on a line; a step's long lists hold only numbers."""
OWNER_ONLY = 0o600
"""The files name servers, accounts and settings."""
ESCAPE, REPLACEMENT = b"\\", "\ufffd"
"""A control character in ASCII JSON begins with a backslash; what stands in its place."""


class LineWriter:
    """Appends records to a file. A context manager that closes the file.

    KIND: what the file is. TOO_LONG: the end of the error for a file that would be longer than is read.
    """

    KIND: ClassVar[str]
    TOO_LONG: ClassVar[str]

    def __init__(self, path: Path, header: Mapping[str, Any] | None) -> None:
        """Make the file and its first line; without a header, open a file and remove a last line that is cut off.

        Where the header can't be stored, nothing is left of the file. Raises BadInput for a file that can't be written,
        and for a new file that exists already; WorkFailed where the disk does not take the header.
        """
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if header is None else os.O_EXCL)
        try:
            if header is None:
                for line in run_lines(path):
                    if line.is_torn:
                        os.truncate(path, line.offset)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(path, flags, OWNER_ONLY), "ab", buffering=0)
        except OSError as error:
            way_out = "make the file writable" if header is None else "name another `output`"
            raise BadInput(f"{path} can't be written ({error.strerror}): {way_out}") from None
        if header is not None:
            try:
                self._write(header)
            except BaseException:
                self._file.close()
                path.unlink(missing_ok=True)
                raise
            _sync_folder(path.parent)

    def _write(self, *records: Mapping[str, Any]) -> None:
        """Append records, and wait until they are on the disk: all of them, or none.

        Raises WorkFailed where the disk does not take them, and for a line or a file that would be too long to be read.
        """
        lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]
        if why := next(filter(None, map(why_unreadable, lines)), ""):
            raise WorkFailed(f"{self.path}: the {self.KIND} can't be stored: {why}")
        text = memoryview(b"".join(lines))
        try:
            size = os.fstat(self._file.fileno()).st_size
            if size + len(text) > MOST_BYTES:
                raise self._too_long()
            try:
                while text:
                    text = text[self._file.write(text) :]
                os.fsync(self._file.fileno())
            except BaseException:  # a signal, too: what follows a line that is cut off could not be read
                self._file.truncate(size)
                raise
        except OSError as error:
            raise WorkFailed(f"{self.path} can't be written: {error.strerror}") from None

    def _too_long(self) -> WorkFailed:
        return WorkFailed(f"{self.path} {self.TOO_LONG}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _sync_folder(folder: Path) -> None:
    """Write a folder to the disk: only then is the name of a new file in it on the disk.

    Some file systems can't sync a folder, and some folders can be written but not read; the file is good all the same.
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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


def is_plain(text: bytes) -> bool:
    """Return whether a line is of a size that a run can have, and its JSON can have no control character."""
    return ESCAPE not in text and text.isascii() and not why_unreadable(text)


def require_format(path: Path, its: object, known: int, again: str) -> None:
    """Raise BadInput for another format than the known one. again: how to make the file anew."""
    if its != known:
        way_out = "pip install --upgrade poolsize" if isinstance(its, int) and its > known else again
        raise BadInput(f"{path} has format {shown(its)}, and this poolsize reads format {known} only: {way_out}")


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
