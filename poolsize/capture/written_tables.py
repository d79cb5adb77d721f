"""The tables that a captured workload changes, and what can be undone before each step."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from poolsize.capture.statement_code import one_line, quoted_code
from poolsize.capture.workload import CapturedStatement, Sequence, TransactionKind

_MODIFIERS = r"(?:\s+(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|QUICK|IGNORE))*"
_NAME = r"(`(?:[^`]|``)+`|[\w$]+)"
_WRITE = re.compile(
    rf"\s*(INSERT|REPLACE|UPDATE|DELETE){_MODIFIERS}\s+(?:INTO\s+|FROM\s+)?{_NAME}(?:\s*\.\s*{_NAME})?", re.IGNORECASE
)


@dataclass(frozen=True)
class WrittenTables:
    """inserted: table -> the column that grows with each row, "" for its auto-increment column.

    changed: a verb and the table whose rows it changes, such as "UPDATE orders", that no step undoes. unknown: whether
    further statements write.
    """

    inserted: Mapping[str, str]
    changed: tuple[str, ...]
    unknown: bool

    @property
    def inserted_code(self) -> str:
        """The argument of delete_inserted, as Python; "" where no table is inserted into."""
        pairs = (f"{quoted_code(table)}: {quoted_code(column)}" for table, column in self.inserted.items())
        return f"{{{', '.join(pairs)}}}" if self.inserted else ""

    @property
    def undone(self) -> str:
        """What before_step undoes, as a sentence; "" for nothing."""
        if not self.inserted:
            return ""
        tables = ", ".join(map(one_line, self.inserted))
        return (
            f"Before each step and after the last, before_step deletes the rows inserted into {tables}: those above "
            "the highest auto-increment id when the sweep began. A table without such a column keeps its rows."
        )

    @property
    def stays(self) -> str:
        """What nothing undoes, as a sentence without its full stop; "" for nothing."""
        kinds = [*map(one_line, self.changed), *["statements of other kinds"] * self.unknown]
        return f"before_step does not undo {', '.join(kinds)}: restore the copy before the next sweep" if kinds else ""


def written_tables(kinds: Iterable[TransactionKind]) -> WrittenTables:
    """Return the tables that the statements of some kinds change."""
    inserted: dict[str, str] = {}
    changed: dict[str, None] = {}
    unknown = False
    for statement in (statement for kind in kinds for statement in kind.statements if not statement.reads):
        match = _WRITE.match(statement.text)
        if match is None:
            unknown |= not re.match(
                r"\s*(SELECT|SET|WITH|DO|SAVEPOINT|RELEASE|ROLLBACK)\b", statement.text, re.IGNORECASE
            )
            continue
        verb, table = match[1].upper(), ".".join(_unquoted(name) for name in match.groups()[1:] if name)
        if verb == "INSERT":
            inserted[table] = inserted.get(table) or _counter(statement)
        if verb != "INSERT" or re.search(r"\bON\s+DUPLICATE\s+KEY\s+UPDATE\b", statement.text, re.IGNORECASE):
            changed[f"{verb} {table}" if verb != "INSERT" else f"UPDATE {table}"] = None
    return WrittenTables(inserted, tuple(changed), unknown)


def _counter(statement: CapturedStatement) -> str:
    """Return the column of a statement's sequence, or ""."""
    return next((p.column for p in statement.parameters if isinstance(p, Sequence)), "")


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
