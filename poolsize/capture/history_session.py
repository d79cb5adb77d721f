"""HistorySession: what performance_schema keeps of the statements of a server in production, read in small parts."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from time import time
from typing import Any, NamedTuple

from sqlalchemy import URL

from poolsize.capture.digests import Digest, DigestKey
from poolsize.errors import BadInput
from poolsize.facts.server import number_of, query, read_pairs
from poolsize.server.bounded import Bounds
from poolsize.server.reading_session import ReadingSession

QUERIES = "poolsize.capture"
"""The package whose queries are used."""
MOST_ROWS = 5_000
"""Statements of a reading. PyMySQL reads so many in 0.2 s of CPU time."""
HISTORY = Bounds(30, 16 * 2**20, 60_000)
"""Of a reading: MOST_ROWS texts of 1 KiB, or the counters of all digests."""
SECOND = 10**12
"""performance_schema counts picoseconds."""
MARGIN, LONGEST = SECOND // 10, 3600 * SECOND
"""The server writes a statement into its history so long after the statement's end, at the latest. The longest period
of a reading."""
EXECUTES = re.compile(r"^EXECUTE (?=[A-Z(])")
"""Before the text of a prepared statement in MySQL's digests; a name that EXECUTE has in SQL is in quotes."""
SHRINK = 4
"""How many times shorter the next period is after a reading with more than MOST_ROWS statements."""


class Row(NamedTuple):
    """A statement of the history.

    event, end_event: the thread numbers its events: statements, transactions, and others. text: in bytes, None for a
    command without SQL. transaction: number of the transaction's event that was open when the statement began, or None.
    start, wait: picoseconds; start since about the server's start.
    """

    thread: int
    event: int
    end_event: int
    name: str
    start: int
    wait: int
    text: bytes | None
    schema: str | None
    rows_sent: int
    rows_examined: int
    errors: int
    transaction: int | None


@dataclass(frozen=True)
class Reading:
    """Statements that ended since the reading before, in the order of each thread.

    lost: threads of which statements may be missing before those in `rows`; None for all threads.
    """

    rows: tuple[Row, ...] = ()
    lost: Collection[int] | None = field(default=())


