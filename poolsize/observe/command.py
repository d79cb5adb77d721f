"""`poolsize observe`: the pools of production as their metrics or the server count them, without any load."""

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from poolsize.bounds import shortened
from poolsize.command_line.grouped_command import OUTPUT, GroupedCommand
from poolsize.command_line.options import (
    FILE,
    Encryption,
    Form,
    complete_runs,
    encryption_options,
    form_options,
    is_typed,
    read_by,
)
from poolsize.errors import FOUND_WRONG, BadInput, Interrupted, WorkFailed
from poolsize.quick_record import QuickRecord
from poolsize.sweep.readers import seconds as read_seconds
from poolsize.units import count, lasting, minutes

if TYPE_CHECKING:  # pathlib, numpy and pydantic stay out of --help
    from pathlib import Path

    from poolsize.observe.drift import Reference
    from poolsize.observe.observation import Append, Observation, PoolSpan, ServerSpan

GROUPS = {
    "Where to read (one of them)": ("metrics", "prometheus", "url"),
    "For how long": ("for_seconds", "range_seconds"),
    "Of --prometheus": ("selector",),
    "Of --url": ("ssl_mode", "ssl_ca"),
    "What to do with it": ("output", "check"),
}
"""Heading -> the parameters of its options."""
FOR_SECONDS, RANGE_SECONDS = 600.0, 86_400.0
LEAST_FOR, MOST_FOR = 10.0, 7 * 86_400.0
LEAST_RANGE, MOST_RANGE = 600.0, 400 * 86_400.0
LONGEST_SOURCE = 1_000


@click.command(
    cls=GroupedCommand,
    groups=GROUPS,
    others=OUTPUT,
    examples={
        "The pools that Prometheus scrapes": "poolsize observe --prometheus http://localhost:9090 --range 7d",
        "A metrics page": "poolsize observe --metrics http://localhost:8080/metrics",
        "Every night": "poolsize observe --prometheus http://localhost:9090 --check current",
    },
)
@click.option(
    "--metrics",
    metavar="URL|FILE",
    multiple=True,
    help="Metrics page of an application (Prometheus format, or Druid's datasource.json), read once a second. "
    "Give the option once for each process. A file with one page is one reading: a first impression.",
)
@click.option(
    "--prometheus",
    metavar="URL|FILE",
    help="Prometheus server that scrapes the applications, or a file with its answer to a range query. "
    "POOLSIZE_PROMETHEUS_TOKEN sets a bearer token, POOLSIZE_PROMETHEUS_LOGIN a USER:PASSWORD.",
)
@click.option(
    "--url",
    metavar="URL",
    envvar="POOLSIZE_URL",
    help="Database server to ask, read-only, about one query a second. POOLSIZE_URL sets it too.",
)
@click.option(
    "--for",
    "for_seconds",
    metavar="DURATION",
    callback=read_by(read_seconds),
    help="How long to read --metrics or --url.  [default: 10m]",
)
@click.option(
    "--range",
    "range_seconds",
    metavar="DURATION",
    callback=read_by(read_seconds),
    help="How far back to read --prometheus; 7d shows the days of a week.  [default: 1d]",
)
@click.option(
    "--selector",
    metavar="LABELS",
    help="""Read only the pools with these labels, in PromQL syntax: 'namespace="prod",app="shop"'.""",
)
@encryption_options
@click.option(
    "--output",
    metavar="FILE",
    type=FILE,
    help="Store the observation in this file, as it is read. Without it, nothing is stored.",
)
@click.option(
    "--check",
    metavar="RUN|FILE|SIZE|current",
    shell_complete=complete_runs,
    help="Print what no longer fits: compared with a run, with an earlier observation, with a pool size for each "
    "process, or with each pool's current size. The exit code is 3 then.",
)
@form_options
def observe(
    for_seconds: float | None,
    range_seconds: float | None,
    encryption: Encryption,
    output: "Path | None",
    check: str | None,
    form: Form,
    **sources: Any,
) -> None:
    """Read what the pools of production count, and answer with the pool size that their traffic needs.

    It sends no load and changes nothing. The source is the applications' metrics pages, a Prometheus server that
    scrapes them, or the database server itself. Labels tell instances and pools apart. With --output FILE,
    `poolsize recommend --observation FILE` adds growth, and what the database can use.
    """
    metrics, prometheus, url = sources["metrics"], sources["prometheus"], sources["url"]
    if (metrics or prometheus) and not is_typed("url"):
        url = None  # of the environment
    if sum((bool(metrics), prometheus is not None, url is not None)) != 1:
        raise BadInput("give exactly one source: --metrics URL, --prometheus URL, or --url URL")
    _check_times(for_seconds, range_seconds, has_range=prometheus is not None)
    _check_kind(sources["selector"], encryption, prometheus, url)
    _require_files(*metrics, *filter(None, [prometheus]))
    lasts = _within("for_seconds", for_seconds, FOR_SECONDS, LEAST_FOR, MOST_FOR)
    reaches_back = _within("range_seconds", range_seconds, RANGE_SECONDS, LEAST_RANGE, MOST_RANGE)
    from poolsize.command_line.run_file import end_unless
    from poolsize.command_line.signals import terminable

    reference = None
    if check is not None:
        from poolsize.observe.drift import read_reference

        reference = read_reference(check)
    url = encryption.of(url)
    try:
        with terminable():
            if metrics:
                observed = _of_pages(metrics, lasts, output)
            elif prometheus is not None:
                observed = _of_prometheus(prometheus, reaches_back, sources["selector"], output)
            else:
                observed = _of_server(url or "", lasts, output)
    except KeyboardInterrupt as error:
        raise Interrupted("interrupted", *error.args) from None
    if observed.stored is not None:
        _note(f"stored in {output}")
    if not observed.is_whole:
        _note("the server went away; the answer is of the time before")
    _answer(observed.observation, reference, form, observed.stored)
    end_unless(observed.is_whole and observed.stored == output)


