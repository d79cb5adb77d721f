"""The locustfile of a captured workload: a PoolUser with a task for each kind of transaction."""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from keyword import iskeyword
from math import gcd
from pathlib import Path

from poolsize.capture.columns import DOTTED, NAME
from poolsize.capture.statement_code import INDENT, WIDTH, Code, broken, one_line, quoted_code
from poolsize.capture.workload import CapturedStatement, CapturedWorkload, Reference, TransactionKind
from poolsize.capture.workload import Sequence as Growing
from poolsize.errors import BadInput
from poolsize.files import templates
from poolsize.runs.plan import MOST_RATE, MOST_THINK_TIME_MS
from poolsize.sweep.readers import write_decimal, write_milliseconds
from poolsize.terminal import pasteable
from poolsize.units import count, milliseconds, number, percent

LABEL = 12
"""Columns of the labels in the header."""
MOST_TASKS = 1_000
"""Sum of the tasks' weights: each user has a list with a task as often as its weight."""
WEIGHT_ERROR = 0.005
"""Sum of the differences between the shares of the weights and those of the log."""
REDACTED = (
    "Redacted: the only values of the log in this file are frequent numbers of at most 3 digits, and LIMITs. The ends "
    "of ranges are rounded. For the log's frequent values and for the texts of conditions, values of the copy are "
    "drawn, the most frequent for the most frequent. They may match more rows, or fewer. --keep-values keeps the log's "
    "values."
)
KEPT = "Kept (--keep-values): this file has values of the log. Protect it as you protect the data."
_WRITE = re.compile(
    r"\s*(INSERT|REPLACE|UPDATE|DELETE)(?:\s+(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|QUICK|IGNORE))*\s+(?:INTO\s+|FROM\s+)?"
    rf"({DOTTED})",
    re.IGNORECASE,
)
_CHANGES_NOTHING = re.compile(r"\s*(?:SELECT|SET|DO)\b", re.IGNORECASE)
_OF_ROW = re.compile(
    rf"(?:UPDATE {DOTTED}(?: (?:AS )?{NAME})? SET .*|DELETE FROM {DOTTED}) WHERE {DOTTED} ?= ?%s", re.IGNORECASE
)
_UPDATES_TOO = re.compile(r"\bON\s+DUPLICATE\s+KEY\s+UPDATE\b", re.IGNORECASE)


@dataclass(frozen=True)
class Coverage:
    """Shares of the source's statements and of its time in the server, from 0 to 1. time: None where it is unknown."""

    statements: float
    time: float | None

    def __str__(self) -> str:
        """Return both in words: 98 % of the statements and 99 % of the time in the server."""
        of_time = "" if self.time is None else f" and {percent(self.time)} of the time in the server"
        return f"{percent(self.statements)} of the statements{of_time}"


@dataclass(frozen=True)
class Locustfile:
    """A generated file.

    text: its content. kinds: of its tasks. coverage: of the source. rate: its transactions a second in the source, None
    where unknown. cautions: the transactions that are left out, and the writes that nothing undoes, as sentences.
    """

    text: str
    kinds: tuple[TransactionKind, ...]
    coverage: Coverage
    rate: float | None
    cautions: tuple[str, ...]


def locustfile(workload: CapturedWorkload, name: str, *, writes: bool, keeps_values: bool) -> Locustfile:
    """Return the locustfile of a workload. name: of its file.

    writes: whether the file has the kinds that write. keeps_values: whether the description has values of the log.
    Raises BadInput where no kind is left.
    """
    kinds = tuple(kind for kind in workload.kinds if writes or not kind.writes)
    if not kinds:
        raise BadInput("every kind of transaction writes: add `writes`, and use a copy of the data that may change")
    code, inserted, share = Code(), inserted_tables(kinds), coverage(workload, kinds)
    rate = workload.arrival_rate
    if rate is not None:
        rate *= sum(kind.weight for kind in kinds) / max(1, sum(kind.weight for kind in workload.kinds))
    tasks = [
        {"name": kind.name, "says": _says(kind, workload), "weight": weight, "lines": code.of_kind(kind)}
        for kind, weight in zip(kinds, weights([kind.weight for kind in kinds]), strict=True)
    ]
    columns = ", ".join(f"{quoted_code(table)}: {quoted_code(column)}" for table, column in inserted.items())
    cautions = tuple(filter(None, (_left_out(workload, kinds), _stays(kinds))))
    template = templates("poolsize.capture").get_template("workload.py.j2")
    text = template.render(
        title=_title(workload),
        header=[
            *_coverage_lines(workload, kinds, rate),
            *_paragraph("Writes", " ".join(filter(None, (_undone(inserted), *cautions))) or "None."),
            *_paragraph("Values", KEPT if keeps_values else REDACTED),
            *(line for note in workload.notes for line in _paragraph("Note", one_line(note))),
            *_commands(name),
        ],
        imports=_imports(code, undoes=bool(inserted)),
        columns=code.columns,
        class_name=_class_name(name),
        covers=str(share),
        undoes=broken(f"delete_inserted(cursor, {{{columns}}})", WIDTH - INDENT) if inserted else [],
        kinds=tasks,
    )
    return Locustfile(text, kinds, share, rate, cautions)


