"""The Locust process of `poolsize capture --check`: `python -m poolsize.capture workload.py SCHEMA`.

It runs every task of a locustfile once, in a transaction that it rolls back, and prints what its statements did.
"""

import json
import os
import re
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from types import FrameType
from typing import Any

import pymysql
from locust.env import Environment
from locust.util.load_locustfile import load_locustfile

from poolsize.capture import draws
from poolsize.capture.rehearsed import TriedStatement
from poolsize.errors import BadInput, PoolsizeError
from poolsize.locust.user import tasks_of
from poolsize.server.bounded import OWN
from poolsize.server.connection import connect, database_url, error_kind, naming_failures
from poolsize.server.schema import use_schema
from poolsize.sweep.source_line import located

EXPLAINED = re.compile(r"\s*(?:SELECT|WITH|INSERT|REPLACE|UPDATE|DELETE|\()", re.IGNORECASE)
HARMLESS = re.compile(
    r"\s*(?:SHOW|SAVEPOINT|RELEASE|DO|VALUES|TABLE|SET(?!.*\b(?:GLOBAL|PERSIST\w*|PASSWORD|AUTOCOMMIT)\b))\b",
    re.IGNORECASE | re.DOTALL,
)
BRACKETS = re.compile(r"\s*(?:BEGIN|START\s+TRANSACTION|COMMIT|ROLLBACK)\b", re.IGNORECASE)
WRITES_FILE = re.compile(r"\bINTO\s+(?:OUTFILE|DUMPFILE)\b", re.IGNORECASE)
NOT_ROLLED_BACK = (
    "SELECT table_name FROM information_schema.tables AS t JOIN information_schema.engines AS e ON t.engine = e.engine "
    "WHERE table_schema = DATABASE() AND e.transactions <> 'YES'"
)
LOST = {1205, 1213}
"""Errors after which the server has rolled back more than the statement."""


