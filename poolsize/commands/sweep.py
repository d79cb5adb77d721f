"""`poolsize sweep`: start the Locust sweep, show its progress, end with the recommendation."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import click

from poolsize.analysis.summary import analyze
from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.present.progress_bar import ProgressBar
from poolsize.present.text import recommendation_json, recommendation_text
from poolsize.progress import DESCRIPTOR, SweepFailed, SweepStarted, read_message
from poolsize.recommendation import recommend
from poolsize.run import Run
from poolsize.shipped import workloads
from poolsize.store import load_run

PASSED_ON = (
    "pool_sizes", "users", "think_time", "warm_up", "step_time", "repeats", "seed", "cores", "disks",
    "output", "resume", "mysqld",
)  # fmt: skip


@click.command()
@click.option("--url", envvar="POOLSIZE_URL", help="mysql://USER:PASSWORD@HOST:3306/  [default: a private server]")
@click.option("--workload", help="One of poolsize's, or your own locustfile.  [default: oltp_read_write]")
@click.option("--pool-sizes", help="Sizes to measure, e.g. 1,4,8,16.  [default: around the formula]")
@click.option("--users", type=int, help="Concurrent callers.  [default: twice the largest size]")
@click.option("--think-time", help="Mean pause of a caller between transactions, e.g. 50ms.  [default: none]")
@click.option("--warm-up", help="Beginning of each step that is not counted.  [default: 3s]")
@click.option("--step-time", help="Counted time of each step.  [default: 15s]")
@click.option("--repeats", type=int, help="How often each size is measured.  [default: 1]")
@click.option("--seed", type=int, help="Fixes the random order of the steps.  [default: 1]")
@click.option("--cores", type=int, help="Physical cores of the database's host.  [default: this machine's]")
@click.option("--disks", type=int, help="Disks that hold its data.  [default: 1]")
@click.option("--output", metavar="RUN", help="File for the run.  [default: a new one in data/runs]")
@click.option("--resume", metavar="RUN", help="Go on with a run that was cut off.")
@click.option("--mysqld", metavar="PATH", help="Program of the private server.  [default: found by itself]")
@click.option("--server-option", multiple=True, metavar="NAME=VALUE", help="Variable of the private server.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def sweep(url: str | None, workload: str | None, as_json: bool, **options: object) -> None:
    """Measure pool sizes on a real server and recommend one.

    Without --url it starts a private MariaDB or MySQL on this machine and removes it afterwards.
    """
    run_path = _run_locust(_command(_locustfile(workload, options["resume"]), options), url)
    run = load_run(run_path)
    answer = recommend(analyze(run))
    if as_json:
        click.echo(recommendation_json(answer, run=run_path, steps=len(run.steps), load_seconds=_seconds(run)))
    else:
        click.echo(recommendation_text(answer))
        click.echo(f"\nRun:     {run_path}\nPicture: poolsize analyze {run_path} --plot knee.png")


def _seconds(run: Run) -> int:
    return sum(len(step.throughput) for step in run.steps)


def _locustfile(workload: str | None, resume: object) -> Path:
    """The workload's locustfile: one of ours by name, or a path. A resumed run knows its own."""
    known = workloads()
    if workload is None:
        workload = load_run(str(resume), torn_end=True).plan.workload if resume else "oltp_read_write"
    if workload in known:
        return known[workload]
    if Path(workload).is_file():
        return Path(workload)
    raise BadInput(f"--workload {workload}: neither a locustfile nor one of {', '.join(known)}")


def _command(locustfile: Path, options: dict[str, object]) -> list[str]:
    command = [sys.executable, "-m", "locust", "-f", str(locustfile), "--headless", "--only-summary"]
    for name in PASSED_ON:
        if options[name] is not None:
            command += [f"--{name.replace('_', '-')}={options[name]}"]
    for text in options["server_option"]:  # type: ignore[attr-defined]  # click made it a tuple
        command += [f"--server-option={text}"]
    return command


def _run_locust(command: list[str], url: str | None) -> str:
    """Run the sweep in a Locust process of its own and return the run's path. Raises what it failed with."""
    run_path = ""
    failure: SweepFailed | None = None
    with ExitStack() as stack:
        log = stack.enter_context(tempfile.TemporaryFile())
        locust, messages = stack.enter_context(_child(command, url, log))
        bar = stack.enter_context(ProgressBar())
        try:
            for line in messages:
                message = read_message(line)
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
            raise WorkFailed(_interrupted(run_path)) from None
        if failure:
            raise _error(failure, run_path)
        if code:
            raise WorkFailed(f"the load process ended with exit code {code}: {_last_line(log)}")
    return run_path


@contextmanager
def _child(
    command: list[str], url: str | None, log: IO[bytes]
) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes]]]:
    """Start Locust with a pipe to tell its progress through; the URL goes by the environment, unseen by ps.

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


def _interrupted(run_path: str) -> str:
    if not run_path:
        return "interrupted before the first step"
    return f"interrupted; what was measured is kept: poolsize sweep --resume {run_path}"


def _error(failure: SweepFailed, run_path: str) -> PoolsizeError:
    if failure.exit_code == BadInput.exit_code:
        return BadInput(failure.message)
    kept = f"; what was measured is kept: poolsize sweep --resume {run_path}" if run_path else ""
    return WorkFailed(failure.message + kept)


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
