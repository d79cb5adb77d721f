"""StatementHistory: the transactions that a server runs in a period, out of its performance_schema."""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic, sleep, time
from typing import Self

import pymysql
from sqlalchemy import URL

from poolsize.capture.digests import Digest, digest_events
from poolsize.capture.events import Disconnected, Event, StatementEvent
from poolsize.capture.history_session import HISTORY, SECOND, HistorySession, Row
from poolsize.capture.whole_transactions import BEGIN, ENDS, NestedStatements, OrderedStatements, verb
from poolsize.server.connection import error_kind

NOT_RUN = ("statement/com/Prepare", "statement/com/Close stmt", "statement/com/Field List")
"""Commands that have a text and run nothing."""
EXECUTE_BY_NAME = "statement/sql/execute_sql"
EXECUTES = ("statement/com/Execute", EXECUTE_BY_NAME)
"""Executions of prepared statements. MariaDB does not show their texts."""
QUIT = "statement/com/Quit"
PAUSE_SECONDS = 1.0
LOOK_SECONDS = 0.25
"""How soon a capture notices that it has to end."""
LAST_SECONDS = 2
"""The longest time for the last reading, after a signal."""
MOST_THREADS = 20_000
LEAST_SHARE = 0.98
"""With a smaller share of the statements, a sentence says so."""


