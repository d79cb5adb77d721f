"""A sweep in a Locust process of its own: starts the process, follows the sweep, and ends it; imports no Locust."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import IO

from poolsize.command_line.signals import handling, terminable
from poolsize.errors import BadInput, Interrupted, WorkFailed
from poolsize.runs.store import load_setting, resume_command
from poolsize.server.processes import killed_by, oom_kills
from poolsize.sweep.events import (
    LOCUSTFILE_SHA256,
    PROGRESS_DESCRIPTOR,
    TURNS_DESCRIPTOR,
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
from poolsize.sweep.source_line import located_in

END_SECONDS, INTERRUPTED_SECONDS = 8, 4
"""The longest time that a sweep may take to end after SIGTERM, and after a second Ctrl-C; then it is killed."""
LOCUST_MODULE = "poolsize.locust"
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
    """A sweep in a Locust process. run_path: of the run's file; empty until the sweep has started.

    resumed_by: the run that a user names to resume the sweep; None for the sweep's own.
    """

    def __init__(
        self,
        locustfile: Path,
        options: SweepOptions,
        show: Callable[[Event], None],
        module: str = LOCUST_MODULE,
        *,
        in_turn: bool = False,
    ) -> None:
        """Start the process.

        show: called with each event of the sweep. module: what Python runs, of the kind of sweep.
        in_turn: whether the sweep awaits a turn before each step.

        Locust gets a session of its own. So Ctrl-C reaches only this process, which lets Locust clean up. When this
        process is killed, the pipes break, and that ends Locust as well.
        """
        self.run_path = ""
        self.resumed_by: str | None = None
        self._has_begun = self._has_step = self._is_ending = False
        self._named = f"`application` {options.application}" if options.application else f"`workload` {locustfile}"
        self._show, self._extending = show, options.extending
        self._oom_kills = oom_kills()
        environment = _environment(locustfile, options)
        (reading, events), (turns, writing) = os.pipe(), os.pipe()
        self._lines, self._turns = os.fdopen(reading, "rb"), os.fdopen(writing, "wb", buffering=0)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        passed = {PROGRESS_DESCRIPTOR: events} | ({TURNS_DESCRIPTOR: turns} if in_turn else {})
        environment |= {name: str(descriptor) for name, descriptor in passed.items()}
        self._process = subprocess.Popen(
            _command(module, locustfile, options), env=environment,
            pass_fds=list(passed.values()), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            start_new_session=True,
        )  # fmt: skip
        os.close(events)
        os.close(turns)

    def follow(self) -> TurnAwaited | None:
        """Show the sweep's events until the sweep awaits a turn, or until its end, for which the result is None.

        Raises BadInput for options or a locustfile that the sweep refuses, and WorkFailed when the sweep fails.
        """
        failures: list[SweepFailed] = []
        for line in self._lines:
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
        self._raise_failure(failures, self._process.wait())
        return None

    def give_turn(self) -> None:
        """Let the sweep go on that awaits a turn. If it has ended instead, `follow` tells why."""
        with suppress(BrokenPipeError):
            self._turns.write(b"\n")

    def end_after_step(self) -> bool:
        """Let the sweep end when the step under way is stored, and return whether there is one."""
        if self._has_begun:
            self._process.send_signal(signal.SIGUSR1)
            self._show(EndAsked())
        return self._has_begun

    def end_early(self) -> None:
        """Ask the sweep, once, to end at once."""
        if not self._is_ending:
            self._process.terminate()
        self._is_ending = True

    def stop(self, seconds: float) -> tuple[str, ...]:
        """End the sweep early, wait until it has cleaned up, and return what failed in that.

        seconds: the longest time to wait; then the sweep's processes are killed.
        """
        self.end_early()
        with self._killed_if_late(seconds) as late:
            events = [read_event(line) for line in self._lines if line.endswith(b"\n")]  # a kill may cut a line
            self._process.wait()
        failed = tuple(event.message for event in events if isinstance(event, SweepFailed))
        unfinished = f"the clean-up takes more than {seconds:.0f} s: it is incomplete, or still under way"
        return (*failed, unfinished) if late.is_set() else failed

    def with_hint(self, message: str) -> str:
        """Return the message, followed by the command that resumes the run, or by the fact that no run exists yet."""
        run = self.resumed_by or self.run_path
        if not run:
            return f"{message} before the first step"
        kept = "the measured steps are kept" if self._has_step else "no step was complete. To go on"
        return f"{message}; {kept}: {resume_command(run, self._extending)}"

    def close(self) -> None:
        """End the process if it is still there."""
        if self._process.poll() is None:
            self._process.terminate()
            with self._killed_if_late(END_SECONDS):
                self._process.wait()
        for file in (self._lines, self._turns, self._log):
            file.close()

    @contextmanager
    def _killed_if_late(self, seconds: float) -> Iterator[threading.Event]:
        """Kill the process and its workers where the context takes longer, and set the event then.

        It may be frozen, or in code of the workload's that hears no signal.
        """
        late = threading.Event()

        def kill() -> None:
            late.set()
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

        timer = threading.Timer(seconds, kill)
        timer.start()
        try:
            yield late
        finally:
            timer.cancel()

    def _raise_failure(self, failures: list[SweepFailed], code: int) -> None:
        """Raise the error of a sweep that failed, with all reasons: a failed clean-up hides no cause.

        Bad input is the cause, also where it was reported after the clean-up that failed because of it.
        """
        failures = sorted(failures, key=lambda failure: failure.exit_code != BadInput.exit_code)
        reasons = "; ".join(failure.message for failure in failures)
        exit_code = failures[0].exit_code if failures else None
        if exit_code == BadInput.exit_code:
            raise BadInput(reasons)
        if exit_code == Interrupted.exit_code:
            raise Interrupted(self.with_hint(reasons) if self._has_step else reasons)
        if failures:
            raise WorkFailed(self.with_hint(reasons))
        if cause := killed_by(code, self._oom_kills):
            raise WorkFailed(self.with_hint(f"Locust was {cause}"))
        if code:
            reason = _reason_of_end(self._log)
            if not self.run_path:
                raise BadInput(f"{self._named}: {reason}")
            raise WorkFailed(self.with_hint(f"Locust ended with exit code {code}: {reason}"))


def run_locust(
    locustfile: Path, options: SweepOptions, show: Callable[[Event], None], module: str = LOCUST_MODULE
) -> Path:
    """Run the sweep in a Locust process, and return the path of the run's file.

    show, module: as in LocustSweep.
    Raises BadInput for options or a locustfile that the sweep refuses, WorkFailed when the sweep fails, and Interrupted
    when a signal ends it: Ctrl-C after the step under way, a second Ctrl-C at once.
    """
    with (
        terminable(),
        closing(LocustSweep(locustfile, options, show, module)) as sweep,
        first_interrupt(sweep.end_after_step),
    ):
        try:
            sweep.follow()
        except KeyboardInterrupt as error:
            raise Interrupted(sweep.with_hint(end_all([sweep], error)), *error.args) from None
    return Path(sweep.run_path)


def end_all(sweeps: Sequence[LocustSweep], error: BaseException) -> str:
    """End sweeps at the same time because of an error, and return what happened, "interrupted" first.

    error: SIGTERM, a KeyboardInterrupt with its number, leaves them more time than Ctrl-C, which has none. A further
    Ctrl-C does not wait for the clean-up.
    """
    by_ctrl_c = isinstance(error, KeyboardInterrupt) and not error.args
    deadline = monotonic() + (INTERRUPTED_SECONDS if by_ctrl_c else END_SECONDS)
    try:
        for sweep in sweeps:
            sweep.end_early()
        failed = [reason for sweep in sweeps for reason in sweep.stop(max(0.0, deadline - monotonic()))]
    except KeyboardInterrupt:
        return "interrupted in the clean-up, which may be incomplete"
    return "; ".join(["interrupted", *failed])


@contextmanager
def first_interrupt(end_after_step: Callable[[], bool]) -> Iterator[None]:
    """Let the first Ctrl-C call a function in place of raising KeyboardInterrupt.

    end_after_step: returns False where no step is under way; then the first Ctrl-C raises KeyboardInterrupt, too.
    """

    def on_interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if not end_after_step():
            raise KeyboardInterrupt

    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # a shell's background job
    with handling(signal.SIGINT, signal.SIG_IGN if is_ignored else on_interrupt):
        yield


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


def _environment(locustfile: Path, options: SweepOptions) -> dict[str, str]:
    """Return Locust's environment. It carries options, too: others could read a password on a command line.

    It has no second server's URL. The hash is of the text that Locust may execute: the resumed run's, or the file's
    now.
    """
    environment = {name: value for name, value in os.environ.items() if name != OPTIONS["against_url"].variable}
    variables = {name: OPTIONS[name].variable for name in options.chosen}
    environment |= {variable: options.texts(name)[0] for name, variable in variables.items() if variable is not None}
    setting = load_setting(options.resume) if options.resume else None
    resumed = setting.workload_sha256 if setting and setting.own_workload else None
    return environment | {LOCUSTFILE_SHA256: resumed or workload_of(locustfile).sha256}


def _reason_of_end(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines() or ["its log is empty"]
    if any("Socket bind failure" in line for line in lines):
        return "port 5557, on which the master waits for workers elsewhere, is in use: end the other sweep first"
    if "unrecognized arguments" in lines[-1] or "No User class" in lines[-1]:
        return "it defines no workload: subclass poolsize.locust.PoolUser"
    return located_in(lines) + lines[-1]
