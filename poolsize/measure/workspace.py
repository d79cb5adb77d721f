"""The schema that poolsize works in: made, marked as its own, and dropped; nothing else is ever touched."""

from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import pymysql
from sqlalchemy import URL

from poolsize.errors import BadInput, WorkFailed
from poolsize.measure.pool import SCHEMA, connect

MARK = "made_by_poolsize"
UNKNOWN_DATABASE = 1049
NO_SUCH_TABLE = 1146


class Workspace:
    """The schema `poolsize` on a server, for one sweep at a time.

    A schema that was not there is made, and dropped at the end. One that an administrator made and left empty
    is used and left empty. One with tables of somebody else is refused. A table in it says which is which, so
    that a sweep that was killed leaves nothing that the next one can't recognise and clear.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        self._lock = connect(url)
        with self._lock.cursor() as cursor:
            cursor.execute("SELECT GET_LOCK('poolsize', 0)")
            if cursor.fetchone() != (1,):
                raise BadInput("another sweep is running on this server: wait for it, or end it")
            self._clear_leftovers(cursor)
            self._make(cursor)

    def work(self, task: Callable[[Any], None]) -> None:
        """Run a task with a cursor in the schema, on a connection that is closed afterwards."""
        with closing(connect(self.url, SCHEMA)) as connection, connection.cursor() as cursor:
            task(cursor)

    def close(self) -> None:
        """Drop what was made; a server that is gone took it along."""
        with suppress(pymysql.MySQLError), closing(self._lock), self._lock.cursor() as cursor:
            self._clear_leftovers(cursor)

    def _make(self, cursor: Any) -> None:
        try:
            made = not cursor.execute(f"SHOW DATABASES LIKE '{SCHEMA}'")
            if made:
                cursor.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
            cursor.execute(f"SHOW TABLES FROM {SCHEMA}")
            foreign = [name for (name,) in cursor.fetchall()]
            if foreign:
                raise BadInput(
                    f"the schema {SCHEMA} holds tables that poolsize did not make ({', '.join(foreign[:3])}): "
                    "move them elsewhere, poolsize needs this schema for itself"
                )
            cursor.execute(f"CREATE TABLE {SCHEMA}.{MARK} (schema_made BOOL NOT NULL)")
            cursor.execute(f"INSERT INTO {SCHEMA}.{MARK} VALUES (%s)", (made,))
        except pymysql.MySQLError as error:
            raise BadInput(
                f"the account can't make the schema {SCHEMA} ({error.args[-1]}): GRANT ALL ON {SCHEMA}.* TO it"
            ) from None

    def _clear_leftovers(self, cursor: Any) -> None:
        """Drop the schema, or its tables, if the mark in it says that they are poolsize's."""
        try:
            cursor.execute(f"SELECT schema_made FROM {SCHEMA}.{MARK}")
        except pymysql.MySQLError as error:
            if error.args[0] in {UNKNOWN_DATABASE, NO_SUCH_TABLE} or _denied(error):
                return
            raise WorkFailed(f"the schema {SCHEMA} can't be read: {error.args[-1]}") from None
        marks = cursor.fetchall()
        if marks == ((1,),):
            cursor.execute(f"DROP DATABASE {SCHEMA}")
            return
        cursor.execute(f"SHOW TABLES FROM {SCHEMA}")
        tables = sorted((name for (name,) in cursor.fetchall()), key=lambda name: name == MARK)
        for table in tables:
            cursor.execute(f"DROP TABLE {SCHEMA}.`{table}`")


def _denied(error: pymysql.MySQLError) -> bool:
    return error.args[0] in {1044, 1142}
