"""The Python lines that run captured statements: each parameter becomes a draw of poolsize.capture.draws."""

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, count
from keyword import iskeyword
from typing import Any

from poolsize.capture import workload
from poolsize.capture.draws import INSERTED_ROW, MOST_VALUES
from poolsize.capture.workload import CapturedStatement, Constant, Heavy, Parameter, Reference, Several, Text

WIDTH = 100
"""Columns of a statement's line; names and arguments may make a line longer."""
MARK = re.compile(r"%s|%%")
COMPARES = re.compile(r"\b(?:WHERE|HAVING|JOIN)\b", re.IGNORECASE)
SETS = re.compile(r"\s*(?:INSERT|REPLACE|UPDATE)\b", re.IGNORECASE)
REPEATED = 0.5
"""Texts that a statement sets come from the copy where a text has more than two draws on average, as a state has."""
Place = tuple[int, int]
"""The index of a statement in its transaction, and of a parameter in its statement."""


class Code:
    """Collects what the tasks of a file need.

    columns: lines that define the columns whose values come from the copy. draws: names of poolsize.capture.draws.
    uses_randint: whether a line draws from a range.
    """

    def __init__(self) -> None:
        """Begin a file."""
        self._columns: dict[str, str] = {}
        """Definition -> its name."""
        self.draws: set[str] = set()
        self.uses_randint = False

    @property
    def columns(self) -> list[str]:
        """Lines that define the columns whose values come from the copy."""
        return [f"{name} = {code}" for code, name in self._columns.items()]

    def of_kind(self, kind: workload.TransactionKind) -> list[str]:
        """Return the lines of a task."""
        names = _variables(kind)
        lines = [line for place, _ in enumerate(kind.statements) for line in self._lines(kind, place, names)]
        ends = f'cursor.execute("{kind.ends.upper()}")'
        return ['cursor.execute("BEGIN")', *lines, ends] if kind.is_explicit else lines

    def _lines(self, kind: workload.TransactionKind, place: int, names: Mapping[Place, str]) -> Iterator[str]:
        """Yield the lines of a statement, in a loop where it repeats."""
        statement = kind.statements[place]
        indent = ""
        if loop := self._number_of(statement.repeats, statement.repeats_mean):
            yield f"for _ in range({loop}):"
            indent = "    "
        arguments = []
        for index, parameter in enumerate(statement.parameters):
            if _constant(kind, parameter) is not None:
                continue
            code = self._drawn(kind, statement, index, names)
            if (place, index) in names:
                yield f"{indent}{names[place, index]} = {code}"
                code = names[place, index]
            arguments.append(code)
        rows = self._number_of(statement.rows, statement.rows_mean)
        sql = _sql(kind, statement, has_arguments=bool(arguments or rows))
        if rows and INSERTED_ROW.search(sql):
            self.draws.add("insert")
            row = f"[{_tuple(arguments)} for _ in range({rows})]"
            lines = _call("insert", ["cursor"], sql, row, arguments, WIDTH - len(indent))
        else:
            lines = _call("cursor.execute", [], sql, _tuple(arguments), arguments, WIDTH - len(indent))
        yield from (indent + line for line in lines)
        if (place, -1) in names:
            yield f"{indent}{names[place, -1]} = cursor.lastrowid"

    def _number_of(self, ends: tuple[int, int], mean: float) -> str:
        """Return the expression of a number of repetitions or rows; "" where it is always 1."""
        low, high = ends
        if low == high:
            return "" if low == 1 else str(low)
        return self._draw("about", low, high, round(mean, 3))

    def _drawn(
        self, kind: workload.TransactionKind, statement: CapturedStatement, index: int, names: Mapping[Place, str]
    ) -> str:
        """Return the expression that draws a parameter."""
        parameter = statement.parameters[index]
        if isinstance(parameter, Several):
            item = self._value(kind, statement, index, parameter.item, names)
            low, high, mean = parameter.low, parameter.high, round(parameter.mean, 3)
            return self._draw("several", _Code(f"lambda: {item}"), low, high, mean)
        return self._value(kind, statement, index, parameter, names)

    def _value(
        self,
        kind: workload.TransactionKind,
        statement: CapturedStatement,
        index: int,
        parameter: Parameter,
        names: Mapping[Place, str],
    ) -> str:
        match parameter:
            case Reference():
                return self._reference(kind, parameter, names)
            case Heavy():
                return self._heavy(parameter)
            case workload.Sequence(above=above, table=table, column=column):
                code = f"Next({quoted_code(table)}, {quoted_code(column)}, {_number(above)})"
                return _quoted_number(self._column(table, column, "Next", code), is_quoted=parameter.is_quoted)
            case Text(table=table, column=column) if table and column and _is_looked_up(kind, statement, index):
                return self._existing(parameter)
        return self._simple(parameter)

    def _simple(self, parameter: Parameter) -> str:
        """Return the expression of a parameter that needs neither the copy nor another parameter."""
        match parameter:
            case workload.Range(ends=ends, decimals=decimals, distinct=distinct):
                if len(ends) == 2 and distinct is None:
                    self.uses_randint = True
                    drawn = f"randint({_number(ends[0])}, {_number(ends[1])})"
                else:
                    drawn = self._draw("between", *ends, distinct=distinct)
                drawn = f"{drawn} / {_number(10**decimals)}" if decimals else drawn
                return _quoted_number(drawn, is_quoted=parameter.is_quoted)
            case workload.Zipf(low=low, high=high, exponent=exponent, first=first, distinct=distinct):
                drawn = self._draw("zipf", low, high, round(exponent, 3), first, distinct=distinct)
                return _quoted_number(drawn, is_quoted=parameter.is_quoted)
            case workload.Time(ages=ages, form=form, decimals=decimals, is_midnight=is_midnight):
                return self._draw("ago", *ages, form=form, decimals=decimals or None, midnight=is_midnight or None)
            case Text(shortest=shortest, longest=longest):
                return self._patterned(parameter, self._draw("text", shortest, longest, parameter.alphabet))
        raise AssertionError(parameter)

    def _reference(self, kind: workload.TransactionKind, reference: Reference, names: Mapping[Place, str]) -> str:
        name = names[_place_of(reference)]
        low, high = reference.low, reference.high
        if low == high == 0:
            return name
        if not _is_number(kind, reference):
            return self._draw("later", _Code(name), low, high)
        if low == high:
            return f"{name} {'-' if low < 0 else '+'} {_number(abs(low))}"
        self.uses_randint = True
        return f"{name} + randint({_number(low)}, {_number(high)})"

    def _heavy(self, heavy: Heavy) -> str:
        tail, shares = self._simple(heavy.tail), dict[str, float]()
        for value in heavy.values:
            if value.value is None:
                shares[value.hash] = shares.get(value.hash, 0.0) + value.share
        known = {_python(value.value): value.share for value in heavy.values if value.value is not None}
        code = (
            f"Frequent({quoted_code(heavy.table)}, {quoted_code(heavy.column)}, "
            f"{_shares({quoted_code(digest): share for digest, share in shares.items()})}, lambda: {tail}"
            f"{f', {_shares(known)}' if known else ''})"
        )
        return self._column(heavy.table, heavy.column, "Frequent", code)

    def _existing(self, text: Text) -> str:
        otherwise = self._draw("text", text.shortest, text.longest, text.alphabet)
        options = f", distinct={_number(text.distinct)}" if 0 < text.distinct < MOST_VALUES else ""
        options += f", exponent={round(text.exponent, 3)}" if text.exponent else ""
        code = f"Existing({quoted_code(text.table)}, {quoted_code(text.column)}, lambda: {otherwise}{options})"
        return self._patterned(text, self._column(text.table, text.column, "Existing", code))

    def _patterned(self, text: Text, drawn: str) -> str:
        if not text.begins and not text.ends:
            return drawn
        options = {side: True for side, mark in (("begins", text.begins), ("ends", text.ends)) if mark}
        return self._draw("pattern", _Code(drawn), text.shortest, text.longest, **options)

    def _column(self, table: str, column: str, kind: str, code: str) -> str:
        """Return the expression that draws from a column, which is defined once for all tasks."""
        self.draws.add(kind)
        stem = _identifier(f"{table}_{column}" if table or column else kind) or kind.lower()
        taken = set(self._columns.values())
        if code not in self._columns:
            self._columns[code] = _free(stem if "_" in stem else f"{stem}_", taken)
        return f"{self._columns[code]}.draw(cursor)"

    def _draw(self, name: str, *values: Any, **options: Any) -> str:
        self.draws.add(name)
        named = [f"{option}={_literal(value)}" for option, value in options.items() if value is not None]
        return f"{name}({', '.join([*map(_literal, values), *named])})"


