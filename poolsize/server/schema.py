"""poolsize's own schema on a server, which a sweep makes and drops; existing_schema is the user's."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from secrets import token_hex
from time import sleep
from typing import Any, Self

import pymysql
from pymysql.cursors import Cursor
from sqlalchemy import URL

from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.facts.server import quoted
from poolsize.server.connection import connect, way_to_privilege
from poolsize.server.sessions import HeldLocks, get_lock
from poolsize.sweep.readers import OWN_SCHEMA
from poolsize.terminal import visible

MARK = "made_by_poolsize"
"""Table that lists the names of poolsize's own tables in the schema, and the two entries below."""
THE_SCHEMA, OWNER = "*schema*", "*owner* "
"""Entries: poolsize made the schema itself; the sweep that owns the tables, by a random word."""
LOCK = "poolsize"
"""The lock that admits a sweep. A sweep also holds a lock of its own as long as it lives: its owner's entry."""
WATCH_SECONDS = 6
"""An owner without its lock for so long is dead: a living one takes the lock again within BEAT_SECONDS."""
CREATE_SCHEMA = f"CREATE DATABASE {OWN_SCHEMA} CHARACTER SET utf8mb4"
CREATE_MARK = f"CREATE TABLE {OWN_SCHEMA}.{MARK} (name VARCHAR(64) COLLATE utf8mb4_bin PRIMARY KEY)"
DROP_MARK = f"DROP TABLE IF EXISTS {OWN_SCHEMA}.{MARK}"
DROP_SCHEMA = f"DROP DATABASE {OWN_SCHEMA}"
NOT_THERE = {1049, 1146}
NOT_ALLOWED = {1044, 1045, 1142, 1227}

logger = logging.getLogger("poolsize")


class SweepSchema:
    """The schema `poolsize` on a server, for one sweep at a time.

    A missing schema is made, and dropped at the end. An empty schema that an administrator made is used and left
    empty. A schema with tables of others is refused. A table in the schema lists what poolsize made, so that the
    next sweep recognises and clears the tables of a killed sweep. Only listed tables are dropped.

    A context manager: entering raises BadInput when the account may not make the schema, when the schema holds tables
    of others, or when another sweep is running; WorkFailed when the server fails.
    """

    def __init__(self, url: URL, on_failure: Callable[[str], None] = logger.warning) -> None:
        """Connect to the server. on_failure: called with the reason when the schema stays on the server at the end."""
        self.url = url
        self._on_failure = on_failure
        self._locks = HeldLocks(url)
        self._owner = OWNER + token_hex(8)
        self._creates = False

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            locks = stack.enter_context(self._locks)
            try:
                if not locks.take(LOCK):
                    raise already_swept()
                locks.take(self._owner)
                locks.work(self._make)
            except pymysql.MySQLError as error:
                if error.args[0] not in NOT_ALLOWED:
                    raise WorkFailed(f"the schema {OWN_SCHEMA} can't be created: {error.args[-1]}") from None
                way_out = way_to_privilege(error, f"GRANT ALL ON {OWN_SCHEMA}.* TO the account")
                raise BadInput(f"the account can't use the schema {OWN_SCHEMA} ({error.args[-1]}): {way_out}") from None
            self._held = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Drop poolsize's tables and schema. When the server is gone, the next sweep drops them."""
        with self._held:
            try:
                self._locks.work(self._clear_own)
            except (PoolsizeError, pymysql.MySQLError) as failure:
                reason = failure.args[-1] if isinstance(failure, pymysql.MySQLError) else failure
                self._on_failure(
                    f"the schema {OWN_SCHEMA} stays on the server, and the next sweep will drop it: {reason}"
                )

    def make_tables(self, prepare: Callable[[Any], None]) -> None:
        """Call a workload's function that makes its tables, and list these tables as poolsize's own."""
        with self._own() as cursor:
            before = _tables(cursor)
        with closing(connect(self.url, OWN_SCHEMA)) as connection, _ListingCursor(connection) as cursor:
            cursor.before = before
            prepare(cursor)
            cursor.list_tables()

    def work(self, task: Callable[[Any], None]) -> None:
        """Call a function with a cursor in the schema, on a new connection that is closed afterwards.

        Raises WorkFailed when another sweep has the schema by now.
        """
        with self._own():
            pass
        with closing(connect(self.url, OWN_SCHEMA)) as connection, connection.cursor() as cursor:
            task(cursor)

    def _make(self, cursor: Any) -> None:
        """Clear what a killed sweep left, and mark the schema as in use; make it where it is missing.

        A second call finishes what the first began, in whose session the server may have made the schema without a
        mark. Raises BadInput when the owner of the tables lives, and when the schema holds tables of others.
        """
        _refuse_living_owner(cursor, self._owner)
        _clear(cursor)
        try:
            cursor.execute(DROP_MARK)  # refused before there is a table that the account can't drop
        except pymysql.MySQLError as error:
            if error.args[0] not in NOT_THERE:
                raise
        missing = not cursor.execute(f"SHOW DATABASES LIKE '{OWN_SCHEMA}'")
        self._creates = self._creates or missing
        if missing:
            cursor.execute(CREATE_SCHEMA)
        elif foreign := _tables(cursor):
            raise BadInput(
                f"the schema {OWN_SCHEMA} holds tables that poolsize did not make ({', '.join(foreign[:3])}): "
                "move them elsewhere, or drop what an interrupted sweep left; poolsize needs this schema for itself"
            )
        cursor.execute(CREATE_MARK)
        try:
            _mark(cursor, [THE_SCHEMA, self._owner] if self._creates else [self._owner])
        except pymysql.MySQLError:
            cursor.execute(DROP_SCHEMA if self._creates else DROP_MARK)
            raise

    @contextmanager
    def _own(self) -> Iterator[Any]:
        """Yield a cursor of the session that holds the locks. Raises WorkFailed when the tables are another sweep's."""
        with self._locks.cursor() as cursor:
            self._require_own(_marked(cursor) or set())
            yield cursor

    def _clear_own(self, cursor: Any) -> None:
        """Clear the schema, unless another sweep has it or a first call cleared it before its session was lost."""
        if (marked := _marked(cursor)) is not None:
            self._require_own(marked)
            _clear(cursor)

    def _require_own(self, marked: set[str]) -> None:
        if self._owner not in marked:
            raise WorkFailed(f"another sweep has the schema {OWN_SCHEMA}: this sweep lost its lock")


