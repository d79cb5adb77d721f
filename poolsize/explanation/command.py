"""`poolsize explain`: what an error of a pool or of the server means, for the person on call."""

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import click

from poolsize.bounds import shown
from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import duration_option, json_option
from poolsize.errors import BadInput
from poolsize.present.text.json_text import json_text
from poolsize.terminal import pasteable
from poolsize.units import count

if TYPE_CHECKING:  # --help starts without the known texts
    from poolsize.explanation.events import Event

MOST_BYTES = 100 * 2**20
LONGEST_LINE = 2**16
"""Bytes of a line that are searched; the rest of a longer line is skipped."""
_LIST = re.compile(rb'\s{0,9}(?:\{\s{0,9}"[^"]{0,60}"\s{0,9}:\s{0,9})?\[\s{0,9}\{"')
"""The beginning of a line that is a list of JSON objects, or whose first value is: a cloud's command line prints it."""
_BETWEEN = re.compile(rb'(?<=\}),\s{0,9}(?=\{")')
"""What is between two objects of JSON: within a text, a quotation mark has a backslash before it."""
_UTF_16 = "UTF-16: iconv -f UTF-16 -t UTF-8 app.log"
_WAYS_OUT = {b"\x1f\x8b": "gzipped: zcat app.log.gz", b"\xff\xfe": _UTF_16, b"\xfe\xff": _UTF_16}
"""First bytes of standard input -> what it is, and the way out."""


@click.command(
    cls=GroupedCommand,
    examples={
        "What an error means": "poolsize explain 'ERROR 1040 (HY000): Too many connections'",
        "The errors of a log": "poolsize explain < app.log",
    },
)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@duration_option(
    "--usage-time",
    "usage_time_ms",
    help="Mean usage time of a connection (not the maximum), from the pool's metrics, e.g. 50ms.",
)
@json_option
def explain(texts: tuple[str, ...], usage_time_ms: float | None, as_json: bool) -> None:
    """Explain an error of a connection pool, a driver or the server.

    TEXT is an error, a line of a log, or a pool's statistics; put it in quotes. Without TEXT, standard input is read:
    a text that has quotes itself, or a log of up to 100 MiB, whose errors are counted by minute. The answer is what
    happened, what to do first, what the numbers in the text say, the most probable causes, and what to look at next.
    """
    from poolsize.explanation.events import find_events
    from poolsize.explanation.text import events_text, events_values

    stream = _Stream()
    events = _of_arguments(texts, usage_time_ms) if texts else find_events(stream, usage_time_ms)
    if not events:
        raise BadInput(_unknown(texts, stream.code))
    click.echo(json_text(events_values(events)) if as_json else events_text(events))


def _of_arguments(texts: tuple[str, ...], usage_ms: float | None) -> "list[Event]":
    """Return the events in the arguments: each argument is a text, or all are the words of a text without quotes.

    A text that is not known as it is may be a known text in short, also beside known texts.
    """
    from poolsize.explanation.events import find_events
    from poolsize.explanation.texts import completed

    lines = [line[:LONGEST_LINE] for text in texts for line in text.splitlines()]
    if any(known := [bool(find_events([line])) for line in lines]):
        return find_events(
            (line if is_known else completed(line) for line, is_known in zip(lines, known, strict=True)), usage_ms
        )
    together = [" ".join(lines)[:LONGEST_LINE]]
    readings = (together, map(completed, lines), map(completed, together))
    return next(filter(None, (find_events(reading, usage_ms) for reading in readings)), [])


class _Stream:
    """The lines of standard input; code: of the first error of the server in the lines read so far, empty without."""

    code = ""

    def __iter__(self) -> Iterator[str]:
        from poolsize.explanation.texts import server_code

        for line in _lines(_standard_input()):
            self.code = self.code or server_code(line)
            yield line


def _unknown(texts: tuple[str, ...], code: str) -> str:
    """Return why nothing is explained. code: of an error of the server on standard input."""
    from pathlib import Path

    from poolsize.explanation.texts import KNOWN, server_code
    from poolsize.files import why_missing

    if len(texts) == 1 and not why_missing(Path(texts[0])):
        return f"{shown(texts[0])} is a file: give it as standard input, poolsize explain < {pasteable(Path(texts[0]))}"
    if code := code or next(filter(None, map(server_code, texts)), ""):
        return f"{code} is an error of the server that poolsize does not explain: see the server's manual and error log"
    known = f"poolsize knows the errors of {', '.join(dict.fromkeys(known.library for known in KNOWN))}"
    return f"no known error in {shown(' '.join(texts)) if texts else 'standard input'}; {known}"


def _standard_input() -> BinaryIO:
    """Return standard input. Raises BadInput where it is closed."""
    if sys.stdin is None:
        raise BadInput("give the text of an error in quotes, or a log as standard input: poolsize explain < app.log")
    if sys.stdin.isatty():
        click.echo("poolsize: paste the error, then press Ctrl-D on a line of its own", err=True)
    return sys.stdin.buffer


def _lines(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of a log, each up to LONGEST_LINE bytes; characters that are not UTF-8 are replaced.

    A line that is a list of JSON objects gives a line for each object. Raises BadInput for other encodings.
    """
    read = cut = 0
    part, rest, is_list = b"?", b"", False
    while part:
        part = stream.readline(LONGEST_LINE) if read < MOST_BYTES else b""
        if not read and part[:2] in _WAYS_OUT:
            raise BadInput(f"standard input is {_WAYS_OUT[part[:2]]} | poolsize explain")
        read += len(part)
        is_list = is_list if rest else bool(_LIST.match(part))
        *lines, rest = _BETWEEN.split(rest + part) if is_list else [rest + part]
        if rest and (part.endswith(b"\n") or not part):
            lines, rest = [*lines, rest.rstrip(b"\r\n")], b""
        rest = rest[: LONGEST_LINE + len(b"\r\n")]
        for line in lines:
            cut += len(line) > LONGEST_LINE
            yield line[:LONGEST_LINE].decode("utf-8", errors="replace")
    if read >= MOST_BYTES:
        click.echo("poolsize: only the first 100 MiB of standard input were read", err=True)
    if cut:
        click.echo(f"poolsize: only the first 64 KiB of {count(cut, 'line')} were searched", err=True)
