"""The entries of a server's log: plain or gzipped. Their length, and the memory that they take, are bounded."""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice
from math import inf, isnan, nan
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from poolsize.capture.events import Event, StatementEvent, Tally
from poolsize.errors import BadInput
from poolsize.files import opened

BLOCK_BYTES = 2**20
LONGEST_ENTRY = 2**18
"""Of a longer entry, the beginning is kept, with its session and its times."""
KEPT_OF_LONG, LONGEST_BOUNDARY = 2**14, 2**8
MOST_SKIPPED = 2**30
"""The longest entry that is skipped: servers take no longer packet."""
MOST_RATIO, RATIO_FROM = 200, 2**26
"""A log that is gzipped has at most this many bytes for each byte on the disk, once it has more than RATIO_FROM."""
MOST_WITHOUT_START = 1000
"""A log whose first events have no time comes last."""
MOST_UNREADABLE = 1000
"""Entries that can't be read, beside as many as can be."""
OTHER_PACKERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"(\xb5/\xfd": "zstd", b"PK\x03\x04": "zip"}
_STARTED = re.compile(
    rb"^[^\n]{1,500}, Version: ([^\s(]{1,80})[^\n]{0,200} started with:\n[^\n]*\n"
    rb"Time[ \t]+Id[ \t]+Command[ \t]+Argument(?:\n|\Z)",
    re.MULTILINE,
)
"""The lines that a server writes where it opens a log."""


class Entry(NamedTuple):
    """An entry of a log, or the beginning of an entry that is too long."""

    content: bytes
    is_whole: bool


class LogState(Protocol):
    """The values that an entry leaves out because they are those of an entry before."""

    def event_of(self, entry: Entry, tally: Tally) -> Event | None:
        """Return the event of an entry; None for an entry without an event."""


class Format(NamedTuple):
    """How a kind of log is written.

    kind: as an error names it, such as "slow log". boundary: the text between two entries, with the text that
    follows at most LONGEST_BOUNDARY bytes. expected: a text that the first block has. state: makes a log's first state.
    """

    kind: str
    boundary: re.Pattern[bytes]
    expected: re.Pattern[bytes]
    state: Callable[[], LogState]


def log_events(paths: Sequence[Path], format_: Format, tally: Tally) -> Iterator[Event]:
    """Yield the events of logs, in the order of their first statements. Raises BadInput for another file."""
    for path in sorted(paths, key=lambda path: _first_start(path, format_)):
        yield from _events(path, format_, tally)


def _first_start(path: Path, format_: Format) -> float:
    """Return when the first statement of a log started, in seconds since the epoch."""
    events = islice(_events(path, format_, Tally()), MOST_WITHOUT_START)
    starts = (event.started for event in events if isinstance(event, StatementEvent))
    return next((start for start in starts if not isnan(start)), inf)


def _events(path: Path, format_: Format, tally: Tally) -> Iterator[Event]:
    unreadable, statements, state = tally.unreadable, tally.statements, format_.state()
    for entry in log_entries(path, format_, tally):
        event = state.event_of(entry, tally)
        if event is not None:
            yield event
        elif tally.unreadable - unreadable > MOST_UNREADABLE + tally.statements - statements:
            raise BadInput(
                f"{path} has more entries that are cut off than whole ones: it is no {format_.kind}, or damaged"
            )
    if path in tally.cut_files:
        tally.cut_files[path] = tally.statements - statements, tally.last


def moment(text: str) -> float:
    """Return a log's time in seconds since the epoch; nan for another text.

    text: ISO 8601, or "071015 21:43:52" in the server's time zone, which is taken for UTC.
    """
    if "T" not in text:
        return _old_moment(text)
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return nan


@lru_cache(1000)
def _old_moment(text: str) -> float:
    try:
        return datetime.strptime(text[:15], "%y%m%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return nan


def log_entries(path: Path, format_: Format, tally: Tally) -> Iterator[Entry]:
    """Yield the entries of a log, without the lines that the server writes when it starts.

    Raises BadInput for a file that is no such log.
    """
    carry, skipped = b"", 0
    for block in _blocks(path, format_, tally):
        *entries, carry = format_.boundary.split(carry + block)
        for content in entries:
            entry = Entry(content, not skipped and len(content) <= LONGEST_ENTRY)
            skipped = 0
            if b" started with:\n" in content:
                yield from _without_start(entry, tally)
            else:
                yield entry
        if len(carry) > LONGEST_ENTRY:
            skipped += len(carry) - KEPT_OF_LONG - LONGEST_BOUNDARY
            carry = carry[:KEPT_OF_LONG] + carry[-LONGEST_BOUNDARY:]
        if skipped > MOST_SKIPPED:
            raise BadInput(f"{path} has an entry of more than {MOST_SKIPPED // 2**30} GiB: it is damaged")
    if carry:
        yield from _without_start(Entry(carry, not skipped), tally)


def _without_start(entry: Entry, tally: Tally) -> Iterator[Entry]:
    """Yield an entry, or the entries before and after each start of the server."""
    parts = _STARTED.split(entry.content)
    tally.versions.update(version.decode("ascii", "replace") for version in parts[1::2])
    for content in filter(None, parts[::2]):
        yield Entry(content, entry.is_whole)


def _blocks(path: Path, format_: Format, tally: Tally) -> Iterator[bytes]:
    """Yield the content of a log in blocks whose lines end with a newline alone."""
    try:
        with opened(path) as file:
            yield from _with_newlines(_unpacked(file, path, tally), path, format_)
    except (gzip.BadGzipFile, zlib.error):
        raise BadInput(f"{path} can't be unpacked: the gzip file is damaged") from None
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from None


def _unpacked(file: BinaryIO, path: Path, tally: Tally) -> Iterator[bytes]:
    is_packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    read = gzip.GzipFile(fileobj=file).read1 if is_packed else file.read  # `read` loses what precedes a cut
    before, unpacked = tally.bytes_read, 0
    try:
        while block := read(BLOCK_BYTES):
            unpacked += len(block)
            tally.bytes_read = before + file.tell()
            if unpacked > max(RATIO_FROM, MOST_RATIO * file.tell()):
                raise BadInput(f"{path} unpacks to more than {MOST_RATIO} times its size: it is no log")
            yield block
    except EOFError:  # the end of the gzip file is missing
        tally.cut_files[path] = 0, nan


def _with_newlines(blocks: Iterator[bytes], path: Path, format_: Format) -> Iterator[bytes]:
    """Yield blocks without carriage returns at the ends of lines, where the first line ends with a carriage return."""
    kind, expected = format_.kind, format_.expected
    first = next(blocks, b"")
    for beginning, name in OTHER_PACKERS.items():
        if first.startswith(beginning):
            raise BadInput(f"{path} is a {name} file: unpack it first")
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(f"{path} is UTF-16 text, and a {kind} is UTF-8: convert it first")
    if not expected.search(first) and first:
        raise BadInput(f"{path} is no {kind}: its first MiB has no entry of such a log")
    is_dos = first.partition(b"\n")[0].endswith(b"\r")
    carry = b""
    for block in chain((first.removeprefix(b"\xef\xbb\xbf"),), blocks):
        content = carry + block
        carry = b"\r" if is_dos and content.endswith(b"\r") else b""
        yield content.removesuffix(carry).replace(b"\r\n", b"\n") if is_dos else content
