"""JavaScript and TypeScript: the objects and values of a source, also of JSON, which is an object of JavaScript."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

from poolsize.pool_config.files.source_tree import DEEPEST, FALLBACK, WRAPPERS, Grammar, SourceTree, children, larger
from poolsize.pool_config.files.values import ENVIRONMENT, integer_or_text, largest
from poolsize.pool_config.pool import FileSetting, Value

INITIALISERS = {
    "variable_declarator": ("name", "value"), "assignment_expression": ("left", "right"),
    "assignment_pattern": ("left", "right"), "object_assignment_pattern": ("left", "right"),
    "required_parameter": ("pattern", "value"),
    "optional_parameter": ("pattern", "value"), "formal_parameters": (".", ""),
}  # fmt: skip
FUNCTIONS = frozenset({
    "function_declaration", "function_expression", "arrow_function", "method_definition", "generator_function",
    "generator_function_declaration",
})  # fmt: skip
TYPESCRIPT = Grammar(Language(tree_sitter_typescript.language_typescript()), INITIALISERS, FUNCTIONS)
TSX = Grammar(Language(tree_sitter_typescript.language_tsx()), INITIALISERS, FUNCTIONS)
"""Also of JavaScript, which people mix with types."""
CONVERSIONS = {"Number", "parseInt", "Number.parseInt", "parseFloat", "String"}
"""Functions with the value of their first argument."""
NAMES = {"identifier", "shorthand_property_identifier", "member_expression", "subscript_expression"}
ASKS = re.compile(r"env|get|int|num|config|default", re.IGNORECASE)
"""In the names of functions of a name and a default."""
IMPORT = re.compile(
    r"\b(?:import {1,9}(?P<name>\w{1,60}) {1,9}from {0,9}"
    r"|(?:const|let|var) {1,9}(?P<required>\w{1,60}) {0,9}= {0,9}require\()"
    r"[\"'](?P<module>\.{1,2}/[\w./-]{1,200})[\"']"
)
"""Of a file of the project, under a name."""
EXPORT = re.compile(r"^(?:module\.exports\s{0,9}=|export\s{1,9}default)(?=\s{0,9}[{\w])", re.MULTILINE)
"""Before the configuration that a file is for."""


@dataclass(frozen=True)
class Pair:
    """A key and a value of an object."""

    key: Node
    value: Node


class JavascriptTree(SourceTree):
    """A source of JavaScript or TypeScript. spread: first bytes of the objects that are part of another object.

    A configuration that it imports is a function at its end, so that the values of both files are followed.
    """

    types: ClassVar[frozenset[str]] = frozenset({
        "call_expression", "new_expression", "object", "import_statement", "string", "assignment_expression",
        "variable_declarator", "public_field_definition",
    })  # fmt: skip

    def __init__(self, text: str, grammar: Grammar) -> None:
        self._imports: list[tuple[int, int]] = []
        """First line of an imported configuration, and the line of its import."""
        self._own_bytes = sys.maxsize
        super().__init__(self._with_modules(text, grammar), grammar)
        self.spread: set[int] = set()
        self._without_spread: dict[int, dict[str, Pair]] = {}
        """First byte of an object in which nothing is spread -> its pairs: the branches of a chain share an object."""
        self._assigned: set[str] = set()
        """Names whose assigned objects are being merged: they may name themselves."""
        self._members: dict[str, list[Pair]] = {}
        """Name of an object -> what is assigned to its members."""
        for node in self.nodes("assignment_expression"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            key = left.child_by_field_name("property") if left and left.type == "member_expression" else None
            if left and key and right:
                self._members.setdefault(self.text_at(left, "object"), []).append(Pair(key, right))
        for node in self.nodes("public_field_definition"):
            key, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if key and value:
                self._members.setdefault("this", []).append(Pair(key, value))
        declared = [(node.child_by_field_name("value"), node) for node in self.nodes("variable_declarator")]
        self._name_at = {value.start_byte: node.child_by_field_name("name") for value, node in declared if value}
        """First byte of a value -> the name of the variable that it is assigned to."""
        self._declared = {self.text_at(node, "name"): node for node in self.nodes("function_declaration")}
        for node in self.nodes("call_expression"):
            if self.text_at(node, "function") == "Object.assign" and self.arguments(node):
                changed, *others = self.arguments(node)
                for other in others:
                    self._members.setdefault(self.text(changed), []).extend(self.pairs(other)[0].values())
        if self._imports:
            self._own_bytes = len(b"".join(self.source.splitlines(keepends=True)[: self._imports[0][0] - 1]))

    def _with_modules(self, text: str, grammar: Grammar) -> str:
        """Return a text with the configurations that it imports at its end, as functions which return them."""
        modules: list[str] = []
        first = text.count("\n") + 2

        def as_call(match: re.Match[str]) -> str:
            module, name = ENVIRONMENT.modules.get(match["module"]), match["name"] or match["required"]
            if module is None or Parser(grammar.language).parse(module.encode(errors="replace")).root_node.has_error:
                return match[0]
            self._imports.append((first + "".join(modules).count("\n"), text.count("\n", 0, match.start()) + 1))
            modules.append(f"\nfunction module_{name}() {{ {EXPORT.sub('return ', module)}\n}}")
            return f"const {name} = module_{name}({')' * (match['name'] is not None)}"

        return IMPORT.sub(as_call, text) + "".join(modules) if ENVIRONMENT.modules else text

    def nodes(self, kind: str) -> list[Node]:
        """Return nodes as in SourceTree, without those of imported configurations once the tree is made."""
        return [node for node in super().nodes(kind) if node.start_byte < self._own_bytes]

    def setting(self, name: str, node: Node, at: Node | None = None) -> FileSetting:
        """Return a setting as in SourceTree; of a name that stands for `condition ? 10 : 4`, with this as its text."""
        target = self.resolved(node) if node.type in NAMES else None
        is_choice = target is not None and target.type == "ternary_expression"
        setting = super().setting(name, target if target and is_choice else node, at or node)
        imports = [at_import for first, at_import in self._imports if setting.line >= first]
        return replace(setting, line=imports[-1]) if imports else setting

    def key(self, node: Node | None) -> str:
        """Return the key of an object without quotes, or the last part of a dotted name."""
        if node is not None and node.type == "member_expression":
            node = node.child_by_field_name("property")
        return self.text(node).strip("'\"`")

    def resolved(self, node: Node | None, depth: int = 0) -> Node | None:
        """Return what a name, a member or a wrapped expression stands for; None where the file does not contain it."""
        if node is None or depth > DEEPEST:
            return None
        is_freeze = self.text_at(node, "function") == "Object.freeze"
        if node.type in WRAPPERS or node.type == "await_expression" or is_freeze:
            inner = self.arguments(node) if is_freeze else children(node)
            return self.resolved(inner[0], depth + 1) if inner else None
        if node.type == "call_expression":
            return self._returned(node, depth + 1) or node
        if node.type not in NAMES:
            return node
        known = self.named(self.text(node), node)
        if known:
            return self.resolved(known[0], depth + 1) if len(known) == 1 else None
        return self._of_member(node, depth + 1)

    def _of_member(self, node: Node, depth: int) -> Node | None:
        index = node.child_by_field_name("index")
        name = self.value(index, depth) if index else self.key(node)
        pair = self.pairs(node.child_by_field_name("object"), depth)[0].get(name) if isinstance(name, str) else None
        return self.resolved(pair.value, depth) if pair else None

    def _returned(self, call: Node, depth: int) -> Node | None:
        """Return what a function of the file returns at its end; None for other functions."""
        name = call.child_by_field_name("function")
        function = self._declared.get(self.text(name)) or (
            self.resolved(name, depth) if name is not None and name.type == "identifier" else None
        )
        body = function.child_by_field_name("body") if function is not None and function.type in FUNCTIONS else None
        if body is not None and body.type == "statement_block":
            last = next(iter(reversed(children(body))), None)
            body = next(iter(children(last)), None) if last is not None and last.type == "return_statement" else None
        return self.resolved(body, depth)

    def pairs(self, node: Node | None, depth: int = 0) -> tuple[dict[str, Pair], bool]:
        """Return the pairs of an object by their keys, and whether these are all."""
        target = self.resolved(node, depth)
        pairs: dict[str, Pair] = {}
        complete = target is not None and target.type == "object"
        if target is not None and target.type == "object":
            if target.start_byte in self._without_spread:
                pairs |= self._without_spread[target.start_byte]
            else:
                parts = children(target)
                for child in parts:
                    complete &= self._add(pairs, child, depth)
                if all(child.type != "spread_element" for child in parts):
                    self._without_spread[target.start_byte] = dict(pairs)
        elif target is not None and self.text_at(target, "function") == "Object.assign":
            merged = [self._merge(pairs, argument, depth) for argument in self.arguments(target)]
            complete = all(merged)
        elif target is None and node is not None and node.type == "identifier":
            complete = self._merge_assigned(pairs, node, depth)
        node = self._name_at.get(node.start_byte, node) if node is not None and node.type == "object" else node
        if node is not None and node.type in {*NAMES, "this"}:
            pairs |= {self.key(pair.key): pair for pair in self._members.get(self.text(node), ())}
        return pairs, complete

    def _add(self, pairs: dict[str, Pair], child: Node, depth: int) -> bool:
        """Add a part of an object. Return whether all of it is known."""
        key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
        if child.type == "spread_element":
            return self._merge(pairs, children(child)[0], depth) if children(child) else False
        if child.type == "shorthand_property_identifier":
            pairs[self.text(child)] = Pair(child, child)
        elif key is not None and value is not None:
            pairs[self.key(key)] = Pair(key, value)
        return True

    def _merge(self, pairs: dict[str, Pair], node: Node | None, depth: int) -> bool:
        """Add the pairs of an object in an object. Return whether all of them are known."""
        target = self.resolved(node, depth + 1)
        if target is not None and target.type == "ternary_expression":
            branches = [target.child_by_field_name(field) for field in ("consequence", "alternative")]
            return self._merge_branches(pairs, branches, depth + 1)
        if target is not None and self.text_at(target, "operator") == "&&":
            return self._merge_branches(pairs, [target.child_by_field_name("right")], depth + 1, may_be_none=True)
        if target is not None:
            self.spread.add(target.start_byte)
        further, complete = self.pairs(node, depth + 1)
        pairs |= further
        return complete

    def _merge_assigned(self, pairs: dict[str, Pair], node: Node, depth: int) -> bool:
        """Add the pairs of the objects that a name is assigned, as in two branches. Return whether all are known."""
        name = self.text(node)
        known = self.named(name, node)
        if len(known) < 2 or name in self._assigned or depth > DEEPEST:
            return False
        self._assigned.add(name)
        complete = self._merge_branches(pairs, known, depth + 1)
        self._assigned.remove(name)
        return complete

    def _merge_branches(
        self, pairs: dict[str, Pair], nodes: Sequence[Node | None], depth: int, *, may_be_none: bool = False
    ) -> bool:
        """Add the pairs of objects of which one holds. Return whether all of them are known.

        Of several numbers, the largest counts; other values that differ are not known, and do not replace another.
        may_be_none: whether perhaps none of the objects holds.
        """
        self.count_value(depth)
        different = {self.text(node): node for node in nodes}.values()
        branches: list[dict[str, Pair]] = [{} for _ in different]
        merged = [self._merge(branch, node, depth) for branch, node in zip(branches, different, strict=True)]
        complete = all(merged)
        if may_be_none:
            branches.append({})
        for name in dict.fromkeys(name for branch in branches for name in branch):
            may_hold = [pair for branch in branches if (pair := branch.get(name) or pairs.get(name))]
            if all(pair is may_hold[0] for pair in may_hold) or len({self.text(pair.value) for pair in may_hold}) == 1:
                pairs[name] = may_hold[0]
                continue
            values = [self.value(pair.value, depth) for pair in may_hold]
            number = largest(values)
            if number is not None:
                pairs[name] = may_hold[values.index(number)]
            else:
                complete = False
        return complete

    def other(self, node: Node, depth: int) -> Value:
        """Return the value of a text, an alternative, a conversion, a function's default, or a name."""
        if node.type in {"string", "template_string"}:
            text = self.text(node)[1:-1]
            return integer_or_text(text) if "${" not in text else None
        if node.type == "null":
            return 0  # mysql2 takes a limit of null as 0
        compute = {
            "ternary_expression": self._of_ternary,
            "binary_expression": self._of_alternatives,
            "call_expression": self._of_call,
        }.get(node.type, self._of_name)
        return compute(node, depth)

    def _of_name(self, node: Node, depth: int) -> Value:
        if self.named(self.text(node), node):
            return self.value_of_name(self.text(node), node, depth)
        target = self.resolved(node, depth)
        return self.value(target, depth) if target is not None and target != node else None

    def _of_ternary(self, node: Node, depth: int) -> Value:
        """Return the larger of two alternatives, or the default beside an unknown alternative."""
        (chosen, otherwise), given = self.values(map(node.child_by_field_name, ("consequence", "alternative")), depth)
        if given is not None:
            return given
        if chosen is None:
            return otherwise or None
        if otherwise is None:
            return chosen if FALLBACK.search(self.text_at(node, "condition")) else None
        return larger((chosen, otherwise))

    def _of_alternatives(self, node: Node, depth: int) -> Value:
        """Return the value of the first alternative of || or ?? that is known, and not 0 for ||."""
        operator = self.text_at(node, "operator")
        if operator not in {"||", "??"}:
            return None
        left = self.value(node.child_by_field_name("left"), depth)
        is_left = left or (left == 0 and operator == "??")
        return left if is_left else self.value(node.child_by_field_name("right"), depth)

    def _of_call(self, call: Node, depth: int) -> Value:
        """Return the value of Number(x), and the default of env.int("POOL", 10)."""
        function, arguments = call.child_by_field_name("function"), self.arguments(call)
        if not arguments:
            return None
        if self.text(function) in CONVERSIONS:
            return self.value(arguments[0], depth)
        asked = arguments[-2] if len(arguments) > 1 and ASKS.search(self.text(function)) else None
        if asked and (self.text(asked).startswith("process.env") or isinstance(self.value(asked, depth), str)):
            values, given = self.values(arguments[-2:], depth)
            return values[-1] if given is None else given
        return None


