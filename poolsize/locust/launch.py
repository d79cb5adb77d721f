"""Starts Locust in a process of its own, follows the sweep that it runs, and ends it; imports no Locust itself."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from poolsize.errors import BadInput, Interrupted, WorkFailed
from poolsize.load.source_line import located_in
from poolsize.locust.checked_text import LOCUSTFILE_SHA256
from poolsize.locust.progress_pipe import DESCRIPTOR, TURNS_DESCRIPTOR
from poolsize.runs.store import load_setting, resume_command
from poolsize.server.processes import killed_by, oom_kills
from poolsize.sweep.events import (
    EndAsked,
    Event,
    StepDone,
    StepStarted,
    SweepFailed,
    SweepStarted,
    TurnAwaited,
    read_event,
)
from poolsize.sweep.opening import workload_of
from poolsize.sweep.options import OPTIONS, SweepOptions

END_SECONDS, INTERRUPTED_SECONDS = 8, 4
"""The longest time that a sweep may take to end after SIGTERM, and after a second Ctrl-C; then it is killed."""
MODULE = "poolsize.locust"
"""What Python runs for a sweep of poolsize's own pool."""
MOST_WORKERS = 1_000
"""A larger number of workers is a typing error."""


def require_processes(options: SweepOptions) -> None:
    """Raise BadInput for numbers of workers that no sweep can have.

    These are numbers below 1, workers both on this machine and on others, and workers on others without a URL.
    """
    for name in ("processes", "expect_workers"):
        number = getattr(options, name)
        if number is not None and not 1 <= number <= MOST_WORKERS:
            raise BadInput(f"`{name}` {number}: give 1 to {MOST_WORKERS:,}")
    if options.expect_workers and options.processes:
        raise BadInput(
            "`expect_workers` waits for workers on other machines, `processes` starts workers here: leave one out"
        )
    if options.expect_workers and not options.url and not options.application:
        raise BadInput("`expect_workers` needs `url` or POOLSIZE_URL: workers elsewhere can't reach a private server")


class LocustSweep:
    """A sweep in a Locust process of its own. run_path: of the run's file; empty until the sweep has started.

    resumed_by: the run that a user names to resume the sweep; None for the sweep's own.
    """

    def __init__(self, named: str, show: Callable[[Event], None], child: "_Child") -> None:
        """Follow a process that was started. named: the parameter of its locustfile. show: as in `started`."""
        self.run_path = ""
        self.resumed_by: str | None = None
        self._has_begun = self._has_step = self._is_ending = False
        self._named = named
        self._show = show
        self._child = child

    def follow(self) -> TurnAwaited | None:
        """Show the sweep's events until the sweep awaits a turn, or until its end, for which the result is None.

        Raises BadInput for options or a locustfile that the sweep refuses, and WorkFailed when the sweep fails.
        """
        failures: list[SweepFailed] = []
        for line in self._child.lines:
            if not line.endswith(b"\n"):  # Locust was killed
                break
            event = read_event(line)
            match event:
                case TurnAwaited():
                    return event
                case SweepStarted(run=path, steps_done=steps_done):
                    self.run_path, self._has_step = path, steps_done > 0
                case StepStarted():
                    self._has_begun = True
                case StepDone():
                    self._has_step = True
                case SweepFailed():
                    failures.append(event)
            self._show(event)
        self._raise_failure(failures, self._child.process.wait())
        return None

    def give_turn(self) -> None:
        """Let the sweep go on that awaits a turn. If it has ended instead, `follow` tells why."""
        with suppress(BrokenPipeError):
            self._child.turns.write(b"\n")

    def end_after_step(self) -> bool:
        """Let the sweep end when the step under way is stored, and return whether there is one."""
        if self._has_begun:
            self._child.process.send_signal(signal.SIGUSR1)
            self._show(EndAsked())
        return self._has_begun

    def end_early(self) -> None:
        """Ask the sweep, once, to end at once."""
        if not self._is_ending:
            self._child.process.terminate()
        self._is_ending = True

    def stop(self, seconds: float) -> tuple[str, ...]:
        """End the sweep early, wait until it has cleaned up, and return what failed in that.

        seconds: the longest time to wait; then the sweep's processes are killed.
        """
        self.end_early()
        with self._child.killed_if_late(seconds) as late:
            events = [read_event(line) for line in self._child.lines if line.endswith(b"\n")]  # a kill may cut a line
            self._child.process.wait()
        failed = tuple(event.message for event in events if isinstance(event, SweepFailed))
        unfinished = f"the clean-up takes more than {seconds:.0f} s: it is incomplete, or still under way"
        return (*failed, unfinished) if late.is_set() else failed

    def with_hint(self, message: str) -> str:
        """Return the message, followed by the command that resumes the run, or by the fact that no run exists yet."""
        run = self.resumed_by or self.run_path
        if not run:
            return f"{message} before the first step"
        kept = "the measured steps are kept" if self._has_step else "no step was complete. To go on"
        return f"{message}; {kept}: {resume_command(run)}"

    def _raise_failure(self, failures: list[SweepFailed], code: int) -> None:
        """Raise the error of a sweep that failed, with all reasons: a failed clean-up hides no cause.

        Bad input is the cause, also where it was reported after the clean-up that failed because of it.
        """
        failures = sorted(failures, key=lambda failure: failure.exit_code != BadInput.exit_code)
        reasons = "; ".join(failure.message for failure in failures)
        if failures and failures[0].exit_code == BadInput.exit_code:
            raise BadInput(reasons)
        if failures and failures[0].exit_code == Interrupted.exit_code:
            raise Interrupted(self.with_hint(reasons) if self._has_step else reasons)
        if failures:
            raise WorkFailed(self.with_hint(reasons))
        if cause := killed_by(code, self._child.oom_kills):
            raise WorkFailed(self.with_hint(f"Locust was {cause}"))
        if code and not self.run_path:
            raise BadInput(f"{self._named}: {_reason_of_end(self._child.log)}")
        if code:
            reason = _reason_of_end(self._child.log)
            raise WorkFailed(self.with_hint(f"Locust ended with exit code {code}: {reason}"))


