"""What a sweep would do to its server, found out without doing it: `--dry-run`."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

from pymysql.cursors import RE_INSERT_VALUES
from sqlalchemy import URL

from poolsize.errors import BadInput
from poolsize.facts.server import Server, query, quoted
from poolsize.load.calibration import SMALLEST_STATEMENT
from poolsize.load.source_line import located
from poolsize.locust.prepare import OWN_CONNECTIONS, RESERVE, Prepared
from poolsize.runs.plan import PoolKind
from poolsize.sweep.dry_run import DryRun, Occasion, StatementGroup
from poolsize.target import schema as own
from poolsize.target.connection import SESSION_SETTINGS, asking
from poolsize.target.existing_schema import use_schema
from poolsize.target.held_locks import GET_LOCK

MOST_STATEMENTS = 100_000
MISTAKES = (NameError, AttributeError, ImportError, SyntaxError)
"""What the code of a workload raises by a mistake, and not because a row is missing."""
LONGEST_STATEMENT = 400
"""Characters of a statement that are shown."""
VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|\b\d+\b")
"""A text or a number in a statement: statements that differ in nothing else have one form."""
OF_A_CONNECTION = "SET NAMES utf8mb4"


class RehearsalCursor:
    """A cursor that notes statements, runs none, and finds no row. It is its own connection, too.

    wanted_rows: whether the workload has looked at a result, which a dry run does not have.
    """

    def __init__(self, cursor: Any) -> None:
        """cursor: of a connection, which knows how values are quoted; it runs nothing."""
        self._cursor = cursor
        self.statements: list[str] = []
        self.wanted_rows = False

    def execute(self, statement: str, args: Any = None) -> int:
        """Note a statement. Raises BadInput for more statements than a dry run can show."""
        if len(self.statements) >= MOST_STATEMENTS:
            raise BadInput(
                f"`dry_run`: the workload runs more than {MOST_STATEMENTS:,} statements in one call: use executemany"
            )
        self.statements.append(" ".join(self._cursor.mogrify(statement, args).split()))
        return 0

    def executemany(self, statement: str, rows: Iterable[Any]) -> int:
        """Note a statement for each row; for an INSERT, which PyMySQL sends as one statement, that of the first row."""
        rows = list(rows)
        for row in rows[:1] if RE_INSERT_VALUES.match(statement) else rows:
            self.execute(statement, row)
        return 0

    @property
    def rowcount(self) -> int:
        """No rows."""
        self.wanted_rows = True
        return 0

    @property
    def lastrowid(self) -> int:
        """No row."""
        self.wanted_rows = True
        return 0

    @property
    def description(self) -> None:
        """No columns."""
        self.wanted_rows = True

    def callproc(self, name: str, args: Iterable[Any] = ()) -> None:
        """Note the call of a procedure."""
        values = list(args)
        self.execute(f"CALL {name}({', '.join(['%s'] * len(values))})", values)

    def fetchone(self) -> None:
        """Return no row."""
        self.wanted_rows = True

    def fetchall(self) -> tuple[()]:
        """Return no rows."""
        self.wanted_rows = True
        return ()

    def fetchmany(self, _size: int | None = None) -> tuple[()]:
        """Return no rows."""
        return self.fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())

    def nextset(self) -> None:
        """Return no further result."""

    def close(self) -> None:
        """Close nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def connection(self) -> Self:
        """The cursor itself, so that the workload does not find a connection that runs statements."""
        return self

    def cursor(self, *_: object) -> Self:
        """Return the cursor itself."""
        return self

    def begin(self) -> None:
        """Note the beginning of a transaction."""
        self.execute("BEGIN")

    def commit(self) -> None:
        """Note the end of a transaction."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """Note the end of a transaction."""
        self.execute("ROLLBACK")


@dataclass(frozen=True)
class WorkloadCalls:
    """The calls of a workload's code, each a function of a cursor."""

    prepare: Callable[[Any], None]
    before_step: Callable[[Any], None]
    try_out: Callable[[Any], None]


