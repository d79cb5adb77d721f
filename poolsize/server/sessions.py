"""Sessions on the server: the locks of a sweep and its schema, and the end of connections whose client has gone."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from math import nan
from threading import Event, RLock, Thread
from time import monotonic, sleep
from typing import Any, Self

import pymysql
from sqlalchemy import URL

from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.facts.server import connection_ids, number_of, only_row, query, read_pairs, text_of
from poolsize.server.bounded import OWN
from poolsize.server.connection import connect, naming_failures

LONGEST_NAME = 64
"""Longest name of a lock that MySQL accepts."""
BEAT_SECONDS = 1.0
"""How often a thread uses the session, so that no proxy ends it for idleness, and replaces a session that was lost."""
ENDING_SECONDS = 1
"""The longest wait for the lock of a session that ends: the server gives it up a moment after its client has gone."""
RETAKE_SECONDS = 10
"""The longest time to wait for a lock that the lost session held."""
KILLED_SECONDS = 30
"""The longest time that the server may take to roll back the transactions of an interrupted step."""
SAME_START_SECONDS = 2
"""Two readings of a server's start differ by less: time of day and uptime are whole seconds."""


class HeldLocks:
    """Locks in a session of their own, which is replaced when a proxy, an administrator or a restart ends it.

    A context manager, whose end gives the locks up. Entering starts the thread that keeps the session alive.
    """

    def __init__(self, url: URL) -> None:
        self._url = url
        self._names: list[str] = []
        self._session = connect(url, bounds=OWN)
        with self._session.cursor() as cursor:
            self._connection_id, self._server = _own_id(cursor), ServerProcess.of(cursor)
        self._in_use = RLock()
        self._ended = Event()
        self._beating = Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._beating.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._beating.join()
        with suppress(pymysql.MySQLError):  # closed by the server
            self._session.close()

    def take(self, name: str) -> bool:
        """Take a lock, and return whether no other session has it."""
        with self.cursor() as cursor:
            taken = get_lock(cursor, name, ENDING_SECONDS)
            if taken:
                self._names.insert(0, name)
            return taken

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """Yield the cursor that holds the locks. Raises WorkFailed for another sweep's lock, and ServerGone."""
        with self._in_use:
            self._renew()
            with self._session.cursor() as cursor:
                yield cursor

    def work(self, task: Callable[[Any], None]) -> None:
        """Call a function with a cursor of the session that holds the locks; again if the session is lost meanwhile.

        Raises what `cursor` raises, and the function's error where the session lives, or is lost again.
        """
        with self._in_use:
            try:
                with self.cursor() as cursor:
                    task(cursor)
            except pymysql.MySQLError:
                if self._answers():
                    raise
                with self.cursor() as cursor:
                    task(cursor)

    def _renew(self) -> None:
        """Take the locks again in a new session, the last one first, if the session is lost.

        The server may still have the lost session with the locks, because nothing told it that the network was cut.
        """
        if self._answers():
            return
        with suppress(pymysql.MySQLError):
            self._session.close()
        with ExitStack() as stack:
            try:
                with naming_failures():
                    session = stack.enter_context(closing(connect(self._url, bounds=OWN)))
            except BadInput as error:
                raise WorkFailed(f"the server refuses a connection that it accepted before: {error}") from None
            with session.cursor() as cursor:
                connection_id, server = _own_id(cursor), ServerProcess.of(cursor)
                end_abandoned(cursor, {self._connection_id}, self._server)
                if not all(get_lock(cursor, name, RETAKE_SECONDS) for name in self._names):
                    raise WorkFailed(
                        "the server ended the session that held this sweep's lock, and another sweep began"
                    )
            stack.pop_all()
        self._session, self._connection_id, self._server = session, connection_id, server

    def _answers(self) -> bool:
        try:
            self._session.ping(reconnect=False)
        except pymysql.MySQLError:
            return False
        return True

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with suppress(PoolsizeError, pymysql.MySQLError), self._in_use:
                self._renew()


