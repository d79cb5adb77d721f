"""The schema of a sweep: poolsize's own, which the sweep makes and drops, or one with the user's own data."""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from secrets import token_hex
from time import sleep
from typing import Any

import pymysql
from pymysql.cursors import Cursor
from sqlalchemy import URL

from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.server import quoted
from poolsize.server.connection import connect, way_to_privilege
from poolsize.server.sessions import LockedSchema, ServerProcess, end_abandoned, get_lock, is_free
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
NO_SCHEMA, NO_TABLE = 1049, 1146
NO_ACCESS = {1044, 1045}
NOT_ALLOWED = {*NO_ACCESS, 1142, 1227}

logger = logging.getLogger("poolsize")


class SweepSchema(LockedSchema):
    """poolsize's own schema on a server.

    A missing schema is made, and dropped at the end. An empty schema that an administrator made is used and left
    empty. A schema with tables of others is refused. A table in the schema lists what poolsize made, so that the
    next sweep recognises and clears the tables of a killed sweep. Only listed tables are dropped.
    """

    def __init__(self, url: URL, on_failure: Callable[[str], None] = logger.warning) -> None:
        stays = f"the schema {OWN_SCHEMA} stays on the server, and the next sweep will drop it"
        super().__init__(url, OWN_SCHEMA, on_failure, stays)
        self._owner = OWNER + token_hex(8)
        self._creates = False

    def _begin(self) -> None:
        try:
            if not self._locks.take(LOCK):
                raise already_swept()
            self._locks.take(self._owner)
            self._locks.work(self._make)
        except pymysql.MySQLError as error:
            if error.args[0] not in NOT_ALLOWED:
                raise WorkFailed(f"the schema {OWN_SCHEMA} can't be created: {error.args[-1]}") from None
            way_out = way_to_privilege(error, f"GRANT ALL ON {OWN_SCHEMA}.* TO the account")
            raise BadInput(f"the account can't use the schema {OWN_SCHEMA} ({error.args[-1]}): {way_out}") from None

    def _end(self) -> None:
        self._locks.work(self._clear_own)

    def make_tables(self, prepare: Callable[[Any], None]) -> None:
        """Call a workload's function that makes its tables, and list these tables as poolsize's own."""
        with self._own() as cursor:
            before = _tables(cursor)
        with closing(connect(self.url, OWN_SCHEMA)) as connection, _ListingCursor(connection) as cursor:
            cursor.before = before
            prepare(cursor)
            cursor.list_tables()

    def work(self, task: Callable[[Any], None]) -> None:
        """Call a function as in LockedSchema. Raises WorkFailed when another sweep has the schema by now."""
        with self._own():
            pass
        super().work(task)

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
            if error.args[0] not in {NO_SCHEMA, NO_TABLE}:
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


class ExistingSchema(LockedSchema):
    """A schema with the user's own data. The sweep never drops the schema or its tables.

    Leaving restores the tables, as before each step.
    """

    def __init__(
        self,
        url: URL,
        name: str,
        restore: Callable[[Any], None],
        load_connections: Collection[int],
        on_failure: Callable[[str], None],
    ) -> None:
        """Connect to the server.

        restore: the workload's function of a cursor that restores its tables. load_connections: the server's ids of
        the connections of the step that is being measured; those that an interrupted step leaves open are killed, so
        that no transaction commits after the tables are restored. Raises BadInput when the server can't be reached.
        """
        super().__init__(url, name, on_failure, f"the tables of the schema {name} could not be restored at the end")
        self._restore = restore
        self._load_connections = load_connections
        self._changed = False

    def _begin(self) -> None:
        try:
            with self._locks.cursor() as cursor:
                use_schema(cursor, self.name)
                self._server = ServerProcess.of(cursor)
        except pymysql.MySQLError as error:
            raise WorkFailed(f"the schema {self.name} can't be used: {error.args[-1]}") from None
        if not self._locks.take(f"poolsize {self.name}"):  # schemas whose names begin with 55 equal characters share it
            raise BadInput(f"another sweep is running in the schema {self.name}: wait for it, or end it")

    def _end(self) -> None:
        if not self._changed:
            return
        with self._locks.cursor() as cursor:
            if (now := ServerProcess.of(cursor)).address != self._server.address:
                raise WorkFailed(f"another server answers: {now.address}, in place of {self._server.address}")
            end_abandoned(cursor, self._load_connections, self._server)
        super().work(self._restore)

    def make_tables(self, prepare: Callable[[Any], None]) -> None:
        """Call the workload's function that makes its tables. The tables remain after the sweep."""
        super().work(prepare)

    def work(self, task: Callable[[Any], None]) -> None:
        """Call a function as in LockedSchema. From then on, the tables may be changed."""
        with self._locks.cursor():
            self._changed = True
        super().work(task)


def use_schema(cursor: Any, name: str) -> None:
    """Make a schema current in the session. Raises BadInput where it is missing, or the account may not use it."""
    try:
        cursor.execute(f"USE {quoted(name)}")
    except pymysql.MySQLError as error:
        if error.args[0] == NO_SCHEMA:
            raise BadInput(f"`schema` {name}: there is no such schema on this server: correct its name") from None
        if error.args[0] in NO_ACCESS:
            grant = f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name}.* TO the account, or what the workload needs"
            raise BadInput(
                f"`schema` {name}: the account can't use it, or there is no such schema ({error.args[-1]}): "
                f"{way_to_privilege(error, grant)}"
            ) from None
        raise


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
    return not is_free(cursor, LOCK)


def already_swept() -> BadInput:
    """Return the error for a server on which a sweep is running."""
    return BadInput("another sweep is running on this server: wait for it, or end it")


def _refuse_living_owner(cursor: Any, own: str) -> None:
    """Raise BadInput if another owner of the tables lives; else take its lock, so that it can't come back.

    A session that is lost gives its locks up, and its owner needs a moment to take them again.
    """
    owners = [name for name in _marked(cursor) or () if name.startswith(OWNER) and name != own]
    if not all(is_free(cursor, owner) for owner in owners):
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
        if error.args[0] in {NO_SCHEMA, NO_TABLE}:
            return None
        raise
    return {name for (name,) in cursor.fetchall()}


def _mark(cursor: Any, names: Sequence[str]) -> None:
    cursor.executemany(f"INSERT IGNORE INTO {OWN_SCHEMA}.{MARK} VALUES (%s)", [(name,) for name in names])


def _tables(cursor: Any) -> list[str]:
    cursor.execute(f"SHOW TABLES FROM {OWN_SCHEMA}")
    return [name for (name,) in cursor.fetchall()]