def _check_times(for_seconds: float | None, range_seconds: float | None, *, has_range: bool) -> None:
    """Raise BadInput for an option of the other kind of source."""
    if not has_range and range_seconds is not None:
        raise BadInput("--range is for --prometheus: give --for, the time for which to read")
    if has_range and for_seconds is not None:
        raise BadInput("--for is for --metrics and --url: give --range, how far back to read")


def _check_kind(selector: str | None, encryption: Encryption, prometheus: str | None, url: str | None) -> None:
    """Raise BadInput for an option of another kind of source."""
    if selector is not None and (prometheus is None or "://" not in prometheus):
        raise BadInput("--selector is for the URL of --prometheus: read a page or a file without it")
    if (encryption.mode or encryption.ca) and url is None:
        raise BadInput("--ssl-mode and --ssl-ca are for --url: for the certificate of a web page, set SSL_CERT_FILE")


def _require_files(*sources: str) -> None:
    """Raise BadInput for a source that is no file: before the observation, not after it."""
    from pathlib import Path

    for source in sources:
        if "://" not in source and not Path(source).exists():
            raise BadInput(f"{source!a} is no file: begin a URL with http:// or https://")


def _within(name: str, seconds: float | None, default: float, least: float, most: float) -> float:
    if seconds is None:
        return default
    if not least <= seconds <= most:
        raise BadInput(f"`{name}` {seconds:.12g}s: give {lasting(least)} to {lasting(most)}")
    return seconds


class _Observed(QuickRecord):
    """An observation. is_whole: whether the source was there until its end. stored: the file that has it, or None."""

    observation: "Observation"
    is_whole: bool
    stored: "Path | None"


def _observed(
    kind: 'Literal["server", "page", "prometheus"]',
    name: str,
    output: "Path | None",
    read: "Callable[[Append], bool | None]",
    selector: str = "",
) -> _Observed:
    """Return the periods that a reader appends, which are stored meanwhile if there is an output.

    read: returns False if the source went away before its end. selector: as in Source.
    """
    from datetime import UTC, datetime
    from importlib.metadata import version

    from poolsize.observe.observation import Observation, Source
    from poolsize.observe.store import ObservationWriter

    source = Source(kind, shortened(name, LONGEST_SOURCE), version("poolsize"), datetime.now(UTC).isoformat(), selector)
    pools: list[PoolSpan] = []
    servers: list[ServerSpan] = []
    failure: WorkFailed | None = None
    with nullcontext() if output is None else ObservationWriter(output, source) as writer:

        def append(of_pools: "Sequence[PoolSpan]", of_servers: "Sequence[ServerSpan]") -> None:
            nonlocal failure
            pools.extend(of_pools)
            servers.extend(of_servers)
            if writer is not None and failure is None:
                try:
                    writer.append(of_pools, of_servers)
                except WorkFailed as error:
                    failure = error
                    _note(f"{error}: poolsize goes on, and stores no more periods")

        try:
            is_whole = read(append) is not False
        finally:
            if writer is not None and not writer.has_periods:
                writer.path.unlink(missing_ok=True)  # so that the same command can be given again
    if not pools and not servers:
        raise WorkFailed("nothing was observed: observe for longer, or another source")
    observation = Observation(source, tuple(pools), tuple(servers))
    return _Observed(observation, is_whole, None if failure else output)


