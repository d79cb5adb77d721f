"""The sweep as a Locust run: its options on Locust's command line, and one Locust run for all its steps."""

import logging
import signal
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NoReturn

import gevent
import pymysql
from gevent.event import Event as Flag
from gevent.lock import BoundedSemaphore
from locust import events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import MasterRunner, Runner, WorkerRunner

from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.locust.master import LocustGenerator
from poolsize.locust.prepare import Prepared, prepare
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.worker import LocustWorker
from poolsize.locust.workspace import Workspace, workspace_of
from poolsize.runs.store import RunWriter
from poolsize.sweep.events import Event, StepDone, SweepFailed
from poolsize.sweep.loop import sweep
from poolsize.sweep.options import OPTIONS, SweepOptions, with_flags
from poolsize.sweep.workload import Workload, typed_workload
from poolsize.target.connection import is_server_gone
from poolsize.units import count, milliseconds, per_second

if TYPE_CHECKING:
    from poolsize.locust.user import PoolUser

logger = logging.getLogger("poolsize")
logging.getLogger(FairQueuePool.__module__).setLevel(logging.WARNING)  # a pool ends with every step; no news


def register() -> None:
    """Give Locust the sweep's options, and start the sweep with Locust's run. Importing PoolUser calls this once."""
    events.init_command_line_parser.add_listener(_add_options)
    events.init.add_listener(_on_init)


def _add_options(parser: LocustArgumentParser) -> None:
    group = parser.add_argument_group("poolsize", "Sweep of connection pool sizes")
    for name, option in OPTIONS.items():
        if option.locusts_own or not option.in_locust:
            continue
        group.add_argument(
            option.flag,
            dest=name,
            metavar=option.flag.removeprefix("--").replace("-", "_").upper(),
            help=f"{option.text} Default: {option.default}.".replace("%", "%%"),
            default=None,
            **({"action": "append"} if option.repeatable else {"type": option.kind}),
            **({"env_var": option.variable} if option.variable else {}),
        )


def _on_init(environment: Environment, **_: Any) -> None:
    """Set this process up as a worker, as the master that leads the sweep, or as both."""
    progress = ProgressPipe.from_environment()
    closing_stack = ExitStack()
    signal.signal(signal.SIGTERM, _stop_setting_up)  # Locust sets its own when the run begins
    try:
        _set_up(environment, progress, closing_stack)
    except BaseException as error:
        closing_stack.close()
        if not isinstance(error, PoolsizeError):
            raise
        _fail(progress, error)
        sys.exit(error.exit_code)


def _stop_setting_up(*_: object) -> NoReturn:
    sys.exit(1)


def _set_up(environment: Environment, progress: ProgressPipe, closing_stack: ExitStack) -> None:
    user_class = _user_class(environment)
    options, workload = _options(environment), _workload(environment)
    runner, parsed = environment.runner, environment.parsed_options
    assert runner is not None
    assert parsed is not None
    if isinstance(runner, WorkerRunner):
        _begin_worker(environment, user_class, workload, options.url)
        return
    if not parsed.headless:
        raise BadInput("add `headless`: a sweep runs by itself, from the first step to the last")
    if parsed.run_time:
        raise BadInput(
            f"`run_time` {parsed.run_time}: leave it out, a sweep ends with its last step; see `step_seconds`"
        )
    prepared = prepare(options, workload, closing_stack)
    load_connections: set[int] = set()
    workspace = workspace_of(
        prepared, user_class.before_step, load_connections, lambda why: _fail(progress, WorkFailed(why))
    )
    closing_stack.enter_context(workspace)
    if isinstance(runner, MasterRunner) and prepared.run.setting.schema:
        closing_stack.callback(runner.quit)  # the workers end before the tables are restored
    if not isinstance(runner, MasterRunner):
        url_with_password = prepared.url.render_as_string(hide_password=False)
        worker = _begin_worker(environment, user_class, workload, url_with_password)
        closing_stack.callback(worker.close)
    _make_tables(environment, user_class, workspace)
    plan = prepared.run.plan
    generator = LocustGenerator(
        runner, prepared.url, prepared.run.setting, progress, lambda: workspace.work(user_class.before_step),
        load_connections,
    )  # fmt: skip
    closing_stack.callback(generator.close)
    writer = closing_stack.enter_context(
        RunWriter(prepared.path, prepared.run.setting, resume=options.resume is not None)
    )
    parsed.num_users = parsed.spawn_rate = plan.users
    environment.process_exit_code = 1  # until the last step is stored
    _lead(environment, runner, prepared, generator, writer, progress, closing_stack)