class HistorySession(ReadingSession):
    """A session that reads statements.

    reads: "all", the last statements of all connections together; "each", the last few of each connection; None where
    there is no history. counts_digests: whether the kinds of statements are counted. sees_transactions: whether a
    statement names its transaction. text_bytes: of a text that are kept. clock: when performance_schema's time was 0,
    in seconds since the epoch.
    Raises BadInput where performance_schema is off, or the account may read nothing of it.
    """

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
        self.text_bytes = number_of(sizes, "performance_schema_max_sql_text_length") or 1024
        self._consumers = {name: bool(on) for name, on in self._tried(query("consumers", QUERIES), 2) or ()}
        thread = self._tried(query("own_thread", QUERIES), 2)
        self.counts_digests = self._is_on("statements_digest") and self._may_read("events_statements_summary_by_digest")
        self._own_thread, self._since = map(int, thread[0] if thread and None not in thread[0] else (0, 0))
        self._began, self.clock = self._rows("SELECT NOW()", 1)[0][0], time() - self._since / SECOND
        self.reads = next((kind for kind in ("all", "each") if self._reads(kind)), None) if self._since else None
        self.sees_transactions = self._is_on("transaction") and self._is_on("events_transactions_current")
        if self.reads is None and not self.counts_digests:
            raise BadInput(f"`url`: {' '.join(self._ways())} Or capture from the slow log with --slow-log")
        self._longest = LONGEST
        self._last: dict[int, int] = {}

    def _is_on(self, name: str) -> bool:
        """Return whether a consumer or an instrument is on, and what it needs."""
        needed = ("global_instrumentation", "thread_instrumentation", name)
        return all(self._consumers.get(each) for each in (needed if name != "statements_digest" else needed[::2]))

    def _may_read(self, table: str) -> bool:
        return self._tried(f"SELECT 1 FROM performance_schema.{table} LIMIT 1", 1) is not None

    def _reads(self, kind: str) -> bool:
        """Return whether the account can read the history "all" or "each"."""
        name = "events_statements_history_long" if kind == "all" else "events_statements_history"
        needed = ("events_statements_current", "statement/sql/select", name)
        kept = self._of_all if kind == "all" else self._of_each
        return kept > 0 and all(map(self._is_on, needed)) and self._may_read(name)

    @property
    def notes(self) -> Iterator[str]:
        """Yield a sentence or two for each thing that can't be read, with the way to it."""
        yield from self._ways()
        if self.reads == "each":
            yield (
                f"The history keeps the last {self._of_each} statements of each connection: a transaction of more "
                "statements is not seen, and of a busy connection only a sample. To see all: "
                f"{_switched_on(['events_statements_history_long'])}"
            )
        if self.reads and not self.sees_transactions:
            yield (
                "Transactions are told apart by BEGIN and COMMIT only. A connection with autocommit = 0 begins its "
                f"transactions without BEGIN. To see these: {self._way_to_transactions()}"
            )
        if self.reads and (rows := self._tried(query("without_history", QUERIES), 2)) and rows[0][0]:
            yield (
                f"{rows[0][0]} of {rows[0][1]} connections keep no history: see performance_schema.setup_actors. "
                "Connections that open after a change there keep one."
            )

    def _ways(self) -> Iterator[str]:
        """Yield what it takes to read the history and the digests, where they can't be read."""
        if not self._consumers or not self._since or not self._may_read("events_statements_summary_by_digest"):
            yield (
                "This account may not read the statements in performance_schema. To read them: "
                f"{self._grant('SELECT ON performance_schema.*')}"
            )
            return
        kept = ["events_statements_current", "events_statements_history_long"]
        missing = [
            name
            for name in ("global_instrumentation", "thread_instrumentation", "statements_digest", *kept)
            if not self._consumers.get(name) and (self.reads is None or name not in kept)
        ]
        if missing:
            yield f"The server does not record all statements. To record them: {_switched_on(missing)}"
        if not self._consumers.get("statement/sql/select"):
            yield (
                "The server does not time statements. To time them: UPDATE performance_schema.setup_instruments SET "
                "ENABLED = 'YES', TIMED = 'YES' WHERE NAME LIKE 'statement/%'."
            )

    def _way_to_transactions(self) -> str:
        way = (
            "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE NAME = 'transaction'"
        )
        return f"{way}, and {_switched_on(['events_transactions_current'])}"

    def read(self) -> Reading:
        """Return the statements that ended since the reading before; of the first, since the session began."""
        values = {
            "own": self._own_thread,
            "since": self._since,
            "longest": self._longest,
            "margin": MARGIN,
            "most": MOST_ROWS + 1,
        }
        if self.reads == "all":
            return self._of_ring(self._rows(query("statements_of_all", QUERIES), 15, values=values))
        return self._of_rings(self._rows(query("statements_of_each", QUERIES), 14, values=values))

    def _of_ring(self, rows: list[Any]) -> Reading:
        """Return the reading of the ring of all connections, from rows of statements_of_all."""
        if not rows:
            return Reading()
        read_at, oldest, kept = rows[0][12:]
        since, self._since = self._since, read_at - MARGIN
        is_full = kept > 0.98 * self._of_all  # a statement that is being written is not counted
        is_lost = since + self._longest < read_at or (is_full and oldest > since)
        if len(rows) > MOST_ROWS:
            self._longest = max(2 * MARGIN, min(self._longest, read_at - since) // SHRINK)
            return Reading(lost=None)
        spanned = max(1, min(self._longest, read_at - since) - MARGIN)
        self._longest = min(LONGEST, MARGIN + spanned * MOST_ROWS * 3 // 4 // len(rows))
        statements = sorted(_row(row) for row in rows)
        return Reading(tuple(statements), None if is_lost else ())

    def _of_rings(self, rows: list[Any]) -> Reading:
        """Return the reading of the rings of each connection, from rows of statements_of_each.

        Where the rows have an end, the last thread may lack some: it waits for the next reading.
        """
        if rows:
            self._since = rows[0][12]
        if len(rows) > MOST_ROWS:
            rows = [row for row in rows if row[0] != rows[-1][0]]
        statements: list[Row] = []
        lost, last, self._last = set(), self._last, {}
        top_level = {(row[0], row[1]) for row in rows if row[13] == 0}
        for thread, ring in groupby(sorted(map(_row, rows)), attrgetter("thread")):
            kept = list(ring)
            if len(kept) >= self._of_each and kept[0].event > last.get(thread, 0):
                lost.add(thread)
            statements += [row for row in kept if row.event > last.get(thread, 0) and row[:2] in top_level]
            self._last[thread] = kept[-1].event
        return Reading(tuple(statements), lost)

    def digest_counts(self) -> dict[DigestKey, tuple[int, int, int]]:
        """Return schema and digest -> executions, picoseconds and rows sent since the server's start."""
        return {(schema, digest): counts for schema, digest, *counts in self._rows(query("digest_counts", QUERIES), 5)}

    def digests_since(self, before: dict[DigestKey, tuple[int, int, int]]) -> tuple[Digest, ...]:
        """Return what ran since a reading of the counters, which this session made."""
        digests = []
        for schema, digest, *now, text, is_new in self._rows(
            query("digests", QUERIES), 7, values={"started": self._began}
        ):
            was = before.get((schema, digest), (0, 0, 0) if is_new else None)
            if was is not None and text is not None and now[0] > was[0] and "performance_schema" not in text:
                count, wait, sent = (max(0, int(value) - int(old)) for value, old in zip(now, was, strict=True))
                digests.append(Digest(schema, EXECUTES.sub("", str(text).strip(), 1), count, wait / SECOND, sent))
        return tuple(digests)


def _row(row: Any) -> Row:
    return Row(*row[:12])


def _switched_on(consumers: Collection[str]) -> str:
    names = ", ".join(f"'{name}'" for name in consumers)
    return f"UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN ({names})."