def run_locust(locustfile: Path, options: SweepOptions, show: Callable[[Event], None], module: str = MODULE) -> Path:
    """Run the sweep in a Locust process, and return the path of the run's file.

    show: called with each event of the sweep. module: as in `started`.
    Raises BadInput for options or a locustfile that the sweep refuses, WorkFailed when the sweep fails, and Interrupted
    when a signal ends it: Ctrl-C after the step under way, a second Ctrl-C at once.
    """
    with started(locustfile, options, show, module) as sweep, first_interrupt(sweep.end_after_step):
        try:
            sweep.follow()
        except KeyboardInterrupt as error:
            raise Interrupted(sweep.with_hint(_stopped(sweep, ending_seconds(error))), *error.args) from None
    return Path(sweep.run_path)


@contextmanager
def first_interrupt(end_after_step: Callable[[], bool]) -> Iterator[None]:
    """Within the context, let the first Ctrl-C call a function in place of raising KeyboardInterrupt.

    end_after_step: returns False where no step is under way; then the first Ctrl-C raises KeyboardInterrupt, too.
    """

    def on_interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if not end_after_step():
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # a shell's background job
        signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def terminable() -> Iterator[None]:
    """Within the context, let SIGTERM raise KeyboardInterrupt with its number."""

    def on_terminate(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    before = signal.signal(signal.SIGTERM, on_terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def ending_seconds(error: KeyboardInterrupt) -> int:
    """Return the longest time that sweeps may take to end after a signal: SIGTERM gives its number, Ctrl-C none."""
    return END_SECONDS if error.args else INTERRUPTED_SECONDS


def _stopped(sweep: LocustSweep, seconds: int) -> str:
    """End a sweep within so many seconds, and return what happened. A further Ctrl-C does not wait for the clean-up."""
    try:
        return "; ".join(["interrupted", *sweep.stop(seconds)])
    except KeyboardInterrupt:
        return "interrupted in the clean-up, which may be incomplete"


@contextmanager
def started(
    locustfile: Path,
    options: SweepOptions,
    show: Callable[[Event], None],
    module: str = MODULE,
    *,
    in_turn: bool = False,
) -> Iterator[LocustSweep]:
    """Start a sweep in a Locust process, and yield the sweep; leaving ends it.

    show: called with each event of the sweep. module: what Python runs, of the kind of sweep.
    in_turn: whether the sweep awaits a turn before each step.
    """
    environment = _environment(options) | {LOCUSTFILE_SHA256: _sha256(locustfile, options)}
    with _child(_command(module, locustfile, options), environment, in_turn=in_turn) as child:
        named = f"`application` {options.application}" if options.application else f"`workload` {locustfile}"
        yield LocustSweep(named, show, child)


def _command(module: str, locustfile: Path, options: SweepOptions) -> list[str]:
    """Return Locust's command line, without the options that the environment carries.

    The module imports what a sweep needs before Locust puts the current folder on the module path: a file there,
    such as secrets.py, must not replace a module of Python's in a process that knows the database's password.
    """
    command = [sys.executable, "-P", "-m", module, "-f", str(locustfile), "--headless", "--only-summary"]
    for name in options.chosen:
        option = OPTIONS[name]
        if option.in_locust and option.variable is None:
            command += [option.flag] if option.switch else [f"{option.flag}={text}" for text in options.texts(name)]
    if options.expect_workers:
        command.append("--master")
    elif options.processes:
        from poolsize.server.private_server import free_port

        port = free_port()  # two sweeps on one machine must not mix their processes
        command += ["--master-bind-host=127.0.0.1", f"--master-bind-port={port}", f"--master-port={port}"]
    return command


def _environment(options: SweepOptions) -> dict[str, str]:
    """Return the environment variables that carry options: others could read the URL's password on a command line."""
    variables = {name: OPTIONS[name].variable for name in options.chosen}
    return {variable: options.texts(name)[0] for name, variable in variables.items() if variable is not None}


def _sha256(locustfile: Path, options: SweepOptions) -> str:
    """Return the hash of the text that Locust may execute: of the run to resume, or of the file as it is now."""
    setting = load_setting(options.resume) if options.resume else None
    return setting.workload_sha256 if setting and setting.own_workload else workload_of(locustfile).sha256


@dataclass(frozen=True)
class _Child:
    """A Locust process.

    lines: the pipe on which it sends its events. turns: the pipe on which it is given turns. log: its output.
    oom_kills: of this machine when it started.
    """

    process: "subprocess.Popen[bytes]"
    lines: IO[bytes]
    turns: IO[bytes]
    log: IO[bytes]
    oom_kills: int

    @contextmanager
    def killed_if_late(self, seconds: float) -> Iterator[threading.Event]:
        """Kill the process and its workers where the context takes longer, and set the event then.

        It may be frozen, or in code of the workload's that hears no signal.
        """
        late = threading.Event()

        def kill() -> None:
            late.set()
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

        timer = threading.Timer(seconds, kill)
        timer.start()
        try:
            yield late
        finally:
            timer.cancel()


def _own_environment() -> dict[str, str]:
    """Return this process's environment without the URL of a second server, which no single sweep may know."""
    against = OPTIONS["against_url"].variable
    return {name: value for name, value in os.environ.items() if name != against}


@contextmanager
def _child(command: list[str], environment: dict[str, str], *, in_turn: bool) -> Iterator[_Child]:
    """Start Locust, and yield its process with the pipes to it.

    Locust gets a session of its own. So Ctrl-C reaches only this process, which lets Locust clean up. When this process
    is killed, the pipes break, and that ends Locust as well.
    """
    with terminable(), ExitStack() as own, tempfile.TemporaryFile() as log:
        reading, writing = own.enter_context(_pipe())
        turns_reading, turns_writing = own.enter_context(_pipe())
        passed = {DESCRIPTOR: writing.fileno()} | ({TURNS_DESCRIPTOR: turns_reading.fileno()} if in_turn else {})
        descriptors = {name: str(number) for name, number in passed.items()}
        kills = oom_kills()
        locust = subprocess.Popen(
            command, env=_own_environment() | environment | descriptors, pass_fds=list(passed.values()),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        writing.close()
        turns_reading.close()
        child = _Child(locust, reading, turns_writing, log, kills)
        try:
            yield child
        finally:
            if locust.poll() is None:
                locust.terminate()
                with child.killed_if_late(END_SECONDS):
                    locust.wait()


@contextmanager
def _pipe() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Yield the reading and the writing end of a pipe, and close what is still open of it."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as sink:
        yield source, sink


def _reason_of_end(log: IO[bytes]) -> str:
    """Return the reason why Locust ended, from its log."""
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines() or ["its log is empty"]
    if any("Socket bind failure" in line for line in lines):
        return "port 5557, on which the master waits for workers elsewhere, is in use: end the other sweep first"
    if "unrecognized arguments" in lines[-1] or "No User class" in lines[-1]:
        return "it defines no workload: subclass poolsize.locust.PoolUser"
    return located_in(lines) + lines[-1]
