"""A server's log -> events: slow and general query logs of MySQL 5.1 to 9, of MariaDB, and of Percona Server.

The length of an entry, and the memory that a log takes, are bounded.
"""

import gzip
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice
from math import inf, isnan, nan
from pathlib import Path
from typing import BinaryIO, ClassVar, NamedTuple

from poolsize.capture.events import UNKNOWN_ROWS, UNKNOWN_THREAD, Disconnected, Event, StatementEvent, Tally
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
LONGEST_SECONDS = 1e7
"""A longer run time is an error of the server."""
ENDS = (b"Quit", b"Change user", b"Reset Connection", b"Reset connection")
"""Commands after which a session has no open transaction."""

_STARTED = re.compile(
    rb"^[^\n]{1,500}, Version: ([^\s(]{1,80})[^\n]{0,200} started with:\n[^\n]*\n"
    rb"Time[ \t]+Id[ \t]+Command[ \t]+Argument(?:\n|\Z)",
    re.MULTILINE,
)
"""The lines that a server writes where it opens a log."""
_SLOW_ENTRY = re.compile(
    rb"""\n*+((?:\#(?!\ administrator\ command:\ )[^\n]*(?:\n|\Z))*+)
    (?:use\ [^\n]*?;\n)?
    (?:SET\ [^\n;]{0,80}?timestamp=(\d{1,12}(?:\.\d{1,9})?)[^\n;]{0,80};\n)?""",
    re.VERBOSE,
)
_NUMBERS = re.compile(rb"# Query_time: *(\S+)(?:\s+Lock_time: *\S+(?:\s+Rows_sent: *(\d{1,18})\b)?)?")
_THREAD = re.compile(rb"(?:Thread_id|Id(?<= Id)): *(\d{1,18})(?=\s)")
_TIME = re.compile(rb"# Time: +([^\n#]*[^\n# ])")
_START = re.compile(rb" Start: (\S+)")
_OF_MARIADB = b"  QC_hit: "
_COMMAND = b"# administrator command: "

_GENERAL_TIME = rb"(\d{4}-\d\d-\d\dT[\d:.]{8,15}(?:Z|[+-]\d\d:\d\d)|\d{6} +\d?\d:\d\d:\d\d)?"
_COMMANDS = (
    rb"Query|Execute|Prepare|Close stmt|Reset stmt|Long Data|Fetch|Connect(?: Out)?|Quit|Init DB|Change user|Ping"
    rb"|Reset [Cc]onnection|Statistics|Field List|Refresh|Shutdown|Processlist|Kill|Debug|Set option|Daemon|Sleep"
    rb"|Binlog Dump(?: GTID)?|Register (?:Slave|Replica)|Table Dump|Create DB|Drop DB|Delayed insert|Time|Bulk_execute"
)
_BEGINNING = _GENERAL_TIME + rb"[ \t]+(\d{1,18}) (" + _COMMANDS + rb")(?:[ \t]+|(?=\n)|\Z)"
_BOUNDARY = re.sub(rb"\((?!\?)", b"(?:", _BEGINNING)
_GENERAL_ENTRY = re.compile(_BEGINNING)
_OLD_NUMBER = re.compile(r"\[\d+\] ")
"""MySQL 5.0 writes a prepared statement's number before its text."""


class _Entry(NamedTuple):
    """An entry of a log, or the beginning of an entry that is too long."""

    content: bytes
    is_whole: bool


