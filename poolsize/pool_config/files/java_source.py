"""Java source -> pools: data sources and their configurations that are created and set in a method."""

import re
from dataclasses import dataclass, field
from typing import ClassVar

import tree_sitter_java
from tree_sitter import Language, Node

from poolsize.pool_config.files.entries import Entry, has_only_others, is_mysql
from poolsize.pool_config.files.source_tree import Grammar, SourceTree, line
from poolsize.pool_config.files.values import value_of
from poolsize.pool_config.libraries.java import C3P0, DBCP2, DRUID, HIKARICP, TOMCAT_JDBC
from poolsize.pool_config.libraries.java_frameworks import DBCP1
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value

GRAMMAR = Grammar(
    Language(tree_sitter_java.language()),
    {
        "variable_declarator": ("name", "value"), "assignment_expression": ("left", "right"),
        "formal_parameter": ("name", ""),
    },
    frozenset({"method_declaration", "constructor_declaration", "lambda_expression"}),
)  # fmt: skip
CLASSES = {
    "HikariConfig": HIKARICP, "HikariDataSource": HIKARICP, "DruidDataSource": DRUID, "DruidXADataSource": DRUID,
    "BasicDataSource": DBCP2, "ComboPooledDataSource": C3P0, "PoolProperties": TOMCAT_JDBC,
    "org.apache.tomcat.jdbc.pool.DataSource": TOMCAT_JDBC,
}  # fmt: skip
"""Class -> the library whose settings its setters set."""
VALUE = re.compile(r"@Value\(\s*(?:value\s*=\s*)?\"([^\"]{1,300})\"\s*\)")
CONVERSIONS = {
    "parseInt",
    "parseLong",
    "parseBoolean",
    "valueOf",
    "getProperty",
    "getOrDefault",
    "orElse",
    "getInteger",
}
"""Methods with the value of their last argument."""
UNITS = {
    "MILLISECONDS": 1, "SECONDS": 1000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000, "ofMillis": 1,
    "ofSeconds": 1000, "ofMinutes": 60_000, "ofHours": 3_600_000, "ofDays": 86_400_000,
}  # fmt: skip
"""Of TimeUnit and Duration, in milliseconds."""


@dataclass
class _Object:
    """An object of a pool. name: of its variable. node: that creates it. calls: of its methods, in the same method."""

    library: Library
    name: str
    node: Node
    calls: list[Node] = field(default_factory=list)


class JavaTree(SourceTree):
    """A source of Java. A field or parameter with @Value has the default in it."""

    types: ClassVar[frozenset[str]] = frozenset({
        "method_invocation", "object_creation_expression", "field_declaration", "formal_parameter",
    })  # fmt: skip

    def __init__(self, text: str) -> None:
        super().__init__(text, GRAMMAR)
        self._injected: dict[str, Value] = {}
        """Name of a field or parameter -> the default in its @Value."""
        for node in (*self.nodes("field_declaration"), *self.nodes("formal_parameter")):
            named = node.child_by_field_name("declarator") or node
            if match := VALUE.search(self.text(node)):
                self._injected[self.text_at(named, "name")] = value_of(match[1])

    def other(self, node: Node, depth: int) -> Value:
        """Return the value of a name, a text, or a call with a default or a unit of time."""
        if node.type == "string_literal":
            return value_of(self.string(node) or "")
        if node.type == "method_invocation":
            return self._of_call(node, depth)
        name = self.text(node).removeprefix("this.")
        return self._injected[name] if name in self._injected else self.value_of_name(name, node, depth)

    def _of_call(self, call: Node, depth: int) -> Value:
        name, target = self.text_at(call, "name"), call.child_by_field_name("object")
        arguments = self.arguments(call)
        value = self.value(arguments[-1], depth) if arguments else None
        if name in CONVERSIONS:
            return value
        if name == "toMillis" and target is not None and not arguments:
            return self.value(target, depth)
        unit = UNITS.get(name) or (UNITS.get(self.text(target).rpartition(".")[2]) if name == "toMillis" else None)
        return value * unit if unit and isinstance(value, int) else None

    def variable(self, created: Node) -> str:
        """Return the name of the variable that an object is created for; "" without any."""
        around = created.parent
        field = {"variable_declarator": "name", "assignment_expression": "left"}.get(around.type if around else "")
        return self.text(around.child_by_field_name(field)).removeprefix("this.") if around and field else ""


def java_pools(text: str) -> list[FilePool]:
    """Return the pools of Java source: an object of a known class, and what is set of it in the same method."""
    tree = JavaTree(text)
    is_dbcp1 = "org.apache.commons.dbcp." in text
    objects: dict[tuple[int, str], _Object] = {}
    created: list[_Object] = []
    for node in sorted(tree.nodes("method_invocation") + tree.nodes("object_creation_expression"), key=_start):
        if node.type == "object_creation_expression":
            kind, name = tree.text_at(node, "type"), tree.variable(node)
            library = CLASSES.get(kind) or CLASSES.get(kind.rpartition(".")[2])
            if library and name:
                library = DBCP1 if library is DBCP2 and is_dbcp1 else library
                created.append(_Object(library, name, node))
                objects[tree.function(node), name] = created[-1]
        elif target := node.child_by_field_name("object"):
            place = (tree.function(node), tree.text(target).removeprefix("this."))
            if place in objects:
                objects[place].calls.append(node)
    pools = (_pool(tree, each) for each in created)
    return [pool for pool in pools if pool]


def _start(node: Node) -> int:
    return node.start_byte


def _pool(tree: JavaTree, created: _Object) -> FilePool | None:
    """Return the pool of an object; None for another database's, and for an object without a sign of a pool."""
    settings, others = _set(tree, created.library, created.calls)
    if has_only_others(others) or not (settings or any(map(is_mysql, others))):
        return None
    place = f"{created.name}, line {line(created.node)}"
    return FilePool(created.library, place, settings, complete=not tree.arguments(created.node))


def _set(tree: JavaTree, library: Library, calls: list[Node]) -> tuple[dict[str, FileSetting], list[Entry]]:
    """Return the settings that the setters of an object set, and what they tell of the database."""
    settings: dict[str, FileSetting] = {}
    others = []
    for call in calls:
        name, arguments = tree.text_at(call, "name"), tree.arguments(call)
        if not name.startswith("set") or len(arguments) != 1:
            continue
        if setting := library.setting(name[3:], relaxed=True):
            settings[setting] = tree.setting(name, arguments[0], call)
        else:
            value = tree.value(arguments[0])
            others.append(Entry((name[3:],), value if isinstance(value, str) else "", line(call)))
    return settings, others
