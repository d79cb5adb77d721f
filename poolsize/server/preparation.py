"""The preparation of a sweep: its server, its plan within the server's limits, and its run, new or resumed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import URL

from poolsize.errors import BadInput
from poolsize.facts.server import Server, difference_between, open_connections, read_cipher, read_server
from poolsize.facts.ssl_mode import SslMode
from poolsize.facts.status import BUSY_PER_SECOND, statements_of_others
from poolsize.runs.plan import PoolKind, SweepPlan
from poolsize.runs.run import Run
from poolsize.server.connection import asking, database_url, given_host, schema_in
from poolsize.server.encryption import is_local, ssl_mode, with_encryption
from poolsize.server.private_server import PrivateServer, find_mysqld, private_server, server_version
from poolsize.server.schema import already_swept, is_swept
from poolsize.sweep.opening import Workload, new_file, new_setting, require_given_again, resumed_run
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.planning import enough_users, plan_for
from poolsize.sweep.readers import OWN_SCHEMA, read, schema_name
from poolsize.units import count, per_second

LIBRARIES = ("sqlalchemy", "pymysql", "locust", "gevent", "hdrhistogram")
"""Libraries whose versions a run records."""
OWN_CONNECTIONS = 4
"""They hold the schema's lock, count connections, read counters, and restore the tables before a step."""
RESERVE = 5
"""Connections of a user's server that a pool leaves to administrators and monitoring."""
ROOM = 20
"""Connections that a private server admits beyond the largest pool."""


@dataclass(frozen=True)
class Prepared:
    """A sweep that can begin.

    url: of the server, with the password, without a schema. run: the run so far, without a step if it is new.
    path: of the run's file. notes: sentences for the user. private: the private server, or None.
    """

    url: URL
    run: Run
    path: Path
    notes: tuple[str, ...]
    private: PrivateServer | None


@contextmanager
def prepared(
    options: SweepOptions, workload: Workload, *, own_wait_time: bool, covers: str, private_password: str
) -> Iterator[Prepared]:
    """Connect to the server, or start a private server, decide the plan, and yield the sweep that can begin.

    own_wait_time: whether the user classes set a wait_time. covers: as in Setting. private_password: of the private
    server's account. Leaving ends the private server.
    Raises BadInput for options that contradict each other, the server's limits, or the run to resume.
    """
    resumed = resumed_run(options, workload)
    path = options.resume or new_file(options.output, workload.name)
    plan = resumed.plan if resumed else plan_for(options, workload.name)
    schema = chosen_schema(options, workload, resumed)
    with _server(options, resumed, plan.largest, private_password) as (url, private):
        with asking(url) as (_, cursor):
            server, cipher, others = read_server(cursor), read_cipher(cursor), open_connections(cursor) - 1
            if options.url and not options.yes and (statements := statements_of_others(cursor)) >= BUSY_PER_SECOND:
                raise already_swept() if is_swept(cursor) else _serves_others(url, others, statements)
        if resumed:
            _require_same(options, resumed, server, cipher)
            _require_room(plan, server, server.free_connections(others, OWN_CONNECTIONS))
            yield Prepared(url, resumed, path, (), private)
            return
        free = server.free_connections(others, OWN_CONNECTIONS + (RESERVE if options.url else 0))
        plan, notes = (plan, ()) if options.sizes else limited_to(plan, options, server, free)
        _require_room(plan, server, free)
        setting = new_setting(
            options, plan, workload, server=server, server_options=options.server_options, local=is_local(url),
            libraries=LIBRARIES,
        )  # fmt: skip
        host = None if setting.private else given_host(url)
        setting = replace(
            setting, schema=schema, own_wait_time=own_wait_time, covers=covers, given_host=host,
            ssl_mode=ssl_mode(url), cipher=cipher,
        )  # fmt: skip
        if setting.cores_from == "assumed":
            cores = count(setting.cores, "core")
            notes = (*notes, f"the database's host is assumed to have {cores}, like this machine: give its `cores`")
        yield Prepared(url, Run(setting, ()), path, notes, private)


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