class _ListingCursor(Cursor):  # type: ignore[misc]  # PyMySQL has no types
    """Lists each table as poolsize's own as soon as it is made, so that the tables of a killed sweep are known."""

    before: Sequence[str] = (MARK,)

    def execute(self, query: str, args: object = None) -> int:
        rows: int = super().execute(query, args)
        if query.lstrip()[:6].upper() == "CREATE":
            self.list_tables()
        return rows

    def list_tables(self) -> None:
        with self.connection.cursor(Cursor) as cursor:
            _mark(cursor, [name for name in _tables(cursor) if name not in self.before])


def is_swept(cursor: Any) -> bool:
    """Return whether a sweep is running in poolsize's schema on this server."""
    return not _is_free(cursor, LOCK)


def _is_free(cursor: Any, lock: str) -> bool:
    cursor.execute("SELECT IS_FREE_LOCK(%s)", (lock,))
    return bool(cursor.fetchone() == (1,))


def already_swept() -> BadInput:
    """Return the error for a server on which a sweep is running."""
    return BadInput("another sweep is running on this server: wait for it, or end it")


def _refuse_living_owner(cursor: Any, own: str) -> None:
    """Raise BadInput if another owner of the tables lives; else take its lock, so that it can't come back.

    A session that is lost gives its locks up, and its owner needs a moment to take them again.
    """
    owners = [name for name in _marked(cursor) or () if name.startswith(OWNER) and name != own]
    if not all(_is_free(cursor, owner) for owner in owners):
        raise already_swept()
    if owners:
        sleep(WATCH_SECONDS)
    if not all(get_lock(cursor, owner, 0) for owner in owners):
        raise already_swept()


def _clear(cursor: Any) -> None:
    """Drop the tables that the mark lists, the mark, and the schema if poolsize made it and it is empty then."""
    marked = _marked(cursor)
    if marked is None:
        return
    cursor.execute("SET SESSION foreign_key_checks = 0")
    for table in _tables(cursor):
        if table in marked:
            for kind in ("TABLE", "VIEW"):
                cursor.execute(f"DROP {kind} IF EXISTS {OWN_SCHEMA}.{quoted(table)}")
    foreign = [table for table in _tables(cursor) if table != MARK]
    if THE_SCHEMA in marked and not foreign:
        cursor.execute(DROP_SCHEMA)  # and the mark with it: a schema without its mark would stay for good
        return
    cursor.execute(DROP_MARK)
    if THE_SCHEMA in marked:
        names = visible(", ".join(foreign))
        logger.warning("the schema %s is kept: it holds tables that poolsize did not make (%s)", OWN_SCHEMA, names)


def _marked(cursor: Any) -> set[str] | None:
    try:
        cursor.execute(f"SELECT name FROM {OWN_SCHEMA}.{MARK}")
    except pymysql.MySQLError as error:
        if error.args[0] in NOT_THERE:
            return None
        raise
    return {name for (name,) in cursor.fetchall()}


def _mark(cursor: Any, names: Sequence[str]) -> None:
    cursor.executemany(f"INSERT IGNORE INTO {OWN_SCHEMA}.{MARK} VALUES (%s)", [(name,) for name in names])


def _tables(cursor: Any) -> list[str]:
    cursor.execute(f"SHOW TABLES FROM {OWN_SCHEMA}")
    return [name for (name,) in cursor.fetchall()]
