"""A source file as the tree of its grammar, and the values that the file gives its names; for all languages."""

import operator
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from tree_sitter import Language, Node, Parser

from poolsize.errors import BadInput
from poolsize.pool_config.files.values import ENVIRONMENT, largest, setting_of
from poolsize.pool_config.pool import FileSetting, Library, Value

ERROR = "ERROR"
"""The type of a node that the grammar can't parse."""
LONGEST_TEXT = 1_000
"""Bytes of a node that are looked at. A bound, as nodes in nodes may have the length of the file each."""
DEEPEST = 20
"""Expressions in expressions, and names that name each other, go no deeper."""
MOST_VALUES = 10_000
"""Values of a file that other values lead to. Real files have some hundred; names that name each other never end."""
LARGEST = 10**15
"""Larger numbers are not settings of a pool."""
INTEGER = re.compile(r"(\d[\d_]{0,20})(?:[lL]|[uif](?:8|16|32|64|size)|[uU][lL]?)?")
"""A decimal integer, with the suffixes of Java, C# and Rust. Octal numbers (010) are none."""
FALLBACK = re.compile(
    r"""(?:==|!=|<|<=)\s{0,9}(?:(?:0|1|-1)(?![\w.])|nil|null|undefined|""|'')|^\(?!|isNaN|is_none|isEmpty|IsNullOrEmpty"""
)
"""In a condition under which a default replaces a value."""
CONDITION_AROUND = 5
"""Nodes between an assignment and the condition around it."""
WRAPPERS = {
    "parenthesized_expression", "expression_list", "as_expression", "satisfies_expression", "non_null_expression",
    "type_cast_expression", "reference_expression", "expression_statement", "literal_element",
    "try_expression",
}  # fmt: skip
"""Nodes with the value of the first node inside."""
CALLS = {"call_expression", "method_invocation", "invocation_expression"}
MEMBERS = {"member_expression", "subscript_expression"}
VARIABLE = re.compile(
    r"""[\w.:<>]{1,100}(?:\(\)[\w.]{1,100})?\(\s{0,40}["'`](?P<asked>[A-Z][A-Z0-9_]{1,120})["'`]"""
    r"""|(?:[\w.]{1,100}\.)?env(?:\.|\[["'])(?P<member>[A-Z][A-Z0-9_]{1,120})"""
)
"""The beginning of a call that asks for a variable, as os.Getenv("POOL") and number("POOL", 5); or process.env.POOL."""
SIGNED = {"unary_expression", "prefix_unary_expression"}
NUMBERS = {"int_literal", "number", "integer_literal", "decimal_integer_literal"}
TRUTH = {"true": True, "false": False}
OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "*": operator.mul, "+": operator.add, "-": operator.sub,
}  # fmt: skip


@dataclass(frozen=True)
class Grammar:
    """What the reader of a language needs to know about its grammar.

    initialisers: type of node that gives names a value -> its fields with the names and with the values: "." for the
    node itself, and "" for names without a value, such as parameters. functions: types of nodes inside which a name
    hides that of the file.
    """

    language: Language
    initialisers: Mapping[str, tuple[str, str]]
    functions: frozenset[str]