def require_server(options: SweepOptions) -> None:
    """Raise BadInput for a bad URL, and for a server program that can't be run or is none. No server is started."""
    if not options.url:
        server_version(options.mysqld or find_mysqld())
        return
    for name in ("mysqld", "server_options"):
        if getattr(options, name):
            raise BadInput(
                f"`{name}` is for a private server, and a database is given by `url` or POOLSIZE_URL: leave one out"
            )
    database_url(options.url)


@contextmanager
def _server(
    options: SweepOptions, resumed: Run | None, largest: int, password: str
) -> Iterator[tuple[URL, PrivateServer | None]]:
    """Yield the URL of the user's server, or of a private server that ends with the context, and the private server.

    Connections to a private server never leave this machine, and are not encrypted, unless a resumed run began so.
    largest: the largest pool size that may be measured. password: of the private server's account.
    """
    if options.url:
        require_server(options)
        yield database_url(options.url), None
    else:
        began_encrypted = resumed is not None and resumed.setting.cipher is not None
        mode = SslMode.PREFERRED if began_encrypted else SslMode.OFF
        with private_server(options.mysqld, options.server_options or {}, largest + ROOM, password) as private:
            yield with_encryption(database_url(private.url), mode, None), private


def _serves_others(url: URL, connections: int, statements_per_second: float) -> BadInput:
    return BadInput(
        f"`url`: {given_host(url) or 'the server'} serves others now: {count(connections, 'connection')}, "
        f"{per_second(statements_per_second)} statements. A sweep is a real load that would slow them "
        "down, and they would disturb it: measure a copy, or add `yes`"
    )


def limited_to(
    plan: SweepPlan, options: SweepOptions, server: Server, free: int, pools: int = 1
) -> tuple[SweepPlan, tuple[str, ...]]:
    """Return the plan without the sizes that the server does not admit, and a note of that.

    The sizes are poolsize's own; if every size is too large, the plan stays as it is. free: connections for each of
    the pools.
    """
    if plan.largest <= free or free < 1:
        return plan, ()
    note = f"sizes above {free} are left out: the server admits {_limit(server)}"
    search = plan.search and replace(plan.search, start=min(plan.search.start, free), largest=free)
    sizes = tuple(size for size in plan.sizes if size <= free)
    if search is None and not sizes:
        return plan, ()
    users = options.users or enough_users(options, (free if search else max(sizes)) * pools)
    return replace(plan, sizes=sizes, search=search, users=users), (note,)


def _require_room(plan: SweepPlan, server: Server, free: int) -> None:
    needed = 1 if plan.pool is PoolKind.LAZY else plan.largest
    if needed > free:
        raise BadInput(
            f"`sizes` {plan.largest}: the server admits {_limit(server)}, of which {free} are free for the pool; "
            f"{OWN_CONNECTIONS} are poolsize's own, and {RESERVE} stay free for administrators of a server of yours: "
            "raise the limit" + (f", or sweep no further than {free}" if free > 0 else "")
        )


def _limit(server: Server) -> str:
    variable, connections = server.limit
    return f"{count(connections, 'connection')} ({variable})"


def _require_same(options: SweepOptions, run: Run, server: Server, cipher: str | None) -> None:
    """Raise BadInput where the server is not the one on which the run began, or only one of both was encrypted."""
    resume, began = options.named("resume"), run.setting
    if began.private != (options.url is None):
        where = "a private server" if began.private else "a server given by its URL"
        way_out = "leave `url` and POOLSIZE_URL out" if began.private else "give its `url` again"
        raise BadInput(f"{resume}: the run began on {where}: {way_out}")
    require_same_server(options, run, server)
    if began.ssl_mode is not None and (began.cipher is None) != (cipher is None):
        was, now = ("encrypted", "not") if began.cipher else ("not encrypted", "encrypted")
        raise BadInput(
            f"{resume}: its connections were {was} when it began, and are {now} now, which costs CPU time: add "
            f"`ssl_mode` {began.ssl_mode}"
        )


def require_same_server(options: SweepOptions, run: Run, server: Server) -> None:
    """Raise BadInput where a server's address, version or settings are not those with which the run began."""
    assert run.setting.server is not None  # a replay is resumed as one
    if difference := difference_between(run.setting.server, server, with_address=not run.setting.private):
        same = "name the same program by `mysqld`" if run.setting.private else "give the same server"
        raise BadInput(f"{options.named('resume')}: {difference}: {same}, or start a new run")
