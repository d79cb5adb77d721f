"""The sweep as a Locust run: its options on Locust's command line, and its set-up when Locust starts."""

import logging
import os
import signal
import sys
from contextlib import ExitStack, nullcontext
from functools import cache, partial
from typing import Any, NoReturn

import gevent
from locust import events, runners
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from poolsize.errors import BadInput, Interrupted, PoolsizeError, WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.locust.application_set_up import set_up_application
from poolsize.locust.lead import Lead, report_failure
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.refusals import encrypted, refuse_ignored, refuse_pool_users, refuse_two_pauses, with_host
from poolsize.locust.request_worker import RequestWorker
from poolsize.locust.set_up import Rehearsed, set_up
from poolsize.locust.tasks import tasks_of
from poolsize.locust.user import PoolUser
from poolsize.locust.wire import wire
from poolsize.locust.worker import LocustWorker
from poolsize.locust.workers import end_forked_workers
from poolsize.server.bounded import LAST_CALL, LAST_SECONDS
from poolsize.server.connection import naming_url
from poolsize.sweep.application_file import of_application, read_application
from poolsize.sweep.option import Option
from poolsize.sweep.options import OPTIONS, WITH_PASSWORD, SweepOptions
from poolsize.sweep.secret import VARIABLE
from poolsize.sweep.workload import Workload, typed_workload

LOOK_SECONDS = 1
"""Seconds between two checks that the master lives."""
NEVER_SECONDS = 10**9

logger = logging.getLogger("poolsize")


logging.getLogger(FairQueuePool.__module__).setLevel(logging.WARNING)  # a pool ends with every step; no news


@cache
def register() -> None:
    """Give Locust the sweep's options, and start the sweep with Locust's run.

    Importing PoolUser calls this, and `python -m poolsize.locust` does; only the first call has an effect.
    """
    for name in (None, "locust.main", "locust.runners"):
        logging.getLogger(name).addFilter(_is_true)
    _encrypt_wire()
    let_workers_end_with_this_process()
    events.init_command_line_parser.add_listener(_add_options)
    events.init.add_listener(_on_init)


def _encrypt_wire() -> None:
    try:
        wire().encrypt_all()
    except BadInput as error:
        sys.stderr.write(f"poolsize: error: {error}\n")
        sys.exit(error.exit_code)


ENDING = (signal.SIGTERM, signal.SIGINT)
MASTER_GONE_SECONDS = 20
"""A worker that hears nothing of the master for so long ends."""
APPLICATION_MASTER_GONE_SECONDS = 60
"""The same in an application's sweep, whose master is silent while the application starts."""
UNTRUE = ("No run time limit set", "Your selected spawn rate is very high", "Starting web interface")
"""Beginnings of lines that Locust logs of a headless run, and that are not true of a sweep."""


def _is_true(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(UNTRUE)


def _add_options(parser: LocustArgumentParser) -> None:
    group = parser.add_argument_group("poolsize", "Sweep of connection pool sizes")
    for name, option in OPTIONS.items():
        if option.locusts_own or not option.in_locust:
            continue
        group.add_argument(
            option.flag,
            dest=name,
            **({} if option.switch else {"metavar": option.flag.removeprefix("--").replace("-", "_").upper()}),
            help=f"{option.text} Default: {option.default}.".replace("%", "%%"),
            default=None,
            **_taken(option),
            **({"env_var": option.variable} if option.variable else {}),
        )


def _taken(option: Option) -> dict[str, Any]:
    """Return how argparse takes an option's value."""
    if option.switch:
        return {"action": "store_const", "const": True}
    return {"action": "append"} if option.repeatable else {"type": option.kind}


def _on_init(environment: Environment, **_: Any) -> None:
    """Set this process up as a worker, as the master that leads the sweep, or as both."""
    progress = ProgressPipe.from_environment()
    closing_stack = ExitStack()
    for number in ENDING:  # Locust sets its own when the run begins
        signal.signal(number, partial(_stop_setting_up, progress))
    if not isinstance(environment.runner, WorkerRunner):
        progress.watch()
    try:
        _set_up(environment, progress, closing_stack)
    except BaseException as error:
        closing_stack.close()
        end_forked_workers()
        if isinstance(error, SystemExit) and error.code == Interrupted.exit_code:
            report_failure(progress, Interrupted("interrupted before the first step"))
        if isinstance(error, Rehearsed):
            sys.exit(0)
        if not isinstance(error, PoolsizeError):
            raise
        report_failure(progress, error)
        sys.exit(error.exit_code)


def _stop_setting_up(progress: ProgressPipe, number: int, _: object) -> NoReturn:
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)  # a second signal must not end the clean-up
    LAST_CALL.within(LAST_SECONDS)
    progress.stop_watching()
    sys.exit(Interrupted.exit_code if number == signal.SIGINT else WorkFailed.exit_code)


