"""The sweep as a Locust run: its options on Locust's command line, and its set-up when Locust starts."""

import hashlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import machinery
from types import CodeType
from typing import Any, NoReturn

import gevent
from locust import events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner
from locust.util.load_locustfile import load_locustfile

from poolsize.errors import BadInput, Interrupted, PoolsizeError, WorkFailed
from poolsize.load.fair_queue import FairQueuePool
from poolsize.locust.lead import Lead, end_forked_workers, report_failure
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.set_up import ReadySweep, encrypted, refuse_ignored, refuse_two_pauses, set_up, with_host
from poolsize.locust.user import PoolUser, Tasks, tasks_of
from poolsize.locust.wire import wire
from poolsize.locust.worker import LocustWorker, let_workers_end_with_this_process, watch_master
from poolsize.server.bounded import BoundedConnection
from poolsize.server.connection import naming_url
from poolsize.sweep.events import LOCUSTFILE_SHA256
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
    locust_main.load_locustfile = _load_checked  # type: ignore[attr-defined]  # not for others
    locust_main.main()


class _CheckedText(machinery.SourceFileLoader):
    """Compiles the text that it has checked, and uses no compiled file beside it, which may be of another text."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 (importlib's signature)
        """Return the code of the text. Ends the process where the text has not the hash that its starter knows."""
        text = self.get_data(self.path)
        if hashlib.sha256(text).hexdigest() != os.environ[LOCUSTFILE_SHA256]:
            sys.exit(f"{self.path} has changed since its text was checked: start again")
        code: CodeType = self.source_to_code(text, self.path)
        return code


def _load_checked(path: str) -> Any:
    """Let Locust load a locustfile, with the check where this process was given a hash."""
    before = machinery.SourceFileLoader
    if LOCUSTFILE_SHA256 in os.environ:
        machinery.SourceFileLoader = _CheckedText  # type: ignore[misc]  # Locust has no option for its loader
    try:
        return load_locustfile(path)
    finally:
        machinery.SourceFileLoader = before  # type: ignore[misc]  # likewise


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
    progress, closing_stack = ProgressPipe(), ExitStack()
    parsed: Any = environment.parsed_options
    runner = environment.runner
    for number in ENDING:  # Locust sets its own when the run begins
        signal.signal(number, partial(_stop_setting_up, progress))
    if not isinstance(runner, WorkerRunner):
        progress.watch()
    try:
        try:
            options = _options(environment)
            if isinstance(runner, MasterRunner) and not parsed.processes and not wire().secret.is_given:
                sys.stderr.write(f"poolsize: start each worker with {VARIABLE}={wire().secret.text}\n")
            if isinstance(runner, WorkerRunner):
                watch_master(runner, kind.master_gone_seconds)
                kind.work(environment, options)
                gevent.signal_handler(signal.SIGINT, runner.quit)  # without a traceback from a transaction
            else:
                ready = kind.lead(environment, options, progress, closing_stack)
                Lead(environment, ready, progress, closing_stack)
        except BaseException:
            closing_stack.close()
            raise
    except BaseException as error:
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
        return set_up(
            environment, options, workload, tasks, progress,
            lambda reason: report_failure(progress, WorkFailed(reason)), closing_stack,
        )  # fmt: skip


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
    parsed, ours = environment.parsed_options, {name: option for name, option in OPTIONS.items() if option.in_locust}
    options = SweepOptions.parse({name: getattr(parsed, option.locusts_own or name) for name, option in ours.items()})
    for name in ours.keys() & set(WITH_PASSWORD):  # Locust's master would send them to each worker, which has its own
        setattr(parsed, name, None)
    return options
