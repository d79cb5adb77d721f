"""What a user asked of a sweep, and the server, plan and run that it amounts to."""

import hashlib
import importlib.metadata
import platform
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path

from sqlalchemy import URL

from poolsize.errors import BadInput
from poolsize.facts.machine import this_machine
from poolsize.facts.server import Server, connected, read_server
from poolsize.measure.options import OPTIONS, USERS
from poolsize.measure.pool import connect, database_url, is_local
from poolsize.measure.private_server import parse_options, private_server
from poolsize.plan import SweepPlan, parse_percentages, parse_share, parse_sizes
from poolsize.run import Run, Setting
from poolsize.start import starting_point
from poolsize.store import load_run
from poolsize.units import count, seconds_of

LIBRARIES = ("poolsize", "sqlalchemy", "pymysql", "locust", "gevent", "hdrhistogram")
OUR_OWN_CONNECTIONS = 4
"""One holds the schema's lock, one counts connections, one reads counters, and one readies the tables before a step."""
ROOM = 20
"""Connections that a private server admits beyond the largest pool."""


@dataclass(frozen=True)
class SweepRequest:
    """The options of a sweep as they were typed; None where the user left the choice to poolsize.

    locustfile: the workload's file. own_workload: the path as typed, or None for one that comes with poolsize.
    """

    locustfile: Path
    own_workload: str | None = None
    url: str | None = None
    pool_sizes: str | None = None
    users: int | None = None
    processes: int | None = None
    expect_workers: int | None = None
    think_time: str | None = None
    warm_up: str | None = None
    step_time: str | None = None
    precision: str | None = None
    rate: str | None = None
    pool_timeout: str | None = None
    error_budget: str | None = None
    verify: str | None = None
    repeats: int | None = None
    seed: int | None = None
    cores: int | None = None
    disks: int | None = None
    output: str | None = None
    resume: str | None = None
    mysqld: str | None = None
    server_option: tuple[str, ...] | None = None

    @property
    def workload(self) -> str:
        """The workload's name."""
        return self.locustfile.stem

    @property
    def workload_sha256(self) -> str:
        """Of the locustfile's text."""
        return hashlib.sha256(self.locustfile.read_bytes()).hexdigest()


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
    path = Path(request.resume) if request.resume else _output(request)
    wanted = resumed.plan if resumed else _wished(request)
    options = dict(resumed.setting.server_options) if resumed else parse_options(request.server_option or ())
    if request.url:
        _refuse_private_options(request)
        url = database_url(request.url)
    else:
        mysqld = Path(request.mysqld) if request.mysqld else None
        server = closing_stack.enter_context(private_server(mysqld, options, max(wanted.sizes) + ROOM))
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


def _wished(request: SweepRequest) -> SweepPlan:
    """The plan as asked for, before the server has a say."""
    start = starting_point(_cores(request), disks=_disks(request))
    sizes = start.sizes if request.pool_sizes is None else parse_sizes(request.pool_sizes)
    given = {
        "think_time_ms": None if request.think_time is None else 1000 * seconds_of(request.think_time, "--think-time"),
        "warm_up_seconds": _whole_seconds(request.warm_up, "--warm-up"),
        "step_seconds": _whole_seconds(request.step_time, "--step-time"),
        "precision": None if request.precision is None else parse_share(request.precision, "--precision"),
        "rate": None if request.rate is None else _number(request.rate, "--rate"),
        "pool_timeout_seconds": _seconds(request.pool_timeout, "--pool-timeout"),
        "error_budget": None if request.error_budget is None else parse_share(request.error_budget, "--error-budget"),
        "verify": None if request.verify is None else parse_percentages(request.verify, "--verify"),
        "repeats": request.repeats,
        "seed": request.seed,
    }
    return SweepPlan(
        sizes=sizes,
        users=_enough_users(request, sizes) if request.users is None else request.users,
        workload=request.workload,
        **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]  # by name
    )


def _enough_users(request: SweepRequest, sizes: tuple[int, ...]) -> int:
    """Twice the largest pool, in every load process: each has to fill its own share."""
    processes = request.processes or request.expect_workers or 1
    return 2 * processes * ceil(max(sizes) / processes)


