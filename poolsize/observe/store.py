"""Observation <-> file: JSON Lines, with a header and one line for some periods of a pool or of the server."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter

from poolsize.bounds import shown
from poolsize.errors import BadInput, WorkFailed
from poolsize.observe.observation import Observation, PoolSpan, ServerSpan, Source
from poolsize.runs.line_file import MOST_BYTES, naming_line, record_of, run_lines, why_unreadable
from poolsize.runs.store import OWNER_ONLY

FORMAT = 1
"""The version of the only format that is read."""
MOST_SPANS = 500_000
"""Lines of an observation: 40 pools for a week."""

_SOURCE, _POOL, _SERVER = TypeAdapter(Source), TypeAdapter(PoolSpan), TypeAdapter(ServerSpan)


class ObservationWriter:
    """Appends periods to an observation's file. A context manager that closes the file."""

    def __init__(self, path: Path, source: Source) -> None:
        """Make the file and its header. Raises BadInput for a file that exists or can't be written."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, OWNER_ONLY)
        except OSError as error:
            raise BadInput(f"{path} can't be written ({error.strerror}): name another `output`") from None
        self._file = os.fdopen(descriptor, "ab", buffering=0)
        self._lines = 0
        self._append([{"observation_format": FORMAT, "source": _SOURCE.dump_python(source)}])

    def append(self, spans: Iterable[PoolSpan], server: ServerSpan | None = None) -> None:
        """Append periods, and wait until they are on the disk. Raises WorkFailed where they can't be stored."""
        lines = [{"pool": _without_empty(_POOL.dump_python(span))} for span in spans]
        self._append([*lines, *([] if server is None else [{"server": _without_empty(_SERVER.dump_python(server))}])])

    def _append(self, records: list[dict[str, Any]]) -> None:
        lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]
        if why := next(filter(None, map(why_unreadable, lines)), ""):
            raise WorkFailed(f"{self.path}: the observation can't be stored: {why}")
        self._lines += len(lines)
        text = memoryview(b"".join(lines))
        try:
            size = os.fstat(self._file.fileno()).st_size
            if size + len(text) > MOST_BYTES or self._lines > MOST_SPANS:
                raise WorkFailed(f"{self.path} is as long as an observation may be, and keeps its periods")
            try:
                while text:
                    text = text[self._file.write(text) :]
                os.fsync(self._file.fileno())
            except BaseException:  # a signal, too: what follows a line that is cut off could not be read
                self._file.truncate(size)
                raise
        except OSError as error:
            raise WorkFailed(f"{self.path} can't be written: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in ((), None)}


def load_observation(path: str | os.PathLike[str]) -> Observation:
    """Return the observation in a file, without a last line that was cut off. Raises BadInput for another file."""
    path = Path(path)
    lines = run_lines(path)
    first = next(lines, None)
    if first is None or first.is_torn:
        raise BadInput(f"{path} has no complete header, so nothing was observed in it: observe again")
    header = record_of(path, first)
    if "observation_format" not in header:
        way_out = "it is a run, which --run names" if "format" in header else "make one with `poolsize observe`"
        raise BadInput(f"{path} is not an observation: {way_out}")
    if (its := header["observation_format"]) != FORMAT:
        newer = isinstance(its, int) and its > FORMAT
        way_out = "pip install --upgrade poolsize" if newer else "observe again"
        raise BadInput(f"{path} has format {shown(its)}, and this poolsize reads format {FORMAT} only: {way_out}")
    with naming_line(path, first):
        source = _SOURCE.validate_python(header.get("source"))
    spans: list[PoolSpan] = []
    server: list[ServerSpan] = []
    for line in lines:
        if line.is_torn:
            break
        record = record_of(path, line)
        with naming_line(path, line):
            if "server" in record:
                server.append(_SERVER.validate_python(record["server"]))
            else:
                spans.append(_POOL.validate_python(record.get("pool")))
        if len(spans) + len(server) > MOST_SPANS:
            raise BadInput(f"{path} has more than {MOST_SPANS:,} lines: it is not poolsize's, or was changed by hand")
    return Observation(source, tuple(spans), tuple(server))


def is_observation(path: str | os.PathLike[str]) -> bool:
    """Return whether the first line of a file is an observation's header."""
    path = Path(path)
    with suppress(BadInput):
        first = next(run_lines(path), None)
        return first is not None and "observation_format" in record_of(path, first)
    return False