class StatementHistory:
    """What a server in production ran in a period, read with about one query a second, which changes nothing.

    notes: what can't be read, and the way to it; more of them after `events`. digests: what the server counted of each
    kind of statement, after `events`; empty where it does not count. seconds: length of the period. is_complete:
    whether the server was there until the end. read, whole, cut, unseen: statements that the history showed; those of
    transactions that were seen from begin to end; those whose text lacks its end; those without a text.
    """

    def __init__(self, url: URL) -> None:
        """Connect. Raises BadInput where the server can't be reached, or lets this account read nothing."""
        self._session = HistorySession(url, HISTORY)
        self.server_version = self._session.server.version
        self.notes = list(self._session.notes)
        self.digests: tuple[Digest, ...] = ()
        self.seconds = 0.0
        self.is_complete, self.read, self.whole, self.cut, self.unseen = True, 0, 0, 0, 0
        self._unseen_seconds, self._without_values = 0.0, 0
        self._is_ending = False
        self._groups = NestedStatements if self._session.sees_transactions else OrderedStatements
        self._threads: dict[int, NestedStatements | OrderedStatements] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def end(self) -> None:
        """Let `events` end soon, with what was read; for a signal's handler."""
        self._is_ending = True
        self._session.end_within(LAST_SECONDS)

    def events(self, seconds: float, progress: Callable[[float], None] = lambda _: None) -> Iterator[Event]:
        """Yield the statements of the next so many seconds; of transactions, those that were seen whole.

        A transaction without BEGIN gets one. A session whose next statements are missing is as if it had ended. Where
        the history shows nothing, statements that stand for the server's counters come at the end. progress: hears the
        seconds that have passed, about once a second.
        """
        for _ in self._seconds(seconds, progress):
            if self._session.reads:
                yield from self._read()
        for number, groups in self._threads.items():
            yield from self._events(groups.last(), number)
        if not self.whole and self.digests:
            self.notes.append(
                "No transaction was seen whole: each statement counts as a transaction of its own, and its parameters "
                "are not known."
            )
            yield from digest_events(self.digests, time() - self.seconds)
        if self.unseen:
            counted = sum(digest.count for digest in self.digests)
            more = max(1.0, counted / self.read) if self.read else 1.0
            executions = Digest(None, "EXECUTE ?", round(more * self.unseen), more * self._unseen_seconds, 0)
            self.digests = (*(each for each in self.digests if not each.text.startswith("EXECUTE")), executions)
        self.notes += self._losses()

    def count(self, seconds: float, progress: Callable[[float], None]) -> None:
        """Let the server count statements for so many seconds, and read only its counters, `digests`."""
        for _ in self._seconds(seconds, progress):
            pass

    def _seconds(self, seconds: float, progress: Callable[[float], None]) -> Iterator[None]:
        """Yield about once a second. What fails meanwhile ends the period."""
        session = self._session
        session.end_within(seconds + HISTORY.seconds)
        try:
            counts = session.digest_counts() if session.counts_digests else {}
            began = monotonic()
            while not self._is_ending and (left := began + seconds - monotonic()) > 0:
                self._wait(min(left, PAUSE_SECONDS))
                yield
                self.seconds = monotonic() - began
                progress(self.seconds)
            if session.counts_digests:
                self.digests = session.digests_since(counts)
        except pymysql.MySQLError as error:
            self.is_complete = self._is_ending
            self.notes.append(f"The connection was lost after {self.seconds:.0f} s ({error_kind(error)}).")

    def _wait(self, seconds: float) -> None:
        until = monotonic() + seconds
        while not self._is_ending and (left := until - monotonic()) > 0:
            sleep(min(left, LOOK_SECONDS))

    def _read(self) -> Iterator[Event]:
        """Yield the transactions that a reading completes."""
        reading = self._session.read()
        for number in list(self._threads) if reading.lost is None else reading.lost:
            if groups := self._threads.get(number):
                yield from self._events(groups.gap(), number)
                yield Disconnected(number, time())
        for row in reading.rows:
            if row.name == QUIT:
                if groups := self._threads.pop(row.thread, None):
                    yield from self._events(groups.take(), row.thread)
                yield Disconnected(row.thread, self._session.clock + row.start / SECOND)
            elif row.name in EXECUTES or (row.text is not None and row.name not in NOT_RUN):
                groups = self._threads.setdefault(row.thread, self._groups())
                yield from self._events(groups.add(self._counted(row)), row.thread)
        while len(self._threads) > MOST_THREADS:
            del self._threads[next(iter(self._threads))]

    def _counted(self, row: Row) -> Row:
        """Return a statement, which is counted. One that the server runs under another name gets no text."""
        if row.name == EXECUTE_BY_NAME:
            row = row._replace(text=None)
        self.read += 1
        if row.text is None:
            self.unseen += 1
            self._unseen_seconds += row.wait / SECOND
        else:
            self.cut += is_cut(row.text)
            self._without_values += row.name in EXECUTES and b"?" in row.text
        return row

    def _events(self, rows: Sequence[Row], number: int) -> Iterator[StatementEvent]:
        """Yield the statements of a transaction, or of several outside of one."""
        if any(row.text is None for row in rows):
            return
        is_nested = self._session.sees_transactions
        if rows and is_nested and rows[-1].transaction is None and verb(rows[0]) in ENDS:
            return  # of no transaction; without its BEGIN, it would mean autocommit = 0
        if rows and rows[-1].transaction is not None and verb(rows[0]) != BEGIN:
            yield StatementEvent(number, self._session.clock + rows[0].start / SECOND, 0.0, "BEGIN", rows[0].schema)
        self.whole += len(rows)
        for row in rows:
            yield StatementEvent(
                thread=number,
                started=self._session.clock + row.start / SECOND,
                seconds=row.wait / SECOND,
                text=""
                if row.text is None or is_cut(row.text)
                else row.text.decode("utf-8", "surrogateescape").rstrip("; \n"),
                schema=row.schema,
                rows_sent=row.rows_sent,
                rows_examined=row.rows_examined,
                failed=row.errors > 0,
            )

    def _losses(self) -> Iterator[str]:
        """Yield a sentence or two on statements that are cut, and on those that were not seen."""
        if self.cut:
            yield (
                f"{self.cut / self.read:.1%} of the statements are cut at {self._session.text_bytes:,} bytes, and "
                "count as other statements. To keep longer texts: set performance_schema_max_sql_text_length = 16384 "
                f"{self._session.setting_at}, and restart the server."
            )
        if self.unseen:
            yield (
                f"{self.unseen / self.read:.0%} of the statements are executions of prepared statements, of which "
                "this server shows no text. Their transactions are left out: capture from the slow log with --slow-log."
            )
        if self._without_values:
            yield (
                f"{self._without_values / self.read:.0%} of the statements are executions of prepared statements, of "
                "which this server shows no values. Values of their columns on the copy stand for them."
            )
        counted = sum(digest.count for digest in self.digests) or self.read
        if self._session.reads and self.whole < LEAST_SHARE * counted:
            yield (
                f"The history showed {self.whole / counted:.0%} of {counted:,} statements in whole transactions."
                + (" The weights of the transactions follow the server's counters." if self.digests else "")
            )


def is_cut(text: bytes) -> bool:
    """Return whether the server kept the beginning of a text only: it adds three dots, with which no statement ends."""
    return text.endswith(b"...")
