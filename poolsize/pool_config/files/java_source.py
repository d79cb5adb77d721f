"""Java and Kotlin source -> pools: data sources, configurations and builders, with their settings in the file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import tree_sitter_java
from tree_sitter import Language, Node

from poolsize.pool_config.files.documents import without_comments
from poolsize.pool_config.files.kotlin_source import java_of
from poolsize.pool_config.files.source_tree import VARIABLE, Grammar, SourceTree, children, larger, line
from poolsize.pool_config.files.urls import url_settings
from poolsize.pool_config.files.values import (
    ENVIRONMENT,
    PLACEHOLDER,
    Entry,
    has_only_others,
    is_mysql,
    names_mysql,
    value_of,
)
from poolsize.pool_config.libraries.java import C3P0, DBCP2, DRUID, HIKARICP, TOMCAT_JDBC
from poolsize.pool_config.libraries.java_frameworks import DBCP1, R2DBC, R2DBC_DRIVER, UNPOOLED, VERTX
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value, normalized

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
    "org.apache.tomcat.jdbc.pool.DataSource": TOMCAT_JDBC, "DataSourceBuilder": HIKARICP,
    "ConnectionPoolConfiguration": R2DBC, "ConnectionFactoryOptions": R2DBC, "ConnectionFactories": R2DBC,
    "PoolOptions": VERTX, "poolOptionsOf": VERTX, "DruidDataSourceFactory": DRUID, "BasicDataSourceFactory": DBCP2,
    "DriverManagerDataSource": UNPOOLED,
}  # fmt: skip
"""Class -> the library whose settings its setters, its builder or its constructor set."""
INNER = {"method_invocation": "object", "cast_expression": "value", "parenthesized_expression": ""}
"""Type of a node -> its field with the object that it calls or is; "" for its first child."""
LONGEST_CHAIN = 100
"""Calls of a chain that are followed to the first."""
BUILDS = {"builder", "create"}
"""Methods of a class that create an object, or its builder."""
OF_PROPERTIES = "initializeDataSourceBuilder"
"""Spring's method that creates a builder with the settings of a properties file."""
BUILDS_LATER = "@ConfigurationProperties"
"""Spring's annotation of a method or a class: it adds the settings of a properties file to the result or the fields."""
PREFIX = re.compile(rf"{BUILDS_LATER}\(\s*(?:(?:prefix|value)\s*=\s*)?\"([\w.-]{{1,200}})\"\s*\)")
"""Its keys, below which the properties file has them."""
OF_DRIVER = "addDataSourceProperty"
"""HikariCP's method for settings of the driver, which have quotes in _settings()."""
FACTORIES, OPTIONS = "ConnectionFactories", "ConnectionFactoryOptions"
"""Of R2DBC: they make a pool only with the driver `pool`."""
OF_MAP = {FACTORIES, "DruidDataSourceFactory", "BasicDataSourceFactory"}
"""Classes whose methods of any name make a pool, of a URL or of a map."""
POOLED = ("r2dbc:pool:mysql", "r2dbc:pool:mariadb")
"""Beginnings of URLs of a pool of R2DBC."""
REACTIVE = (R2DBC, VERTX)
"""Libraries whose objects have no URL: other names in the file show the database."""
DECLARATIONS = ("field_declaration", "local_variable_declaration", "formal_parameter")
OF_LAMBDA = {"apply", "also", "run", "let"}
"""Kotlin's methods with a lambda that sets properties of their object."""
VALUE = re.compile(r"@Value\(\s*(?:value\s*=\s*)?\"([^\"]{1,300})\"\s*\)")
CONVERSIONS = {"parseInt", "parseLong", "parseBoolean", "valueOf", "orElse"}
"""Methods that return their last argument, as do methods named get... of a key and a default."""
OF_TARGET = {"toMillis", "toInt", "toLong", "toIntOrNull", "toLongOrNull", "toBoolean"}
"""Methods without arguments that return the value of their object."""
UNITS = {
    "MILLISECONDS": 1, "SECONDS": 1000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000, "ofMillis": 1,
    "ofSeconds": 1000, "ofMinutes": 60_000, "ofHours": 3_600_000, "ofDays": 86_400_000, "milliseconds": 1,
    "seconds": 1000, "minutes": 60_000, "hours": 3_600_000,
}  # fmt: skip
"""Of TimeUnit and of Duration in Java and Kotlin, in milliseconds. A duration is a float here, unlike a number."""