def coverage(workload: CapturedWorkload, kinds: Sequence[TransactionKind]) -> Coverage:
    """Return the coverage of some of a workload's kinds."""

    def share(other: float, amount: Callable[[TransactionKind], float]) -> float:
        total = sum(map(amount, workload.kinds))
        return (1 - other) * (sum(map(amount, kinds)) / total if total else 0.0)

    def statements(kind: TransactionKind) -> float:
        return kind.weight * sum(statement.repeats_mean for statement in kind.statements)

    return Coverage(
        share(workload.other_share_of_statements, statements),
        None
        if (other := workload.other_share_of_time) is None
        else share(other, lambda kind: kind.weight * (kind.mean_ms or 0.0)),
    )


def shares_of_kind(kind: TransactionKind, workload: CapturedWorkload) -> tuple[float, float | None]:
    """Return a kind's share of the transactions of all kinds, and of the source's time, None where it is unknown."""
    return kind.weight / max(1, sum(kind.weight for kind in workload.kinds)), coverage(workload, [kind]).time


def weights(counts: Sequence[int]) -> list[int]:
    """Return small weights in nearly the same proportions, each at least 1."""
    total = max(1, sum(counts))
    scaled = [1] * len(counts)
    for most in range(len(counts), MOST_TASKS + 1):
        scaled = [max(1, round(number / total * most)) for number in counts]
        shares = zip(counts, scaled, strict=True)
        if sum(abs(number / total - weight / sum(scaled)) for number, weight in shares) <= WEIGHT_ERROR:
            break
    return [weight // gcd(*scaled) for weight in scaled]


def inserted_tables(kinds: Iterable[TransactionKind]) -> Mapping[str, str]:
    """Return the tables that get rows -> the column that grows with each row, "" for the auto-increment column."""
    inserted: dict[str, str] = {}
    for statement in (statement for kind in kinds for statement in kind.statements):
        if (match := _WRITE.match(statement.text)) and match[1].upper() == "INSERT":
            table = match[2].replace("`", "")
            growing = (parameter.column for parameter in statement.parameters if isinstance(parameter, Growing))
            inserted[table] = inserted.get(table) or next(growing, "")
    return inserted


def _undone(inserted: Mapping[str, str]) -> str:
    """Return which rows before_step deletes, as a sentence; "" for no rows."""
    if not inserted:
        return ""
    return (
        f"Before each step and after the last, before_step deletes the rows inserted into "
        f"{', '.join(map(one_line, inserted))}: those above the highest auto-increment id when the sweep began. "
        "A table without such a column keeps its rows."
    )


def _stays(kinds: Iterable[TransactionKind]) -> str:
    """Return which writes nothing undoes, as a sentence; "" where there are no such writes."""
    changed: dict[str, None] = {}
    writes = ((kind, statement) for kind in kinds for statement in kind.statements if not statement.reads)
    for text in (statement.text for kind, statement in writes if not _is_of_inserted_row(kind, statement)):
        match = _WRITE.match(text)
        if match is None:
            if not _CHANGES_NOTHING.match(text):
                changed["statements of other kinds"] = None
        elif (verb := match[1].upper()) != "INSERT" or _UPDATES_TOO.search(text):
            changed[f"{'UPDATE' if verb == 'INSERT' else verb} {one_line(match[2].replace('`', ''))}"] = None
    if not changed:
        return ""
    return f"Nothing undoes {', '.join(changed)}: restore the copy before the next sweep."


def _is_of_inserted_row(kind: TransactionKind, statement: CapturedStatement) -> bool:
    """Return whether a statement writes nothing but a row that its transaction inserted: before_step deletes it."""
    row = statement.parameters[-1] if _OF_ROW.fullmatch(statement.text) and statement.parameters else None
    if not isinstance(row, Reference) or row.of != "inserted" or row.low or row.high:
        return False
    inserted, changed = (_WRITE.match(text) for text in (kind.statements[row.statement].text, statement.text))
    if inserted is None or changed is None:
        return False
    return inserted[1].upper() == "INSERT" and inserted[2].replace("`", "") == changed[2].replace("`", "")


def _imports(code: Code, *, undoes: bool) -> Iterator[str]:
    if "randint" in code.draws:
        yield "from random import randint"
    yield from ("from typing import Any", "", "from locust import task")
    ours = (code.draws - {"randint"}) | ({"delete_inserted"} if undoes else set())
    names = sorted(ours, key=lambda name: (name.islower(), name))
    line = f"from poolsize.capture.draws import {', '.join(names)}"
    if names and len(line) <= WIDTH:
        yield line
    elif names:
        yield from ("from poolsize.capture.draws import (", *(f"    {name}," for name in names), ")")
    yield "from poolsize.locust import PoolUser"


def _title(workload: CapturedWorkload) -> str:
    source, version = workload.source, workload.source.server_version
    if version[:1].isdigit():  # 10.11.6-MariaDB-log
        version = f"{'MariaDB' if 'mariadb' in version.lower() else 'MySQL'} {version.split('-')[0]}"
    server = one_line(version) or "a database server"
    return f"A captured workload: the transactions of {server}{_period(source.since, source.until)}."


def _period(since: str | None, until: str | None) -> str:
    if since is None or until is None:
        return ""
    first, last = (datetime.fromisoformat(moment).astimezone(UTC) for moment in (since, until))
    same_day = first.date() == last.date()
    return f" from {first:%Y-%m-%d %H:%M:%S} to {last:{'%H:%M:%S' if same_day else '%Y-%m-%d %H:%M:%S'}} UTC"


def _says(kind: TransactionKind, workload: CapturedWorkload) -> str:
    share, of_time = shares_of_kind(kind, workload)
    held = "" if kind.held_ms is None else f", held for {milliseconds(kind.held_ms)}"
    took = ""
    if of_time is not None and kind.mean_ms is not None:
        took = f", {percent(of_time)} of the time: {milliseconds(kind.mean_ms)}"
    return f"{percent(share)} of the transactions{took}{held}."


def _left_out(workload: CapturedWorkload, kinds: Sequence[TransactionKind]) -> str:
    """Return which transactions are left out because they write, as a sentence; "" where no kind is left out."""
    without = [kind for kind in workload.kinds if kind not in kinds]
    if not without:
        return ""
    return (
        f"{count(len(without), 'kind')} of transactions that write left out, with {coverage(workload, without)}: "
        "--writes includes them."
    )


def _coverage_lines(workload: CapturedWorkload, kinds: Sequence[TransactionKind], rate: float | None) -> Iterator[str]:
    """Yield the source, the part of the source that the file covers, and the traffic. rate: of these kinds."""
    source = workload.source
    yield from textwrap.wrap(
        f"`poolsize capture` wrote this file from a {source.kind} of {count(source.statements, 'statement')}. You can "
        "edit it.",
        WIDTH,
    )
    yield ""
    yield from _paragraph(
        "Coverage",
        f"{count(len(kinds), 'kind')} of transactions: {coverage(workload, kinds)}. Not covered: "
        f"{Coverage(workload.other_share_of_statements, workload.other_share_of_time)}.",
    )
    if rate is not None:
        option = f" To measure at this rate: --rate {write_decimal(_rounded(rate))}/s." if rate <= MOST_RATE else ""
        yield from _paragraph("Rate", f"{number(rate)} transactions per second.{option}")
    if (think := workload.think_ms) is not None:
        pause = f" To pause as long: --think-time {write_milliseconds(_rounded(think))}."
        text = f"{milliseconds(think)} on average between two transactions of a session."
        yield from _paragraph("Think time", text + (pause if think <= MOST_THINK_TIME_MS else ""))


def _commands(name: str) -> Iterator[str]:
    """Yield the commands to type next."""
    yield from ("", "Try it on a copy of the data, here in the schema copy, then measure:", "")
    for words in (("capture", "--check"), ("sweep", "--workload")):
        yield f"    {one_line(pasteable('poolsize', *words, Path(name), '--schema', 'copy'))}"


def _class_name(name: str) -> str:
    """Return the name of the user class: CheckoutLoad of checkout_load.py."""
    words = "".join(word.capitalize() for word in re.findall(r"[a-zA-Z0-9]+", name.removesuffix(".py")))
    return f"Captured{words}" if iskeyword(words) or words in {"", "Any", "PoolUser"} or words[0].isdigit() else words


def _rounded(value: float) -> float:
    """Return a number with three digits."""
    return float(f"{value:.3g}")


def _paragraph(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"{label:<{LABEL}}", subsequent_indent=" " * LABEL,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
