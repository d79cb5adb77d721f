"""What a sweep would do to its server, found out without doing it: `--dry-run`."""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from pymysql.connections import Connection, MySQLResult
from pymysql.cursors import Cursor

from poolsize.errors import BadInput
from poolsize.facts.server import query
from poolsize.server.connection import asking
from poolsize.server.preparation import OWN_CONNECTIONS, RESERVE, Prepared
from poolsize.server.schema import CREATE_MARK, CREATE_SCHEMA, DROP_SCHEMA, use_schema
from poolsize.sweep.events import DryRun, Occasion, StatementGroup
from poolsize.sweep.source_line import place_of

MOST_STATEMENTS = 100_000
MISTAKES = (NameError, AttributeError, ImportError, SyntaxError)
"""What the code of a workload raises by a mistake, and not because a row is missing."""
LONGEST_STATEMENT = 400
"""Characters of a statement that are shown."""
VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|\b\d+\b")
"""A text or a number in a statement: statements that differ in nothing else have one form."""


class RehearsalCursor(Cursor):  # type: ignore[misc]  # PyMySQL has no types
    """A cursor of a RehearsalConnection, which learns when the workload looks at a result."""

    def __getattribute__(self, name: str) -> Any:
        if name in {"fetchone", "fetchmany", "fetchall", "rowcount", "lastrowid"}:
            self.connection.wants_rows = True
        return super().__getattribute__(name)

    def execute(self, query: str, args: Any = None) -> int:
        """Note a statement. PyMySQL reads the number of rows itself, which is no look of the workload's."""
        wanted = self.connection.wants_rows
        super().execute(query, args)
        self.connection.wants_rows = wanted
        return 0

    def executemany(self, query: str, args: Iterable[Any]) -> int:
        """Note the statements of all rows; see execute."""
        wanted = self.connection.wants_rows
        super().executemany(query, args)
        self.connection.wants_rows = wanted
        return 0


class RehearsalConnection(Connection):  # type: ignore[misc]  # PyMySQL has no types
    """A connection to no server. It notes statements, without what is too long to show, and every result is empty."""

    server_status = 0

    def __init__(self) -> None:
        super().__init__(defer_connect=True, cursorclass=RehearsalCursor)
        self.statements: list[str] = []
        self.wants_rows = False

    def _execute_command(self, _command: int, sql: str | bytes) -> None:
        """Note a statement. Raises BadInput for more statements than a dry run can show."""
        if len(self.statements) >= MOST_STATEMENTS:
            raise BadInput(
                f"`dry_run`: the workload runs more than {MOST_STATEMENTS:,} statements in one call: use executemany"
            )
        text = " ".join((sql if isinstance(sql, str) else sql.decode()).split())
        self.statements.append(text if len(text) <= LONGEST_STATEMENT else f"{text[:LONGEST_STATEMENT]} ...")

    def _read_query_result(self, unbuffered: bool = False) -> int:  # noqa: ARG002  # PyMySQL's signature
        self._result = MySQLResult(self)
        self._result.affected_rows = self._result.insert_id = 0
        return 0

    def _read_ok_packet(self) -> None:
        """Read nothing: of BEGIN, COMMIT and ROLLBACK, which have no result."""


def rehearse(
    ready: Prepared,
    prepare: Callable[[Any], None],
    restore: Callable[[Any], None],
    kinds: Mapping[str, Callable[[Any], None]],
) -> DryRun:
    """Return what the sweep would do. prepare, restore, kinds: functions of a cursor that run the workload's code.

    prepare: makes the tables. restore: runs before each step. kinds: kind of transaction -> what runs it.
    Raises BadInput for a mistake in the workload, and for a schema that does not exist.
    """
    plan, server, schema = ready.run.plan, ready.run.setting.server, ready.run.setting.schema
    assert server is not None
    if schema is not None:
        with asking(ready.url) as (_, cursor):
            use_schema(cursor, schema)
    tables, before_step = _noted(prepare), _noted(restore)
    second = [line for line in query("status").splitlines() if not line.startswith("--")]
    groups = [
        (Occasion.TABLES, "", tables if schema else [CREATE_SCHEMA, CREATE_MARK, *tables]),
        (Occasion.BEFORE_STEP, "", before_step),
        *((Occasion.TRANSACTION, kind if len(kinds) > 1 else "", _noted(work)) for kind, work in kinds.items()),
        (Occasion.SECOND, "", [" ".join(" ".join(second).split())]),
        (Occasion.END, "", before_step if schema else [DROP_SCHEMA]),
    ]
    search, step_seconds = plan.search, plan.planned_seconds
    return DryRun(
        server=f"{server.title}, {server.address}",
        limit=server.limit[1],
        pool_connections=plan.largest,
        own_connections=OWN_CONNECTIONS,
        reserve=0 if ready.run.setting.private else RESERVE,
        users=plan.users,
        sizes=plan.sizes,
        search=(search.smallest, search.largest) if search else None,
        load_seconds=search.budget_seconds if search else len(plan.sizes) * plan.repeats * step_seconds,
        rate=plan.rate,
        groups=tuple(StatementGroup(when, _counted(texts), kind) for when, kind, texts in groups if texts),
    )


def _noted(work: Callable[[Any], None]) -> list[str]:
    """Return the statements that a function of a cursor would run, up to where it needs rows that are not there."""
    connection = RehearsalConnection()
    try:
        work(connection.cursor())
    except BadInput as error:
        cause = error.__cause__
        if cause is None or not connection.wants_rows or isinstance(cause, MISTAKES):
            raise
        place = place_of(cause)
        connection.statements.append(f"-- further statements depend on rows{f' ({place})' if place else ''}")
    return connection.statements


def _counted(statements: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return each statement with how often statements of its form follow each other.

    A form is a statement without its values: of an INSERT, what comes before them.
    """
    forms = groupby(statements, key=lambda statement: VALUE.sub("?", statement.partition(" VALUES ")[0]))
    return tuple((same[0], len(same)) for same in (list(group) for _, group in forms))
