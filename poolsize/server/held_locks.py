"""Named locks on the server that a sweep holds to its end, also when it loses the session that holds them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from threading import Event, RLock, Thread
from typing import Any, Self

import pymysql
from sqlalchemy import URL

from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.facts.server import only_row
from poolsize.server.bounded import OWN
from poolsize.server.connection import NoAnswer, ServerGone, connect
from poolsize.server.ended_connections import ServerProcess, end_abandoned

GET_LOCK = "SELECT GET_LOCK(%s, %s)"
LONGEST_NAME = 64
"""Longest name that MySQL accepts."""
BEAT_SECONDS = 1.0
"""How often a thread uses the session, so that no proxy ends it for idleness, and replaces a session that was lost."""
RETAKE_SECONDS = 10
"""The longest time to wait for a lock that the lost session held."""


class HeldLocks:
    """Locks in a session of their own, which is replaced when a proxy, an administrator or a restart ends it.

    A context manager, whose end gives the locks up. Entering starts the thread that keeps the session alive.
    """

    def __init__(self, url: URL) -> None:
        """Connect. Raises BadInput when the server can't be reached."""
        self._url = url
        self._names: list[str] = []
        self._session = connect(url, bounds=OWN)
        with self._session.cursor() as cursor:
            self._held_by = _Holder.of(cursor)
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
            taken = get_lock(cursor, name, 0)
            if taken:
                self._names.insert(0, name)
            return taken

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """Yield a cursor of the session that holds the locks.

        Raises WorkFailed when another sweep has a lock, and ServerGone when the server is gone.
        """
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
                if _answers(self._session):
                    raise
                with self.cursor() as cursor:
                    task(cursor)

    def _renew(self) -> None:
        """Take the locks again in a new session, the last one first, if the session is lost.

        The server may still have the lost session with the locks, because nothing told it that the network was cut.
        """
        if _answers(self._session):
            return
        with suppress(pymysql.MySQLError):
            self._session.close()
        with ExitStack() as stack:
            session = stack.enter_context(closing(self._connected()))
            with session.cursor() as cursor:
                held_by = _Holder.of(cursor)
                end_abandoned(cursor, {self._held_by.connection_id}, self._held_by.server)
                if not all(get_lock(cursor, name, RETAKE_SECONDS) for name in self._names):
                    raise WorkFailed(
                        "the server ended the session that held this sweep's lock, and another sweep began"
                    )
            stack.pop_all()
        self._session, self._held_by = session, held_by

    def _connected(self) -> Any:
        """Return a new session. Raises ServerGone when no server answers, WorkFailed when it refuses the account."""
        try:
            return connect(self._url, bounds=OWN)
        except NoAnswer as error:
            raise ServerGone(f"the server went away ({error.reason})") from None
        except BadInput as error:
            raise WorkFailed(f"the server refuses a connection that it accepted before: {error}") from None

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with suppress(PoolsizeError, pymysql.MySQLError), self._in_use:
                self._renew()


@dataclass(frozen=True)
class _Holder:
    """The session that holds the locks: its id, and the server."""

    connection_id: int
    server: ServerProcess

    @classmethod
    def of(cls, cursor: Any) -> Self:
        cursor.execute("SELECT CONNECTION_ID()")
        return cls(int(only_row(cursor, 1)[0]), ServerProcess.of(cursor))


def get_lock(cursor: Any, name: str, seconds: float) -> bool:
    """Take a lock in a cursor's session, and return whether it was free within so many seconds."""
    cursor.execute(GET_LOCK, (name[:LONGEST_NAME], seconds))
    return bool(cursor.fetchone() == (1,))


def _answers(session: Any) -> bool:
    try:
        session.ping(reconnect=False)
    except pymysql.MySQLError:
        return False
    return True