def rehearse(ready: Prepared, calls: WorkloadCalls, *, asks_activity: bool) -> DryRun:
    """Return what the sweep would do. The workload's code runs, with a cursor that runs no statement.

    asks_activity: whether the sweep asks if the server serves others. Raises BadInput for a mistake in the workload.
    """
    plan, server, schema = ready.run.plan, ready.run.setting.server, ready.run.setting.schema
    assert server is not None
    if schema is not None:
        with asking(ready.url) as (_, cursor):
            use_schema(cursor, schema)
    tables, restored, transactions = (
        _noted(ready.url, call) for call in (calls.prepare, calls.before_step, calls.try_out)
    )
    returned = ("ROLLBACK",) if plan.pool is PoolKind.SQLALCHEMY else ()
    groups = {
        Occasion.BEGINNING: (SESSION_SETTINGS, *_beginning(schema, asks_activity=asks_activity)),
        Occasion.TABLES: _with_marks(tables) if schema is None else tables,
        Occasion.BEFORE_STEP: (*((own.READ_MARK,) if schema is None else ()), *restored),
        Occasion.CONNECTION: (OF_A_CONNECTION, *_of_sqlalchemy(server)),
        Occasion.TRANSACTION: (*transactions, *returned),
        Occasion.SECOND: (_text(query("status")),),
        Occasion.AFTER_STEP: (_text(query("connections")),),
        Occasion.END: _end(tables) if schema is None else restored,
    }
    return DryRun(
        server=f"{server.title}, {server.address}",
        limit=server.limit[1],
        pool_connections=plan.largest,
        own_connections=OWN_CONNECTIONS,
        reserve=0 if ready.run.setting.private else RESERVE,
        users=plan.users,
        sizes=plan.sizes,
        search=(plan.search.smallest, plan.search.largest) if plan.search else None,
        load_seconds=_load_seconds(ready),
        rate=plan.rate,
        groups=tuple(StatementGroup(when, _counted(texts)) for when, texts in groups.items() if texts),
    )


def _of_sqlalchemy(server: Server) -> tuple[str, ...]:
    """Return what SQLAlchemy reads once in each step and worker."""
    isolation = "tx_isolation" if server.flavor == "MariaDB" else "transaction_isolation"
    variables = ("VERSION()", "DATABASE()", f"@@{isolation}", "@@sql_mode", "@@lower_case_table_names")
    return (*(f"SELECT {variable}" for variable in variables), "ROLLBACK")


def _load_seconds(ready: Prepared) -> int:
    """Return the planned seconds of load; of a search, its budget."""
    plan = ready.run.plan
    if plan.search is not None:
        return plan.search.budget_seconds
    return len(plan.sizes) * plan.repeats * (plan.warm_up_seconds + plan.step_seconds)


def _beginning(schema: str | None, *, asks_activity: bool) -> tuple[str, ...]:
    asked = ("questions",) if asks_activity else ()
    facts = [_text(query(name)) for name in (*asked, "variables", "cipher", "connected", "process", "uptime")]
    facts += ["SELECT CONNECTION_ID()"]
    if schema is not None:
        return *facts, f"USE {quoted(schema)}", GET_LOCK % (f"'poolsize {schema}'", 0), SMALLEST_STATEMENT
    owner = f"'{own.OWNER}...'"
    return (
        *facts, GET_LOCK % (f"'{own.LOCK}'", 0), GET_LOCK % (owner, 0), own.READ_MARK, own.DROP_MARK,
        own.LOOK_FOR_SCHEMA, own.CREATE_SCHEMA, own.CREATE_MARK,
        own.MARK_OWNER % f"'{own.THE_SCHEMA}'" + f",({owner})", SMALLEST_STATEMENT,
    )  # fmt: skip


def _with_marks(tables: tuple[str, ...]) -> tuple[str, ...]:
    """Return the statements that make tables, and those that list each table as poolsize's own."""
    return (own.READ_MARK, own.LIST_TABLES, *tables, own.MARK_TABLE % "'...'")


def _end(tables: tuple[str, ...]) -> tuple[str, ...]:
    made = [name for text in tables if (name := _made_table(text))]
    drops = [drop.format(table=quoted(name)) for name in made for drop in (own.DROP_TABLE, own.DROP_VIEW)]
    return own.READ_MARK, own.IGNORE_FOREIGN_KEYS, own.LIST_TABLES, *drops, own.DROP_SCHEMA


def _made_table(statement: str) -> str | None:
    """Return the name of the table or view that a statement makes, without its schema; None for another statement."""
    made = re.match(
        r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:`?\w+`?\.)?`?(\w+)", statement, re.I
    )
    return made[1] if made else None


def _noted(url: URL, work: Callable[[Any], None]) -> tuple[str, ...]:
    """Return the statements that a function of a cursor would run, up to where it needs rows that are not there."""
    with asking(url) as (_, real):
        cursor = RehearsalCursor(real)
        try:
            work(cursor)
        except BadInput as error:
            cause = error.__cause__
            if cause is None or not cursor.wanted_rows or isinstance(cause, MISTAKES):
                raise
            return (*cursor.statements, f"-- further statements depend on rows: {located(cause)}")
        return tuple(cursor.statements)


def _text(statement: str) -> str:
    """Return a statement of a file in one line, without the question that it opens with."""
    return " ".join(" ".join(line for line in statement.splitlines() if not line.startswith("--")).split())


def _counted(statements: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return each statement with how often statements of its form follow each other."""
    forms = [list(same) for _, same in groupby(statements, key=lambda text: VALUE.sub("?", text))]
    return tuple((_shown(same[0]), len(same)) for same in forms)


def _shown(statement: str) -> str:
    """Return a statement; of a long statement the beginning, and " ..."."""
    return statement if len(statement) <= LONGEST_STATEMENT else f"{statement[:LONGEST_STATEMENT]} ..."