class Log(ABC):
    """A log, and the values that its entries leave out because they are those of an entry before.

    kind: as an error names it. boundary: the text between two entries, with the text that follows at most
    LONGEST_BOUNDARY bytes. expected: a text that the first block has.
    """

    kind: ClassVar[str]
    boundary: ClassVar[re.Pattern[bytes]]
    expected: ClassVar[re.Pattern[bytes]]

    def __init__(self, path: Path, tally: Tally, progress: Callable[[int], None] = lambda _: None) -> None:
        """progress: gets the bytes that the tally has counted, after each block."""
        self._path, self._tally, self._progress = path, tally, progress
        self._logged = nan
        """The last time in the log, in seconds since the epoch."""

    def events(self) -> Iterator[Event]:
        """Yield the events. Raises BadInput for a file that is no such log."""
        tally = self._tally
        unreadable, statements = tally.unreadable, tally.statements
        for entry in self._entries():
            event = self._event_of(entry)
            if event is not None:
                yield event
            elif tally.unreadable - unreadable > MOST_UNREADABLE + tally.statements - statements:
                raise BadInput(
                    f"{self._path} has more entries that are cut off than whole ones: it is no {self.kind}, or damaged"
                )
        if self._path in tally.cut_files:
            tally.cut_files[self._path] = tally.statements - statements, tally.last

    @abstractmethod
    def _event_of(self, entry: _Entry) -> Event | None:
        """Return the event of an entry; None for a command of the protocol, and for what is no whole entry."""

    def _entries(self) -> Iterator[_Entry]:
        """Yield the entries, without the lines that the server writes when it starts."""
        carry, skipped = b"", 0
        for block in self._blocks():
            *entries, carry = self.boundary.split(carry + block)
            for content in entries:
                entry = _Entry(content, not skipped and len(content) <= LONGEST_ENTRY)
                skipped = 0
                if b" started with:\n" in content:
                    yield from self._without_start(entry)
                else:
                    yield entry
            if len(carry) > LONGEST_ENTRY:
                skipped += len(carry) - KEPT_OF_LONG - LONGEST_BOUNDARY
                carry = carry[:KEPT_OF_LONG] + carry[-LONGEST_BOUNDARY:]
            if skipped > MOST_SKIPPED:
                raise BadInput(f"{self._path} has an entry of more than {MOST_SKIPPED // 2**30} GiB: it is damaged")
        if carry:
            yield from self._without_start(_Entry(carry, not skipped))

    def _without_start(self, entry: _Entry) -> Iterator[_Entry]:
        """Yield an entry, or the entries before and after each start of the server."""
        parts = _STARTED.split(entry.content)
        self._tally.versions.update(version.decode("ascii", "replace") for version in parts[1::2])
        for content in filter(None, parts[::2]):
            yield _Entry(content, entry.is_whole)

    def _blocks(self) -> Iterator[bytes]:
        """Yield the content in blocks whose lines end with a newline alone."""
        try:
            with opened(self._path) as file:
                yield from self._with_newlines(self._unpacked(file))
        except (gzip.BadGzipFile, zlib.error):
            raise BadInput(f"{self._path} can't be unpacked: the gzip file is damaged") from None
        except OSError as error:
            raise BadInput(f"{self._path} can't be read: {error.strerror}") from None

    def _unpacked(self, file: BinaryIO) -> Iterator[bytes]:
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        read = gzip.GzipFile(fileobj=file).read1 if is_packed else file.read  # `read` loses what precedes a cut
        before, unpacked = self._tally.bytes_read, 0
        try:
            while block := read(BLOCK_BYTES):
                unpacked += len(block)
                self._tally.bytes_read = before + file.tell()
                self._progress(self._tally.bytes_read)
                if unpacked > max(RATIO_FROM, MOST_RATIO * file.tell()):
                    raise BadInput(f"{self._path} unpacks to more than {MOST_RATIO} times its size: it is no log")
                yield block
        except EOFError:  # the end of the gzip file is missing
            self._tally.cut_files[self._path] = 0, -inf

    def _with_newlines(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield blocks without the carriage returns at the ends of lines, where the first line ends with such."""
        first = next(blocks, b"")
        for beginning, name in OTHER_PACKERS.items():
            if first.startswith(beginning):
                raise BadInput(f"{self._path} is a {name} file: unpack it first")
        if first.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise BadInput(f"{self._path} is UTF-16 text, and a {self.kind} is UTF-8: convert it first")
        if not self.expected.search(first) and first:
            raise BadInput(f"{self._path} is no {self.kind}: its first MiB has no entry of such a log")
        is_dos = first.partition(b"\n")[0].endswith(b"\r")
        carry = b""
        for block in chain((first.removeprefix(b"\xef\xbb\xbf"),), blocks):
            content = carry + block
            carry = b"\r" if is_dos and content.endswith(b"\r") else b""
            yield content.removesuffix(carry).replace(b"\r\n", b"\n") if is_dos else content


class SlowLog(Log):
    """Starts are known to the microsecond, or to the second where the server writes no fractions."""

    kind = "slow log"
    boundary = re.compile(rb";\n(?=# (?:Time|User|User@Host|Client|Query_time): )")
    expected = re.compile(rb"^(?:\xef\xbb\xbf)?# (?:Time|User|User@Host|Query_time): ", re.MULTILINE)
    _is_precise = False

    def _event_of(self, entry: _Entry) -> Event | None:
        parts = _SLOW_ENTRY.match(entry.content)
        assert parts is not None  # each part of the pattern may be empty
        head, timestamp = parts.groups()
        numbers = _NUMBERS.search(head)
        seconds = _seconds(numbers[1]) if numbers is not None else nan
        if numbers is None or isnan(seconds):
            self._tally.unreadable += 1
            return None
        started = self._started(head, timestamp, seconds)
        session = _THREAD.search(head)
        thread = UNKNOWN_THREAD if session is None else int(session[1])
        content = entry.content[parts.end() :].rstrip(b"; \n")
        if content.startswith(_COMMAND):
            return Disconnected(thread) if content.startswith(ENDS, len(_COMMAND)) else None
        text = content.decode("utf-8", "replace") if entry.is_whole else ""
        return self._tally.counted(StatementEvent(thread, started, seconds, text, int(numbers[2] or UNKNOWN_ROWS)))

    def _started(self, head: bytes, timestamp: bytes | None, seconds: float) -> float:
        """Return when a statement started. `# Time` is its end, and so is the timestamp, except in MariaDB."""
        if start := _START.search(head):
            return _moment(start[1].decode("utf-8", "replace"))
        if time := _TIME.match(head):
            text = time[1].decode("utf-8", "replace")
            self._logged, self._is_precise = _moment(text), "T" in text
        if timestamp is None or self._is_precise:
            self._tally.is_coarse |= not self._is_precise
            return self._logged - seconds
        self._tally.is_coarse |= b"." not in timestamp
        return float(timestamp) - (0 if _OF_MARIADB in head else seconds)


class GeneralLog(Log):
    """The events have no run times and no numbers of rows, and not every entry has a time.

    A prepared statement is an event each time it runs, with its values in its text.
    """

    kind = "general log"
    boundary = re.compile(rb"\n(?=" + _BOUNDARY + rb")")
    expected = re.compile(rb"^(?:\xef\xbb\xbf)?" + _BOUNDARY.replace(rb"(?=\n)", rb"(?=\r?\n)"), re.MULTILINE)

    def _event_of(self, entry: _Entry) -> Event | None:
        head = _GENERAL_ENTRY.match(entry.content)
        if head is None:
            self._tally.unreadable += 1
            return None
        if head[1]:
            self._tally.is_coarse |= b"." not in head[1]
            self._logged = _moment(" ".join(head[1].decode("ascii").split()))
        thread, command = int(head[2]), head[3]
        if command in (b"Query", b"Execute"):
            text = entry.content[head.end() :].decode("utf-8", "replace").rstrip("; \r\n\t") if entry.is_whole else ""
            text = _OLD_NUMBER.sub("", text, count=1) if text.startswith("[") else text
            return self._tally.counted(StatementEvent(thread, self._logged, nan, text))
        return Disconnected(thread) if command in (b"Connect", *ENDS) else None


def _seconds(text: bytes) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return nan
    return seconds if 0 <= seconds <= LONGEST_SECONDS else nan


@lru_cache(1000)
def _moment(text: str) -> float:
    """Return a log's time in seconds since the epoch; nan for another text.

    text: ISO 8601, or "071015 21:43:52" in the server's time zone, which is taken for UTC.
    """
    try:
        if "T" in text:
            return datetime.fromisoformat(text).timestamp()
        return datetime.strptime(text[:15], "%y%m%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return nan


def log_events(
    paths: Sequence[Path], kind: type[Log], tally: Tally, progress: Callable[[int], None] = lambda _: None
) -> Iterator[Event]:
    """Yield the events of logs, in the order of their first statements. Raises BadInput for another file.

    progress: gets the bytes that were read.
    """

    def first_start(path: Path) -> float:
        events = islice(kind(path, Tally()).events(), MOST_WITHOUT_START)
        starts = (event.started for event in events if isinstance(event, StatementEvent))
        return next((start for start in starts if not isnan(start)), inf)

    for path in sorted(paths, key=first_start):
        yield from kind(path, tally, progress).events()