class LockedSchema(ABC):
    """A schema for one sweep at a time.

    A context manager: entering raises BadInput when the account may not use the schema, or another sweep does;
    WorkFailed when the server fails.
    """

    def __init__(self, url: URL, name: str, on_failure: Callable[[str], None], undone: str) -> None:
        """Connect to the server. on_failure: called with a sentence if the end fails: `undone`, what stays, and why."""
        self.url, self.name = url, name
        self._on_failure, self._undone = on_failure, undone
        self._locks = HeldLocks(url)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._locks)
            self._begin()
            self._held = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the server as it was, and let other sweeps use the schema."""
        with self._held:
            try:
                self._end()
            except Exception as failure:  # the function that restores tables is the user's: it may raise anything
                reason = failure.args[-1] if isinstance(failure, pymysql.MySQLError) else failure
                self._on_failure(f"{self._undone}: {reason}")

    @abstractmethod
    def make_tables(self, prepare: Callable[[Any], None]) -> None:
        """Call a workload's function that makes its tables."""

    def work(self, task: Callable[[Any], None]) -> None:
        """Call a function with a cursor in the schema, on a new connection that is closed afterwards."""
        with closing(connect(self.url, self.name)) as connection, connection.cursor() as cursor:
            task(cursor)

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _end(self) -> None: ...


def get_lock(cursor: Any, name: str, seconds: float) -> bool:
    """Take a lock in a cursor's session, and return whether it was free within so many seconds."""
    cursor.execute("SELECT GET_LOCK(%s, %s)", (name[:LONGEST_NAME], seconds))
    return bool(cursor.fetchone() == (1,))


def is_free(cursor: Any, lock: str) -> bool:
    """Return whether no session has a lock."""
    cursor.execute("SELECT IS_FREE_LOCK(%s)", (lock,))
    return bool(cursor.fetchone() == (1,))


@dataclass(frozen=True)
class ServerProcess:
    """A running server: where it runs, and when it started by its own clock, in seconds; NaN where it does not say.

    Numbers of connections are unique within it. Behind a proxy or after a failover, another server may answer.
    """

    address: str
    started: float

    @classmethod
    def of(cls, cursor: Any) -> Self:
        """Return the server that answers a cursor."""
        cursor.execute(query("process"))
        hostname, port, now = map(text_of, only_row(cursor, 3))
        uptime = number_of(read_pairs(cursor, "uptime"), "Uptime")
        try:
            started = float(now) - (nan if uptime is None else uptime)
        except ValueError:
            started = nan
        return cls(f"{hostname}:{port}", started)

    def is_same(self, other: "ServerProcess") -> bool:
        """Return whether both are one process: the same address, and the same start."""
        return self.address == other.address and abs(self.started - other.started) < SAME_START_SECONDS


def end_abandoned(cursor: Any, identifiers: Collection[int], opened_on: ServerProcess) -> None:
    """End connections of the cursor's account that this process has lost and the server still has.

    They are those of a step that was interrupted, or of before the network was cut; their transactions are rolled back
    when this returns. opened_on: the server to which they were open; another server has given their ids to others.
    Raises WorkFailed when they do not end.
    """
    if not identifiers or not ServerProcess.of(cursor).is_same(opened_on):
        return
    cursor.execute("SELECT SUBSTRING_INDEX(USER(), '@', 1)")
    (account,), own = only_row(cursor, 1), _own_id(cursor)
    deadline = monotonic() + KILLED_SECONDS
    while remaining := connection_ids(cursor, account).intersection(identifiers) - {own}:
        if monotonic() > deadline:
            raise WorkFailed(f"{len(remaining)} of the workers' connections did not end")
        for identifier in remaining:
            with suppress(pymysql.MySQLError):  # it has ended meanwhile
                cursor.execute(f"KILL {identifier}")
        sleep(0.05)


def _own_id(cursor: Any) -> int:
    """Return the server's id of a cursor's connection; behind a proxy, the id of the handshake is the proxy's."""
    cursor.execute("SELECT CONNECTION_ID()")
    return int(only_row(cursor, 1)[0])