class SourceTree:
    """The tree of a source file. A damaged file has a tree, too: the grammar skips what it can't parse.

    A subclass is a language: it sets `types`, the types of nodes that its reader asks `nodes` for, and adds to `other`
    the values of its own expressions. floats_are_durations: whether a product of two floats is no value.
    """

    types: ClassVar[frozenset[str]]
    floats_are_durations: ClassVar[bool] = False

    def __init__(self, text: str, grammar: Grammar) -> None:
        self.source = text.encode(errors="replace")
        self._tree = Parser(grammar.language).parse(self.source)
        self._led_to = 0
        self._by_type: dict[str, list[Node]] = {}
        self._functions: list[tuple[int, int, int]] = []
        """Start, end and place of the function around it, in order of their starts. The first one is the file."""
        wanted = self.types | grammar.functions | set(grammar.initialisers) | {ERROR}
        for node in walk(self._tree.root_node, wanted):
            self._by_type.setdefault(node.type, []).append(node)
            if node.type in grammar.functions:
                self._functions.append((node.start_byte, node.end_byte, self.function(node)))
        self._named: dict[tuple[int, str], list[Node | None]] = {}
        initialisers = [node for kind in grammar.initialisers for node in self.nodes(kind)]
        for node in sorted(initialisers, key=lambda node: node.start_byte):
            self._name(node, *grammar.initialisers[node.type])

    def nodes(self, kind: str) -> list[Node]:
        """Return the nodes of one of the `types`, in the order of the file."""
        return self._by_type.get(kind, [])

    def arguments(self, call: Node) -> list[Node]:
        """Return the arguments of a call."""
        arguments = call.child_by_field_name("arguments")
        return children(arguments) if arguments and "argument" in arguments.type else []

    def refuse_damage(self, language: str, names: str) -> None:
        """Raise BadInput for a file with damage that has one of some names: a pool may be in the damaged part.

        names: a regular expression of the names that make or limit a pool.
        """
        if self._tree.root_node.has_error and re.search(names.encode(), self.source):
            damage = self.nodes(ERROR)
            where = f": line {line(damage[0])}" if damage else ""
            raise BadInput(f"this is not {language}{where}")

    def text(self, node: Node | None) -> str:
        """Return the text of a node, at most LONGEST_TEXT bytes of it; "" for None."""
        if node is None:
            return ""
        end = min(node.end_byte, node.start_byte + LONGEST_TEXT)
        return self.source[node.start_byte : end].decode(errors="replace")

    def text_at(self, node: Node, field: str) -> str:
        """Return the text of a field of a node; "" where the node has no such field."""
        return self.text(node.child_by_field_name(field))

    def string(self, node: Node | None) -> str | None:
        """Return the text of a string without its quotes; None for anything else."""
        is_string = node is not None and ("string" in node.type or node.type == "verbatim_string_literal")
        return self.text(node).lstrip("@rb").strip("\"'`") if is_string else None

    def function(self, node: Node) -> int:
        """Return the place of the innermost function around a node in the order of functions; -1 for none."""
        place = bisect_right(self._functions, node.start_byte - 1, key=lambda each: each[0]) - 1
        while place >= 0 and self._functions[place][1] < node.end_byte:
            place = self._functions[place][2]
        return place

    def function_start(self, node: Node) -> int:
        """Return the first byte of the innermost function around a node; -1 for none."""
        place = self.function(node)
        return self._functions[place][0] if place >= 0 else -1

    def named(self, name: str, at: Node) -> list[Node | None]:
        """Return what gives a name its value, as seen from a node: in its function, around it, or in the file.

        The order is that of the file. None: a parameter, or a value the file does not contain.
        """
        return next((self._named[place, name] for place in self.around(at) if (place, name) in self._named), [])

    def around(self, node: Node) -> Iterator[int]:
        """Yield the places of the functions around a node, from the innermost; -1 for the file."""
        place = self.function(node)
        while place >= 0:
            yield place
            place = self._functions[place][2]
        yield -1

    def count_value(self, depth: int) -> None:
        """Count a value that another value leads to, as its depth says. Raises BadInput for too many."""
        self._led_to += depth > 0
        if self._led_to > MOST_VALUES:
            raise BadInput(f"its names name each other in more than {MOST_VALUES:,} ways")

    def value(self, node: Node | None, depth: int = 0) -> Value:
        """Return a value where the file contains it: a literal, a constant, arithmetic; None where it does not."""
        if node is None or depth > DEEPEST:
            return None
        self.count_value(depth)
        value: Value = None
        if node.type in NUMBERS:
            value = integer(self.text(node))
        elif node.type in WRAPPERS:
            value = self.value(next(iter(children(node)), None), depth + 1)
        elif node.type in SIGNED:
            value = self._signed(node, depth)
        elif node.type == "binary_expression" and self.text_at(node, "operator") in {*OPERATORS, "/"}:
            value = self._computed(node, depth)
        elif self.text(node) in TRUTH:
            value = TRUTH[self.text(node)]
        else:
            given = self.given(node)
            value = self.other(node, depth + 1) if given is None else self.of_text(given)
        return None if isinstance(value, int | float) and not abs(value) < LARGEST else value

    def given(self, node: Node) -> str | None:
        """Return the text of the environment variable that a call or a member asks for; None where none is known."""
        match = VARIABLE.match(self.text(node)) if node.type in CALLS | MEMBERS else None
        return ENVIRONMENT.text(match["asked"] or match["member"]) if match else None

    def of_text(self, text: str) -> Value:
        """Return the value of the text of a variable."""
        number = integer(text)
        return text if number is None else number

    def values(self, nodes: Iterable[Node | None], depth: int) -> tuple[list[Value], Value]:
        """Return the values of nodes; and that which a variable gives to the first such node, or None."""
        return ENVIRONMENT.alternatives(partial(self.value, node, depth) for node in nodes)

    def agreed(self, nodes: Iterable[Node | None], depth: int) -> Value:
        """Return the value that a variable gives to one of some nodes; else the value in which they agree."""
        values, given = self.values(nodes, depth)
        return agreed(values) if given is None else given

    def other(self, node: Node, depth: int) -> Value:
        """Return the value of an expression that not all languages have; here of a name."""
        return self.value_of_name(self.text(node), node, depth)

    def value_of_name(self, name: str, at: Node, depth: int) -> Value:
        """Return the value of a name; the default, where the environment may give another one.

        A name may have several values, as in `size = 10; if (configured) size = configured`. Those that are known must
        agree. An unknown value before them needs a condition that shows a default: `if (!size) size = 10`.
        """
        nodes = self.named(name, at)
        values, given = self.values(nodes, depth)
        if given is not None:
            return given
        known = [node for node, value in zip(nodes, values, strict=True) if node and value is not None]
        if None in values[:1] and not all(self.is_fallback(node) for node in known):
            return None
        if "." in name and any(self.is_fallback(node) is False for node in known):  # it has no declaration
            return None
        return agreed(values)

    def setting(self, name: str, node: Node, at: Node | None = None) -> FileSetting:
        """Return a setting with the value that a node has. at: the node on the setting's line, by default the same."""
        return setting_of(name, " ".join(self.text(node).split()), line(at or node), partial(self.value, node))

    def constants_of(self, library: Library, at: Node) -> dict[str, FileSetting]:
        """Return a library's constants whose numbers the file has, as seen from a node."""
        nodes = {name: node for name in library.constants for node in self.named(name, at) if node}
        settings = {name: self.setting(name, node) for name, node in nodes.items()}
        return {name: setting for name, setting in settings.items() if isinstance(setting.value, int | float)}

    def is_fallback(self, node: Node) -> bool | None:
        """Return whether a value holds only where there is no other; None for a value without a condition."""
        around: Node | None = node
        for _ in range(CONDITION_AROUND):
            around = around.parent if around else None
            if around is not None and around.type in {"if_statement", "if_expression"}:
                return bool(FALLBACK.search(self.text_at(around, "condition")))
        return None

    def _name(self, node: Node, name_field: str, value_field: str) -> None:
        """Note which names a node gives which value."""
        names = list(_listed(node, name_field))
        values: list[Node | None] = [*_listed(node, value_field)] if value_field else []
        if value_field and not values and not node.type.endswith("parameter"):
            return  # declared only: a value follows
        if len(values) != len(names):  # as in: db, err := open()
            values = [*values[:1], *[None] * len(names)]
        function = self.function(node)
        for name, value in zip(names, values, strict=False):
            self._named.setdefault((function, self.text(name)), []).append(value)

    def _signed(self, node: Node, depth: int) -> Value:
        """Return a negative number, the number that JavaScript's plus makes of a text, or what a pointer points to."""
        operand = next(iter(children(node)), None)
        value = self.value(operand, depth + 1)
        if isinstance(value, str) and value.isdecimal():
            value = integer(value)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        sign = self.source[node.start_byte : node.start_byte + 1]
        return -value if sign == b"-" else value if sign in {b"+", b"*"} else None

    def _computed(self, node: Node, depth: int) -> Value:
        """Return the result of arithmetic; None without two numbers, and for a quotient that is no integer."""
        left = self.value(node.child_by_field_name("left"), depth + 1)
        right = self.value(node.child_by_field_name("right"), depth + 1)
        operation = self.text_at(node, "operator")
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            return None
        if self.floats_are_durations and operation == "*" and isinstance(left, float) and isinstance(right, float):
            return None
        if operation in OPERATORS:
            return OPERATORS[operation](left, right)
        if not right:
            return None
        return left / right if isinstance(left, float) else left // right if not left % right else None


