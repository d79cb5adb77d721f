"""Events -> transactions: the statements of a session between BEGIN and COMMIT, or each alone under autocommit."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isnan, nan
from typing import Literal, NamedTuple

from poolsize.capture.events import UNKNOWN_THREAD, Disconnected, Event, StatementEvent
from poolsize.capture.fingerprint import Fingerprint, fingerprinted, split_statements

MOST_STATEMENTS = 5000
"""The statements that are kept of a transaction."""
MOST_BYTES_OPEN = 2**27
"""The memory that the statements of all open transactions take, about: beyond it, the oldest of them ends."""
BYTES_PER_STATEMENT, BYTES_PER_CHARACTER = 500, 10
MOST_SESSIONS = 100_000

Ends = Literal["commit", "rollback"]
Reason = Literal["too long", "not whole", "not of the workload", "empty", "cut"]
Role = Literal["begin", "commit", "rollback", "statement", "savepoint", "definition", "set", "other"]


class Executed(NamedTuple):
    """A statement that ran. The fingerprint's values are literals of the source: no output shows them."""

    fingerprint: Fingerprint
    started: float
    """Seconds since the epoch, or nan where unknown."""
    seconds: float
    """Run time; nan where unknown."""
    schema: str | None
    rows_sent: int
    """UNKNOWN_ROWS where unknown."""
    rows_examined: int
    failed: bool


class Transaction(NamedTuple):
    """What a session ran together. BEGIN and COMMIT count, and are not among the statements."""

    thread: int
    started: float
    """Start of the BEGIN, or of the first statement; seconds since the epoch, or nan where unknown."""
    ended: float
    """End of the COMMIT, or of the last statement; its start where run times are unknown."""
    statements: tuple[Executed, ...]
    is_explicit: bool
    """Whether the session ended it, rather than autocommit."""
    ends: Ends
    sent: int
    """The statements with BEGIN and COMMIT, where the source has them."""
    seconds: float
    """Run time of all that was sent; nan where unknown."""
    after_previous: float
    """Seconds since the end of the session's transaction before; nan for the first, and where times are unknown.

    Less than 0 is possible where the source has whole seconds only.
    """
    is_whole: bool
    """False where the source begins or ends within it, and where it has more statements than are kept."""


@dataclass
class LeftOut:
    """Statements that are part of no transaction, by reason; final after the last transaction.

    Reasons: "too long" to read; "not whole" (cut off in the source, or not SQL); "not of the workload" (settings of a
    session, definitions, administration); "empty" (BEGIN and COMMIT without a statement); "cut" (a transaction with
    more statements than are kept).
    """

    statements: dict[Reason, int] = field(default_factory=dict)
    seconds: dict[Reason, float] = field(default_factory=dict)

    def add(self, reason: Reason, seconds: float, statements: int = 1) -> None:
        """Count statements. seconds: of all of them; nan where unknown."""
        self.statements[reason] = self.statements.get(reason, 0) + statements
        if not isnan(seconds):
            self.seconds[reason] = self.seconds.get(reason, 0.0) + seconds


