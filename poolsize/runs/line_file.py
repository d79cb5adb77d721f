"""A file of JSON lines to which records are appended: an appended record is on the disk, and survives a crash."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from poolsize.errors import BadInput, WorkFailed
from poolsize.runs.run_lines import MOST_BYTES, run_lines, why_unreadable

OWNER_ONLY = 0o600
"""The files name servers, accounts and settings."""


class LineFile:
    """An open file. A context manager that closes it."""

    def __init__(self, path: Path, header: Mapping[str, Any] | None) -> None:
        """Make the file and write its header; without a header, open a file that was begun.

        Opening a file removes a last line that is cut off. Where the disk does not take the header, nothing is left of
        the file. Raises BadInput for a file that can't be written, and for a new file that exists already; WorkFailed
        where the disk does not take the header.
        """
        self.path = path
        try:
            if header is None:
                _cut_torn_line(path)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if header is None else os.O_EXCL)
            self._file = os.fdopen(os.open(path, flags, OWNER_ONLY), "ab", buffering=0)
        except OSError as error:
            way_out = "make the file writable" if header is None else "name another `output`"
            raise BadInput(f"{path} can't be written ({error.strerror}): {way_out}") from None
        if header is not None:
            self._begin(header)

    def _begin(self, header: Mapping[str, Any]) -> None:
        try:
            self.append_record(header)
        except WorkFailed:
            self._file.close()
            self.path.unlink(missing_ok=True)
            raise
        _sync_folder(self.path.parent)

    def append_record(self, record: Mapping[str, Any]) -> None:
        """Append a record, and wait until it is on the disk.

        Raises WorkFailed where the disk does not take it, and for a line or a file that would be too long to be read.
        """
        try:
            text = json.dumps(record, separators=(",", ":")).encode() + b"\n"
            if why := why_unreadable(text):
                raise WorkFailed(f"{self.path}: the run can't be stored: {why}")
            line = memoryview(text)
            if os.fstat(self._file.fileno()).st_size + len(line) > MOST_BYTES:
                raise WorkFailed(f"{self.path} is as long as a run may be, and keeps its steps: start another run")
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise WorkFailed(f"{self.path} can't be written: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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


def _cut_torn_line(path: Path) -> None:
    for line in run_lines(path):
        if line.is_torn:
            os.truncate(path, line.offset)
