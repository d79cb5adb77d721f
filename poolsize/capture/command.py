"""`poolsize capture`: a workload for a sweep, out of the statements that a server in production ran."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.grouped_command import OUTPUT, GroupedCommand
from poolsize.command_line.options import FILE, Encryption, encryption_options, is_typed, json_option, read_by
from poolsize.command_line.signals import handling, terminable
from poolsize.errors import FOUND_WRONG, BadInput, Interrupted, WorkFailed
from poolsize.sweep.readers import schema_name
from poolsize.sweep.readers import seconds as read_seconds
from poolsize.units import minutes

if TYPE_CHECKING:  # pathlib and pydantic stay out of --help
    from pathlib import Path

    from poolsize.capture.captured import LogKind
    from poolsize.capture.workload import CapturedWorkload

    Paths = tuple[Path, ...]

GROUPS = {
    "What to read (a log, the server, or both)": ("slow_log", "general_log", "url", "for_seconds"),
    "Of --url": ("ssl_mode", "ssl_ca"),
    "The workload": ("output", "writes", "keep_values", "against"),
    "Check a workload on a copy of the data": ("check", "schema"),
}
"""Heading -> the parameters of its options."""
FOR_SECONDS, LEAST_FOR, MOST_FOR = 300.0, 10.0, 86_400.0
DEFAULT_OUTPUT = "workload.py"


@click.command(
    cls=GroupedCommand,
    groups=GROUPS,
    others=OUTPUT,
    examples={
        "From a slow log": "poolsize capture --slow-log slow.log --output workload.py",
        "From the server": "poolsize capture --url mysql://USER@HOST/ --for 5m",
        "Try each statement": "poolsize capture --check workload.py --schema copy",
    },
)
@click.argument("more", nargs=-1, type=FILE)
@click.option(
    "--slow-log",
    metavar="FILE...",
    multiple=True,
    type=FILE,
    help="Slow query logs, plain or gzipped, of a time in which long_query_time was 0. They show the whole workload.",
)
@click.option(
    "--general-log",
    metavar="FILE...",
    multiple=True,
    type=FILE,
    help="General query logs, plain or gzipped. They do not show how long statements take.",
)
@click.option(
    "--url",
    metavar="URL",
    envvar="POOLSIZE_URL",
    help="Database server: its statement history is read, about once a second, and nothing is changed. With a log, its "
    "counters weigh the log's transactions. With --check, the server of the copy. POOLSIZE_URL sets it too.",
)
@click.option(
    "--for",
    "for_seconds",
    metavar="DURATION",
    callback=read_by(read_seconds),
    help="How long to read --url.  [default: 5m]",
)
@encryption_options
@click.option(
    "--output",
    metavar="FILE",
    type=FILE,
    help="Write the locustfile here, and its description beside it, as .json.  [default: workload.py]",
)
@click.option("--writes", is_flag=True, help="Also include the transactions that change data.")
@click.option(
    "--keep-values",
    is_flag=True,
    help="Keep frequent values and constants as they are. Without it, the files have no value of the source but "
    "frequent numbers of at most 3 digits, and LIMITs.",
)
@click.option(
    "--against",
    metavar="FILE",
    type=FILE,
    help="Say what changed since an earlier capture, whose description (.json) this is.",
)
@click.option(
    "--check",
    metavar="FILE",
    type=FILE,
    help="Run each statement of this locustfile once, in a transaction that is rolled back. The exit code is 3 if a "
    "statement fails. A transaction can't roll back all statements: others are explained only.",
)
@click.option("--schema", metavar="NAME", callback=read_by(schema_name), help="The schema with the copy, for --check.")
@json_option
def capture(
    more: "Paths", slow_log: "Paths", general_log: "Paths", encryption: Encryption, as_json: bool, **options: Any
) -> None:
    """Write a locustfile with the transactions that a server ran, for `poolsize sweep --workload`.

    The source is a slow query log, a general query log, or the server's statement history. The file has a task for each
    kind of transaction, as often as in the source, and draws values as they were distributed there.
    """
    logs = (*slow_log, *general_log, *more)
    if more == logs and more:
        raise BadInput(f"{more[0]}: name it by --slow-log or --general-log")
    if slow_log and general_log:
        raise BadInput("--slow-log and --general-log name different logs: capture one of them")
    (_require_source if options["check"] is None else _require_copy)(logs, options)
    url = encryption.of(options["url"])
    try:
        with terminable():
            if options["check"] is not None:
                _check(options["check"], options["schema"], url or "", as_json=as_json)
            else:
                kind: LogKind = "general log" if general_log else "slow log"
                of_environment = logs and not is_typed("url")
                _capture(logs, kind, None if of_environment else url, as_json=as_json, options=options)
    except KeyboardInterrupt as error:
        raise Interrupted("interrupted", *error.args) from None


def _require_copy(logs: "Paths", options: dict[str, Any]) -> None:
    """Raise BadInput for options with which --check has no copy."""
    from poolsize.files import why_missing  # pathlib stays out of --help

    if logs:
        raise BadInput("--check tries a workload that is captured already: leave the logs out")
    for name in ("for_seconds", *GROUPS["The workload"]):
        if is_typed(name):
            raise BadInput(f"`{name}` is for a capture: leave it out of --check, which tries a captured workload")
    if options["schema"] is None:
        raise BadInput("--check needs --schema, the schema with the copy of the data")
    if not options["url"]:
        raise BadInput("--check needs --url or POOLSIZE_URL, the server of the copy")
    if reason := why_missing(options["check"]):
        raise BadInput(f"--check {options['check']}: {reason}")


def _require_source(logs: "Paths", options: dict[str, Any]) -> None:
    """Raise BadInput for options of which no source can be read."""
    from poolsize.files import why_missing

    if options["schema"] is not None:
        raise BadInput("--schema is for --check, which tries a workload on a copy of the data")
    if not logs and not options["url"]:
        raise BadInput("give a source: --slow-log FILE, --general-log FILE, or --url URL")
    seconds = options["for_seconds"]
    if seconds is not None and not (is_typed("url") if logs else options["url"]):
        raise BadInput("--for is for --url, the server whose statement history is read")
    if seconds is not None and not LEAST_FOR <= seconds <= MOST_FOR:
        raise BadInput(f"--for {seconds:g}s: give {LEAST_FOR:g}s to {MOST_FOR / 3_600:g}h")
    for path in logs:
        if reason := why_missing(path):
            raise BadInput(f"{path} can't be read: {reason}")


def _check(locustfile: "Path", schema: str, url: str, *, as_json: bool) -> None:
    """Print what each statement of a locustfile does on the copy. The exit code is 3 if a statement fails."""
    from poolsize.capture.rehearsed import rehearsed
    from poolsize.capture.text import checked_text, checked_values
    from poolsize.present.text.json_text import json_text

    result = rehearsed(locustfile, schema, url)
    click.echo(json_text(checked_values(result)) if as_json else checked_text(result, locustfile, schema))
    if any(tried.failure for tried in result):
        sys.exit(FOUND_WRONG)


def _capture(logs: "Paths", kind: "LogKind", url: str | None, *, as_json: bool, options: dict[str, Any]) -> None:
    """Read the source, and write the locustfile and its description."""
    from poolsize.capture.changes import changes
    from poolsize.capture.locustfile import locustfile
    from poolsize.capture.text import captured_text, captured_values
    from poolsize.capture.workload import load_workload, workload_json
    from poolsize.present.text.json_text import json_text

    output, description = _new_files(options["output"])
    earlier = None if options["against"] is None else load_workload(options["against"])
    workload, is_whole, shown = _read(logs, kind, url, options)
    written = locustfile(workload, output.name, writes=options["writes"], keeps_values=options["keep_values"])
    _write(description, workload_json(workload))
    _write(output, written.text.encode())
    for caution in (*workload.notes, *written.cautions):
        if caution not in shown:
            _note(caution)
    changed = None if earlier is None else changes(earlier, workload)
    if as_json:
        click.echo(json_text(captured_values(workload, written, output, description, changed)))
    else:
        click.echo(captured_text(workload, written, output, changed))
    if not is_whole:
        raise WorkFailed("the server went away; the workload is of the time before")


def _read(
    logs: "Paths", kind: "LogKind", url: str | None, options: dict[str, Any]
) -> tuple["CapturedWorkload", bool, list[str]]:
    """Return the workload of the source, whether the server was there until the end, and the notes that were shown."""
    from poolsize.capture.captured import with_counters, workload_of_logs, workload_of_server
    from poolsize.capture.statement_history import StatementHistory
    from poolsize.server.connection import database_url

    keeps_values, workload = options["keep_values"], None
    if logs:
        with _bar(sum(path.stat().st_size for path in logs)) as progress:
            workload = workload_of_logs(logs, kind, keeps_values=keeps_values, progress=progress)
        if url is None:
            return workload, True, []
    seconds = options["for_seconds"] or FOR_SECONDS
    history = StatementHistory(database_url(url or ""), needs_history=not logs)
    with closing(history), _ending(history.end):
        for line in (shown := list(history.notes)):
            _note(line)
        _note(f"reads the server once a second for {minutes(seconds)}, and changes nothing; Ctrl-C ends it sooner")
        with _bar(seconds) as progress:
            if workload is None:
                workload = workload_of_server(history, seconds, keeps_values=keeps_values, progress=progress)
            else:
                workload = with_counters(workload, history, seconds, progress)
        return workload, history.is_complete, shown


@contextmanager
def _bar(total: float) -> Iterator[Callable[[float], None]]:
    """Yield a function that shows how many bytes or seconds of all have passed, as a bar on a terminal."""
    is_hidden = not sys.stderr.isatty()
    with click.progressbar(length=int(total), label="poolsize: reads", file=sys.stderr, hidden=is_hidden) as bar:
        yield lambda passed: bar.update(int(passed) - bar.pos)


@contextmanager
def _ending(end: Callable[[], None]) -> Iterator[None]:
    """Within the context, let the first Ctrl-C end the reading, and keep the statements that were read."""

    def on_interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        end()

    with handling(signal.SIGINT, on_interrupt):
        yield


def _new_files(output: "Path | None") -> "tuple[Path, Path]":
    """Return the paths of the locustfile and of its description. Raises BadInput where they can't be made."""
    from pathlib import Path

    output = output or Path(DEFAULT_OUTPUT)
    if output.suffix != ".py":
        raise BadInput(f"--output {output}: the name of a locustfile ends in .py")
    if not output.parent.is_dir():
        raise BadInput(f"--output {output}: there is no folder {output.parent}; make it, or name a file elsewhere")
    for path in (description := output.with_suffix(".json"), output):
        if path.exists():
            raise BadInput(f"--output {output}: {path} already exists: delete it, or name another file")
    return output, description


def _write(path: "Path", content: bytes) -> None:
    """Write a new file that nobody else can read. Raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def _note(line: str) -> None:
    click.echo(f"poolsize: {line}", err=True)