@dataclass
class _Object:
    """An object of a pool, or its builder. node: that creates or declares it. complete: whether the file has all of it.

    values: its settings: name, value, and the node on the line of the name.
    """

    library: Library
    node: Node
    name: str
    complete: bool
    values: list[tuple[str, Node, Node]] = field(default_factory=list)


class JavaTree(SourceTree):
    """A source of Java. A field or parameter with @Value has the default in it."""

    types: ClassVar[frozenset[str]] = frozenset({
        "method_invocation", "object_creation_expression", "field_declaration", "formal_parameter",
        "assignment_expression", "local_variable_declaration",
    })  # fmt: skip

    def __init__(self, text: str) -> None:
        super().__init__(text, GRAMMAR)
        self._injected: dict[str, str] = {}
        """Name of a field or parameter -> the placeholder in its @Value, or of the key that Spring binds to it."""
        text = without_comments(text).lower()
        self.is_for_mysql = "mysql" in text or "maria" in text
        self.is_for_others = not self.is_for_mysql and names_mysql(text) is False
        """Whether the text names other databases only."""
        for node in (*self.nodes("field_declaration"), *self.nodes("formal_parameter")):
            name = self.text_at(node.child_by_field_name("declarator") or node, "name")
            if match := VALUE.search(self.text(node)):
                self._injected[name] = match[1]
            elif node.type == "field_declaration" and (bound := PREFIX.search(self._annotations(node))):
                self._injected[name] = f"${{{bound[1]}.{name}}}"

    def _annotations(self, member: Node) -> str:
        """Return the annotations of the class that a member is of."""
        of_class = member.parent.parent if member.parent else None
        return self.code(of_class.child(0)) if of_class else ""

    def code(self, node: Node | None) -> str:
        """Return the text of a node without comments."""
        return without_comments(self.text(node))

    def other(self, node: Node, depth: int) -> Value:
        """Return the value of a name, a text, an alternative, or a call with a default or a unit of time."""
        if node.type == "string_literal":
            return value_of(self.string(node) or "")
        if node.type == "method_invocation":
            return self._of_call(node, depth)
        if node.type == "ternary_expression":
            values, given = self.values(map(node.child_by_field_name, ("consequence", "alternative")), depth)
            return larger(values) if given is None else given
        if node.type == "binary_expression" and self.text_at(node, "operator") == "|":  # Kotlin's ?:
            values, given = self.values(map(node.child_by_field_name, ("left", "right")), depth)
            return values[-1] if given is None else given
        name = self.text(node).removeprefix("this.")
        if name.startswith("TimeUnit."):
            return name.removeprefix("TimeUnit.")
        injected = _injected(self._injected[name]) if name in self._injected else None
        return self.value_of_name(name, node, depth) if injected is None else injected

    def _of_call(self, call: Node, depth: int) -> Value:
        name, target = self.text_at(call, "name"), call.child_by_field_name("object")
        arguments = self.arguments(call)
        if target is not None and not arguments and name in OF_TARGET:
            value = self.value(target, depth)
            return int(value) if isinstance(value, float) else value
        given = VARIABLE.search(self.text(target)) if name == "orElse" else None
        text = ENVIRONMENT.text(given["asked"]) if given else None
        if text is not None:
            return self.of_text(text)
        value = self.value(arguments[-1], depth) if arguments else None
        if name in CONVERSIONS or (name.startswith("get") and len(arguments) > 1):
            return value
        if not isinstance(value, int):
            return None
        if name in UNITS:
            return float(value * UNITS[name])
        unit = UNITS.get(self.text(target).rpartition(".")[2]) if name == "toMillis" else None
        return value * unit if unit else None

    def root(self, call: Node) -> Node:
        """Return the object that begins a chain of calls: new A() of new A().b().c(); the call if it has no object."""
        for _ in range(LONGEST_CHAIN):
            field = INNER.get(call.type)
            inner = call.child_by_field_name(field) if field else next(iter(children(call)), None)
            is_builder = self.text_at(call, "name") in BUILDS and self.text(inner).rpartition(".")[2] in CLASSES
            if inner is None or field is None or is_builder:
                break
            call = inner
        return call

    def root_of(self, target: Node | None, at: Node) -> Node | None:
        """Return the root of a setter's object. Without an object, or for this and it: of Kotlin's lambda."""
        function = self.outer(at, "lambda_expression")
        own = {"this", self.text_at(function, "parameters")} if function else {"this"}
        if target is not None and self.text(target) not in own:
            return self.root(target)
        call = function.parent.parent if function and function.parent else None
        is_lambda = call is not None and self.text_at(call, "name") in OF_LAMBDA
        return self.root(call) if call and is_lambda else None

    def outer(self, node: Node, kind: str) -> Node | None:
        """Return the nearest node of a kind around a node."""
        around = node.parent
        while around is not None and around.type != kind:
            around = around.parent
        return around

    def variable(self, created: Node) -> str:
        """Return the name of the variable that is assigned an object, or the result of its methods; "" without any."""
        around = created.parent
        while around and around.type in {"method_invocation", "cast_expression", "parenthesized_expression"}:
            around = around.parent
        field = {"variable_declarator": "name", "assignment_expression": "left"}.get(around.type if around else "")
        return self.text(around.child_by_field_name(field)).removeprefix("this.") if around and field else ""


