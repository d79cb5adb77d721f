"""Observation <-> file: JSON Lines, with a header and one line for some periods of a pool or of the server."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from poolsize.errors import BadInput
from poolsize.observe.observation import Observation, PoolSpan, ServerSpan, Source
from poolsize.record import record
from poolsize.runs.line_file import LineWriter, RunLine, is_plain, naming_line, record_of, require_format, run_lines

FORMAT = 1
"""The version of the only format that is read."""
MOST_SPANS = 500_000
"""Lines of an observation; a file of the longest size has fewer if each is a minute of a pool: 35 pools for a week."""


@record
class _Line:
    server: ServerSpan | None = None
    pool: PoolSpan | None = None


_SOURCE, _POOL, _SERVER = TypeAdapter(Source), TypeAdapter(PoolSpan), TypeAdapter(ServerSpan)
_LINE = TypeAdapter(_Line)
"""Reads a line of JSON at once: twice as fast as an object of json."""


class ObservationWriter(LineWriter):
    """Appends periods to an observation's file."""

    KIND = "observation"
    TOO_LONG = "would be longer than an observation may be"

    def __init__(self, path: Path, source: Source) -> None:
        """Make the file and its header. Raises as LineWriter does."""
        super().__init__(path, {"observation_format": FORMAT, "source": _SOURCE.dump_python(source)})
        self._spans = 0

    @property
    def has_periods(self) -> bool:
        """Whether any periods are stored."""
        return self._spans > 0

    def append(self, spans: Sequence[PoolSpan], servers: Sequence[ServerSpan] = ()) -> None:
        """Append periods, and wait until they are on the disk. Raises WorkFailed where they can't be stored."""
        lines = [{"pool": _without_empty(_POOL.dump_python(span))} for span in spans]
        lines += [{"server": _without_empty(_SERVER.dump_python(span))} for span in servers]
        if self._spans + len(lines) > MOST_SPANS:
            raise self._too_long()
        if lines:
            self._write(*lines)
        self._spans += len(lines)


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
    require_format(path, header["observation_format"], FORMAT, "observe again")
    with naming_line(path, first):
        source = _SOURCE.validate_python(header.get("source"))
    spans: list[PoolSpan] = []
    server: list[ServerSpan] = []
    for line in lines:
        if line.is_torn:
            break
        span = _span(path, line)
        if isinstance(span, ServerSpan):
            server.append(span)
        else:
            spans.append(span)
        if len(spans) + len(server) > MOST_SPANS:
            raise BadInput(f"{path} has more than {MOST_SPANS:,} lines: it is not poolsize's, or was changed by hand")
    return Observation(source, tuple(spans), tuple(server))


def _span(path: Path, line: RunLine) -> PoolSpan | ServerSpan:
    """Return the periods on a line. Raises BadInput."""
    if is_plain(line.text):
        with suppress(ValidationError, BadInput):  # the second reading names the line
            whole = _LINE.validate_json(line.text)
            if span := whole.server or whole.pool:
                return span
    content = record_of(path, line)
    with naming_line(path, line):
        if "server" in content:
            return _SERVER.validate_python(content["server"])
        return _POOL.validate_python(content.get("pool"))


def is_observation(path: str | os.PathLike[str]) -> bool:
    """Return whether the first line of a file is an observation's header."""
    path = Path(path)
    with suppress(BadInput):
        first = next(run_lines(path), None)
        return first is not None and "observation_format" in record_of(path, first)
    return False
