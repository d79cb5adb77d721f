"""A general query log -> events: of MySQL 5.1 to 9, and of MariaDB. It has no run times and no numbers of rows."""

import re
from collections.abc import Iterator, Sequence
from math import nan
from pathlib import Path

from poolsize.capture.events import Disconnected, Event, StatementEvent, Tally
from poolsize.capture.log_file import Entry, Format, log_events, moment

_TIME = rb"(\d{4}-\d\d-\d\dT[\d:.]{8,15}(?:Z|[+-]\d\d:\d\d)|\d{6} +\d?\d:\d\d:\d\d)?"
_COMMANDS = (
    rb"Query|Execute|Prepare|Close stmt|Reset stmt|Long Data|Fetch|Connect(?: Out)?|Quit|Init DB|Change user|Ping"
    rb"|Reset [Cc]onnection|Statistics|Field List|Refresh|Shutdown|Processlist|Kill|Debug|Set option|Daemon|Sleep"
    rb"|Binlog Dump(?: GTID)?|Register (?:Slave|Replica)|Table Dump|Create DB|Drop DB|Delayed insert|Time|Bulk_execute"
)
_BEGINNING = _TIME + rb"[ \t]+(\d{1,18}) (" + _COMMANDS + rb")(?:[ \t]+|(?=\n)|\Z)"
_BOUNDARY_BEGINNING = re.sub(rb"\((?!\?)", b"(?:", _BEGINNING)
GENERAL_LOG = Format(
    "general log",
    re.compile(rb"\n(?=" + _BOUNDARY_BEGINNING + rb")"),
    re.compile(rb"^(?:\xef\xbb\xbf)?" + _BOUNDARY_BEGINNING.replace(rb"(?=\n)", rb"(?=\r?\n)"), re.MULTILINE),
)
_ENTRY = re.compile(_BEGINNING)
_SCHEMA = re.compile(r" on (\S*)(?: using |\s*\Z)")
_OLD_NUMBER = re.compile(r"\[\d+\] ")
"""MySQL 5.0 writes a prepared statement's number before its text."""
_BEGIN_OR_END = (b"Connect", b"Quit", b"Change user", b"Reset Connection", b"Reset connection")
_USE = re.compile(r"USE\s+`?([^`;]+?)`?\s*\Z", re.IGNORECASE)
MOST_SESSIONS = 100_000


def general_log_events(paths: Sequence[Path], tally: Tally) -> Iterator[Event]:
    """Yield what general logs hold, in the order of the logs' beginnings. Raises BadInput for another file.

    A prepared statement is an event each time it runs, with its values in its text.
    """
    return log_events(paths, GENERAL_LOG, _State, tally)


class _State:
    """What entries of a log leave out: the time where it is that of the entry before, and each session's schema."""

    def __init__(self) -> None:
        self._logged = nan  # seconds since the epoch
        self._schemas: dict[int, str | None] = {}

    def event_of(self, entry: Entry, tally: Tally) -> Event | None:
        """Return the event of an entry; None for a command of the protocol, and for lines that are no entry."""
        head = _ENTRY.match(entry.content)
        if head is None:
            tally.unreadable += 1
            return None
        if head[1]:
            self._logged = moment(" ".join(head[1].decode("ascii").split()))
        thread, command = int(head[2]), head[3]
        text = entry.content[head.end() :].decode("utf-8", "replace").rstrip("; \r\n\t")
        if command in (b"Query", b"Execute"):
            return self._statement(thread, text, entry, tally)
        if command == b"Init DB":
            self._enter(thread, text)
        elif command in _BEGIN_OR_END:
            found = _SCHEMA.search(text)
            self._enter(thread, found[1] if found else None)
            return Disconnected(thread, self._logged)
        return None

    def _statement(self, thread: int, text: str, entry: Entry, tally: Tally) -> Event:
        if not entry.is_whole:
            text = ""
        elif text.startswith("["):
            text = _OLD_NUMBER.sub("", text, count=1)
        elif text[:3].upper() == "USE" and (use := _USE.fullmatch(text)):
            self._enter(thread, use[1])
        return tally.counted(StatementEvent(thread, self._logged, nan, text, self._schemas.get(thread)))

    def _enter(self, thread: int, schema: str | None) -> None:
        """Note a session's schema. Of very many sessions, the schemas are forgotten."""
        if not schema:
            self._schemas.pop(thread, None)
            return
        if len(self._schemas) >= MOST_SESSIONS:
            self._schemas.clear()
        self._schemas[thread] = schema
