"""The sweep as a Locust run: its options on Locust's command line, and its set-up when Locust starts."""

import logging
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import gevent
from locust import events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from poolsize.errors import BadInput, Interrupted, PoolsizeError, WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.locust.checked_text import load_checked
from poolsize.locust.lead import Lead, report_failure
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.refusals import encrypted, refuse_ignored, refuse_two_pauses, with_host
from poolsize.locust.set_up import ReadySweep, set_up
from poolsize.locust.user import PoolUser, Tasks, tasks_of
from poolsize.locust.wire import wire
from poolsize.locust.worker import LocustWorker
from poolsize.locust.worker_processes import end_forked_workers, let_workers_end_with_this_process, watch_master
from poolsize.server.bounded import BoundedConnection
from poolsize.server.connection import naming_url
from poolsize.sweep.opening import Workload, typed_workload
from poolsize.sweep.options import OPTIONS, WITH_PASSWORD, SweepOptions
from poolsize.sweep.secret import VARIABLE

ENDING = (signal.SIGTERM, signal.SIGINT)
UNTRUE = ("No run time limit set", "Your selected spawn rate is very high", "Starting web interface")
"""Beginnings of lines that Locust logs of a headless run, and that are not true of a sweep."""

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
    locust_main.load_locustfile = load_checked  # type: ignore[attr-defined]  # not for others
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
        logging.getLogger(name).addFilter(lambda record: not record.getMessage().startswith(UNTRUE))
    try:
        wire().encrypt_all()
    except BadInput as error:
        sys.stderr.write(f"poolsize: error: {error}\n")
        sys.exit(error.exit_code)
    let_workers_end_with_this_process()
    events.init_command_line_parser.add_listener(_add_options)
    events.init.add_listener(partial(_on_init, kind))


def _add_options(parser: LocustArgumentParser) -> None:
    group = parser.add_argument_group("poolsize", "Sweep of connection pool sizes")
    for name, option in OPTIONS.items():
        if option.locusts_own or not option.in_locust:
            continue
        taken: dict[str, Any] = {"action": "store_const", "const": True}
        if not option.switch:
            taken = {"action": "append"} if option.repeatable else {"type": option.kind}
            taken["metavar"] = option.flag.removeprefix("--").replace("-", "_").upper()
        if option.variable:
            taken["env_var"] = option.variable
        text = f"{option.text} Default: {option.default}.".replace("%", "%%")
        group.add_argument(option.flag, dest=name, help=text, default=None, **taken)


def _on_init(kind: SweepKind, environment: Environment, **_: Any) -> None:
    """Set this process up as a worker, as the master that leads the sweep, or as both."""
    progress = ProgressPipe()
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
    _show_secret(environment)
    if isinstance(environment.runner, WorkerRunner):
        watch_master(environment.runner, kind.master_gone_seconds)
        kind.work(environment, options)
        gevent.signal_handler(signal.SIGINT, environment.runner.quit)  # without a traceback from a transaction
        return
    ready = kind.lead(environment, options, progress, closing_stack)
    Lead(environment, ready, progress, closing_stack)


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

    def fail(reason: str) -> None:
        report_failure(progress, WorkFailed(reason))

    with naming_url("`host`") if host else nullcontext():
        return closing_stack.enter_context(set_up(environment, options, workload, tasks, progress, fail))


def _of_database(environment: Environment, typed: SweepOptions) -> tuple[Tasks, SweepOptions, Workload]:
    if typed.application is not None:
        raise BadInput(f"{typed.named('application')}: use poolsize sweep, or python -m poolsize.service_under_test")
    tasks = tasks_of(environment)
    (locustfile, *_) = environment.parsed_locustfiles or [""]
    return tasks, encrypted(with_host(typed, environment)), typed_workload(locustfile)


OF_DATABASE = SweepKind(_work, _lead, master_gone_seconds=20)
"""The sweep of poolsize's own pool, with a PoolUser."""


def _options(environment: Environment) -> SweepOptions:
    """Return the sweep's options from Locust's command line, Locust's own options included. Raises BadInput.

    The URLs are removed there: Locust's master sends its options to each worker, and every worker has read its own.
    """
    parsed, ours = environment.parsed_options, {name: option for name, option in OPTIONS.items() if option.in_locust}
    options = SweepOptions.parse({name: getattr(parsed, option.locusts_own or name) for name, option in ours.items()})
    for name in ours.keys() & set(WITH_PASSWORD):
        setattr(parsed, name, None)
    return options


def _show_secret(environment: Environment) -> None:
    """Print the secret that workers on other machines need, unless the user has set it."""
    parsed: Any = environment.parsed_options
    elsewhere = isinstance(environment.runner, MasterRunner) and not parsed.processes
    if elsewhere and not wire().secret.is_given:
        sys.stderr.write(f"poolsize: start each worker with {VARIABLE}={wire().secret.text}\n")
