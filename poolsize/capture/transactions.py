"""Events -> transactions: the statements of a session between BEGIN and COMMIT, or each alone under autocommit."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isnan, nan
from typing import Literal, NamedTuple

from poolsize.capture.events import UNKNOWN_THREAD, Disconnected, Event, Gap, StatementEvent
from poolsize.capture.fingerprint import Fingerprint, fingerprinted, split_statements

MOST_STATEMENTS = 5000
"""The statements that are kept of a transaction, and of a text of several statements."""
MOST_UNSURE = 50
"""After a gap, so many statements without COMMIT or ROLLBACK are in no transaction."""
MOST_BYTES_OPEN = 2**27
"""The memory that the statements of all open transactions take, about: beyond this, the oldest transaction ends."""
BYTES_PER_STATEMENT, BYTES_PER_CHARACTER = 500, 10
MOST_SESSIONS = 100_000

Ends = Literal["commit", "rollback"]
Reason = str
"""Why a statement is in no transaction: see LeftOut."""
Role = str
"""begin, commit, rollback, statement, savepoint; for other statements, the reason why they are left out."""


class Executed(NamedTuple):
    """A statement that ran. Its fingerprint has literals of the source; the other fields are those of its event."""

    fingerprint: Fingerprint
    started: float
    seconds: float
    rows_sent: int


class Transaction(NamedTuple):
    """What a session ran together. BEGIN and COMMIT count, and are not among the statements.

    started, ended: of all that was sent, seconds since the epoch, nan where unknown; ended is the last start where run
    times are unknown. is_explicit: whether the session ended it, rather than autocommit. seconds: run time of all that
    was sent, nan where unknown. after_previous: seconds since the end of the session's transaction before, nan where
    unknown, and below 0 where the source rounds times. is_whole: False where a part of it may be missing.
    """

    thread: int
    started: float
    ended: float
    statements: tuple[Executed, ...]
    is_explicit: bool
    ends: Ends
    seconds: float
    after_previous: float
    is_whole: bool


@dataclass
class LeftOut:
    """Statements that are part of no transaction, by reason; final after the last transaction.

    Reasons: "too long" to read; "not whole" (cut off in the source, or not SQL); "setting" (SET, USE, PREPARE and the
    like); "monitoring" (of the server's own schemas); "empty" (BEGIN and COMMIT without a statement); "two-phase" (XA
    END and XA PREPARE); "cut" (behind the MOST_STATEMENTS of a transaction or of a text); "prepared" (EXECUTE, whose
    statement the source does not show); the first word of a statement that no workload repeats, such as SHOW; "other"
    (of an unknown first word).
    """

    statements: dict[Reason, int] = field(default_factory=dict)
    seconds: dict[Reason, float] = field(default_factory=dict)

    def add(self, reason: Reason, seconds: float, statements: int = 1) -> None:
        """Count statements. seconds: of all of them; nan where unknown."""
        self.statements[reason] = self.statements.get(reason, 0) + statements
        if not isnan(seconds):
            self.seconds[reason] = self.seconds.get(reason, 0.0) + seconds


_SET_AUTOCOMMIT = re.compile(r"\bautocommit\W{0,9}=\s{0,9}'?(\w+)", re.IGNORECASE)
_CHAINS = re.compile(r"\bAND CHAIN\b", re.IGNORECASE)
"""COMMIT or ROLLBACK begins the next transaction at once."""
_SAVEPOINT = re.compile(
    r"((?:RELEASE )?SAVEPOINT|ROLLBACK (?:WORK )?TO(?: SAVEPOINT)?) (`[^`]+`|[^`\s]+)", re.IGNORECASE
)
_OF_WORKLOAD = frozenset(("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "CALL", "DO", "TABLE", "VALUES"))
_DEFINITIONS = frozenset(
    ("ALTER", "ANALYZE", "CHECK", "CREATE", "DROP", "FLUSH", "GRANT", "INSTALL", "LOCK", "OPTIMIZE", "RENAME", "REPAIR",
     "RESET", "REVOKE", "TRUNCATE", "UNINSTALL", "UNLOCK")
)  # fmt: skip
"""The first words of statements that end an open transaction."""
_COMMANDS = frozenset(
    ("BINLOG", "CACHE", "CHANGE", "CHECKSUM", "DESC", "DESCRIBE", "EXPLAIN", "GET", "HANDLER", "HELP", "IMPORT", "KILL",
     "LOAD", "PURGE", "SHOW", "SHUTDOWN", "SIGNAL", "START", "STOP", "XA")
)  # fmt: skip
"""The first words of other statements that no workload repeats. Only known words are shown: others may be values."""
_SETTINGS = frozenset(("SET", "USE", "PREPARE", "DEALLOCATE"))


_OF_SERVER = re.compile(
    r"\b(?:FROM|JOIN|CALL)[\s(]{1,9}`?(?:performance_schema|information_schema|sys|mysql)`?\s?\.", re.IGNORECASE
)
"""What monitoring, tools and drivers ask the server about itself."""


@lru_cache(5000)
def _role(text: str) -> Role:
    """Return the role of a statement in a transaction. text: that of a fingerprint."""
    words = text[:200].lstrip("( ").upper().replace("(", " ").split(maxsplit=2)
    first, second = (*words, "", "")[:2]
    if (first == "BEGIN" and second in ("", "WORK")) or (first, second) in (("START", "TRANSACTION"), ("XA", "START")):
        return "begin"
    if first == "COMMIT" or (first, second) == ("XA", "COMMIT"):
        return "commit"
    if (first == "ROLLBACK" and " TO " not in text.upper()) or (first, second) == ("XA", "ROLLBACK"):
        return "rollback"
    is_setting = first == "SELECT" and second.startswith("@@") and " FROM " not in text.upper()
    is_variable = first == "SET" and second.startswith("@") and not second.startswith("@@")
    if (first in _OF_WORKLOAD and not is_setting) or second == "TEMPORARY" or is_variable:
        return "monitoring" if _OF_SERVER.search(text) else "statement"
    if first in ("SAVEPOINT", "RELEASE", "ROLLBACK"):
        return "savepoint"
    return (
        "setting" if is_setting or first in _SETTINGS
        else "two-phase" if (first, second) in (("XA", "END"), ("XA", "PREPARE"))
        else "prepared" if first == "EXECUTE"
        else first if first in _DEFINITIONS | _COMMANDS
        else "other"
    )  # fmt: skip


class _Session:
    """A session's state, and its open transaction.

    autocommits: None where not known yet. is_guess: whether autocommit is off by a COMMIT without BEGIN only.
    is_unsure: after a gap, whether a transaction may be open. has_transactions: whether it ever ended one.
    """

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.autocommits: bool | None = True if thread == UNKNOWN_THREAD else None
        self.is_guess = self.is_unsure = self.has_transactions = False
        self.ended = nan
        self.clear()

    def clear(self) -> None:
        """Forget the open transaction."""
        self.is_begun = self.is_cut = False
        self.statements: list[Executed] = []
        self.savepoints: dict[str, str] = {}
        self.sent = self.bytes = 0
        self.started, self.last_end, self.seconds = nan, nan, 0.0

    def note(self, sent: StatementEvent | Executed) -> None:
        """Note the times of a statement of the open transaction, BEGIN and COMMIT among them."""
        if not self.sent:
            self.started = sent.started
        self.sent += 1
        self.seconds += sent.seconds
        self.last_end = sent.started + (0 if isnan(sent.seconds) else sent.seconds)

    def with_same_names(self, fingerprint: Fingerprint) -> Fingerprint:
        """Return the fingerprint of a statement on a savepoint, whose name is the same in each such transaction."""
        savepoint = _SAVEPOINT.fullmatch(fingerprint.text)
        if savepoint is None:
            return fingerprint
        name = self.savepoints.setdefault(savepoint[2], f"sp{len(self.savepoints) + 1}")
        return fingerprint._replace(text=f"{savepoint[1]} {name}")

    def transaction(self, ends: Ends, *, is_explicit: bool, is_whole: bool = True) -> Transaction:
        """Return the open transaction, which ends."""
        made = Transaction(
            self.thread, self.started, self.last_end, tuple(self.statements), is_explicit, ends, self.seconds,
            self.started - self.ended, is_whole and not self.is_cut,
        )  # fmt: skip
        self.ended = self.last_end if self.thread != UNKNOWN_THREAD else nan
        self.clear()
        return made


def rebuilt(events: Iterable[Event], left_out: LeftOut) -> Iterator[Transaction]:
    """Yield transactions, each when it ends. Statements that are part of no transaction are counted in left_out.

    A session whose first COMMIT has no BEGIN is taken to have autocommit off until its first BEGIN: the source may
    begin after the session has set it, or within a transaction. After a gap, statements wait for a COMMIT: then they
    are the end of a transaction, which is not whole. Statements without a session are transactions of their own.
    """
    sessions = _Sessions(left_out)
    for event in events:
        if isinstance(event, Disconnected):
            yield from sessions.disconnected(event.thread)
        elif isinstance(event, Gap):
            yield from sessions.lost(event.thread)
        elif ";" in event.text:
            for part in _parts(event, left_out):
                yield from sessions.lost(part.thread) if isinstance(part, Gap) else sessions.ran(part)
        else:
            yield from sessions.ran(event)
    yield from sessions.cut_off()


def _parts(event: StatementEvent, left_out: LeftOut) -> Iterator[StatementEvent | Gap]:
    """Yield the statements of an event, which share its run time: some sources log several statements as a text.

    After the first MOST_STATEMENTS, as of an import of data, a gap follows: the other statements count as cut.
    """
    texts = split_statements(event.text)
    if len(texts) < 2 or event.text.lstrip()[:6].upper().startswith(("CREATE", "ALTER")):
        yield event
        return
    seconds = event.seconds / len(texts)
    for place, text in enumerate(texts[:MOST_STATEMENTS]):
        started = event.started + (0 if isnan(seconds) else place * seconds)
        yield event._replace(text=text, started=started, seconds=seconds)
    if (more := len(texts) - MOST_STATEMENTS) > 0:
        left_out.add("cut", more * seconds, more)
        if event.thread != UNKNOWN_THREAD:
            yield Gap(event.thread)


class _Sessions:
    """All sessions, and their open transactions, whose memory is bounded."""

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out
        self._sessions: dict[int, _Session] = {}
        self._open: dict[int, None] = {}  # threads, in the order in which their transactions began
        self._bytes = 0

    def ran(self, event: StatementEvent) -> Iterable[Transaction]:
        """Return the transactions that end with a statement, or before it."""
        fingerprint = fingerprinted(event.text) if event.text else None
        if fingerprint is None:
            self._left_out.add("not whole" if event.text else "too long", event.seconds)
            return ()
        session = self._session(event.thread)
        role = _role(fingerprint.text)
        if role == "savepoint":
            fingerprint = session.with_same_names(fingerprint)
        if role in ("statement", "savepoint"):
            ended = self._statement(session, event, fingerprint)
        elif role == "begin":
            ended = self._begun(session, event)
        elif role in ("commit", "rollback"):
            ended = self._finished(session, event, "commit" if role == "commit" else "rollback")
            if _CHAINS.search(fingerprint.text) and session.thread != UNKNOWN_THREAD:
                session.is_begun = True
                self._open[session.thread] = None
        elif role == "prepared":
            session.is_cut = session.is_cut or session.thread in self._open or session.autocommits is False
            self._left_out.add("prepared", event.seconds)
            ended = ()
        else:
            ended = self._other(session, event, role)
        if self._bytes > MOST_BYTES_OPEN or len(self._sessions) > MOST_SESSIONS:
            return (*ended, *self._bounded())
        return ended

    def disconnected(self, thread: int) -> Sequence[Transaction]:
        """Return the open transaction of a session that ends: the server rolls it back."""
        session = self._sessions.pop(thread, None)
        return self._left(session) if session is not None else ()

    def lost(self, thread: int) -> Sequence[Transaction]:
        """Return the transaction of a session that a gap cuts off."""
        session = self._session(thread)
        ended = self._left(session, is_whole=False)
        session.is_unsure, session.ended = True, nan
        return ended

    def cut_off(self) -> Iterator[Transaction]:
        """Yield the transactions that are open where the source ends."""
        for thread in list(self._open):
            yield from self._left(self._sessions[thread], is_whole=False)

    def _session(self, thread: int) -> _Session:
        session = self._sessions.get(thread)
        if session is None:
            session = self._sessions[thread] = _Session(thread)
        return session

    def _statement(self, session: _Session, event: StatementEvent, fingerprint: Fingerprint) -> Sequence[Transaction]:
        if len(session.statements) >= MOST_STATEMENTS:
            session.is_cut = True
            self._left_out.add("cut", event.seconds)
            return ()
        session.note(event)
        session.statements.append(Executed(fingerprint, event.started, event.seconds, event.rows_sent))
        if not session.is_begun and session.autocommits is not False and not session.is_unsure:
            return (session.transaction("commit", is_explicit=False),)
        taken = BYTES_PER_STATEMENT + BYTES_PER_CHARACTER * len(event.text)
        session.bytes += taken
        self._bytes += taken
        self._open.setdefault(session.thread)
        is_outside = session.is_unsure and session.autocommits is not False and len(session.statements) >= MOST_UNSURE
        return self._each_alone(session) if is_outside else ()

    def _begun(self, session: _Session, event: StatementEvent) -> Sequence[Transaction]:
        """Begin a transaction. Returns the open transaction, which this commits."""
        if session.thread == UNKNOWN_THREAD:
            self._left_out.add("empty", event.seconds)
            return ()
        if session.is_guess:
            session.autocommits, session.is_guess = True, False
        is_outside = session.is_unsure and session.autocommits is not False
        committed = self._each_alone(session) if is_outside else self._closed(session, "commit")
        session.is_begun, session.has_transactions = True, True
        session.note(event)
        self._open[session.thread] = None
        return committed

    def _finished(self, session: _Session, event: StatementEvent, ends: Ends) -> Sequence[Transaction]:
        """Return the transaction that a COMMIT or a ROLLBACK ends."""
        session.has_transactions = True
        if session.thread in self._open:
            session.note(event)
            return self._closed(session, ends)
        if session.autocommits is None and not session.is_unsure:
            session.autocommits, session.is_guess = False, True
        session.is_unsure = False
        self._left_out.add("empty", event.seconds)
        return ()

    def _other(self, session: _Session, event: StatementEvent, role: Role) -> Sequence[Transaction]:
        """Count a statement that is no part of the workload. Returns the transaction that it commits."""
        self._left_out.add(role, event.seconds)
        autocommit = _SET_AUTOCOMMIT.search(event.text) if role == "setting" else None
        ended: Sequence[Transaction] = ()
        if autocommit is not None and session.thread != UNKNOWN_THREAD:
            ended = self._left(session) if session.is_unsure else ()
            session.autocommits = autocommit[1].upper() not in ("0", "OFF", "FALSE")
            session.is_guess = session.is_unsure = False
        commits = role in _DEFINITIONS or (autocommit is not None and session.autocommits)
        return (*ended, *self._closed(session, "commit")) if commits else ended

    def _left(self, session: _Session, *, is_whole: bool = True) -> Sequence[Transaction]:
        """Return the open transaction of a session that ends; after a gap, perhaps statements without a transaction."""
        if session.is_unsure and not session.has_transactions and session.autocommits is not False:
            return self._each_alone(session)
        return self._closed(session, "rollback", is_whole=is_whole)

    def _closed(self, session: _Session, ends: Ends, *, is_whole: bool = True) -> Sequence[Transaction]:
        """Return a session's open transaction if it has a statement. After a gap, the transaction is not whole."""
        was_unsure, session.is_unsure = session.is_unsure, False
        if session.thread not in self._open:
            return ()
        del self._open[session.thread]
        self._bytes -= session.bytes
        if session.statements:
            return (session.transaction(ends, is_explicit=True, is_whole=is_whole and not was_unsure),)
        self._left_out.add("empty", session.seconds, session.sent)
        session.clear()
        return ()

    def _each_alone(self, session: _Session) -> Sequence[Transaction]:
        """Return the statements that wait after a gap as transactions of their own."""
        self._open.pop(session.thread, None)
        self._bytes -= session.bytes
        statements = session.statements
        session.clear()
        session.is_unsure = False
        made = []
        for statement in statements:
            session.note(statement)
            session.statements.append(statement)
            made.append(session.transaction("commit", is_explicit=False))
        return made

    def _bounded(self) -> Iterator[Transaction]:
        """End the oldest transactions while there are too many, and forget sessions while there are too many."""
        while self._bytes > MOST_BYTES_OPEN:
            yield from self._closed(self._sessions[next(iter(self._open))], "rollback", is_whole=False)
        while len(self._sessions) > MOST_SESSIONS:
            session = self._sessions.pop(next(iter(self._sessions)))
            yield from self._closed(session, "rollback", is_whole=False)
