"""Starts Locust in a process of its own, follows the sweep that it runs, and ends it; imports no Locust itself."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from poolsize.errors import BadInput, Interrupted, PoolsizeError, WorkFailed
from poolsize.load.source_line import located_in
from poolsize.locust.progress_pipe import DESCRIPTOR
from poolsize.sweep.events import Event, SweepFailed, SweepStarted, read_event
from poolsize.sweep.options import OPTIONS, SweepOptions

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
    if options.expect_workers and not options.url:
        raise BadInput("`expect_workers` needs `url` or POOLSIZE_URL: workers elsewhere can't reach a private server")


def run_locust(locustfile: Path, options: SweepOptions, show: Callable[[Event], None]) -> Path:
    """Run the sweep in a Locust process, and return the path of the run's file.

    show: called with each event of the sweep. Raises BadInput for options or a locustfile that the sweep refuses,
    WorkFailed when the sweep fails, and Interrupted when a signal ends it.
    """
    run_path = ""
    failure: SweepFailed | None = None
    with tempfile.TemporaryFile() as log, _child(_command(locustfile, options), _environment(options), log) as child:
        locust, lines = child
        try:
            for line in lines:
                event = read_event(line)
                match event:
                    case SweepStarted(run=path):
                        run_path = path
                    case SweepFailed():
                        failure = event
                show(event)
            code = locust.wait()
        except KeyboardInterrupt as error:
            locust.terminate()
            locust.wait()
            raise Interrupted(_with_hint("interrupted", run_path), *error.args) from None
        if failure:
            raise _error(failure, run_path)
        if code and not run_path:
            raise BadInput(f"`workload` {locustfile}: {_reason_of_end(log)}")
        if code:
            raise WorkFailed(_with_hint(f"Locust ended with exit code {code}: {_reason_of_end(log)}", run_path))
    return Path(run_path)


def _command(locustfile: Path, options: SweepOptions) -> list[str]:
    """Return Locust's command line, without the options that the environment carries."""
    command = [sys.executable, "-m", "locust", "-f", str(locustfile), "--headless", "--only-summary"]
    for name in options.chosen:
        option = OPTIONS[name]
        if option.in_locust and option.variable is None:
            command += [f"{option.flag}={text}" for text in options.texts(name)]
    if options.expect_workers:
        command.append("--master")
    elif options.processes:
        from poolsize.target.private_server import free_port

        port = free_port()  # two sweeps on one machine must not mix their processes, nor strangers join them
        command += ["--master-bind-host=127.0.0.1", f"--master-bind-port={port}", f"--master-port={port}"]
    return command


def _environment(options: SweepOptions) -> dict[str, str]:
    """Return the environment variables that carry options: others could read the URL's password on a command line."""
    variables = {name: OPTIONS[name].variable for name in options.chosen}
    return {variable: options.texts(name)[0] for name, variable in variables.items() if variable is not None}


@contextmanager
def _child(
    command: list[str], environment: dict[str, str], log: IO[bytes]
) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes]]]:
    """Start Locust, and yield its process and the pipe on which it sends its events.

    Locust gets a session of its own. So Ctrl-C reaches only this process, which lets Locust clean up. When this process
    is killed, the pipe breaks, and that ends Locust as well.
    """
    reading, writing = os.pipe()
    locust = subprocess.Popen(
        command, env=os.environ | environment | {DESCRIPTOR: str(writing)}, pass_fds=[writing],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    os.close(writing)
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        with os.fdopen(reading, "rb") as lines:
            yield locust, lines
    finally:
        if locust.poll() is None:
            locust.terminate()
        locust.wait()


def _as_interrupt(number: int, _: object) -> None:
    raise KeyboardInterrupt(number)


def _error(failure: SweepFailed, run_path: str) -> PoolsizeError:
    """Return the error that the sweep ended with."""
    if failure.exit_code == BadInput.exit_code:
        return BadInput(failure.message)
    return WorkFailed(_with_hint(failure.message, run_path))


def _with_hint(message: str, run_path: str) -> str:
    """Return the message, followed by the command that resumes the run, or by the fact that no run exists yet."""
    if not run_path:
        return f"{message} before the first step"
    return f"{message}; the measured steps are kept: poolsize sweep --resume {run_path}"


def _reason_of_end(log: IO[bytes]) -> str:
    """Return the reason why Locust ended, from its log."""
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines() or ["its log is empty"]
    if any("Socket bind failure" in line for line in lines):
        return "port 5557, on which the master waits for workers elsewhere, is in use: end the other sweep first"
    if "unrecognized arguments" in lines[-1] or "No User class" in lines[-1]:
        return "it defines no workload: subclass poolsize.locust.PoolUser"
    return located_in(lines) + lines[-1]
