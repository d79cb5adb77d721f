"""A schema with the user's own data, in which a sweep creates and drops nothing by itself."""

from collections.abc import Callable, Collection
from contextlib import ExitStack, closing
from typing import Any, Self

import pymysql
from sqlalchemy import URL

from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.server import quoted
from poolsize.runs.run import Run
from poolsize.server.connection import connect, schema_in, way_to_privilege
from poolsize.server.sessions import HeldLocks, ServerProcess, end_abandoned
from poolsize.sweep.opening import Workload, require_given_again
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.readers import OWN_SCHEMA, read, schema_name

MISSING = 1049
NOT_ALLOWED = {1044, 1045}


def chosen_schema(options: SweepOptions, workload: Workload, resumed: Run | None) -> str | None:
    """Return the name of the user's schema that the sweep runs in, or None for poolsize's own schema.

    resumed: the run that the sweep resumes, or None. Raises BadInput where the options, the URL and the resumed run
    name different schemas, for a private server, and for a workload that comes with poolsize.
    """
    in_url = schema_in(options.url) if options.url else None
    schema = resumed.setting.schema if resumed else options.schema
    if resumed is None and schema is None and in_url and in_url != OWN_SCHEMA:
        schema = read("url", in_url, schema_name)
    named = f"{options.named('resume')}: the run began" if resumed else f"`schema` {schema}:"
    if in_url and in_url != (schema or OWN_SCHEMA):
        if resumed:
            raise BadInput(
                f"{named} in the schema {schema or OWN_SCHEMA}, and `url` names the schema {in_url}: leave it out"
            )
        raise BadInput(f"{named} `url` names another schema, {in_url}: leave one of them out")
    if schema is None:
        return None
    if resumed and in_url is None:
        require_given_again(options, "schema", schema)
    if resumed and options.schema not in {None, schema}:
        raise BadInput(
            f"{named} in the schema {schema}, and `schema` is {options.schema}: give that, or start a new run"
        )
    if not options.url:
        if resumed:
            raise BadInput(f"{named} on a server given by its URL: give its `url` again")
        raise BadInput(f"{named} a private server holds no data of yours: give your server's `url`")
    if workload.own_path is None:
        raise BadInput(
            f"`schema` {schema}: {workload.name} makes tables, which belong in poolsize's own schema: "
            "leave the schema out, or name your own locustfile with `workload`"
        )
    return schema


class ExistingSchema:
    """A schema of the user's, for one sweep at a time. The sweep never drops the schema or its tables.

    A context manager. Entering raises BadInput when the schema is missing, when the account may not use it, or when
    another sweep uses it; WorkFailed when the server fails. Leaving restores the tables, as before each step.
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
        that no transaction commits after the tables are restored. on_failure: called with the reason when the tables
        can't be restored at the end. Raises BadInput when the server can't be reached.
        """
        self.url = url
        self.name = name
        self._restore = restore
        self._load_connections = load_connections
        self._on_failure = on_failure
        self._changed = False
        self._locks = HeldLocks(url)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            locks = stack.enter_context(self._locks)
            try:
                with locks.cursor() as cursor:
                    use_schema(cursor, self.name)
                    self._server = ServerProcess.of(cursor)
            except pymysql.MySQLError as error:
                raise WorkFailed(f"the schema {self.name} can't be used: {error.args[-1]}") from None
            if not locks.take(f"poolsize {self.name}"):  # schemas whose names begin with 55 equal characters share it
                raise BadInput(f"another sweep is running in the schema {self.name}: wait for it, or end it")
            self._held = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the tables, and let other sweeps use the schema."""
        with self._held:
            if not self._changed:
                return
            try:
                with self._locks.cursor() as cursor:
                    if (now := ServerProcess.of(cursor)).address != self._server.address:
                        raise WorkFailed(f"another server answers: {now.address}, in place of {self._server.address}")
                    end_abandoned(cursor, self._load_connections, self._server)
                self._call(self._restore)
            except Exception as failure:  # the restoring function is the user's, and may raise anything
                reason = failure.args[-1] if isinstance(failure, pymysql.MySQLError) else failure
                self._on_failure(f"the tables of the schema {self.name} could not be restored at the end: {reason}")

    def make_tables(self, prepare: Callable[[Any], None]) -> None:
        """Call the workload's function that makes its tables. The tables remain after the sweep."""
        self._call(prepare)

    def work(self, task: Callable[[Any], None]) -> None:
        """Call a function with a cursor in the schema, on a new connection. From then on, the tables may be changed.

        Raises WorkFailed when another sweep has the schema by now.
        """
        with self._locks.cursor():
            self._changed = True
        self._call(task)

    def _call(self, task: Callable[[Any], None]) -> None:
        with closing(connect(self.url, self.name)) as connection, connection.cursor() as cursor:
            task(cursor)


def use_schema(cursor: Any, name: str) -> None:
    """Make a schema current in the session. Raises BadInput where it is missing, or the account may not use it."""
    try:
        cursor.execute(f"USE {quoted(name)}")
    except pymysql.MySQLError as error:
        if error.args[0] == MISSING:
            raise BadInput(f"`schema` {name}: there is no such schema on this server: correct its name") from None
        if error.args[0] in NOT_ALLOWED:
            grant = f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name}.* TO the account, or what the workload needs"
            raise BadInput(
                f"`schema` {name}: the account can't use it, or there is no such schema ({error.args[-1]}): "
                f"{way_to_privilege(error, grant)}"
            ) from None
        raise