def _set_up(environment: Environment, progress: ProgressPipe, closing_stack: ExitStack) -> None:
    typed = _options(environment)
    _forget_passwords(environment)
    _show_secret(environment)
    if typed.application is not None:
        _set_up_application(environment, typed, progress, closing_stack)
        return
    tasks, host = tasks_of(environment), environment.host
    options, workload = encrypted(with_host(typed, environment)), _workload(environment)
    if isinstance(environment.runner, WorkerRunner):
        watch_master(environment.runner, MASTER_GONE_SECONDS)
        PoolUser.load_worker = LocustWorker(environment, tasks, workload.sha256, options.url)
        gevent.signal_handler(signal.SIGINT, environment.runner.quit)  # without a traceback from a transaction
        return
    refuse_ignored(environment)
    if options.dry_run and not progress.is_heard:
        raise BadInput("`dry_run` is for the command poolsize sweep, which prints the result: use that")
    refuse_two_pauses(options, tasks)
    with naming_url("`host`") if host else nullcontext():
        ready = closing_stack.enter_context(
            set_up(
                environment, options, workload, tasks, progress, lambda why: report_failure(progress, WorkFailed(why))
            )
        )
    Lead(environment, ready, progress, closing_stack).start()


def _set_up_application(
    environment: Environment, options: SweepOptions, progress: ProgressPipe, closing_stack: ExitStack
) -> None:
    assert options.application is not None
    application = read_application(options.application)
    options = of_application(options)
    refuse_pool_users(environment, application)
    _set_host(environment, application.file.host)
    if isinstance(environment.runner, WorkerRunner):
        watch_master(environment.runner, APPLICATION_MASTER_GONE_SECONDS)
        RequestWorker(environment)
        gevent.signal_handler(signal.SIGINT, environment.runner.quit)
        return
    refuse_ignored(environment)

    def fail(reason: str) -> None:
        environment.process_exit_code = WorkFailed.exit_code
        report_failure(progress, WorkFailed(reason))

    ready = closing_stack.enter_context(set_up_application(environment, options, application, progress, fail))
    Lead(environment, ready, progress, closing_stack).start()


def _set_host(environment: Environment, host: str) -> None:
    """Let the users of this process send their requests to the host.

    Locust's own option for the host, which may hold a password, would be sent to each worker.
    """
    environment.host = None
    if environment.parsed_options:
        environment.parsed_options.host = None
    for user_class in environment.user_classes:
        user_class.host = host


def _options(environment: Environment) -> SweepOptions:
    """Return the sweep's options from Locust's command line, Locust's own options included. Raises BadInput."""
    parsed = environment.parsed_options
    return SweepOptions.parse(
        {name: getattr(parsed, option.locusts_own or name) for name, option in OPTIONS.items() if option.in_locust}
    )


def _forget_passwords(environment: Environment) -> None:
    """Remove the URLs from Locust's options, which its master sends to each worker; every worker has read its own."""
    for name in WITH_PASSWORD:
        if OPTIONS[name].in_locust:
            setattr(environment.parsed_options, name, None)


def _show_secret(environment: Environment) -> None:
    """Print the secret that workers on other machines need, unless the user has set it."""
    parsed: Any = environment.parsed_options
    elsewhere = isinstance(environment.runner, MasterRunner) and not parsed.processes
    if elsewhere and not wire().secret.is_given:
        sys.stderr.write(f"poolsize: start each worker with {VARIABLE}={wire().secret.text}\n")


def _workload(environment: Environment) -> Workload:
    """Return the workload of Locust's option -f."""
    (typed, *_) = environment.parsed_locustfiles or [""]
    return typed_workload(typed)


def let_workers_end_with_this_process() -> None:
    """Let each worker that Locust forks from this process end within a second of it.

    A worker that is not connected yet would try to connect to a killed master for five minutes.
    """
    master, is_master = os.getpid(), True

    def watch() -> None:
        nonlocal is_master
        if is_master:  # a process that a worker forks needs no watch
            is_master = False
            gevent.spawn(_end_without, master)

    os.register_at_fork(after_in_child=watch)


def _end_without(master: int) -> None:
    while os.getppid() == master:
        gevent.sleep(LOOK_SECONDS)
    os._exit(1)


def watch_master(runner: WorkerRunner, seconds: int) -> None:
    """End the worker once the master was silent for so many seconds, in place of Locust's own watch.

    Locust's watch compares times of day. A clock that is set forward would end every worker.
    """
    runners.MASTER_HEARTBEAT_TIMEOUT = NEVER_SECONDS  # Locust has no option for it
    gevent.spawn(_watch, runner, seconds)


def _watch(runner: WorkerRunner, seconds: int) -> None:
    """Count the looks, which also stand still while the machine sleeps."""
    heard, silent = runner.last_heartbeat_timestamp, 0
    while silent < seconds:
        gevent.sleep(LOOK_SECONDS)
        last = runner.last_heartbeat_timestamp
        silent = silent + LOOK_SECONDS if heard is not None and last == heard else 0
        heard = last
    logger.error("the master has been silent for %d s: this worker ends", seconds)
    runner.quit()
