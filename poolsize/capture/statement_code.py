"""The Python lines that run captured statements: each parameter becomes a draw of poolsize.capture.draws."""

import ast
import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from keyword import iskeyword
from typing import Any

from poolsize.capture import workload
from poolsize.capture.draws import INSERTED_ROW, MOST_VALUES
from poolsize.capture.workload import CapturedStatement, Constant, Heavy, Parameter, Reference, Several, Text

WIDTH, INDENT = 88, 8
"""Columns of a line, as ruff's formatter has them, and the indentation of a method's lines."""
MARK = re.compile(r"%s|%%")
COMPARES = re.compile(r"\b(?:WHERE|HAVING|JOIN)\b", re.IGNORECASE)
SETS = re.compile(r"\s*(?:INSERT|REPLACE|UPDATE)\b", re.IGNORECASE)
UPDATES = re.compile(r"\s*UPDATE\b", re.IGNORECASE)
REPEATED = 0.5
"""Texts that a statement sets come from the copy where a text has more than two draws on average, as a state has."""
LONGEST_ARGUMENT = 60
"""A longer draw has a line of its own, before its statement."""
Place = tuple[int, int]
"""The index of a statement in its transaction, and of a parameter in its statement; -1 for an inserted id."""


class Code:
    """Collects the names that the tasks of a file need. draws: names of poolsize.capture.draws, and randint."""

    def __init__(self) -> None:
        """Begin a file."""
        self._columns: dict[str, str] = {}
        """Definition -> its name."""
        self.draws: set[str] = set()

    @property
    def columns(self) -> list[str]:
        """Lines that define the columns whose values come from the copy."""
        return [line for code, name in self._columns.items() for line in broken(f"{name} = {code}", WIDTH)]

    def of_kind(self, kind: workload.TransactionKind) -> list[str]:
        """Return the lines of a task."""
        lines = _Task(self, kind).lines()
        if not kind.is_explicit:
            return list(lines)
        return ['cursor.execute("BEGIN")', *lines, f'cursor.execute("{kind.ends.upper()}")']

    def draw(self, name: str, *values: Any, **options: Any) -> str:
        """Return a call of a function of `draws`, without the options that are None or false."""
        self.draws.add(name)
        named = [f"{option}={_literal(value)}" for option, value in options.items() if value]
        return f"{name}({', '.join([*map(_literal, values), *named])})"

    def number_of(self, ends: tuple[int, int], mean: float) -> str:
        """Return the expression of a number of repetitions or rows; "" where the number is always 1."""
        low, high = ends
        if low == high:
            return "" if low == 1 else str(low)
        return self.draw("about", low, high, round(mean, 3))

    def column(self, kind: str, of: Parameter, *values: Any, **options: Any) -> str:
        """Return the expression that draws from a column of the copy, which is defined once for all tasks."""
        code = self.draw(kind, of.table, of.column, *values, **options)
        if code not in self._columns:
            stem = _identifier(f"{of.table}_{of.column}" if of.table or of.column else kind) or kind.lower()
            self._columns[code] = _free(stem if "_" in stem else f"{stem}_", self._columns.values())
        return f"{self._columns[code]}.draw(cursor)"

    def patterned(self, text: Text, expression: str) -> str:
        """Return the expression of a text, with its wildcards. expression: without the wildcards."""
        if not text.begins and not text.ends:
            return expression
        options = {"begins": bool(text.begins), "ends": bool(text.ends)}
        return self.draw("pattern", _Code(expression), text.shortest, text.longest, **options)

    def simple(self, parameter: workload.Tail | Heavy | workload.Sequence) -> str:
        """Return the expression of a parameter that depends on no other parameter."""
        match parameter:
            case Heavy():
                return self.frequent(parameter)
            case workload.Sequence(above=above):
                expression = self.column("Next", parameter, above)
            case workload.Range(ends=ends, shares=shares, decimals=decimals, distinct=distinct):
                is_plain = len(ends) == 2 and distinct is None
                expression = (
                    self.draw("randint", *ends) if is_plain
                    else self.draw("pieces", ends, shares, distinct=distinct) if shares
                    else self.draw("between", *ends, distinct=distinct)
                )  # fmt: skip
                expression = f"{expression} / {_literal(10**decimals)}" if decimals else expression
            case workload.Zipf(low=low, high=high, exponent=exponent, first=first, distinct=distinct):
                expression = self.draw("zipf", low, high, round(exponent, 3), first, distinct=distinct)
            case workload.Tiers(low=low, high=high, shares=shares, sizes=sizes):
                expression = self.draw("tiers", low, high, shares, sizes)
            case workload.Time(ages=ages, form=form, decimals=decimals, is_midnight=is_midnight):
                return self.draw("ago", *ages, form=form, decimals=decimals, midnight=is_midnight)
            case Text(shortest=shortest, longest=longest, alphabet=alphabet):
                return self.patterned(parameter, self.draw("text", shortest, longest, alphabet))
        return f"str({expression})" if parameter.is_quoted else expression

    def frequent(self, heavy: Heavy) -> str:
        """Return the expression of frequent values with their tail."""
        known = {_python(each.value): each.share for each in heavy.values if each.value is not None}
        shares = _Code([float(f"{each.share:.3g}") for each in heavy.values if each.value is None])
        tail = heavy.tail
        if isinstance(tail, Text) and not known:  # the wildcards are for a value of the copy, too
            bare = self.draw("text", tail.shortest, tail.longest, tail.alphabet)
            return self.patterned(tail, self.column("Frequent", heavy, shares, _Code(f"lambda: {bare}")))
        own = f"{{{', '.join(f'{value}: {share:.3g}' for value, share in known.items())}}}" if known else ""
        return self.column("Frequent", heavy, shares, _Code(f"lambda: {self.simple(tail)}"), known=_Code(own))

    def existing(self, text: Text, *, unless_unique: bool = False) -> str:
        """Return the expression of a value that a column of the copy has. unless_unique: as Existing has it."""
        otherwise = _Code(f"lambda: {self.draw('text', text.shortest, text.longest, text.alphabet)}")
        options = {
            "distinct": text.distinct if text.distinct < MOST_VALUES else None,
            "exponent": round(text.exponent, 3),
            "unless_unique": unless_unique,
        }
        expression = self.column("Existing", text, otherwise, **options)
        return self.patterned(text, expression)