class TryingCursor:
    """A cursor that explains each new statement of a locustfile, runs it, and goes on where it fails.

    It never commits. A statement that could not be rolled back is explained, or left.
    """

    def __init__(self, cursor: Any, locustfile: str, schema: str) -> None:
        """Begin a transaction. schema: the copy, which is the cursor's."""
        self._cursor, self._locustfile = cursor, os.path.realpath(locustfile)
        self._tried: dict[int, TriedStatement] = {}
        """Line -> its statement."""
        self._failed_lookups: set[int] = set()
        """Lines of lookups that failed: the next statement of the task has their values."""
        cursor.execute("SHOW DATABASES")
        self._other_schemas = {name for (name,) in cursor.fetchall()} - {schema}
        cursor.execute(NOT_ROLLED_BACK)
        self._lasting = {name for (name,) in cursor.fetchall()}
        cursor.execute("BEGIN")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def executemany(self, query: str, args: Iterable[Any]) -> int:
        """Run a statement for each of some rows."""
        return sum(self.execute(query, row) for row in args)

    def execute(self, query: str, args: Any = None) -> int:
        """Run a statement, and note its result. Where a lookup of its values failed, the statement has failed."""
        caller, line = self._callers()
        text = self._cursor.mogrify(query, args)
        if BRACKETS.match(text):
            self.end_task()
            return 0
        is_new = line is not None and line.f_lineno not in self._tried
        left, rows = self._why_left(text), None
        failure = self._other_schema(text)
        if not failure:
            rows, failure = self._run(text, explain=is_new, run=not left)
        is_lookup = caller.f_code.co_filename == draws.__file__
        if not is_lookup:
            failures = [self._tried.pop(lookup).failure for lookup in self._failed_lookups]
            self._failed_lookups.clear()
            failure = failure or next(iter(failures), "")
        if line is not None and (failure or (is_new and not is_lookup)):
            shown = " ".join(query.split())
            tried = TriedStatement(line.f_lineno, line.f_code.co_name, shown, rows, failure, left)
            self._tried[line.f_lineno] = tried
            self._failed_lookups |= {line.f_lineno} if is_lookup else set()
        return rows or 0

    def _callers(self) -> tuple[FrameType, FrameType | None]:
        """Return the frame that executes a statement or looks values up, and the frame of the locustfile."""
        caller = sys._getframe(2)
        while caller.f_back and (caller.f_code.co_filename == __file__ or caller.f_code is draws.insert.__code__):
            caller = caller.f_back
        line: FrameType | None = caller
        while line is not None and os.path.realpath(line.f_code.co_filename) != self._locustfile:
            line = line.f_back
        return caller, line

    def end_task(self) -> None:
        """Let the failed lookups that no statement follows stand for themselves."""
        self._failed_lookups.clear()

    def tried(self) -> tuple[TriedStatement, ...]:
        """Return the statements in the order of their lines, after the transaction is rolled back."""
        self._cursor.execute("ROLLBACK")
        return tuple(self._tried[line] for line in sorted(self._tried))

    def _run(self, text: str, *, explain: bool, run: bool) -> tuple[int | None, str]:
        """Return the number of rows, None where the statement did not run, and the failure, or ""."""
        try:
            if explain and EXPLAINED.match(text):
                self._cursor.execute(f"EXPLAIN {text}")
            if run:
                return int(self._cursor.execute(text)), ""
        except pymysql.MySQLError as error:
            if error_kind(error) == "server_gone":
                raise
            if error.args[0] in LOST:
                self._cursor.execute("ROLLBACK")
                self._cursor.execute("BEGIN")
            failure = f"{error.args[-1]} ({error.args[0]})"
        else:
            failure = ""
        self._cursor.execute("DO 0")  # the rows of EXPLAIN, or of the statement before, are not this statement's
        return None, failure

    def _why_left(self, text: str) -> str:
        """Return why a statement is not run; "" for a statement that can be rolled back."""
        if not EXPLAINED.match(text) and not HARMLESS.match(text):
            return "a transaction may not undo it"
        if WRITES_FILE.search(text):
            return "it writes a file on the server"
        if not re.match(r"\s*(?:SELECT|SHOW|SET)\b", text, re.IGNORECASE):
            for table in self._lasting:
                if re.search(rf"\b{re.escape(table)}\b", text):
                    return f"the engine of {table} has no transactions"
        return ""

    def _other_schema(self, text: str) -> str:
        """Return why a statement must not run that names a schema in front of a table; "" for others."""
        for schema in self._other_schemas:
            if re.search(rf"(?:\b(?:FROM|JOIN|INTO|UPDATE)\s+|,\s*)`?{re.escape(schema)}`?\s*\.", text, re.IGNORECASE):
                return f"it names the schema {schema}, which is not the copy: take the name out"
        return ""


def rehearse(locustfile: str, schema: str, url: str) -> tuple[TriedStatement, ...]:
    """Run each task of a locustfile once on a schema. Raises PoolsizeError where the file or the server prevents it."""
    classes: dict[str, Any] = load_locustfile(locustfile)[0]
    environment = Environment(user_classes=list(classes.values()), available_user_classes=classes)
    tasks = tasks_of(environment)
    address = database_url(url)
    with closing(connect(address, bounds=OWN)) as connection, naming_failures(), connection.cursor() as cursor:
        use_schema(cursor, schema)
    with closing(connect(address, schema)) as connection, naming_failures(), connection.cursor() as cursor:
        trying = TryingCursor(cursor, locustfile, schema)
        for user_class, pairs in tasks.items():
            user = user_class(environment)
            user.on_start()
            for task in dict.fromkeys(task for _, task in pairs):
                task(user, trying)
                trying.end_task()
            user.on_stop()
        tried = trying.tried()
        if all(each.failure for each in tried) and not cursor.execute("SHOW TABLES"):
            raise BadInput(f"`schema` {schema}: it has no tables: restore the copy of the data into it")
        return tried


def main() -> None:
    """Print the result as a line of JSON, or its error; the exit code is the error's."""
    locustfile, schema = sys.argv[1:]
    try:
        result = rehearse(locustfile, schema, os.environ["POOLSIZE_URL"])
    except PoolsizeError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
    except Exception as error:  # the locustfile is the user's, and may raise anything
        sys.stderr.write(f"{located(error)}\n")
        sys.exit(2)
    sys.stdout.write(json.dumps(list(map(asdict, result))) + "\n")


if __name__ == "__main__":
    main()
