"""The sweep as a Locust run: its options on Locust's command line, and one Locust run for all its steps."""

import logging
import signal
import sys
from contextlib import ExitStack
from typing import Any, NoReturn

import gevent
from gevent.event import Event as Flag
from gevent.lock import BoundedSemaphore
from locust import events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import WorkerRunner

from poolsize.errors import PoolsizeError, WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.load.source_line import located
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.refusals import refuse_ignored, refuse_two_pauses, with_host
from poolsize.locust.set_up import ReadySweep, set_up
from poolsize.locust.stats import wait_for_csv
from poolsize.locust.tasks import tasks_of
from poolsize.locust.turn_pipe import TurnPipe
from poolsize.locust.user import PoolUser
from poolsize.locust.worker import LocustWorker
from poolsize.locust.workers import end_forked_workers
from poolsize.sweep.events import Event, StepDone, SweepFailed
from poolsize.sweep.loop import sweep
from poolsize.sweep.options import OPTIONS, SweepOptions, with_flags
from poolsize.sweep.workload import Workload, typed_workload
from poolsize.units import count, milliseconds, per_second

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
        end_forked_workers()
        if not isinstance(error, PoolsizeError):
            raise
        _fail(progress, error)
        sys.exit(error.exit_code)


def _stop_setting_up(*_: object) -> NoReturn:
    sys.exit(1)


def _set_up(environment: Environment, progress: ProgressPipe, closing_stack: ExitStack) -> None:
    tasks = tasks_of(environment)
    options, workload = with_host(_options(environment), environment), _workload(environment)
    if isinstance(environment.runner, WorkerRunner):
        PoolUser.load_worker = LocustWorker(environment, tasks, workload.sha256, options.url)
        return
    refuse_ignored(environment)
    refuse_two_pauses(options, tasks)
    ready = closing_stack.enter_context(
        set_up(environment, options, workload, tasks, progress, lambda why: _fail(progress, WorkFailed(why)))
    )
    _lead(environment, ready, progress, closing_stack)


def _lead(environment: Environment, ready: ReadySweep, progress: ProgressPipe, closing_stack: ExitStack) -> None:
    """Run the sweep in a greenlet of its own once Locust has started the users; clean up when Locust quits."""
    runner, parsed = environment.runner, environment.parsed_options
    assert runner is not None
    assert parsed is not None
    parsed.num_users = parsed.spawn_rate = ready.prepared.run.plan.users
    environment.process_exit_code = 1  # until the last step is stored
    users_started = Flag()
    turns = TurnPipe.from_environment(progress)

    def on_event(event: Event) -> None:
        progress.send(event)
        _log(event)

    def run_sweep() -> None:
        users_started.wait()
        try:
            ready.workers.wait_for_users()
            sweep(ready.prepared.run, ready.prepared.notes, ready.generator, ready.writer, on_event, turns.wait)
            runner.stop()
            ready.generator.raise_failed_users()
            environment.process_exit_code = 0
            logger.info(with_flags("Answer: poolsize recommend `run` %s"), ready.writer.path)
        except PoolsizeError as error:
            _fail(progress, WorkFailed(str(error)))  # the options were valid: what failed is the work
        except Exception as error:
            logger.exception("sweep failed")
            _fail(progress, WorkFailed(located(error)))
        finally:
            runner.quit()

    sweeping = gevent.spawn(run_sweep)
    cleanup_lock = BoundedSemaphore()

    def on_quitting(**_: Any) -> None:
        with cleanup_lock:  # a signal and the sweep's own end may both come here; the second waits for the first
            sweeping.kill()
            closing_stack.close()
            wait_for_csv(environment)

    environment.events.spawning_complete.add_listener(lambda **_: users_started.set())
    environment.events.quitting.add_listener(on_quitting)


def _log(event: Event) -> None:
    """Log a step that is stored, for users who start the sweep by Locust."""
    if isinstance(event, StepDone):
        load, rate = count(event.pool_size, "connection"), per_second(event.throughput)
        failed = f", failed: {', '.join(event.failed_checks)}" if event.failed_checks else ""
        logger.info("%s: %s, p95 %s%s", load, rate, milliseconds(event.p95_ms), failed)


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
