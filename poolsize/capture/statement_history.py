"""StatementHistory: the statements that a server in production runs in a period, out of its performance_schema."""

import re
from collections.abc import Callable, Collection, Iterator
from itertools import groupby
from operator import attrgetter
from time import monotonic, sleep, time
from typing import Any, NamedTuple

import pymysql
from sqlalchemy import URL

from poolsize.capture.digests import Digest
from poolsize.capture.events import Disconnected, Event, Gap, StatementEvent
from poolsize.errors import BadInput
from poolsize.facts.server import number_of, query, read_pairs
from poolsize.server.bounded import LAST_SECONDS, Bounds
from poolsize.server.connection import error_kind
from poolsize.server.reading_session import ReadingSession

QUERIES = "poolsize.capture"
"""The package whose queries are used."""
MOST_ROWS = 5_000
"""Statements of a reading. PyMySQL reads so many in 0.2 s of CPU time."""
HISTORY = Bounds(30, 16 * 2**20, 60_000)
"""Of a reading: MOST_ROWS texts of 1 KiB, or the counters of all digests."""
PAUSE_SECONDS, LOOK_SECONDS = 1.0, 0.25
"""Between two readings, and how soon a capture notices that it has to end."""
SECOND = 10**12
"""performance_schema counts picoseconds."""
MARGIN, LONGEST = SECOND // 10, 3600 * SECOND
"""The server writes a statement into its history so long after the statement's end, at the latest. The longest period
of a reading."""
SHRINK = 4
"""How many times shorter the next period is after a reading with more than MOST_ROWS statements."""
MOST_THREADS = 20_000
LEAST_SHARE = 0.98
"""With a smaller share of the statements, a note has the share."""
SWITCHES = ("global_instrumentation", "thread_instrumentation")
NOT_RUN = ("statement/com/Prepare", "statement/com/Close stmt", "statement/com/Field List")
"""Commands that have a text and run nothing."""
QUIT, EXECUTE_BY_NAME = "statement/com/Quit", "statement/sql/execute_sql"
EXECUTES = ("statement/com/Execute", EXECUTE_BY_NAME)
"""Executions of prepared statements. MariaDB does not show their texts."""
_EXECUTE = re.compile(r"^EXECUTE (?=[A-Z(])")
"""Before the text of a prepared statement in MySQL's digests; a name that EXECUTE has in SQL is in quotes."""

Counters = dict[tuple[str | None, str | None], tuple[int, int]]
"""Schema and digest -> executions, and their picoseconds."""


class _Row(NamedTuple):
    """A statement of the history.

    event: the thread numbers its events. start, wait: picoseconds; start since about the server's start. text: in
    bytes, None for a command without SQL.
    """

    thread: int
    event: int
    name: str
    start: int
    wait: int
    text: bytes | None
    rows_sent: int


