"""The sweep as a Locust run: its options on Locust's command line, and its set-up when Locust starts."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import gevent
from locust import events, runners
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from poolsize.errors import BadInput, Interrupted, PoolsizeError, WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.locust.checked_text import checked
from poolsize.locust.lead import Lead, report_failure
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.refusals import encrypted, refuse_ignored, refuse_two_pauses, with_host
from poolsize.locust.set_up import ReadySweep, Rehearsed, set_up
from poolsize.locust.tasks import Tasks, tasks_of
from poolsize.locust.user import PoolUser
from poolsize.locust.wire import wire
from poolsize.locust.worker import LocustWorker
from poolsize.locust.workers import end_forked_workers
from poolsize.server.bounded import BoundedConnection
from poolsize.server.connection import naming_url
from poolsize.sweep.opening import Workload, typed_workload
from poolsize.sweep.option import Option
from poolsize.sweep.options import OPTIONS, WITH_PASSWORD, SweepOptions
from poolsize.sweep.secret import VARIABLE

LOOK_SECONDS = 1
"""Seconds between two checks that the master lives."""
NEVER_SECONDS = 10**9

logger = logging.getLogger("poolsize")


logging.getLogger(FairQueuePool.__module__).setLevel(logging.WARNING)  # a pool ends with every step; no news


@dataclass(frozen=True)
class SweepKind:
    """A kind of sweep: what its workers and its master do when their Locust process has the options.

    work: sets a worker up. lead: sets the master up, which may be the only worker too, and returns a sweep that may
    begin; what ends the sweep goes on the stack. Both raise BadInput for what a sweep of this kind can't honour.
    master_gone_seconds: a worker that hears nothing of the master for so long ends.
    """

    work: Callable[[Environment, SweepOptions], None]
    lead: Callable[[Environment, SweepOptions, ProgressPipe, ExitStack], ReadySweep]
    master_gone_seconds: int


def main(kind: SweepKind) -> None:
    """Run Locust's command line with the options of a sweep; a Locust file needs nothing of poolsize for it."""
    from locust import main as locust_main

    register(kind)
    # Locust has no option for this, and would execute whatever text the file has by then.
    locust_main.load_locustfile = checked(locust_main.load_locustfile)  # type: ignore[attr-defined,assignment]  # not for others
    locust_main.main()


_registered: list[SweepKind] = []


def register(kind: SweepKind) -> None:
    """Give Locust the sweep's options, and start the sweep with Locust's run; only the first call has an effect.

    Importing PoolUser calls this, also where a process of another kind has loaded the Locust file.
    """
    if _registered:
        return
    _registered.append(kind)
    for name in (None, "locust.main", "locust.runners"):
        logging.getLogger(name).addFilter(_is_true)
    _encrypt_wire()
    let_workers_end_with_this_process()
    events.init_command_line_parser.add_listener(_add_options)
    events.init.add_listener(partial(_on_init, kind))


def _encrypt_wire() -> None:
    try:
        wire().encrypt_all()
    except BadInput as error:
        sys.stderr.write(f"poolsize: error: {error}\n")
        sys.exit(error.exit_code)


ENDING = (signal.SIGTERM, signal.SIGINT)
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


def _on_init(kind: SweepKind, environment: Environment, **_: Any) -> None:
    """Set this process up as a worker, as the master that leads the sweep, or as both."""
    progress = ProgressPipe.from_environment()
    closing_stack = ExitStack()
    for number in ENDING:  # Locust sets its own when the run begins
        signal.signal(number, partial(_stop_setting_up, progress))
    if not isinstance(environment.runner, WorkerRunner):
        progress.watch()
    try:
        _set_up(kind, environment, progress, closing_stack)
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
    BoundedConnection.last_call()
    progress.stop_watching()
    sys.exit(Interrupted.exit_code if number == signal.SIGINT else WorkFailed.exit_code)


def _set_up(kind: SweepKind, environment: Environment, progress: ProgressPipe, closing_stack: ExitStack) -> None:
    options = _options(environment)
    _forget_passwords(environment)
    _show_secret(environment)
    if isinstance(environment.runner, WorkerRunner):
        watch_master(environment.runner, kind.master_gone_seconds)
        kind.work(environment, options)
        gevent.signal_handler(signal.SIGINT, environment.runner.quit)  # without a traceback from a transaction
        return
    ready = kind.lead(environment, options, progress, closing_stack)
    Lead(environment, ready, progress, closing_stack).start()


def _work(environment: Environment, typed: SweepOptions) -> None:
    tasks, options, workload = _of_database(environment, typed)
    PoolUser.load_worker = LocustWorker(environment, tasks, workload.sha256, options.url)


def _lead(
    environment: Environment, typed: SweepOptions, progress: ProgressPipe, closing_stack: ExitStack
) -> ReadySweep:
    host = environment.host
    tasks, options, workload = _of_database(environment, typed)
    refuse_ignored(environment)
    if options.dry_run and not progress.is_heard:
        raise BadInput("`dry_run` is for the command poolsize sweep, which prints the result: use that")
    refuse_two_pauses(options, tasks)
    with naming_url("`host`") if host else nullcontext():
        return closing_stack.enter_context(
            set_up(
                environment, options, workload, tasks, progress, lambda why: report_failure(progress, WorkFailed(why))
            )
        )


def _of_database(environment: Environment, typed: SweepOptions) -> tuple[Tasks, SweepOptions, Workload]:
    if typed.application is not None:
        raise BadInput(f"{typed.named('application')}: use poolsize sweep, or python -m poolsize.service_under_test")
    tasks = tasks_of(environment)
    (locustfile, *_) = environment.parsed_locustfiles or [""]
    return tasks, encrypted(with_host(typed, environment)), typed_workload(locustfile)


OF_DATABASE = SweepKind(_work, _lead, master_gone_seconds=20)
"""The sweep of poolsize's own pool, with a PoolUser."""


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