def _of_pages(metrics: tuple[str, ...], seconds: float, output: "Path | None") -> _Observed:
    from pathlib import Path

    from poolsize.observe.pages import MOST_PAGES, observe_page_file, observe_pages
    from poolsize.web_page import page_address

    files = [page for page in metrics if "://" not in page]
    if files:
        if len(metrics) > 1:
            raise BadInput(f"`metrics` {files[0]}: a file is one reading: give it alone, or give URLs only")
        if is_typed("for_seconds"):
            raise BadInput("--for: a file is one reading, however long it takes: leave --for out, or give a URL")

        def read_file(append: "Append") -> None:
            uptime = observe_page_file(Path(files[0]), append)
            since = "" if uptime is None else f", and the mean of {minutes(uptime)} since the process started"
            _note(f"one page is one reading{since}: it does not show the busiest minute; give a URL, or --prometheus")

        return _observed("page", files[0], output, read_file)
    if len(metrics) > MOST_PAGES:
        raise BadInput(f"--metrics was given {len(metrics)} times: poolsize reads up to {MOST_PAGES} pages")
    try:
        pages = [page_address(page) for page in dict.fromkeys(metrics)]
    except ValueError as error:
        raise BadInput(f"`metrics`: {error}") from None
    _note(f"reads {count(len(pages), 'page')} once a second for {minutes(seconds)}; Ctrl-C ends it sooner")
    read = partial(observe_pages, pages, seconds, note=_note, progress=_by_minute(seconds))
    return _observed("page", ", ".join(page.shown for page in pages), output, read)


def _of_prometheus(prometheus: str, seconds: float, selector: str | None, output: "Path | None") -> _Observed:
    from poolsize.observe.prometheus import (
        observe_answer_file,
        observe_prometheus,
        prometheus_address,
        read_selector,
    )

    if "://" not in prometheus:
        if is_typed("range_seconds"):
            raise BadInput("--range: a file has a range of its own: leave --range out, or give a URL")
        from pathlib import Path

        return _observed("prometheus", prometheus, output, partial(observe_answer_file, Path(prometheus), note=_note))
    address, matchers = prometheus_address(prometheus), "" if selector is None else read_selector(selector)
    read = partial(observe_prometheus, address, seconds, note=_note, selector=matchers)
    return _observed("prometheus", address.shown, output, read, matchers)


def _of_server(url: str, seconds: float, output: "Path | None") -> _Observed:
    from poolsize.observe.server import observe_server
    from poolsize.server.connection import database_url

    address = database_url(url)
    _note(f"asks the server once a second for {minutes(seconds)}, read-only; Ctrl-C ends it sooner")
    name = f"{address.host or 'localhost'}:{address.port or 3306}"
    read = partial(observe_server, address, seconds, note=_note, progress=_by_minute(seconds))
    return _observed("server", name, output, read)


def _by_minute(seconds: float) -> Callable[[float], None]:
    """Return a progress that prints a line for each minute."""
    shown = 0

    def progress(passed: float) -> None:
        nonlocal shown
        if int(passed // 60) > shown:
            shown = int(passed // 60)
            _note(f"{shown} of {minutes(seconds)}")

    return progress


def _note(line: str) -> None:
    click.echo(f"poolsize: {line}", err=True)


def _answer(observation: "Observation", reference: "Reference | None", form: Form, stored: "Path | None") -> None:
    """Print the answer, or with a reference what no longer fits: then the exit code is 3; and 1 without an answer."""
    from poolsize.command_line.run_file import end_unless
    from poolsize.observe.drift import drift, still_fits, unproven
    from poolsize.observe.pool_answer import pool_answers
    from poolsize.observe.text import observed_text, observed_values
    from poolsize.observe.together import observed_together
    from poolsize.present.text.json_text import json_text

    is_of_server_alone = bool(observation.server and not observation.spans)
    if is_of_server_alone:
        _note("only the server was counted, and no pool: also name the page of an application, or --prometheus")
    answers = pool_answers(observation)
    has_answer = any(answer.is_used for answer in answers)
    size = reference.content if reference and isinstance(reference.content, int) else None
    of_all = observed_together(observation, answers, size) if reference else None
    lines = drift(answers, reference, of_all) if reference and has_answer else ()
    unknown = [*unproven(observation, answers, reference)] if reference and not lines else []
    if form == "json":
        values = observed_values(observation)
        if reference:
            values["drift"] = (*lines, *unknown)
        click.echo(json_text(values))
    else:
        if reference is None or form == "why":
            click.echo(observed_text(observation, why=form == "why", stored=stored))
        if reference:
            click.echo("\n".join([*lines, *unknown]) or still_fits(answers, reference, of_all))
    if lines:
        sys.exit(FOUND_WRONG)
    end_unless(not unknown if reference else has_answer or is_of_server_alone)