class StatementHistory(ReadingSession):
    """A session that reads, with about one query a second, the statements that a server in production runs.

    reads: "all", the last statements of all connections together; "each", the last few of each connection; None where
    there is no history. notes: what can't be read, and the way to it; more of them after `events`. digests: the
    server's counts of each kind of statement in the period of so many seconds; empty where the server counts nothing.
    is_complete: whether the server was there until the end. read, cut, unseen: statements that the history showed;
    those whose text lacks its end; those without a text.
    """

    def __init__(self, url: URL, *, needs_history: bool = True) -> None:
        """Connect. Raises BadInput where the account can't read the history, or the counters if these are enough."""
        self._needs_history = needs_history
        self.digests: tuple[Digest, ...] = ()
        self.seconds, self.is_complete, self._is_ending = 0.0, True, False
        self.read = self.cut = self.unseen = self._without_values = 0
        self._unseen_seconds = 0.0
        self._threads: set[int] = set()
        self._last: dict[int, int] = {}
        """Thread -> its last event that was read."""
        self._longest = LONGEST
        super().__init__(url, HISTORY)

    def _prepare(self, url: URL) -> None:
        super()._prepare(url)
        if not self._has_schema:
            raise BadInput(
                f"`url`: performance_schema is off on this server: set performance_schema = ON {self.setting_at}, and "
                "restart the server; or capture from its slow log with --slow-log"
            )
        sizes = read_pairs(self._connection.cursor(), "capture_variables", QUERIES)
        prefix = "performance_schema_events_statements_history"
        self._of_all, self._of_each = (number_of(sizes, f"{prefix}_{name}") or 0 for name in ("long_size", "size"))
        self._text_bytes = number_of(sizes, "performance_schema_max_sql_text_length") or 1024
        self._consumers = {name: bool(on) for name, on in self._tried(query("consumers", QUERIES), 2) or ()}
        thread = self._tried(query("own_thread", QUERIES), 2)
        self._own_thread, self._since = map(int, thread[0] if thread and None not in thread[0] else (0, 0))
        self._began, self._clock = self._rows("SELECT NOW()", 1)[0][0], time() - self._since / SECOND
        is_on = self._consumers.get("global_instrumentation") and self._consumers.get("statements_digest")
        self._counts = bool(is_on) and self._may_read("events_statements_summary_by_digest")
        self.reads = next((kind for kind in ("all", "each") if self._reads(kind)), None) if self._since else None
        if not (self.reads if self._needs_history else self._counts):
            raise BadInput(f"`url`: {' '.join(self._ways())} Or capture from the slow log with --slow-log")
        self.notes = list(self._ways())

    def _may_read(self, table: str) -> bool:
        return self._tried(f"SELECT 1 FROM performance_schema.{table} LIMIT 1", 1) is not None

    def _reads(self, kind: str) -> bool:
        """Return whether the account can read the history "all" or "each"."""
        name = "events_statements_history_long" if kind == "all" else "events_statements_history"
        needed = (*SWITCHES, "events_statements_current", "statement/sql/select", name)
        kept = self._of_all if kind == "all" else self._of_each
        return kept > 0 and all(map(self._consumers.get, needed)) and self._may_read(name)

    def _ways(self) -> Iterator[str]:
        """Yield the sources that can't be read, with the settings that make them readable."""
        records = all(map(self._consumers.get, (*SWITCHES, "events_statements_current")))
        can_read = self._consumers and self._may_read("events_statements_summary_by_digest")
        if not can_read or (records and not self._since):
            yield (
                "This account may not read the statements in performance_schema. To read them: "
                f"{self._grant('SELECT ON performance_schema.*')}"
            )
            return
        kept = ["events_statements_current", "events_statements_history_long"]
        missing = [
            name
            for name in (*SWITCHES, "statements_digest", *kept)
            if not self._consumers.get(name) and (self.reads is None or name not in kept)
        ]
        if missing:
            yield f"The server does not record all statements. To record them: {_switched_on(missing)}"
        if not self._consumers.get("statement/sql/select"):
            yield (
                "The server does not time statements. To time them: UPDATE performance_schema.setup_instruments SET "
                "ENABLED = 'YES', TIMED = 'YES' WHERE NAME LIKE 'statement/%'."
            )
        if self.reads == "each":
            yield (
                f"The history keeps the last {self._of_each} statements of each connection: a transaction of more "
                "statements is not seen, and of a busy connection only a sample. To see all: "
                f"{_switched_on(['events_statements_history_long'])}"
            )

    def end(self) -> None:
        """Let `events` end soon, with the statements that were read; for a signal's handler."""
        self._is_ending = True
        self.end_within(LAST_SECONDS)

    def events(self, seconds: float, progress: Callable[[float], None] = lambda _: None) -> Iterator[Event]:
        """Yield the statements of the next so many seconds, with the gaps of each session.

        A session begins with a gap, since it may be in a transaction. progress: gets the seconds that have passed,
        about once a second.
        """
        for _ in self._each_second(seconds, progress):
            yield from self._read()
        if self.unseen:
            counted = sum(digest.count for digest in self.digests)
            more = max(1.0, counted / self.read)
            executions = Digest("EXECUTE ?", round(more * self.unseen), more * self._unseen_seconds)
            self.digests = (*(each for each in self.digests if not each.text.startswith("EXECUTE")), executions)
        self.notes += self._losses()

    def count(self, seconds: float, progress: Callable[[float], None]) -> None:
        """Let the server count statements for so many seconds, and read only its counters, `digests`."""
        for _ in self._each_second(seconds, progress):
            pass

    def _each_second(self, seconds: float, progress: Callable[[float], None]) -> Iterator[None]:
        """Yield about once a second. What fails meanwhile ends the period."""
        self.end_within(seconds + HISTORY.seconds)
        try:
            before = self._counters() if self._counts else {}
            began = monotonic()
            while not self._is_ending and (left := began + seconds - monotonic()) > 0:
                self._wait(min(left, PAUSE_SECONDS))
                yield
                self.seconds = monotonic() - began
                progress(self.seconds)
            if self._counts:
                self.digests = self._digests_since(before)
        except pymysql.MySQLError as error:
            self.is_complete = self._is_ending
            self.notes.append(f"The connection was lost after {self.seconds:.0f} s ({error_kind(error)}).")

    def _wait(self, seconds: float) -> None:
        until = monotonic() + seconds
        while not self._is_ending and (left := until - monotonic()) > 0:
            sleep(min(left, LOOK_SECONDS))

    def _counters(self) -> Counters:
        return {(schema, digest): counts for schema, digest, *counts in self._rows(query("digest_counts", QUERIES), 4)}

    def _digests_since(self, before: Counters) -> tuple[Digest, ...]:
        """Return the statements that ran since a reading of the counters, which this session made."""
        digests = []
        rows = self._rows(query("digests", QUERIES), 6, values={"started": self._began})
        for schema, digest, *now, text, is_new in rows:
            was = before.get((schema, digest), (0, 0) if is_new else None)
            if was is not None and text is not None and now[0] > was[0] and "performance_schema" not in text:
                count, wait = (max(0, int(value) - int(old)) for value, old in zip(now, was, strict=True))
                digests.append(Digest(_EXECUTE.sub("", str(text).strip(), 1), count, wait / SECOND))
        return tuple(digests)

    def _read(self) -> Iterator[Event]:
        """Yield the events of a reading."""
        values = {
            "own": self._own_thread, "since": self._since, "longest": self._longest, "margin": MARGIN,
            "most": MOST_ROWS + 1,
        }  # fmt: skip
        if self.reads == "all":
            rows, lost = self._of_ring(self._rows(query("statements_of_all", QUERIES), 10, values=values))
        else:
            rows, lost = self._of_rings(self._rows(query("statements_of_each", QUERIES), 9, values=values))
        yield from map(Gap, self._threads if lost is None else self._threads.intersection(lost))
        for row in rows:
            if row.name == QUIT:
                self._threads.discard(row.thread)
                yield Disconnected(row.thread)
            elif row.name in EXECUTES or (row.text is not None and row.name not in NOT_RUN):
                if row.thread not in self._threads:
                    self._threads.add(row.thread)
                    yield Gap(row.thread)
                yield self._counted(row)
        if len(self._threads) > MOST_THREADS:
            self._threads.clear()

    def _of_ring(self, rows: list[Any]) -> tuple[list[_Row], Collection[int] | None]:
        """Return the statements of statements_of_all in the order of each thread, and the threads with a gap.

        None means all threads.
        """
        if not rows:
            return [], ()
        read_at, oldest, kept = rows[0][7:]
        since, self._since = self._since, read_at - MARGIN
        is_full = kept > 0.98 * self._of_all  # a statement that is being written is not counted
        is_lost = since + self._longest < read_at or (is_full and oldest > since)
        if len(rows) > MOST_ROWS:
            self._longest = max(2 * MARGIN, min(self._longest, read_at - since) // SHRINK)
            return [], None
        spanned = max(1, min(self._longest, read_at - since) - MARGIN)
        self._longest = min(LONGEST, MARGIN + spanned * MOST_ROWS * 3 // 4 // len(rows))
        return sorted(_Row(*row[:7]) for row in rows), None if is_lost else ()

    def _of_rings(self, rows: list[Any]) -> tuple[list[_Row], Collection[int]]:
        """Return the same of statements_of_each.

        Where the rows have an end, the last thread may lack some: it waits for the next reading.
        """
        if rows:
            self._since = rows[0][7]
        if len(rows) > MOST_ROWS:
            rows = [row for row in rows if row[0] != rows[-1][0]]
        statements: list[_Row] = []
        lost, last, self._last = set(), self._last, {}
        top_level = {(row[0], row[1]) for row in rows if row[8] == 0}
        for thread, ring in groupby(sorted(_Row(*row[:7]) for row in rows), attrgetter("thread")):
            kept = list(ring)
            if len(kept) >= self._of_each and kept[0].event > last.get(thread, 0):
                lost.add(thread)
            statements += [row for row in kept if row.event > last.get(thread, 0) and row[:2] in top_level]
            self._last[thread] = kept[-1].event
        return statements, lost

    def _counted(self, row: _Row) -> Event:
        """Return the event of a statement, which is counted. A statement without its text is a gap."""
        self.read += 1
        if row.text is None or row.name == EXECUTE_BY_NAME:  # whose text is EXECUTE and a name
            self.unseen += 1
            self._unseen_seconds += row.wait / SECOND
            return Gap(row.thread)
        is_cut = row.text.endswith(b"...")  # which the server adds, and with which no statement ends
        self.cut += is_cut
        self._without_values += row.name in EXECUTES and b"?" in row.text
        text = "" if is_cut else row.text.decode("utf-8", "surrogateescape").rstrip("; \n")
        return StatementEvent(
            row.thread, self._clock + row.start / SECOND, row.wait / SECOND, text, row.rows_sent
        )  # fmt: skip

    def _losses(self) -> Iterator[str]:
        """Yield a sentence or two on statements that are cut, and on those that were not seen."""
        if self.cut:
            yield (
                f"{self.cut / self.read:.1%} of the statements are cut at {self._text_bytes:,} bytes, and are left "
                "out. To keep longer texts: set performance_schema_max_sql_text_length = 16384 "
                f"{self.setting_at}, and restart the server."
            )
        if self.unseen:
            yield (
                f"{self.unseen / self.read:.0%} of the statements are executions of prepared statements, of which "
                "this server shows no text. Their transactions are left out: capture from the slow log with --slow-log."
            )
        if self._without_values:
            yield (
                f"{self._without_values / self.read:.0%} of the statements are executions of prepared statements, of "
                "which this server shows no values. Values of their columns on the copy replace them."
            )
        counted = sum(digest.count for digest in self.digests)
        if self.read < LEAST_SHARE * counted:
            yield (
                f"The history showed {self.read / counted:.0%} of {counted:,} statements. The weights of the "
                "transactions follow the server's counters."
            )


def _switched_on(consumers: Collection[str]) -> str:
    names = ", ".join(f"'{name}'" for name in consumers)
    return f"UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN ({names})."