def _seconds(text: str | None, option: str) -> float | None:
    return None if text is None else seconds_of(text, option)


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{option} {text}: give a number, such as 500") from None


def _whole_seconds(text: str | None, option: str) -> int | None:
    """Steps are recorded by the second, so their lengths are whole seconds."""
    if text is None:
        return None
    seconds = seconds_of(text, option)
    if seconds != int(seconds):
        raise BadInput(f"{option} {text}: give whole seconds, such as {round(seconds) or 1}s")
    return int(seconds)


def _cores(request: SweepRequest) -> int:
    return this_machine().usable_cores if request.cores is None else request.cores


def _disks(request: SweepRequest) -> int:
    return 1 if request.disks is None else request.disks


def _refuse_private_options(request: SweepRequest) -> None:
    for flag, value in (("--mysqld", request.mysqld), ("--server-option", request.server_option)):
        if value:
            raise BadInput(
                f"{flag} is for a private server, and a database is given by --url or POOLSIZE_URL: leave one out"
            )


def _cut_to(plan: SweepPlan, request: SweepRequest, server: Server, free: int) -> tuple[SweepPlan, tuple[str, ...]]:
    """Leave out those of poolsize's own sizes that the server would turn away, and say so."""
    sizes = tuple(size for size in plan.sizes if size <= free)
    if not sizes or sizes == plan.sizes:
        return plan, ()
    limit = count(server.max_connections, "connection")
    note = f"left out sizes above {free}: the server admits {limit} (max_connections)"
    return replace(plan, sizes=sizes, users=request.users or _enough_users(request, sizes)), (note,)


def _require_room(plan: SweepPlan, server: Server, free: int) -> None:
    if max(plan.sizes) > free:
        raise BadInput(
            f"--pool-sizes {max(plan.sizes)}: the server admits {count(server.max_connections, 'connection')} "
            f"(max_connections), of which {free} are free for the pool; raise it, or sweep no further than {free}"
        )


def _setting(request: SweepRequest, plan: SweepPlan, url: URL, server: Server, options: dict[str, str]) -> Setting:
    return Setting(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        plan=plan,
        own_workload=request.own_workload,
        workload_sha256=request.workload_sha256,
        cores=_cores(request),
        disks=_disks(request),
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


def _output(request: SweepRequest) -> Path:
    if request.output is None:
        return Path("data/runs") / f"{datetime.now():%Y-%m-%dT%H%M%S}-{request.workload}.jsonl"
    path = Path(request.output)
    if path.exists():
        raise BadInput(
            f"--output {path} is there already: name another file, or go on with that run by --resume {path}"
        )
    if not path.parent.is_dir():
        raise BadInput(f"--output {path}: there is no folder {path.parent}; make it, or name a file elsewhere")
    return path


def _resumed(request: SweepRequest) -> Run | None:
    if not request.resume:
        return None
    for option in (USERS, *OPTIONS):
        if option.settled and getattr(request, option.name) is not None:
            value = getattr(request, option.name)
            raise BadInput(f"{option.flag} {value}: a resumed run keeps its plan; leave {option.flag} out")
    return load_run(request.resume, torn_end=True)


def _require_same(request: SweepRequest, run: Run, found: Server) -> None:
    """Raise BadInput where the rest of a run would be measured on something else than its beginning."""
    if run.setting.workload_sha256 != request.workload_sha256:
        raise BadInput(
            f"--resume {request.resume}: the workload is not the {run.plan.workload} that the run began with: "
            "name that one with --workload, or start a new run"
        )
    if run.setting.private != (request.url is None):
        began = "a private server" if run.setting.private else f"the server {run.setting.server.address}"
        raise BadInput(
            f"--resume {request.resume}: the run began on {began}: "
            + ("leave --url and POOLSIZE_URL out" if run.setting.private else "give its --url again")
        )
    fields = () if run.setting.private else ("address",)
    for field in (*fields, "flavor", "version", "thread_handling", "durable", "buffer_pool_bytes"):
        before, now = getattr(run.setting.server, field), getattr(found, field)
        if before != now:
            raise BadInput(
                f"--resume {request.resume}: the run began on a server with {field} {before}, this one has {now}; "
                "give the same server, or start a new run"
            )
