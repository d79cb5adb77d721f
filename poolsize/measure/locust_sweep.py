"""The sweep as a Locust run: its options, and one long run that steps through the pool sizes."""

import logging
import sys
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gevent
from gevent.event import Event
from gevent.lock import BoundedSemaphore
from locust import events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import MasterRunner, Runner, WorkerRunner

from poolsize.errors import BadInput, PoolsizeError
from poolsize.measure import locust_stats
from poolsize.measure.fair_queue import FairQueuePool
from poolsize.measure.load_process import LoadProcess
from poolsize.measure.locust_generator import LocustGenerator, serve, tell_second
from poolsize.measure.pool import database_url
from poolsize.measure.recorder import Second
from poolsize.measure.request import Prepared, SweepRequest, prepare
from poolsize.measure.sweep import sweep
from poolsize.measure.workspace import Workspace
from poolsize.progress import Progress, SweepFailed

if TYPE_CHECKING:
    from poolsize.measure.locust_user import PoolUser

logger = logging.getLogger("poolsize")
logging.getLogger(FairQueuePool.__module__).setLevel(logging.WARNING)  # a pool ends with every step; no news


def register() -> None:
    """Give Locust the sweep's options and start the sweep with its run; done once, by importing PoolUser."""
    events.init_command_line_parser.add_listener(_add_options)
    events.init.add_listener(_on_init)


def _add_options(parser: LocustArgumentParser) -> None:
    group = parser.add_argument_group("poolsize", "Sweep of connection pool sizes")

    def option(name: str, text: str, **more: Any) -> None:
        group.add_argument(name, help=text, default=None, **more)

    option("--pool-sizes", "sizes to measure, e.g. 1,4,8,16 (around the formula if not given)")
    option(
        "--url",
        "database, mysql://USER:PASSWORD@HOST:3306/ (a private server if not given)",
        env_var="POOLSIZE_URL",
    )
    option("--think-time", "mean pause of a caller between transactions, e.g. 50ms (none)")
    option("--warm-up", "beginning of each step that is not counted (3s)")
    option("--step-time", "counted time of each step (15s)")
    option("--repeats", "how often each size is measured (1)", type=int)
    option("--seed", "order of the steps (1)", type=int)
    option("--cores", "physical cores of the database's host (this machine's)", type=int)
    option("--disks", "disks that hold the data (1)", type=int)
    option("--output", "file of the run (a new one in data/runs)")
    option("--resume", "run to go on with")
    option("--mysqld", "server program for the private server (found by itself)")
    option("--server-option", "variable of the private server, NAME=VALUE; may be repeated", action="append")


def _on_init(environment: Environment, **_: Any) -> None:
    """Set this process up for its part: making the load, leading the sweep, or both."""
    progress = Progress.from_environment()
    closing_stack = ExitStack()
    try:
        _set_up(environment, progress, closing_stack)
    except PoolsizeError as error:
        closing_stack.close()
        _fail(progress, error)
        sys.exit(error.exit_code)


def _set_up(environment: Environment, progress: Progress, closing_stack: ExitStack) -> None:
    workload = _workload_class(environment)
    request = _request(environment)
    runner, options = environment.runner, environment.parsed_options
    assert runner is not None
    assert options is not None
    if isinstance(runner, WorkerRunner):
        if not request.url:
            raise BadInput("--url is missing: several load processes need a server that each of them can reach")
        _make_load(environment, runner, workload, request.url)
        return
    if not options.headless:
        raise BadInput("add --headless: a sweep runs by itself, from the first step to the last")
    prepared = prepare(request, closing_stack)
    url = prepared.url.render_as_string(hide_password=False)
    if not isinstance(runner, MasterRunner):
        _make_load(environment, runner, workload, url)
    workspace = Workspace(prepared.url)
    closing_stack.callback(workspace.close)
    _make_tables(workload, workspace)
    generator = LocustGenerator(
        runner, prepared.url, prepared.run.plan, progress, lambda: workspace.work(workload.before_step)
    )
    closing_stack.callback(generator.close)
    options.num_users = prepared.run.plan.users
    options.spawn_rate = prepared.run.plan.users
    environment.process_exit_code = 1  # until the last step is stored
    _lead(environment, runner, prepared, generator, progress, closing_stack)


def _make_load(environment: Environment, runner: Runner, workload: "type[PoolUser]", url: str) -> None:
    def on_second(second: Second) -> None:
        locust_stats.report(environment, workload.__name__, second)
        tell_second(runner, second)

    workload.load_process = LoadProcess(database_url(url), on_second)
    serve(runner, workload.load_process)


def _make_tables(workload: "type[PoolUser]", workspace: Workspace) -> None:
    """Prepare the workload and try one transaction, so that a mistake shows before anything is measured."""

    def prepare_and_try(cursor: Any) -> None:
        workload.prepare(cursor)
        workload.before_step(cursor)
        workload.transaction(workload.__new__(workload), cursor)

    try:
        workspace.work(prepare_and_try)
    except Exception as error:
        if isinstance(error, PoolsizeError):
            raise
        raise BadInput(f"workload {workload.__name__}: {type(error).__name__}: {error}") from error


def _lead(
    environment: Environment,
    runner: Runner,
    prepared: Prepared,
    generator: LocustGenerator,
    progress: Progress,
    closing_stack: ExitStack,
) -> None:
    """Run the sweep in a greenlet of its own once the users are there; clean up when Locust quits."""
    users_are_there = Event()

    def run_sweep() -> None:
        users_are_there.wait()
        try:
            sweep(prepared.run, generator, prepared.writer, progress)
            environment.process_exit_code = 0
            logger.info("Run stored: %s", prepared.writer.path)
        except PoolsizeError as error:
            environment.process_exit_code = error.exit_code
            _fail(progress, error)
        finally:
            runner.quit()

    sweeping = gevent.spawn(run_sweep)
    closing = BoundedSemaphore()

    def on_quitting(**_: Any) -> None:
        with closing:  # a signal and the sweep's own end may both come here; the second waits for the first
            sweeping.kill()
            closing_stack.close()

    environment.events.spawning_complete.add_listener(lambda **_: users_are_there.set())
    environment.events.quitting.add_listener(on_quitting)


def _workload_class(environment: Environment) -> "type[PoolUser]":
    from poolsize.measure.locust_user import PoolUser

    classes = environment.user_classes
    if len(classes) != 1:
        names = ", ".join(sorted(one.__name__ for one in classes))
        raise BadInput(f"a sweep runs one workload, and this locustfile has {len(classes)} ({names}): name one")
    (workload,) = classes
    if not issubclass(workload, PoolUser):
        raise BadInput(f"{workload.__name__} is no PoolUser: a workload is a subclass with a transaction(self, cursor)")
    return workload


def _request(environment: Environment) -> SweepRequest:
    options = environment.parsed_options
    assert options is not None
    given: dict[str, Any] = {field.name: getattr(options, field.name, None) for field in fields(SweepRequest)}
    (locustfile, *_) = environment.parsed_locustfiles or [""]
    given |= {
        "workload": Path(locustfile).stem,
        "users": options.num_users,
        "server_option": tuple(options.server_option or ()),
    }
    return SweepRequest(**given)


def _fail(progress: Progress, error: PoolsizeError) -> None:
    progress.tell(SweepFailed(str(error), error.exit_code))
    sys.stderr.write(f"poolsize: error: {error}\n")
