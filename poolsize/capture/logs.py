"""A server's log -> events: slow and general query logs of MySQL 5.1 to 9, of MariaDB, and of Percona Server."""

import re
from math import isnan, nan

from poolsize.capture.events import UNKNOWN_ROWS, UNKNOWN_THREAD, Disconnected, Event, StatementEvent, Tally
from poolsize.capture.log_file import Entry, Format, moment

LONGEST_SECONDS = 1e7
"""A longer run time is an error of the server."""
ENDS = (b"Quit", b"Change user", b"Reset Connection", b"Reset connection")
"""Commands after which a session has no open transaction."""

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


class _SlowLog:
    """The values that an entry of a slow log leaves out because they are those of the entry before."""

    def __init__(self) -> None:
        self._logged = nan  # seconds since the epoch, by `# Time`
        self._is_precise = False

    def event_of(self, entry: Entry, tally: Tally) -> Event | None:
        """Return the event of an entry; None for a command of the protocol, and for an entry that is cut off."""
        parts = _SLOW_ENTRY.match(entry.content)
        assert parts is not None  # each part of the pattern may be empty
        head, timestamp = parts.groups()
        numbers = _NUMBERS.search(head)
        seconds = _seconds(numbers[1]) if numbers is not None else nan
        if numbers is None or isnan(seconds):
            tally.unreadable += 1
            return None
        started = self._started(head, timestamp, seconds)
        session = _THREAD.search(head)
        thread = UNKNOWN_THREAD if session is None else int(session[1])
        content = entry.content[parts.end() :].rstrip(b"; \n")
        if content.startswith(_COMMAND):
            return Disconnected(thread) if content.startswith(ENDS, len(_COMMAND)) else None
        text = content.decode("utf-8", "replace") if entry.is_whole else ""
        return tally.counted(StatementEvent(thread, started, seconds, text, int(numbers[2] or UNKNOWN_ROWS)))

    def _started(self, head: bytes, timestamp: bytes | None, seconds: float) -> float:
        """Return when a statement started. `# Time` is its end, and so is the timestamp, except in MariaDB."""
        if start := _START.search(head):
            return moment(start[1].decode("utf-8", "replace"))
        if time := _TIME.match(head):
            text = time[1].decode("utf-8", "replace")
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


class _GeneralLog:
    """The last time in a general log: not every entry has a time."""

    def __init__(self) -> None:
        self._logged = nan  # seconds since the epoch

    def event_of(self, entry: Entry, tally: Tally) -> Event | None:
        """Return the event of an entry; None for a command of the protocol, and for lines that are no entry."""
        head = _GENERAL_ENTRY.match(entry.content)
        if head is None:
            tally.unreadable += 1
            return None
        if head[1]:
            self._logged = moment(" ".join(head[1].decode("ascii").split()))
        thread, command = int(head[2]), head[3]
        if command in (b"Query", b"Execute"):
            text = entry.content[head.end() :].decode("utf-8", "replace").rstrip("; \r\n\t") if entry.is_whole else ""
            text = _OLD_NUMBER.sub("", text, count=1) if text.startswith("[") else text
            return tally.counted(StatementEvent(thread, self._logged, nan, text))
        return Disconnected(thread) if command in (b"Connect", *ENDS) else None


SLOW_LOG = Format(
    "slow log",
    re.compile(rb";\n(?=# (?:Time|User|User@Host|Client|Query_time): )"),
    re.compile(rb"^(?:\xef\xbb\xbf)?# (?:Time|User|User@Host|Query_time): ", re.MULTILINE),
    _SlowLog,
)
"""Starts are known to the microsecond, or to the second where the server writes no fractions."""
GENERAL_LOG = Format(
    "general log",
    re.compile(rb"\n(?=" + _BOUNDARY + rb")"),
    re.compile(rb"^(?:\xef\xbb\xbf)?" + _BOUNDARY.replace(rb"(?=\n)", rb"(?=\r?\n)"), re.MULTILINE),
    _GeneralLog,
)
"""The events have no run times and no numbers of rows. A prepared statement is an event each time it runs, with its
values in its text."""
