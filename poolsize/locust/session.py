"""The sweep as a Locust run: its options, and one long run that steps through the pool sizes."""

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
from poolsize.runs.store import RunWriter
from poolsize.sweep.events import Event, StepDone, SweepFailed
from poolsize.sweep.loop import sweep
from poolsize.sweep.options import OPTIONS, SweepOptions, with_flags
from poolsize.sweep.workload import Workload, typed_workload
from poolsize.target.connection import lost
from poolsize.target.schema import SweepSchema
from poolsize.units import count, milliseconds, per_second

if TYPE_CHECKING:
    from poolsize.locust.user import PoolUser

logger = logging.getLogger("poolsize")
logging.getLogger(FairQueuePool.__module__).setLevel(logging.WARNING)  # a pool ends with every step; no news


def register() -> None:
    """Give Locust the sweep's options and start the sweep with its run; done once, by importing PoolUser."""
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
    """Set this process up for its part: making the load, leading the sweep, or both."""
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
    workspace = closing_stack.enter_context(SweepSchema(prepared.url))
    if not isinstance(runner, MasterRunner):
        here = prepared.url.render_as_string(hide_password=False)
        worker = _begin_worker(environment, user_class, workload, here)
        closing_stack.callback(worker.close)
    _make_tables(environment, user_class, workspace)
    plan = prepared.run.plan
    generator = LocustGenerator(
        runner, prepared.url, prepared.run.setting, progress, lambda: workspace.work(user_class.before_step)
    )
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
    """Let this process make load. Its users wait at the worker's gate."""
    worker = LocustWorker(environment, user_class.__name__, workload.sha256, url)
    user_class.step_gate = worker.gate
    return worker


def _make_tables(environment: Environment, user_class: "type[PoolUser]", workspace: SweepSchema) -> None:
    """Prepare the workload and try one transaction, so that a mistake shows before anything is measured."""

    def try_it(cursor: Any) -> None:
        user_class.before_step(cursor)
        user = user_class(environment)
        user.on_start()
        user.transaction(cursor)

    try:
        workspace.make_tables(user_class.prepare)
        workspace.work(try_it)
    except PoolsizeError:
        raise
    except Exception as error:
        if isinstance(error, pymysql.MySQLError) and lost(error):
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
    """Run the sweep in a greenlet of its own once the users are there; clean up when Locust quits."""
    users_are_there = Flag()

    def tell(message: Event) -> None:
        progress.tell(message)
        if isinstance(message, StepDone):
            load, rate = count(message.pool_size, "connection"), per_second(message.throughput)
            failed = f", failed: {', '.join(message.failed_checks)}" if message.failed_checks else ""
            logger.info("%s: %s, p95 %s%s", load, rate, milliseconds(message.p95_ms), failed)

    def run_sweep() -> None:
        users_are_there.wait()
        try:
            sweep(prepared.run, prepared.notes, generator, writer, tell)
            environment.process_exit_code = 0
            logger.info(with_flags("Answer: poolsize recommend `run` %s"), writer.path)
        except PoolsizeError as error:
            _fail(progress, WorkFailed(str(error)))  # what was asked for was fine; it was the work that failed
        except Exception as error:
            logger.exception("sweep failed")
            _fail(progress, WorkFailed(f"{type(error).__name__}: {error}"))
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


def _user_class(environment: Environment) -> "type[PoolUser]":
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
    """Return the options of Locust's command line, some of which are Locust's own. Raises BadInput."""
    parsed = environment.parsed_options
    return SweepOptions.parse(
        {name: getattr(parsed, option.locusts_own or name) for name, option in OPTIONS.items() if option.in_locust}
    )


def _workload(environment: Environment) -> Workload:
    """Return the workload of Locust's -f."""
    (typed, *_) = environment.parsed_locustfiles or [""]
    return typed_workload(typed)


def _fail(progress: ProgressPipe, error: PoolsizeError) -> None:
    progress.tell(SweepFailed(str(error), error.exit_code))
    sys.stderr.write(f"poolsize: error: {with_flags(str(error))}\n")