def modules_of(tree: JavascriptTree) -> tuple[dict[str, str], set[str]]:
    """Return the names that a source gives to modules or parts of them, each with its module; and all modules."""
    names: dict[str, str] = {}
    calls = (call for call in tree.nodes("call_expression") if tree.text_at(call, "function") in {"require", "import"})
    modules = {tree.key(arguments[0]) for call in calls if (arguments := tree.arguments(call))}
    for node in (*tree.nodes("variable_declarator"), *tree.nodes("assignment_expression")):
        name, value = map(node.child_by_field_name, INITIALISERS[node.type])
        if module := _required(tree, value):
            names |= dict.fromkeys(_identifiers(tree, name), module)
    for node in tree.nodes("import_statement"):
        inner = next(iter(children(node)), node)  # of `import mysql = require("mysql2")`
        if source := node.child_by_field_name("source") or inner.child_by_field_name("source"):
            modules.add(tree.key(source))
            names |= dict.fromkeys(_identifiers(tree, node), tree.key(source))
    return names, modules


def _required(tree: JavascriptTree, node: Node | None) -> str:
    """Return the module of require("x"), also in (await import("x")).default or require("x").promise(); "" for none."""
    for _ in range(5):
        if node is None:
            return ""
        function = node.child_by_field_name("function")
        if function is not None and tree.text(function) in {"require", "import"}:
            return tree.key(tree.arguments(node)[0]) if tree.arguments(node) else ""
        inner = node.child_by_field_name("object") or function
        if inner is None and (node.type in WRAPPERS or node.type == "await_expression"):
            inner = next(iter(children(node)), None)
        node = inner
    return ""


def _identifiers(tree: JavascriptTree, node: Node | None, depth: int = 0) -> Iterator[str]:
    """Yield the names in a node, to a depth that imports have."""
    if node is not None and node.type in {"identifier", "shorthand_property_identifier_pattern"}:
        yield tree.text(node)
    for child in children(node) if node is not None and depth < 5 else ():
        yield from _identifiers(tree, child, depth + 1)