class _Task:
    """The lines of a kind of transaction."""

    def __init__(self, code: Code, kind: workload.TransactionKind) -> None:
        self._code, self._kind = code, kind
        self._names: dict[Place, str] = {}
        """The names of values that have a line of their own, such as those to which later parameters refer."""
        for parameter in (parameter for statement in kind.statements for parameter in statement.parameters):
            part = parameter.item if isinstance(parameter, Several) else parameter
            if isinstance(part, Reference) and self._constant(part) is None and _place_of(part) not in self._names:
                self._add_name(_place_of(part))

    def _add_name(self, place: Place) -> None:
        statement, index = place
        column = self._kind.statements[statement].parameters[index].column if index >= 0 else "inserted"
        self._names[place] = _free(f"{_identifier(column) or 'value'}_{statement + 1}", self._names.values())

    def lines(self) -> Iterator[str]:
        """Yield the lines of the statements."""
        for place, statement in enumerate(self._kind.statements):
            yield from self._lines(place, statement)

    def _lines(self, place: int, statement: CapturedStatement) -> Iterator[str]:
        """Yield the lines of a statement, in a loop for a statement that repeats."""
        indent = ""
        if loop := self._code.number_of(statement.repeats, statement.repeats_mean):
            yield f"for _ in range({loop}):"
            indent = "    "
        arguments: list[str] = []
        rows = self._code.number_of(statement.rows, statement.rows_mean)
        for index, parameter in enumerate(statement.parameters):
            if self._constant(parameter) is not None:
                continue
            expression = self._expression(statement, index, parameter)
            if not rows and len(expression) > LONGEST_ARGUMENT and (place, index) not in self._names:
                self._add_name((place, index))
            if name := self._names.get((place, index), ""):
                yield from (indent + line for line in broken(f"{name} = {expression}", WIDTH - INDENT - len(indent)))
                expression = name
            arguments.append(expression)
        sql = self._sql(statement, has_arguments=bool(arguments or rows))
        if rows and INSERTED_ROW.search(sql):
            self._code.draws.add("insert")
            call = f"insert(cursor, {quoted_code(sql)}, [{_tuple(arguments)} for _ in range({rows})])"
        else:
            call = f"cursor.execute({', '.join(filter(None, [quoted_code(sql), _tuple(arguments)]))})"
        yield from (indent + line for line in broken(call, WIDTH - INDENT - len(indent)))
        if name := self._names.get((place, -1), ""):
            yield f"{indent}{name} = cursor.lastrowid"

    def _expression(self, statement: CapturedStatement, index: int, parameter: Parameter) -> str:
        """Return the expression that draws a parameter. index: of the parameter, or of its list."""
        match parameter:
            case Several(item=item, low=low, high=high, mean=mean, within=within):
                item = replace(item, table=parameter.table, column=parameter.column)
                draw = _Code(f"lambda: {self._expression(statement, index, item)}")
                return self._code.draw("several", draw, low, high, round(mean, 3), within=within)
            case Constant(value=value):
                return _python(value)
            case Reference():
                return self._reference(parameter)
            case Text(table=table, column=column) if table and column:
                if self._is_looked_up(statement, index, parameter):
                    return self._code.existing(parameter)
                if UPDATES.match(statement.text):  # random texts would take the rows away from later searches
                    return self._code.existing(parameter, unless_unique=True)
        return self._code.simple(parameter)

    def _reference(self, reference: Reference) -> str:
        name, low, high = self._names[_place_of(reference)], reference.low, reference.high
        if low == high == 0:
            return name
        target = self._target(reference)
        numbers = workload.Range | workload.Zipf | workload.Tiers | workload.Sequence
        is_number = isinstance(target, numbers) and not target.is_quoted
        if target is not None and not is_number:
            return self._code.draw("later", _Code(name), low, high)
        if low == high:
            return f"{name} {'-' if low < 0 else '+'} {_literal(abs(low))}"
        return f"{name} + {self._code.draw('randint', low, high)}"

    def _target(self, reference: Reference) -> Parameter | None:
        """Return the parameter at the end of a chain of references; None for an inserted id."""
        target: Parameter = reference
        while isinstance(target, Reference):
            if target.of == "inserted":
                return None
            target = self._kind.statements[target.statement].parameters[target.parameter]
        return target

    def _constant(self, parameter: Parameter) -> str | None:
        """Return the SQL of a parameter that is always the same, also by a reference to such a parameter."""
        target = self._target(parameter) if isinstance(parameter, Reference) else parameter
        return target.value if isinstance(target, Constant) else None

    def _is_looked_up(self, statement: CapturedStatement, index: int, text: Text) -> bool:
        """Return whether a text should be a row's: a condition compares the text, or the statements repeat it."""
        before = "".join(statement.text.replace("%%", "").split("%s")[: index + 1])
        if not SETS.match(statement.text) or COMPARES.search(before):
            return True
        return text.distinct < REPEATED * self._kind.weight * statement.repeats_mean

    def _sql(self, statement: CapturedStatement, *, has_arguments: bool) -> str:
        """Return the text of a statement with its constants. A list has its parentheses from PyMySQL."""
        parameters = iter(statement.parameters)

        def replaced(match: re.Match[str]) -> str:
            constant = "%" if match[0] == "%%" else self._constant(next(parameters))
            if constant is None:
                return "%s"
            return constant.replace("%", "%%") if has_arguments else constant

        return MARK.sub(replaced, statement.text)


