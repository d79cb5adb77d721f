"""poolsize's own schema on a server, which a sweep makes and drops; existing_schema is the user's."""

import logging
from collections.abc import Callable
from contextlib import closing
from types import TracebackType
from typing import Any, Self

import pymysql
from sqlalchemy import URL

from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.sweep.readers import OWN_SCHEMA
from poolsize.target.connection import connect

MARK = "made_by_poolsize"
"""Table that lists the names of poolsize's own tables in the schema, and the two entries below."""
THE_SCHEMA, BEING_MADE = "*schema*", "*being made*"
"""Entries: poolsize made the schema itself; a workload is making its tables."""
NOT_THERE = {1049, 1146}
NOT_ALLOWED = {1044, 1045, 1142, 1227}

logger = logging.getLogger("poolsize")


class SweepSchema:
    """The schema `poolsize` on a server, for one sweep at a time.

    A missing schema is made, and dropped at the end. An empty schema that an administrator made is used and left
    empty. A schema with tables of others is refused. A table in the schema lists what poolsize made, so that the
    next sweep recognises and clears the tables of a killed sweep.

    A context manager: entering raises BadInput when the account may not make the schema, when the schema holds tables
    of others, or when another sweep is running; WorkFailed when the server fails.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        self._lock = connect(url)

    def __enter__(self) -> Self:
        try:
            with self._lock.cursor() as cursor:
                cursor.execute("SELECT GET_LOCK('poolsize', 0)")
                if cursor.fetchone() != (1,):
                    raise BadInput("another sweep is running on this server: wait for it, or end it")
                _clear(cursor)
                _make(cursor)
        except BaseException as error:
            self._lock.close()
            if isinstance(error, pymysql.MySQLError):
                raise _explained(error) from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop poolsize's tables and schema. When the server is gone, the next sweep drops them."""
        self._lock.close()
        try:
            with closing(connect(self.url)) as connection, connection.cursor() as cursor:
                _clear(cursor)
        except (PoolsizeError, pymysql.MySQLError) as failure:
            logger.warning("the schema %s could not be cleared; the next sweep will: %s", OWN_SCHEMA, failure)

    def make_tables(self, prepare: Callable[[Any], None]) -> None:
        """Call a workload's function that makes its tables, and list these tables as poolsize's own."""

        def make(cursor: Any) -> None:
            cursor.execute(f"INSERT INTO {MARK} VALUES (%s)", (BEING_MADE,))
            prepare(cursor)
            tables = [(name,) for name in _tables(cursor) if name != MARK]
            cursor.executemany(f"INSERT INTO {MARK} VALUES (%s)", tables)
            cursor.execute(f"DELETE FROM {MARK} WHERE name = %s", (BEING_MADE,))

        self.work(make)

    def work(self, task: Callable[[Any], None]) -> None:
        """Call a function with a cursor in the schema, on a new connection that is closed afterwards."""
        with closing(connect(self.url, OWN_SCHEMA)) as connection, connection.cursor() as cursor:
            task(cursor)


def _make(cursor: Any) -> None:
    """Mark the schema as in use; make it where it is missing. Raises BadInput when it holds tables of others."""
    missing = not cursor.execute(f"SHOW DATABASES LIKE '{OWN_SCHEMA}'")
    if missing:
        cursor.execute(f"CREATE DATABASE {OWN_SCHEMA} CHARACTER SET utf8mb4")
    elif foreign := _tables(cursor):
        raise BadInput(
            f"the schema {OWN_SCHEMA} holds tables that poolsize did not make ({', '.join(foreign[:3])}): "
            "move them elsewhere, poolsize needs this schema for itself"
        )
    cursor.execute(f"CREATE TABLE {OWN_SCHEMA}.{MARK} (name VARCHAR(64) PRIMARY KEY)")
    if missing:
        cursor.execute(f"INSERT INTO {OWN_SCHEMA}.{MARK} VALUES (%s)", (THE_SCHEMA,))


def _clear(cursor: Any) -> None:
    """Drop the tables that the mark lists, the mark, and the schema if poolsize made it and it is empty then."""
    try:
        cursor.execute(f"SELECT name FROM {OWN_SCHEMA}.{MARK}")
    except pymysql.MySQLError as error:
        if error.args[0] in NOT_THERE | NOT_ALLOWED:
            return
        raise
    marked = {name for (name,) in cursor.fetchall()}
    cursor.execute("SET SESSION foreign_key_checks = 0")
    for table in _tables(cursor):
        if table != MARK and (table in marked or BEING_MADE in marked):
            cursor.execute(f"DROP TABLE IF EXISTS {OWN_SCHEMA}.`{table}`")
            cursor.execute(f"DROP VIEW IF EXISTS {OWN_SCHEMA}.`{table}`")
    cursor.execute(f"DROP TABLE {OWN_SCHEMA}.{MARK}")
    if THE_SCHEMA in marked:
        if remaining := _tables(cursor):
            logger.warning(
                "the schema %s is kept: it holds tables that poolsize did not make (%s)",
                OWN_SCHEMA,
                ", ".join(remaining),
            )
        else:
            cursor.execute(f"DROP DATABASE {OWN_SCHEMA}")


def _tables(cursor: Any) -> list[str]:
    cursor.execute(f"SHOW TABLES FROM {OWN_SCHEMA}")
    return [name for (name,) in cursor.fetchall()]


def _explained(error: pymysql.MySQLError) -> PoolsizeError:
    """Return the error that explains why the schema can't be created."""
    if error.args[0] in NOT_ALLOWED:
        return BadInput(
            f"the account can't use the schema {OWN_SCHEMA} ({error.args[-1]}): "
            f"GRANT ALL ON {OWN_SCHEMA}.* TO the account"
        )
    return WorkFailed(f"the schema {OWN_SCHEMA} can't be created: {error.args[-1]}")
