"""A captured workload, and the check of its file, as text for a terminal and as JSON."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

from poolsize.bounds import shortened
from poolsize.capture.changes import Change
from poolsize.capture.locustfile import Coverage, Locustfile, shares_of_kind
from poolsize.capture.rehearsed import TriedStatement
from poolsize.capture.workload import CapturedWorkload, TransactionKind
from poolsize.present.text.layout import Table, paragraph
from poolsize.present.text.short import short_answer
from poolsize.terminal import pasteable
from poolsize.units import count, milliseconds, number, percent

MOST_ROWS = 10
"""Kinds in the table, and lines that are named."""
MOST_CHANGES = 5
"""Changes since an earlier capture that the text names."""
LONGEST_STATEMENT = 70
"""Characters of a statement in a line of the check."""


def captured_text(
    workload: CapturedWorkload, written: Locustfile, output: Path, changes: Sequence[Change] | None
) -> str:
    """Return what the file covers, its kinds, and the next commands. changes: since another capture, or None."""
    share = written.coverage
    of_time = "" if share.time is None else f"{percent(share.time)} of the time and "
    rate = "" if written.rate is None else f"{number(written.rate)} transactions per second"
    think = "" if workload.think_ms is None else f"{milliseconds(workload.think_ms)} between two of a session"
    changed = "" if changes is None else "nothing that is significant" if not changes else _changed(changes)
    rows = []
    for kind in written.kinds[:MOST_ROWS]:
        shares = ("?" if share is None else percent(share) for share in shares_of_kind(kind, workload))
        times = ("?" if time is None else milliseconds(time) for time in (kind.mean_ms, kind.held_ms))
        rows.append((kind.name, *shares, *times))
    return short_answer(
        f"{output} covers {of_time}{percent(share.statements)} of the statements.",
        [("Traffic", "; ".join(filter(None, [rate, think]))), ("Mean", _means(written.kinds)), ("Changed", changed)],
        [
            pasteable("poolsize", "capture", "--check", output, "--schema", "copy"),
            pasteable("poolsize", "sweep", "--workload", output, "--schema", "copy"),
            pasteable("poolsize", "config", "--for", "STACK", "--run", "RUN", "--rate", "RATE", "--usage-time", "TIME"),
        ],
        Table(("kind", "transactions", "time", "in the server", "held"), rows).as_text(),
    )


def _means(kinds: Sequence[TransactionKind]) -> str:
    """Return the mean times of all transactions of these kinds, as far as they are known."""
    weight = sum(kind.weight for kind in kinds)
    means = []
    for of_each, words, unknown in (
        ([kind.mean_ms for kind in kinds], "{} in the server", "the time in the server is not known"),
        (
            [kind.held_ms for kind in kinds],
            "the connection is held for {}",
            "how long the connection is held is not known: `capture --url URL --for 30s` measures this time",
        ),
    ):
        known = [time_ms for time_ms in of_each if time_ms is not None]
        if len(known) < len(kinds):
            means.append(unknown)
        else:
            mean_ms = sum(kind.weight * time_ms for kind, time_ms in zip(kinds, known, strict=True)) / weight
            means.append(words.format(milliseconds(mean_ms)))
    return "; ".join(means)


def _changed(changes: Sequence[Change]) -> str:
    """Return the most important changes, and the number of the others."""
    shown = [change.text for change in changes[:MOST_CHANGES]]
    more = len(changes) - len(shown)
    return " ".join([*shown, *([f"{more} more: --json."] if more else [])])


class KindValues(TypedDict):
    """A kind of transaction. share: of all transactions; share_of_time: of their time in the server.

    mean_ms: time of a transaction in the server. statements: their number. writes: whether it writes. included: whether
    the workload's file has it.
    """

    name: str
    share: float
    share_of_time: float | None
    mean_ms: float | None
    statements: int
    writes: bool
    included: bool


class CapturedValues(TypedDict):
    """A captured workload.

    output: the locustfile. description: the file of its figures. rate: transactions per second of output. think_ms:
    between two transactions of a session. null: not known. changes: since the capture that --against names.
    """

    output: str
    description: str
    coverage: Coverage
    rate: float | None
    think_ms: float | None
    kinds: list[KindValues]
    cautions: list[str]
    changes: NotRequired[Sequence[Change]]


class CheckedValues(TypedDict):
    """The statements of a locustfile, and the number of those that failed."""

    statements: tuple[TriedStatement, ...]
    failed: int


def captured_values(
    workload: CapturedWorkload, written: Locustfile, output: Path, description: Path, changes: Sequence[Change] | None
) -> CapturedValues:
    """Return the same as data for JSON."""
    kinds: list[KindValues] = []
    for kind in workload.kinds:
        share, of_time = shares_of_kind(kind, workload)
        kinds.append({
            "name": kind.name, "share": share, "share_of_time": of_time, "mean_ms": kind.mean_ms,
            "statements": len(kind.statements), "writes": kind.writes, "included": kind in written.kinds,
        })  # fmt: skip
    values: CapturedValues = {
        "output": str(output), "description": str(description), "coverage": written.coverage,
        "rate": written.rate, "think_ms": workload.think_ms, "kinds": kinds,
        "cautions": [*workload.notes, *written.cautions],
    }  # fmt: skip
    if changes is not None:
        values["changes"] = changes
    return values


def checked_text(statements: Sequence[TriedStatement], locustfile: Path, schema: str) -> str:
    """Return the statements that failed, with the errors, and the statements that could not be tried."""
    return "\n".join(_lines(statements, locustfile, schema))


def _lines(statements: Sequence[TriedStatement], locustfile: Path, schema: str) -> Iterator[str]:
    failed = [tried for tried in statements if tried.failure]
    left = [tried for tried in statements if tried.left and not tried.failure]
    which = f"{len(failed)} of " if failed else f"{len(statements) - len(left)} of " if left else "All "
    which, verb = f"{which}{count(len(statements), 'statement')}", "fail" if failed else "run"
    if len(statements) == 1 and not left:
        which, verb = "The only statement", f"{verb}s"
    yield paragraph(f"{which} of {locustfile} {verb} in the schema {schema}.")
    for tried in failed[:MOST_ROWS]:
        yield paragraph(f"{_place(tried, locustfile)}: {tried.failure}", "  - ")
    if (more := len(failed) - MOST_ROWS) > 0:
        yield paragraph(f"and {more} more, which --json lists", "  - ")
    if left:
        yield paragraph("Not run, because a transaction could not undo them:")
    for tried in left:
        yield paragraph(f"{_place(tried, locustfile)}: {tried.left}", "  - ")
    reads = [tried for tried in statements if tried.text.upper().startswith("SELECT")]
    if empty := [f"line {tried.line}" for tried in reads if tried.rows == 0]:
        without_row = f"{len(empty)} of {count(len(reads), 'SELECT')} found no row with the values that were drawn"
        yield paragraph(f"{without_row}: {', '.join(empty[:MOST_ROWS])}.")


def _place(tried: TriedStatement, locustfile: Path) -> str:
    return f"{locustfile.name}:{tried.line}, {tried.task}: {shortened(tried.text, LONGEST_STATEMENT)}"


def checked_values(statements: tuple[TriedStatement, ...]) -> CheckedValues:
    """Return the statements of a check as data for JSON."""
    return {"statements": statements, "failed": sum(bool(tried.failure) for tried in statements)}