def _injected(text: str) -> Value:
    """Return the value of the text in @Value: that of Spring's files for its keys, or its default."""
    keys = PLACEHOLDER.fullmatch(text)
    given = ENVIRONMENT.text(keys["name"], is_key=True) if keys else None
    return value_of(given or text)


def kotlin_pools(text: str) -> list[FilePool]:
    """Return the pools of Kotlin source."""
    return java_pools(java_of(text))


def java_pools(text: str) -> list[FilePool]:
    """Return the pools of Java source: the objects of known classes, with their settings in the same file."""
    tree = JavaTree(text)
    pools = (_pool(tree, each) for each in _objects(tree, text))
    return [pool for pool in pools if pool]


def _objects(tree: JavaTree, text: str) -> list[_Object]:
    by_node: dict[int, _Object] = {}
    by_name: dict[tuple[int, str], list[_Object]] = {}
    created = tree.nodes("method_invocation") + tree.nodes("object_creation_expression")
    properties = {
        (tree.function(each), tree.variable(each))
        for each in created
        if {"Properties", "HashMap"} & {tree.text_at(each, "type").partition("<")[0], tree.text_at(each, "name")}
    }
    for node in created:
        if library := _created(tree, node):
            library = DBCP1 if library is DBCP2 and "org.apache.commons.dbcp." in text else library
            name = tree.variable(node)
            urls = [("url", each, each) for each in tree.arguments(node)[:1] if library is UNPOOLED]
            by_node[node.id] = _Object(library, node, name, _is_complete(tree, node), urls)
            given = {(tree.function(node), tree.text(argument)) for argument in tree.arguments(node)}
            for key in given & properties:
                by_name.setdefault(key, []).append(by_node[node.id])
            by_name.setdefault((tree.function(node), name), [by_node[node.id]])
    for node in (each for kind in DECLARATIONS for each in tree.nodes(kind)):
        name = tree.text_at(node.child_by_field_name("declarator") or node, "name")
        library = CLASSES.get(tree.text_at(node, "type"))
        if library and (tree.function(node), name) not in by_name:  # created elsewhere
            by_node[node.id] = _Object(library, node, name, complete=False)
            by_name[tree.function(node), name] = [by_node[node.id]]
    for name, root, value, at in _settings(tree):
        named = (by_name.get((place, tree.text(root).removeprefix("this."))) for place in tree.around(root))
        own = by_node.get(root.id)
        for target in [own] if own else next(filter(None, named), []):
            target.library = _library(tree.text(value).removesuffix(".class")) or target.library
            target.values.append((name, value, at))
    return sorted(by_node.values(), key=lambda each: each.node.start_byte)


def _created(tree: JavaTree, node: Node) -> Library | None:
    """Return the library of the object that a node creates; None for another node."""
    kind = tree.text_at(node, "type")
    if node.type == "method_invocation":
        name, target = tree.text_at(node, "name"), tree.text_at(node, "object")
        kind = target if name in BUILDS or target in OF_MAP else "" if target else name
        kind = "DataSourceBuilder" if name == OF_PROPERTIES else kind
    return _library(kind)


def _library(name: str) -> Library | None:
    return CLASSES.get(name) or CLASSES.get(name.rpartition(".")[2])