def _begin_worker(
    environment: Environment, user_class: "type[PoolUser]", workload: Workload, url: str | None
) -> LocustWorker:
    """Return this process's worker, at whose gate its users wait. url: the database from here, or None."""
    worker = LocustWorker(environment, user_class.__name__, workload.sha256, url)
    user_class.step_gate = worker.gate
    return worker


def _make_tables(environment: Environment, user_class: "type[PoolUser]", workspace: Workspace) -> None:
    """Make the workload's tables and run one transaction, so that a mistake shows before the first step."""

    def run_once(cursor: Any) -> None:
        user_class.before_step(cursor)
        user = user_class(environment)
        user.on_start()
        user.transaction(cursor)

    try:
        workspace.make_tables(user_class.prepare)
        workspace.work(run_once)
    except PoolsizeError:
        raise
    except Exception as error:
        if isinstance(error, pymysql.MySQLError) and is_server_gone(error):
            raise WorkFailed(f"the server went away: {error.args[-1]}") from error
        raise BadInput(f"workload {user_class.__name__}: {type(error).__name__}: {error}") from error


def _lead(
    environment: Environment,
    runner: Runner,
    prepared: Prepared,
    generator: LocustGenerator,
    writer: RunWriter,
    progress: ProgressPipe,
    closing_stack: ExitStack,
) -> None:
    """Run the sweep in a greenlet of its own once Locust has started the users; clean up when Locust quits."""
    users_started = Flag()

    def on_event(event: Event) -> None:
        progress.send(event)
        _log(event)

    def run_sweep() -> None:
        users_started.wait()
        try:
            sweep(prepared.run, prepared.notes, generator, writer, on_event)
            environment.process_exit_code = 0
            logger.info(with_flags("Answer: poolsize recommend `run` %s"), writer.path)
        except PoolsizeError as error:
            _fail(progress, WorkFailed(str(error)))  # the options were valid: what failed is the work
        except Exception as error:
            logger.exception("sweep failed")
            _fail(progress, WorkFailed(f"{type(error).__name__}: {error}"))
        finally:
            runner.quit()

    sweeping = gevent.spawn(run_sweep)
    cleanup_lock = BoundedSemaphore()

    def on_quitting(**_: Any) -> None:
        with cleanup_lock:  # a signal and the sweep's own end may both come here; the second waits for the first
            sweeping.kill()
            closing_stack.close()

    environment.events.spawning_complete.add_listener(lambda **_: users_started.set())
    environment.events.quitting.add_listener(on_quitting)


def _log(event: Event) -> None:
    """Log a step that is stored, for users who start the sweep by Locust."""
    if isinstance(event, StepDone):
        load, rate = count(event.pool_size, "connection"), per_second(event.throughput)
        failed = f", failed: {', '.join(event.failed_checks)}" if event.failed_checks else ""
        logger.info("%s: %s, p95 %s%s", load, rate, milliseconds(event.p95_ms), failed)


def _user_class(environment: Environment) -> "type[PoolUser]":
    """Return the locustfile's workload. Raises BadInput unless there is exactly one, a subclass of PoolUser."""
    from poolsize.locust.user import PoolUser

    classes = environment.user_classes
    if len(classes) != 1:
        names = ", ".join(sorted(user_class.__name__ for user_class in classes))
        raise BadInput(f"a sweep runs one workload, and this locustfile has {len(classes)} ({names}): name one")
    (user_class,) = classes
    if not issubclass(user_class, PoolUser):
        raise BadInput(
            f"{user_class.__name__} is no PoolUser: a workload is a subclass with a transaction(self, cursor)"
        )
    return user_class


def _options(environment: Environment) -> SweepOptions:
    """Return the sweep's options from Locust's command line, Locust's own options included. Raises BadInput."""
    parsed = environment.parsed_options
    return SweepOptions.parse(
        {name: getattr(parsed, option.locusts_own or name) for name, option in OPTIONS.items() if option.in_locust}
    )


def _workload(environment: Environment) -> Workload:
    """Return the workload of Locust's option -f."""
    (typed, *_) = environment.parsed_locustfiles or [""]
    return typed_workload(typed)


def _fail(progress: ProgressPipe, error: PoolsizeError) -> None:
    """Report an error that ends the sweep, to the process that started the sweep and on standard error."""
    progress.send(SweepFailed(str(error), error.exit_code))
    sys.stderr.write(f"poolsize: error: {with_flags(str(error))}\n")