class _Code(str):
    """An expression, not a text."""

    __slots__ = ()


def quoted_code(text: str) -> str:
    """Return a text as a Python literal in double quotes, on one line and without invisible characters."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{"".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in escaped)}"'


def one_line(text: str) -> str:
    """Return a text of others as a line of a docstring."""
    return quoted_code(" ".join(text.split()))[1:-1]


def _literal(value: Any) -> str:
    if isinstance(value, _Code):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    return quoted_code(value) if isinstance(value, str) else repr(value)


def _place_of(reference: Reference) -> Place:
    return reference.statement, -1 if reference.of == "inserted" else reference.parameter


def _tuple(arguments: Sequence[str]) -> str:
    return f"({', '.join(arguments)}{',' if len(arguments) == 1 else ''})" if arguments else ""


def broken(code: str, width: int) -> list[str]:
    """Return the lines of a statement, or of a part of an expression, which is broken where it is wider than a width.

    Each argument of a call, and each element of a tuple, has a line of its own, with a comma: ruff keeps that. Numbers
    have a line together.
    """
    if len(code) <= width:
        return [code]
    node = ast.parse(code).body[0]
    value = node.value if isinstance(node, ast.Assign | ast.Expr) else None
    while isinstance(value, ast.Lambda):
        value = value.body
    spans = _parts(value)
    if not spans:
        return [code]
    encoded = code.encode()  # ast counts bytes
    head = encoded[: spans[0][0].col_offset].decode()
    tail = encoded[spans[-1][1].end_col_offset :].decode().lstrip(", ")
    comma = "" if isinstance(value, ast.ListComp) else ","
    lines = [head]
    if all(isinstance(first, ast.Constant) and not isinstance(first.value, str) for first, _ in spans):
        numbers = f"    {code[len(head) : len(code) - len(tail)]}"
        if len(numbers) <= width:
            return [head, numbers, tail]
    for first, last in spans:
        text = encoded[first.col_offset : last.end_col_offset].decode()
        is_text = isinstance(value, ast.Call) and isinstance(first, ast.Constant) and isinstance(first.value, str)
        inner = _broken_text(ast.literal_eval(text), width - 4) if is_text else broken(text, width - 4 - len(comma))
        lines += [f"    {line}" for line in inner[:-1]] + [f"    {inner[-1]}{comma}"]
    return [*lines, f"    {tail[:-1]}", "]"] if isinstance(value, ast.ListComp) else [*lines, tail]


def _parts(value: ast.expr | None) -> Sequence[tuple[ast.expr | ast.keyword, ast.expr | ast.keyword]]:
    """Return the arguments of a call, or the elements of a tuple, by their first and last nodes."""
    match value:
        case ast.Call():
            return [*zip(value.args, value.args, strict=True), *zip(value.keywords, value.keywords, strict=True)]
        case ast.Tuple() | ast.List():
            return [(part, part) for part in value.elts]
        case ast.Dict():
            return [(key, part) for key, part in zip(value.keys, value.values, strict=True) if key]
        case ast.ListComp():
            return [(value.elt, value.elt)]
    return []


def _broken_text(text: str, width: int) -> list[str]:
    """Return the literals of a text's parts, each of the width at most where the words allow it."""
    if len(quoted_code(text)) < width:
        return [quoted_code(text)]
    parts = textwrap.wrap(
        text, width - 2, drop_whitespace=False, replace_whitespace=False, expand_tabs=False, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [quoted_code(part) for part in parts]


def _python(sql: str) -> str:
    """Return a literal of SQL as Python: NULL, a boolean, a number, bytes or a text."""
    if constant := {"NULL": "None", "TRUE": "True", "FALSE": "False"}.get(sql):
        return constant
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", sql):
        return str(int(sql)) if "." not in sql else sql
    if sql.startswith("x'"):
        return repr(bytes.fromhex(sql[2:-1]))
    return quoted_code(sql[1:-1].replace("''", "'").replace("\\\\", "\\")) if sql.startswith("'") else quoted_code(sql)


def _identifier(text: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"_{name}" if name[:1].isdigit() else name


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken, with a number where it is."""
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(free for free in names if free not in taken and not iskeyword(free))
