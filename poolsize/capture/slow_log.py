"""A slow query log -> events: of MySQL 5.1 to 9, of MariaDB, and of Percona Server with its extended fields."""

import re
from collections.abc import Iterator, Sequence
from math import isnan, nan
from pathlib import Path

from poolsize.capture.events import UNKNOWN_ROWS, UNKNOWN_THREAD, Disconnected, Event, StatementEvent, Tally
from poolsize.capture.log_file import Entry, Format, log_events, moment

LONGEST_SECONDS = 1e7
"""A longer run time is an error of the server."""
SLOW_LOG = Format(
    "slow log",
    re.compile(rb";\n(?=# (?:Time|User|User@Host|Client|Query_time): )"),
    re.compile(rb"^(?:\xef\xbb\xbf)?# (?:Time|User|User@Host|Query_time): ", re.MULTILINE),
)
_ENTRY = re.compile(
    rb"""\n*+((?:\#(?!\ administrator\ command:\ )[^\n]*(?:\n|\Z))*+)
    (?:use\ `?([^\n]*?)`?;\n)?
    (?:SET\ [^\n;]{0,80}?timestamp=(\d{1,12}(?:\.\d{1,9})?)[^\n;]{0,80};\n)?""",
    re.VERBOSE,
)
_NUMBERS = re.compile(
    rb"# Query_time: *(\S+)(?:\s+Lock_time: *\S+(?:\s+Rows_sent: *(\d{1,18})(?:\s+Rows_examined: *(\d{1,18})\b)?)?)?"
)
_THREAD = re.compile(rb"(?:Thread_id|Id(?<= Id)): *(\d{1,18})(?=\s)")
_SCHEMA = re.compile(rb"Schema: ?(\S*)")
_ERROR = re.compile(rb"rrno: *([1-9])")
_TIME = re.compile(rb"# Time: +([^\n#]*[^\n# ])")
_START = re.compile(rb" Start: (\S+)")
_OF_MARIADB = b"  QC_hit: "
_COMMAND = b"# administrator command: "
_ENDS = (b"Quit", b"Change user", b"Reset Connection", b"Reset connection")


def slow_log_events(paths: Sequence[Path], tally: Tally) -> Iterator[Event]:
    """Yield what slow logs hold, in the order of the logs' beginnings.

    Starts are known to the microsecond, or to the second where the server writes no fractions. Raises BadInput for
    another file.
    """
    return log_events(paths, SLOW_LOG, _State, tally)


class _State:
    """What entries of a log leave out because it is the same as in the entry before."""

    def __init__(self) -> None:
        self._logged = nan  # seconds since the epoch, by `# Time`
        self._is_precise = False
        self._schema: str | None = None

    def event_of(self, entry: Entry, tally: Tally) -> Event | None:
        """Return the event of an entry; None for a command of the protocol, and for an entry that is cut off."""
        entry_head = _ENTRY.match(entry.content)
        assert entry_head is not None  # each part of the pattern may be empty
        head, use, timestamp = entry_head.groups()
        numbers = _NUMBERS.search(head)
        seconds = _seconds(numbers[1]) if numbers is not None else nan
        if numbers is None or isnan(seconds):
            tally.unreadable += 1
            return None
        if use is not None:
            self._schema = _text(use)
        started = self._started(head, timestamp, seconds)
        session = _THREAD.search(head)
        thread = UNKNOWN_THREAD if session is None else int(session[1])
        content = entry.content[entry_head.end() :].rstrip(b"; \n")
        if content.startswith(_COMMAND):
            is_end = content.startswith(_ENDS, len(_COMMAND))
            return Disconnected(thread, started) if is_end else None
        text = _text(content) if entry.is_whole else ""
        schema, (sent, examined) = self._schema_of(head), numbers.groups()[1:]
        failed = b"rrno: " in head and _ERROR.search(head) is not None
        rows = int(sent or UNKNOWN_ROWS), int(examined or UNKNOWN_ROWS)
        return tally.counted(StatementEvent(thread, started, seconds, text, schema, *rows, failed))

    def _schema_of(self, head: bytes) -> str | None:
        """Return the schema that the fields say; without such a field, that of the last `use`."""
        schema = _SCHEMA.search(head) if b"Schema: " in head else None
        return self._schema if schema is None else _text(schema[1]) or None

    def _started(self, head: bytes, timestamp: bytes | None, seconds: float) -> float:
        """Return when a statement started. `# Time` is its end, and so is the timestamp, except in MariaDB."""
        if start := _START.search(head):
            return moment(_text(start[1]))
        if time := _TIME.match(head):
            text = _text(time[1])
            self._logged, self._is_precise = moment(text), "T" in text
        if timestamp is None or self._is_precise:
            return self._logged - seconds
        return float(timestamp) - (0 if _OF_MARIADB in head else seconds)


def _seconds(text: bytes) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return nan
    return seconds if 0 <= seconds <= LONGEST_SECONDS else nan


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