def _is_complete(tree: JavaTree, created: Node) -> bool:
    """Return whether the file has all settings of an object, as far as what creates the object shows."""
    method = tree.outer(created, "method_declaration")
    is_copy = any(each.type != "assignment_expression" for each in tree.arguments(created))
    of_elsewhere = tree.text_at(created, "name") == OF_PROPERTIES or BUILDS_LATER in tree.code(method)
    return not of_elsewhere and (not is_copy or tree.text_at(created, "name") in BUILDS)


def _settings(tree: JavaTree) -> Iterator[tuple[str, Node, Node, Node]]:
    """Yield settings: name, the object or the object's name, value, and the node on the line of the setting's name."""
    for at in tree.nodes("method_invocation"):
        name, arguments = tree.text_at(at, "name"), tree.arguments(at)
        named = at.child_by_field_name("name") or at
        if name in {"option", "setProperty", "put", OF_DRIVER} and len(arguments) == 2:
            key, arguments = tree.text(arguments[0]), arguments[1:]
            if name == OF_DRIVER and not key.startswith('"'):
                continue  # a constant: nothing shows whether it names a setting of the pool
            name = key if name == OF_DRIVER else key.rpartition(".")[2].strip('"')
        root = tree.root_of(at.child_by_field_name("object"), at)
        if len(arguments) == 1 and root:
            yield name, root, arguments[0], named
    for at in tree.nodes("assignment_expression"):
        left, right = at.child_by_field_name("left"), at.child_by_field_name("right")
        is_argument = at.parent is not None and at.parent.type == "argument_list"
        if left and right:
            root = (
                at.parent.parent if at.parent and is_argument else tree.root_of(left.child_by_field_name("object"), at)
            )
            if root:
                yield tree.text_at(left, "field") or tree.text(left), root, right, at


def _pool(tree: JavaTree, created: _Object) -> FilePool | None:
    """Return the pool of an object; None for another database's, and for an object without a sign of a pool."""
    settings: dict[str, FileSetting] = {}
    others, unread, urls = [], [], []
    for name, value, at in created.values:
        plain = name.removeprefix("set")
        if setting := created.library.setting(plain, relaxed=True):
            settings[setting] = tree.setting(name, value, at)
        elif created.library.setting(plain.strip('"')):
            unread.append(tree.setting(f"{OF_DRIVER}({plain})", value, at))
        else:
            text = tree.value(value)
            others.append(Entry((plain,), text if isinstance(text, str) else tree.text(value), line(at)))
            urls += [tree.setting(name, value, at)] if normalized(plain).endswith("url") else []
    is_reactive, is_unpooled = created.library in REACTIVE, created.library is UNPOOLED
    if has_only_others(others) or ((is_reactive or is_unpooled) and tree.is_for_others):
        return None
    place = f"{created.name}, line {line(created.node)}" if created.name else f"line {line(created.node)}"
    pool = FilePool(
        created.library, place, settings, tuple(unread), complete=created.complete or is_unpooled, beside=tuple(urls),
        database_known=not is_unpooled or tree.is_for_mysql,
    )  # fmt: skip
    kind = tree.text(created.node).partition(".")[0]
    if kind == FACTORIES:
        url = tree.string(next(iter(tree.arguments(created.node)), None)) or ""
        pool = replace(pool, settings=url_settings(url, R2DBC, line(created.node), durations=True), complete=True)
        return pool if url.startswith(POOLED) else None
    driver = next((each.text for each in others if each.path[-1] == "DRIVER"), "pool")
    if kind == OPTIONS and names_mysql(driver):
        return replace(pool, library=R2DBC_DRIVER) if settings else None
    is_created = created.node.type not in DECLARATIONS
    is_pool = settings or urls or any(map(is_mysql, others)) or (is_reactive and is_created)
    if is_pool or not (is_created and (tree.is_for_mysql or is_unpooled)) or tree.arguments(created.node):
        return pool if is_pool else None
    prefix = PREFIX.search(tree.code(tree.outer(created.node, "method_declaration")))
    if prefix is None:
        return None
    bound = FileSetting("url", prefix[0], None, line(created.node), (f"{prefix[1]}.url",))
    return replace(pool, place=prefix[1], within=place, beside=(bound,) if is_unpooled else ())
