"""`poolsize sweep`: start the Locust sweep, show its progress, end with the recommendation."""

import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import click

from poolsize.analysis.analysis import analyze
from poolsize.answer.recommendation import recommend
from poolsize.commands.wishes import limits_of, wish_options
from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.locust.progress_pipe import DESCRIPTOR
from poolsize.present.json.recommendation import recommendation_json
from poolsize.present.text.recommendation import recommendation_text
from poolsize.runs.run import Setting
from poolsize.runs.store import load_run
from poolsize.shipped import workloads
from poolsize.sweep.events import SweepFailed, SweepStarted, read_event
from poolsize.sweep.options import EXPECT_WORKERS, OPTIONS, PROCESSES, USERS, Option
from poolsize.sweep.request import SweepRequest, wished


def _option(option: Option) -> Callable[[Any], Any]:
    return click.option(
        option.flag,
        type=option.kind,
        multiple=option.repeatable,
        envvar=option.variable,
        help=f"{option.text}  [default: {option.default}]",
    )


def _sweep_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed((OPTIONS[0], USERS, PROCESSES, EXPECT_WORKERS, *OPTIONS[1:])):
        command = _option(option)(command)
    return command


@click.command()
@click.option("--workload", help="One of poolsize's, or your own locustfile.  [default: oltp_read_write]")
@click.option(
    "--replay",
    metavar="CURVE",
    help="Measure this recorded curve (a CSV file, or a published curve's name) in place of a server.",
)
@_sweep_options
@wish_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def sweep(
    workload: str | None,
    replay: str | None,
    url: str | None,
    current: int | None,
    max_p95: str | None,
    max_p99: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure pool sizes on a real server and recommend one.

    Without --url it starts a private MariaDB or MySQL on this machine and removes it afterwards. Without --pool-sizes
    it searches for the size, and stops when it knows.
    """
    limits = limits_of(max_p95, max_p99)
    resumed = load_run(options["resume"], torn_end=True).setting if options["resume"] else None
    replay = replay or (resumed.recording if resumed else None)
    if replay:
        _refuse_url()
        run_path = _replay(Path(replay), workload, options)
    else:
        locustfile = _locustfile(workload, resumed)
        _settle_processes(options, url, locustfile)
        if resumed is None:
            wished(SweepRequest(locustfile=locustfile, url=url, **options))  # refuses bad input at once
        run_path = _run_locust(_command(locustfile, options), url, locustfile)
    run = load_run(run_path)
    answer = recommend(analyze(run), limits, current)
    if as_json:
        click.echo(recommendation_json(answer, run=run_path, steps=len(run.steps), load_seconds=run.load_seconds))
    else:
        click.echo(recommendation_text(answer))
        click.echo(f"\nStored in {run_path}; draw it with: poolsize analyze {run_path} --plot knee.png")


def _refuse_url() -> None:
    """One in the environment is for other sweeps, but one that was typed is a mistake."""
    typed = click.get_current_context().get_parameter_source("url") == click.core.ParameterSource.COMMANDLINE
    if typed:
        raise BadInput("--url names a server, and --replay a recording in place of one: leave one out")


def _replay(recording: Path, workload: str | None, options: dict[str, Any]) -> str:
    """Sweep a recorded curve, within a second; returns the run's path."""
    from poolsize.sweep.replay import replay

    if workload:
        raise BadInput(f"--workload {workload}: a recording has its own; leave it out with --replay")
    return str(replay(SweepRequest(locustfile=recording, **options)))


def _settle_processes(options: dict[str, object], url: str | None, locustfile: Path) -> None:
    """Refuse what can't be, and say how processes elsewhere are started. Raises BadInput."""
    for option in (PROCESSES, EXPECT_WORKERS):
        number: Any = options[option.name]
        if number is not None and number < 1:
            raise BadInput(f"{option.flag} {number}: give at least 1")
    if workers := options[EXPECT_WORKERS.name]:
        if options[PROCESSES.name]:
            raise BadInput(
                "--expect-workers waits for processes elsewhere, --processes starts them here: leave one out"
            )
        if not url:
            raise BadInput(
                "--expect-workers needs --url or POOLSIZE_URL: a private server can't be reached from elsewhere"
            )
        click.echo(
            f"poolsize: waiting for {workers} of these, each started with the database's URL in POOLSIZE_URL and this "
            f"locustfile, wherever it is on that machine:\n"
            f"  locust -f {os.path.relpath(locustfile)} --worker --master-host {platform.node()}",
            err=True,
        )


def _locustfile(workload: str | None, resumed: Setting | None) -> Path:
    """The workload's locustfile: one of ours by name, or a path. A resumed run knows its own."""
    known = workloads()
    if workload is None and resumed:
        workload = resumed.own_workload or resumed.plan.workload
    workload = workload or "oltp_read_write"
    if workload in known:
        return known[workload]
    if Path(workload).is_file():
        return Path(workload)
    raise BadInput(f"--workload {workload}: neither a locustfile nor one of {', '.join(known)}")


def _command(locustfile: Path, options: dict[str, object]) -> list[str]:
    """Locust's command line. The URL is not on it: others could read a password there."""
    command = [sys.executable, "-m", "locust", "-f", str(locustfile), "--headless", "--only-summary"]
    for option in (USERS, PROCESSES, EXPECT_WORKERS, *OPTIONS[1:]):
        value: Any = options[option.name]
        values = value if option.repeatable else [] if value is None else [value]
        command += [f"{option.flag}={one}" for one in values]
    if options[EXPECT_WORKERS.name]:
        command.append("--master")
    elif options[PROCESSES.name]:
        from poolsize.target.private_server import free_port

        port = free_port()  # two sweeps on one machine must not mix their processes, nor strangers join them
        command += ["--master-bind-host=127.0.0.1", f"--master-bind-port={port}", f"--master-port={port}"]
    return command


def _run_locust(command: list[str], url: str | None, locustfile: Path) -> str:
    """Run the sweep in a Locust process of its own and return the run's path. Raises what it failed with."""
    from poolsize.present.text.progress_bar import ProgressBar

    run_path = ""
    failure: SweepFailed | None = None
    with ExitStack() as stack:
        log = stack.enter_context(tempfile.TemporaryFile())
        locust, messages = stack.enter_context(_child(command, url, log))
        bar = stack.enter_context(ProgressBar())
        try:
            for line in messages:
                message = read_event(line)
                match message:
                    case SweepStarted(run=path):
                        run_path = path
                    case SweepFailed():
                        failure = message
                bar.show(message)
            code = locust.wait()
        except KeyboardInterrupt:
            locust.terminate()
            locust.wait()
            raise WorkFailed(_kept("interrupted", run_path)) from None
        if failure:
            raise _error(failure, run_path)
        if code and not run_path:
            raise BadInput(f"--workload {locustfile}: {_complaint(log)}")
        if code:
            raise WorkFailed(_kept(f"the load process ended with exit code {code}: {_complaint(log)}", run_path))
    return run_path


@contextmanager
def _child(
    command: list[str], url: str | None, log: IO[bytes]
) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes]]]:
    """Start Locust with a pipe to tell its progress through.

    It gets a session of its own, so that Ctrl-C reaches only this process, which ends it in good order. A kill
    of this process breaks the pipe, which ends it as well.
    """
    reading, writing = os.pipe()
    environment = os.environ | {DESCRIPTOR: str(writing)} | ({"POOLSIZE_URL": url} if url else {})
    locust = subprocess.Popen(
        command, env=environment, pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        start_new_session=True,
    )  # fmt: skip
    os.close(writing)
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        with os.fdopen(reading, "rb") as messages:
            yield locust, messages
    finally:
        if locust.poll() is None:
            locust.terminate()
        locust.wait()


def _as_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _error(failure: SweepFailed, run_path: str) -> PoolsizeError:
    if failure.exit_code == BadInput.exit_code:
        return BadInput(failure.message)
    return WorkFailed(_kept(failure.message, run_path))


def _kept(message: str, run_path: str) -> str:
    """What went wrong, and how to go on with what was measured before it did."""
    if not run_path:
        return f"{message} before the first step"
    return f"{message}; what was measured is kept: poolsize sweep --resume {run_path}"


def _complaint(log: IO[bytes]) -> str:
    """Why Locust ended, from its last words."""
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
    if any("Socket bind failure" in line for line in lines):
        return "the port 5557, at which load processes elsewhere find this one, is taken: end the other sweep first"
    if "unrecognized arguments" in lines[-1] or "No User class" in lines[-1]:
        return "it defines no workload: subclass poolsize.locust.PoolUser"
    return lines[-1]
