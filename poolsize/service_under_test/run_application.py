"""What `poolsize application` does: the file of an application, written as a template or tried part by part."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poolsize.command_line.signals import terminable
from poolsize.errors import BadInput, Interrupted, PoolsizeError
from poolsize.service_under_test import APPLICATION_MODULE
from poolsize.terminal import pasteable
from poolsize.units import count

if TYPE_CHECKING:
    from poolsize.service_under_test.description import DescribedService

INTERRUPTED_SECONDS = 3.0
"""The longest wait for the end of the application after a signal; its guard goes on by itself."""
LISTING_SECONDS = 60
"""The longest time that Locust may take to load the Locust file."""


def run_application(action: str, file: Path, pool_size: int) -> None:
    """Write the template, or try the file. The parameters are the command's. Raises BadInput and WorkFailed."""
    if action == "init":
        _write(file)
        return
    try:
        with terminable():
            _check(file, pool_size)
    except KeyboardInterrupt as error:
        raise Interrupted("interrupted", *error.args) from None


def _write(file: Path) -> None:
    """Write the template. Raises BadInput for a file that exists, or can't be written."""
    text = resources.files(APPLICATION_MODULE).joinpath("application.toml").read_text("utf-8")
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise BadInput(f"{file} already exists: name another file") from None
    except OSError as error:
        raise BadInput(f"{file} can't be written: {error.strerror}") from None
    click.echo(
        f"poolsize: wrote {file}. Change its values, and try it: {pasteable('poolsize', 'application', 'check', file)}",
        err=True,
    )


def _check(file: Path, pool_size: int) -> None:
    """Try each part of the file once, and print what it shows. Raises BadInput or WorkFailed at the first failure."""
    from poolsize.service_under_test.description import read_description
    from poolsize.service_under_test.service import RunningService

    described = read_description(file)
    _ = described.database_url  # a variable that is missing shows before anything starts
    click.echo(f"locustfile  {', '.join(_user_classes(described.locustfile))}")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / f"{file.name}.log"
        service = RunningService(described, log)
        seconds_to_close = None
        try:
            seconds = service.set_pool_size(pool_size)
            how = "started" if described.file.start else "resized"
            ready = " and ready" if described.file.ready else ""
            click.echo(f"application {how} with pool size {pool_size}{ready} after {seconds:.1f} s")
            for line in _evidence(service.counters(), described):
                click.echo(line)
            for note in service.notes:
                click.echo(f"poolsize: {note}", err=True)
        except PoolsizeError as error:
            raise type(error)(_naming_kept(str(error), log, file)) from None
        except KeyboardInterrupt:
            seconds_to_close = INTERRUPTED_SECONDS
            raise
        finally:
            service.close(seconds_to_close)
    click.echo(f"application {'ended' if described.file.start else 'restored' if described.file.restore else 'left'}")
    click.echo(f"To measure it: {pasteable('poolsize', 'sweep', '--application', file)}")


def _naming_kept(message: str, log: Path, file: Path) -> str:
    """Keep the application's output beside its file, if the message names it, and return the message with its place.

    Where it can't be kept there, the message stays without it.
    """
    if str(log) not in message:
        return message
    kept = file.with_name(log.name)
    try:
        shutil.copy(log, kept)
    except OSError:
        return message.replace(f" (all of its output: {log})", "")
    return message.replace(str(log), str(kept))


def _user_classes(locustfile: Path) -> list[str]:
    """Return the names of the user classes that Locust finds. Raises BadInput for a file that Locust can't load."""
    command = [sys.executable, "-P", "-m", APPLICATION_MODULE, "-f", str(locustfile), "--list"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LISTING_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise BadInput(f"locustfile {locustfile}: Locust did not load it within {LISTING_SECONDS} s") from None
    names = [line.strip() for line in done.stdout.splitlines() if line.startswith("    ")]
    if done.returncode or not names:
        reason = (done.stderr.strip().splitlines() or ["it has no user class"])[-1]
        raise BadInput(f"locustfile {locustfile}: {reason}")
    return names


def _evidence(counters: dict[str, float], described: "DescribedService") -> Iterator[str]:
    """Yield a line for the metrics and for the database. Raises BadInput where the database can't be read."""
    if "pool_count" in counters:
        most = f", at most {counters['pool_max']:g} connections" if "pool_max" in counters else ""
        yield f"metrics     {count(round(counters['pool_count']), 'pool')}{most}"
    if described.database_url is None:
        if "pool_count" not in counters:
            yield "no metrics and no database: nothing will show that the pool has the measured size"
        return
    from poolsize.facts.server import connection_ids, read_server
    from poolsize.server.connection import FACTS_SECONDS, asking, database_url, naming_url

    with naming_url(described.in_error):
        url = database_url(described.database_url)
        account = described.file.account or url.username or ""
        with asking(url, FACTS_SECONDS) as (connection, cursor):
            server = read_server(cursor)
            own = len(connection_ids(cursor, account) - {connection.thread_id()})
    yield f"database    {server.title}, {count(own, 'connection')} of {account}"