class _Code(str):
    """An expression, not a text."""

    __slots__ = ()


def quoted_code(text: str) -> str:
    """Return a text as a Python literal in double quotes, on one line and without characters that nobody sees."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{"".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in escaped)}"'


def one_line(text: str) -> str:
    """Return a text of others as a line of a docstring."""
    return quoted_code(" ".join(text.split()))[1:-1]


def _variables(kind: workload.TransactionKind) -> dict[Place, str]:
    """Return the names of the values that later parameters refer to: of a parameter, or -1 for an inserted id."""
    places = [
        _place_of(part)
        for statement in kind.statements
        for parameter in statement.parameters
        for part in (parameter, getattr(parameter, "item", None))
        if isinstance(part, Reference) and _constant(kind, part) is None
    ]
    names: dict[Place, str] = {}
    for place in dict.fromkeys(places):
        statement, index = place
        column = kind.statements[statement].parameters[index].column if index >= 0 else "inserted"
        names[place] = _free(f"{_identifier(column) or 'value'}_{statement + 1}", set(names.values()))
    return names


def _place_of(reference: Reference) -> Place:
    return reference.statement, -1 if reference.of == "inserted" else reference.parameter


def _target(kind: workload.TransactionKind, reference: Reference) -> Parameter | None:
    """Return the parameter at the end of a chain of references; None for an inserted id."""
    target: Parameter = reference
    while isinstance(target, Reference):
        if target.of == "inserted":
            return None
        target = kind.statements[target.statement].parameters[target.parameter]
    return target


def _constant(kind: workload.TransactionKind, parameter: Parameter) -> str | None:
    """Return the SQL of a parameter that is always the same, also by a reference to such a parameter."""
    target = _target(kind, parameter) if isinstance(parameter, Reference) else parameter
    return target.value if isinstance(target, Constant) else None


def _is_number(kind: workload.TransactionKind, reference: Reference) -> bool:
    target = _target(kind, reference)
    if target is None:
        return True
    is_number = isinstance(target, workload.Range | workload.Zipf | workload.Sequence)
    return is_number and not getattr(target, "is_quoted", False)


def _is_looked_up(kind: workload.TransactionKind, statement: CapturedStatement, index: int) -> bool:
    """Return whether a text should be that of a row: a condition compares it, or the statements repeat it."""
    parameter = statement.parameters[index]
    text = parameter.item if isinstance(parameter, Several) else parameter
    before = "".join(statement.text.replace("%%", "").split("%s")[: index + 1])
    if not SETS.match(statement.text) or COMPARES.search(before):
        return True
    executions = kind.weight * statement.repeats_mean
    return isinstance(text, Text) and text.distinct < REPEATED * executions


def _sql(kind: workload.TransactionKind, statement: CapturedStatement, *, has_arguments: bool) -> str:
    """Return the text of a statement with its constants. A list has its parentheses from PyMySQL."""
    parameters = iter(statement.parameters)

    def replaced(match: re.Match[str]) -> str:
        constant = "%" if match[0] == "%%" else _constant(kind, next(parameters))
        if constant is None:
            return "%s"
        return constant.replace("%", "%%") if has_arguments else constant

    return MARK.sub(replaced, statement.text)


def _tuple(arguments: Sequence[str]) -> str:
    return f"({', '.join(arguments)}{',' if len(arguments) == 1 else ''})" if arguments else ""


def _call(
    function: str, first: list[str], sql: str, values: str, arguments: Sequence[str], width: int
) -> Iterator[str]:
    """Yield the lines of a call, at most a width where the words allow it.

    first: arguments before the statement. values: the argument behind it, or "". arguments: the parts of a tuple.
    """
    line = f"{function}({', '.join([*first, quoted_code(sql), *filter(None, [values])])})"
    if len(line) <= width:
        yield line
        return
    yield f"{function}("
    yield from (f"    {argument}," for argument in first)
    parts = textwrap.wrap(
        sql, width - 8, drop_whitespace=False, replace_whitespace=False, expand_tabs=False, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    yield from (f"    {quoted_code(part)}" for part in parts[:-1])
    yield f"    {quoted_code(parts[-1])},"
    if len(values) + 5 <= width or values.startswith("["):
        yield from [f"    {values},"] if values else []
    else:
        yield from ("    (", *(f"        {argument}," for argument in arguments), "    ),")
    yield ")"


def _literal(value: Any) -> str:
    if isinstance(value, _Code):
        return value
    if isinstance(value, bool):
        return str(value)
    return _number(value) if isinstance(value, int) else quoted_code(value) if isinstance(value, str) else repr(value)


def _number(value: int) -> str:
    return f"{value:_}" if abs(value) >= 10_000 else str(value)


def _quoted_number(code: str, *, is_quoted: bool) -> str:
    return f"str({code})" if is_quoted else code


def _shares(values: Mapping[str, float]) -> str:
    """Return value, as Python -> share as a dictionary's literal."""
    return f"{{{', '.join(f'{value}: {share:.3g}' for value, share in values.items())}}}"


def _python(sql: str) -> str:
    """Return a literal of SQL as Python: a number, a text, or NULL."""
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", sql):
        return str(int(sql)) if "." not in sql else sql
    if len(sql) >= 2 and sql[0] == sql[-1] and sql[0] in "'\"":
        plain = sql[1:-1].replace(sql[0] * 2, sql[0])
        return quoted_code(
            re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t", "0": "\0"}.get(match[1], match[1]), plain)
        )
    return "None" if sql.upper() == "NULL" else quoted_code(sql)


def _identifier(text: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"_{name}" if name[:1].isdigit() else name


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken, with a number where it is."""
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(free for free in names if free not in taken and not iskeyword(free))
