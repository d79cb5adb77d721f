"""StatementHistory: the transactions that a server runs in a period, out of its performance_schema."""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic, sleep, time
from typing import Self

import pymysql
from sqlalchemy import URL

from poolsize.capture.digests import Digest, digest_events
from poolsize.capture.events import Disconnected, Event, StatementEvent
from poolsize.capture.history_session import HISTORY, SECOND, HistorySession, Row
from poolsize.capture.whole_transactions import BEGIN, NestedStatements, OrderedStatements, verb
from poolsize.server.connection import error_kind

NOT_RUN = ("statement/com/Prepare", "statement/com/Close stmt", "statement/com/Field List")
"""Commands that have a text and run nothing."""
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
    whether the server was there until the end. read, whole, cut: statements that the history showed; those of
    transactions that were seen from begin to end; those whose text lacks its end.
    """

    def __init__(self, url: URL) -> None:
        """Connect. Raises BadInput where the server can't be reached, or lets this account read nothing."""
        self._session = HistorySession(url, HISTORY)
        self.server_version = self._session.server.version
        self.notes = list(self._session.notes)
        self.digests: tuple[Digest, ...] = ()
        self.seconds = 0.0
        self.is_complete, self.read, self.whole, self.cut = True, 0, 0, 0
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
        the server keeps no history, statements that stand for its counters come at the end. progress: hears the seconds
        that have passed, about once a second.
        """
        session = self._session
        session.end_within(seconds + HISTORY.seconds)
        try:
            counts = session.digest_counts() if session.counts_digests else {}
            began = monotonic()
            while not self._is_ending and (left := began + seconds - monotonic()) > 0:
                self._wait(min(left, PAUSE_SECONDS))
                if session.reads:
                    yield from self._read()
                self.seconds = monotonic() - began
                progress(self.seconds)
            if session.counts_digests:
                self.digests = session.digests_since(counts)
        except pymysql.MySQLError as error:
            self.is_complete = self._is_ending
            self.notes.append(f"The connection was lost after {self.seconds:.0f} s ({error_kind(error)}).")
        for number, groups in self._threads.items():
            yield from self._events(groups.last(), number)
        if not session.reads:
            yield from digest_events(self.digests, time() - self.seconds)
        self.notes += self._losses()

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
            groups = self._threads.get(row.thread)
            if groups is None:
                groups = self._threads[row.thread] = self._groups()
            if row.name == QUIT:
                yield from self._events(groups.take(), row.thread)
                yield Disconnected(row.thread, self._session.clock + row.start / SECOND)
                del self._threads[row.thread]
            elif row.text is not None and row.name not in NOT_RUN:
                self.read += 1
                self.cut += self._is_cut(row.text)
                yield from self._events(groups.add(row), row.thread)
        while len(self._threads) > MOST_THREADS:
            del self._threads[next(iter(self._threads))]

    def _events(self, rows: Sequence[Row], number: int) -> Iterator[StatementEvent]:
        """Yield the statements of a transaction, or of several outside of one."""
        if rows and rows[-1].transaction is not None and verb(rows[0]) != BEGIN:
            yield StatementEvent(number, self._session.clock + rows[0].start / SECOND, 0.0, "BEGIN", rows[0].schema)
        self.whole += len(rows)
        for row in rows:
            text = row.text or b""
            yield StatementEvent(
                thread=number,
                started=self._session.clock + row.start / SECOND,
                seconds=row.wait / SECOND,
                text="" if self._is_cut(text) else text.decode("utf-8", "surrogateescape").rstrip("; \n"),
                schema=row.schema,
                rows_sent=row.rows_sent,
                rows_examined=row.rows_examined,
                failed=row.errors > 0,
            )

    def _is_cut(self, text: bytes) -> bool:
        """Return whether the server kept the beginning of a text only, to which it adds three dots."""
        return text.endswith(b"...") and len(text) > self._session.text_bytes - 16  # it cuts between characters

    def _losses(self) -> Iterator[str]:
        """Yield a sentence or two on statements that are cut, and on those that were not seen."""
        if self.cut:
            yield (
                f"{self.cut / self.read:.1%} of the statements are cut at {self._session.text_bytes:,} bytes, and "
                "count as other statements. To keep longer texts: set performance_schema_max_sql_text_length = 16384 "
                f"{self._session.setting_at}, and restart the server."
            )
        counted = sum(digest.count for digest in self.digests) or self.read
        if self._session.reads and self.whole < LEAST_SHARE * counted:
            yield (
                f"The history showed {self.whole / counted:.0%} of {counted:,} statements in whole transactions."
                + (" The weights of the transactions follow the server's counters." if self.digests else "")
            )