def agreed(values: Iterable[Value]) -> Value:
    """Return the known value among values; None without any, and where they differ.

    0 and false beside an unknown value are no default: they stand for "not configured".
    """
    known = {(type(value), value): value for value in values}
    is_unknown = known.pop((type(None), None), 0) is None
    value = next(iter(known.values()), None)
    return None if len(known) != 1 or (is_unknown and not value) else value


def larger(values: Sequence[Value]) -> Value:
    """Return the larger of the alternatives of `condition ? 20 : 5`; where one is no number, what `agreed` returns."""
    number = largest(values)
    return agreed(values) if number is None else number


def children(node: Node) -> list[Node]:
    """Return the nodes in a node: without comments, brackets, commas and operators."""
    return [child for child in node.named_children if not child.is_extra]


def line(node: Node) -> int:
    """Return the line of a node, from 1."""
    return node.start_point[0] + 1


def integer(text: str) -> int | None:
    """Return a decimal integer, which may have underscores and a suffix; None for anything else."""
    match = INTEGER.fullmatch(text)
    if match is None or (text.startswith("0") and match[1] != "0"):
        return None
    return int(match[1].replace("_", ""))


def walk(root: Node, types: frozenset[str] | set[str]) -> Iterator[Node]:
    """Yield the nodes of some types in a node, in the order of the file."""
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is not None and node.type in types and node.is_named:
            yield node
        if cursor.goto_first_child() or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            return


def _listed(node: Node, field: str) -> Iterator[Node]:
    """Yield the nodes in a field, also those of a list in it. field: "." for the node itself."""
    if field == ".":
        yield from children(node)
    for each in node.children_by_field_name(field):
        if each.type.endswith("_list"):
            yield from children(each)
        elif each.is_named:
            yield each
