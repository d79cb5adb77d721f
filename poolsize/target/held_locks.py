"""Named locks on the server that a sweep holds to its end, also when it loses the session that holds them."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, RLock, Thread
from typing import Any, Self

import pymysql
from sqlalchemy import URL

from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.target.connection import connect

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
        self._session = connect(url)
        self._in_use = RLock()
        self._ended = Event()
        self._beating = Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._beating.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._beating.join()
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

        Raises WorkFailed when another sweep has a lock, or when the server is gone.
        """
        with self._in_use:
            self._renew()
            with self._session.cursor() as cursor:
                yield cursor

    def _renew(self) -> None:
        """Take the locks again in a new session, the last one first, if the session is lost."""
        if _answers(self._session):
            return
        with suppress(pymysql.MySQLError):
            self._session.close()
        try:
            self._session = connect(self._url)
        except BadInput as error:  # it could be reached before
            raise WorkFailed(f"the server went away: {error}") from None
        with self._session.cursor() as cursor:
            if not all(get_lock(cursor, name, RETAKE_SECONDS) for name in self._names):
                self._session.close()
                raise WorkFailed("the server ended the session that held this sweep's lock, and another sweep began")

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with suppress(PoolsizeError, pymysql.MySQLError), self._in_use:
                self._renew()


def get_lock(cursor: Any, name: str, seconds: float) -> bool:
    """Take a lock in a cursor's session, and return whether it was free within so many seconds."""
    cursor.execute("SELECT GET_LOCK(%s, %s)", (name[:LONGEST_NAME], seconds))
    return bool(cursor.fetchone() == (1,))


def _answers(session: Any) -> bool:
    try:
        session.ping(reconnect=False)
    except pymysql.MySQLError:
        return False
    return True
