"""Ready to sweep: the server found or started, the plan cut to what it admits, a run to go on with."""

import importlib.metadata
import platform
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import URL

from poolsize.errors import BadInput
from poolsize.facts.machine import this_machine
from poolsize.facts.server import Server, connected, read_server
from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Run, Setting
from poolsize.runs.store import load_run
from poolsize.sweep.request import SweepRequest, cores_of, disks_of, enough_users, output_of, refuse_settled, wished
from poolsize.target.connection import connect, database_url, is_local
from poolsize.target.private_server import parse_options, private_server
from poolsize.units import count

LIBRARIES = ("poolsize", "sqlalchemy", "pymysql", "locust", "gevent", "hdrhistogram")
OUR_OWN_CONNECTIONS = 4
"""One holds the schema's lock, one counts connections, one reads counters, and one readies the tables before a step."""
ROOM = 20
"""Connections that a private server admits beyond the largest pool."""


@dataclass(frozen=True)
class Prepared:
    """A sweep that can begin: where the server is, the run so far, its file, and what the user should know."""

    url: URL
    run: Run
    path: Path
    notes: tuple[str, ...]


def prepare(request: SweepRequest, closing_stack: ExitStack) -> Prepared:
    """Reach the server, or start a private one, and settle the plan.

    What was started ends with the stack. Raises BadInput for anything that can't be done as asked.
    """
    resumed = _resumed(request)
    path = Path(request.resume) if request.resume else output_of(request)
    wanted = resumed.plan if resumed else wished(request)
    options = dict(resumed.setting.server_options) if resumed else parse_options(request.server_option or ())
    if request.url:
        _refuse_private_options(request)
        url = database_url(request.url)
    else:
        mysqld = Path(request.mysqld) if request.mysqld else None
        server = closing_stack.enter_context(private_server(mysqld, options, wanted.largest + ROOM))
        url = database_url(server.url)
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        facts, taken = read_server(cursor), connected(cursor) - 1
    free = facts.free(taken, OUR_OWN_CONNECTIONS)
    if resumed:
        _require_same(request, resumed, facts)
        _require_room(wanted, facts, free)
        return Prepared(url, resumed, path, ())
    plan, notes = (wanted, ()) if request.pool_sizes else _cut_to(wanted, request, facts, free)
    _require_room(plan, facts, free)
    setting = _setting(request, plan, url, facts, options)
    return Prepared(url, Run(setting, ()), path, (*notes, *_assumptions(setting)))


def _refuse_private_options(request: SweepRequest) -> None:
    for flag, value in (("--mysqld", request.mysqld), ("--server-option", request.server_option)):
        if value:
            raise BadInput(
                f"{flag} is for a private server, and a database is given by --url or POOLSIZE_URL: leave one out"
            )


def _cut_to(plan: SweepPlan, request: SweepRequest, server: Server, free: int) -> tuple[SweepPlan, tuple[str, ...]]:
    """Leave out those of poolsize's own sizes that the server would turn away, and say so."""
    if plan.largest <= free or free < 1:
        return plan, ()
    limit = count(server.max_connections, "connection")
    note = f"left out sizes above {free}: the server admits {limit} (max_connections)"
    search = plan.search and replace(plan.search, start=min(plan.search.start, free), largest=free)
    sizes = tuple(size for size in plan.sizes if size <= free)
    if search is None and not sizes:
        return plan, ()
    users = request.users or enough_users(request, free if search else max(sizes))
    return replace(plan, sizes=sizes, search=search, users=users), (note,)


def _require_room(plan: SweepPlan, server: Server, free: int) -> None:
    if plan.largest > free:
        raise BadInput(
            f"--pool-sizes {plan.largest}: the server admits {count(server.max_connections, 'connection')} "
            f"(max_connections), of which {free} are free for the pool; raise it, or sweep no further than {free}"
        )


def _setting(request: SweepRequest, plan: SweepPlan, url: URL, server: Server, options: dict[str, str]) -> Setting:
    return Setting(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        plan=plan,
        own_workload=request.own_workload,
        workload_sha256=request.workload_sha256,
        cores=cores_of(request),
        disks=disks_of(request),
        cores_from="given" if request.cores is not None else "this machine" if is_local(url) else "assumed",
        client=this_machine(),
        server=server,
        private=request.url is None,
        server_options=options,
        versions={name: importlib.metadata.version(name) for name in LIBRARIES} | {"python": platform.python_version()},
    )


def _assumptions(setting: Setting) -> tuple[str, ...]:
    if setting.cores_from != "assumed":
        return ()
    return (f"no --cores given: took the database's host to have {setting.cores}, like this machine",)


def _resumed(request: SweepRequest) -> Run | None:
    if not request.resume:
        return None
    refuse_settled(request)
    return load_run(request.resume, torn_end=True)


def _require_same(request: SweepRequest, run: Run, found: Server) -> None:
    """Raise BadInput where the rest of a run would be measured on something else than its beginning."""
    if run.setting.workload_sha256 != request.workload_sha256:
        raise BadInput(
            f"--resume {request.resume}: the workload is not the {run.plan.workload} that the run began with: "
            "name that one with --workload, or start a new run"
        )
    if run.setting.private != (request.url is None):
        began = "a private server" if run.setting.private else "a server given by its URL"
        raise BadInput(
            f"--resume {request.resume}: the run began on {began}: "
            + ("leave --url and POOLSIZE_URL out" if run.setting.private else "give its --url again")
        )
    fields = () if run.setting.private else ("address",)
    assert run.setting.server is not None  # a replay is resumed as one
    for field in (*fields, "flavor", "version", "thread_handling", "durable", "buffer_pool_bytes"):
        before, now = getattr(run.setting.server, field), getattr(found, field)
        if before != now:
            raise BadInput(
                f"--resume {request.resume}: the run began on a server with {field} {before}, this one has {now}; "
                "give the same server, or start a new run"
            )