_SET_AUTOCOMMIT = re.compile(r"\bautocommit\W{0,9}=\s{0,9}'?(\w+)", re.IGNORECASE)
_SAVEPOINT = re.compile(
    r"((?:RELEASE )?SAVEPOINT|ROLLBACK (?:WORK )?TO(?: SAVEPOINT)?) (`[^`]+`|[^`\s]+)", re.IGNORECASE
)
_OF_WORKLOAD = frozenset(("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "CALL", "DO", "TABLE", "VALUES"))
_DEFINITIONS = frozenset(
    ("ALTER", "ANALYZE", "CHECK", "CREATE", "DROP", "FLUSH", "GRANT", "INSTALL", "LOCK", "OPTIMIZE", "RENAME", "REPAIR",
     "RESET", "REVOKE", "TRUNCATE", "UNINSTALL", "UNLOCK")
)  # fmt: skip
"""The first words of statements that end an open transaction."""


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
        return "statement"
    if first in ("SAVEPOINT", "RELEASE", "ROLLBACK"):
        return "savepoint"
    return "set" if first == "SET" else "definition" if first in _DEFINITIONS else "other"


class _Session:
    """One session's state, and its open transaction."""

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.autocommits: bool | None = True if thread == UNKNOWN_THREAD else None  # None: not known yet
        self.ended = nan
        self.clear()

    def clear(self) -> None:
        """Forget the open transaction."""
        self.is_begun = self.is_cut = False
        self.statements: list[Executed] = []
        self.savepoints: dict[str, str] = {}
        self.sent = self.bytes = 0
        self.started, self.last_end, self.seconds = nan, nan, 0.0

    def note(self, event: StatementEvent) -> None:
        """Note the times of a statement of the open transaction, BEGIN and COMMIT among them."""
        if not self.sent:
            self.started = event.started
        self.sent += 1
        self.seconds += event.seconds
        self.last_end = event.started + (0 if isnan(event.seconds) else event.seconds)

    def add(self, event: StatementEvent, fingerprint: Fingerprint) -> None:
        """Add a statement to the open transaction."""
        self.note(event)
        self.bytes += BYTES_PER_STATEMENT + BYTES_PER_CHARACTER * len(event.text)
        self.statements.append(
            Executed(
                fingerprint, event.started, event.seconds, event.schema, event.rows_sent, event.rows_examined,
                event.failed,
            )
        )  # fmt: skip

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
            self.thread, self.started, self.last_end, tuple(self.statements), is_explicit, ends, self.sent,
            self.seconds, self.started - self.ended, is_whole and not self.is_cut,
        )  # fmt: skip
        self.ended = self.last_end if self.thread != UNKNOWN_THREAD else nan
        self.clear()
        return made


def rebuilt(events: Iterable[Event], left_out: LeftOut) -> Iterator[Transaction]:
    """Yield transactions, each when it ends. Statements that are part of none are counted in left_out.

    A session whose first COMMIT has no BEGIN is taken to have autocommit off from then on: the source may begin after
    the session has set it. Statements without a session are transactions of their own.
    """
    sessions = _Sessions(left_out)
    for event in events:
        if isinstance(event, Disconnected):
            yield from sessions.disconnected(event.thread)
        elif ";" in event.text:
            for part in _parts(event):
                yield from sessions.ran(part)
        else:
            yield from sessions.ran(event)
    yield from sessions.cut_off()


def _parts(event: StatementEvent) -> list[StatementEvent]:
    """Return the statements of an event, which share its run time: some sources log several as one."""
    texts = split_statements(event.text)
    if len(texts) < 2 or event.text.lstrip()[:6].upper().startswith(("CREATE", "ALTER")):
        return [event]
    seconds = event.seconds / len(texts)
    starts = [event.started + (0 if isnan(seconds) else place * seconds) for place in range(len(texts))]
    return [
        replace(event, text=text, started=started, seconds=seconds)
        for text, started in zip(texts, starts, strict=True)
    ]  # fmt: skip


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
        session = self._sessions.get(event.thread)
        if session is None:
            session = self._sessions[event.thread] = _Session(event.thread)
        role = _role(fingerprint.text)
        if role == "savepoint":
            fingerprint = session.with_same_names(fingerprint)
        if role in ("statement", "savepoint"):
            ended = self._statement(session, event, fingerprint)
        elif role == "begin":
            ended = self._begun(session, event)
        elif role in ("commit", "rollback"):
            ended = self._finished(session, event, role)
        else:
            ended = self._other(session, event, role)
        return (
            (*ended, *self._bounded())
            if self._bytes > MOST_BYTES_OPEN or len(self._sessions) > MOST_SESSIONS
            else ended
        )

    def disconnected(self, thread: int) -> Sequence[Transaction]:
        """Return the open transaction of a session that ends: the server rolls it back."""
        session = self._sessions.pop(thread, None)
        return self._closed(session, "rollback") if session is not None else ()

    def cut_off(self) -> Iterator[Transaction]:
        """Yield the transactions that are open where the source ends."""
        for thread in list(self._open):
            yield from self._closed(self._sessions[thread], "rollback", is_whole=False)

    def _statement(self, session: _Session, event: StatementEvent, fingerprint: Fingerprint) -> Sequence[Transaction]:
        if len(session.statements) >= MOST_STATEMENTS:
            session.is_cut = True
            self._left_out.add("cut", event.seconds)
            return ()
        before = session.bytes
        session.add(event, fingerprint)
        if not session.is_begun and session.autocommits is not False:
            return (session.transaction("commit", is_explicit=False),)
        self._bytes += session.bytes - before
        self._open.setdefault(session.thread)
        return ()

    def _begun(self, session: _Session, event: StatementEvent) -> Sequence[Transaction]:
        """Begin a transaction. Returns the one that is open, which this commits."""
        if session.thread == UNKNOWN_THREAD:
            self._left_out.add("empty", event.seconds)
            return ()
        committed = self._closed(session, "commit")
        session.is_begun = True
        session.note(event)
        self._open[session.thread] = None
        return committed

    def _finished(self, session: _Session, event: StatementEvent, ends: Ends) -> Sequence[Transaction]:
        """Return the transaction that a COMMIT or a ROLLBACK ends."""
        if session.thread not in self._open:
            if session.autocommits is None:
                session.autocommits = False
            self._left_out.add("empty", event.seconds)
            return ()
        session.note(event)
        return self._closed(session, ends)

    def _other(self, session: _Session, event: StatementEvent, role: Role) -> Sequence[Transaction]:
        """Count a statement that is no part of the workload. Returns the transaction that it commits."""
        self._left_out.add("not of the workload", event.seconds)
        autocommit = _SET_AUTOCOMMIT.search(event.text) if role == "set" else None
        if autocommit is not None and session.thread != UNKNOWN_THREAD:
            session.autocommits = autocommit[1].upper() not in ("0", "OFF", "FALSE")
        commits = role == "definition" or (autocommit is not None and session.autocommits)
        return self._closed(session, "commit") if commits else ()

    def _closed(self, session: _Session, ends: Ends, *, is_whole: bool = True) -> Sequence[Transaction]:
        """Return a session's open transaction, where it has one with a statement."""
        if session.thread not in self._open:
            return ()
        del self._open[session.thread]
        self._bytes -= session.bytes
        if session.statements:
            return (session.transaction(ends, is_explicit=True, is_whole=is_whole),)
        self._left_out.add("empty", session.seconds, session.sent)
        session.clear()
        return ()

    def _bounded(self) -> Iterator[Transaction]:
        """End the oldest transactions while there are too many, and forget sessions while there are too many."""
        while self._bytes > MOST_BYTES_OPEN:
            yield from self._closed(self._sessions[next(iter(self._open))], "rollback", is_whole=False)
        while len(self._sessions) > MOST_SESSIONS:
            session = self._sessions.pop(next(iter(self._sessions)))
            yield from self._closed(session, "rollback", is_whole=False)
