"""What a user asked of a sweep, and the plan, run and server that it amounts to."""

import importlib.metadata
import platform
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import URL

from poolsize.errors import BadInput
from poolsize.facts.machine import this_machine
from poolsize.facts.server import Server, connected, read_server
from poolsize.measure.pool import connect, database_url, is_local
from poolsize.measure.private_server import parse_options, private_server
from poolsize.plan import SweepPlan, parse_sizes
from poolsize.run import Run, Setting
from poolsize.start import starting_point
from poolsize.store import RunWriter, load_run
from poolsize.units import count, seconds_of

LIBRARIES = ("poolsize", "sqlalchemy", "pymysql", "locust", "gevent", "hdrhistogram")
OUR_OWN_CONNECTIONS = 2
"""One that holds the schema's lock, one that counts."""
ROOM = 20
"""Connections that a private server admits beyond the largest pool."""


@dataclass(frozen=True)
class SweepRequest:
    """The options of a sweep as they were typed; None where the user left the choice to poolsize."""

    workload: str
    url: str | None = None
    pool_sizes: str | None = None
    users: int | None = None
    think_time: str | None = None
    warm_up: str | None = None
    step_time: str | None = None
    repeats: int | None = None
    seed: int | None = None
    cores: int | None = None
    disks: int | None = None
    output: str | None = None
    resume: str | None = None
    mysqld: str | None = None
    server_option: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A sweep that can begin: where the server is, the run so far, and where it is written."""

    url: URL
    run: Run
    writer: RunWriter


def prepare(request: SweepRequest, closing_stack: ExitStack) -> Prepared:
    """Reach the server, or start a private one, settle the plan and open the run's file.

    What was opened is closed with the stack. Raises BadInput for anything that can't be done as asked.
    """
    resumed = _resumed(request)
    wanted = resumed.plan if resumed else _wished(request)
    if request.url:
        url = database_url(request.url)
    else:
        options = parse_options(request.server_option)
        mysqld = Path(request.mysqld) if request.mysqld else None
        server = private_server(mysqld, options, max(wanted.sizes) + ROOM)
        url = database_url(closing_stack.enter_context(server).url)
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        facts, taken = read_server(cursor), connected(cursor)
    _require_room(wanted, facts, taken)
    if resumed:
        _require_same_server(resumed, facts)
        run, path = resumed, Path(request.resume or "")
    else:
        run = Run(_setting(request, wanted, url, facts), ())
        path = _output(request)
    writer = closing_stack.enter_context(RunWriter(path, run.setting, resume=resumed is not None))
    return Prepared(url, run, writer)


def _wished(request: SweepRequest) -> SweepPlan:
    sizes = parse_sizes(request.pool_sizes) if request.pool_sizes else _start_sizes(request)
    given = {
        "think_time_ms": None if request.think_time is None else 1000 * seconds_of(request.think_time, "--think-time"),
        "warm_up_seconds": _whole_seconds(request.warm_up, "--warm-up"),
        "step_seconds": _whole_seconds(request.step_time, "--step-time"),
        "repeats": request.repeats,
        "seed": request.seed,
    }
    return SweepPlan(
        sizes=sizes,
        users=2 * max(sizes) if request.users is None else request.users,
        workload=request.workload,
        **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]  # by name
    )


def _whole_seconds(text: str | None, option: str) -> int | None:
    return None if text is None else round(seconds_of(text, option))


def _cores(request: SweepRequest) -> int:
    return request.cores if request.cores is not None else this_machine().usable_cores


def _disks(request: SweepRequest) -> int:
    return 1 if request.disks is None else request.disks


def _start_sizes(request: SweepRequest) -> tuple[int, ...]:
    return starting_point(_cores(request), disks=_disks(request)).sizes


def _require_room(plan: SweepPlan, server: Server, taken: int) -> None:
    """Raise BadInput for sizes that the server would turn away; our reading connection is among those taken."""
    free = max(0, server.max_connections - (taken - 1) - OUR_OWN_CONNECTIONS)
    if max(plan.sizes) > free:
        raise BadInput(
            f"--pool-sizes {max(plan.sizes)}: the server admits {count(server.max_connections, 'connection')} "
            f"(max_connections), of which {free} are free for the pool; raise it, or sweep no further than {free}"
        )


def _setting(request: SweepRequest, plan: SweepPlan, url: URL, server: Server) -> Setting:
    return Setting(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        plan=plan,
        cores=_cores(request),
        disks=_disks(request),
        cores_from="given" if request.cores else "this machine" if is_local(url) else "assumed",
        client=this_machine(),
        server=server,
        versions={name: importlib.metadata.version(name) for name in LIBRARIES} | {"python": platform.python_version()},
    )


def _output(request: SweepRequest) -> Path:
    if request.output:
        return Path(request.output)
    return Path("data/runs") / f"{datetime.now():%Y-%m-%dT%H%M%S}-{request.workload}.jsonl"


def _resumed(request: SweepRequest) -> Run | None:
    if not request.resume:
        return None
    settled = ("pool_sizes", "users", "think_time", "warm_up", "step_time", "repeats", "seed", "output")
    for name in settled:
        if getattr(request, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise BadInput(f"{option} {getattr(request, name)}: a resumed run keeps its plan; leave {option} out")
    run = load_run(request.resume, torn_end=True)
    if run.plan.workload != request.workload:
        raise BadInput(f"--resume {request.resume}: that run's workload is {run.plan.workload}, not {request.workload}")
    return run


def _require_same_server(run: Run, found: Server) -> None:
    for field in ("flavor", "version", "thread_handling", "durable"):
        before, now = getattr(run.setting.server, field), getattr(found, field)
        if before != now:
            raise BadInput(
                f"--resume: the run was measured on a server with {field} {before}, this one has {now}; "
                "give the same server, or start a new run"
            )
