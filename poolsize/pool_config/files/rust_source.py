"""Rust source -> the pools of sqlx, SeaORM, deadpool, r2d2, bb8, mysql and mysql_async."""

import re
from collections.abc import Iterator
from dataclasses import replace

import tree_sitter_rust
from tree_sitter import Language, Node

from poolsize.pool_config.files.source_tree import Grammar, SourceTree, children, integer, line
from poolsize.pool_config.libraries.other_languages import DEADPOOL, MYSQL_ASYNC, R2D2, SEAORM, SQLX
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value

GRAMMAR = Grammar(
    Language(tree_sitter_rust.language()),
    {
        "const_item": ("name", "value"), "static_item": ("name", "value"), "let_declaration": ("pattern", "value"),
        "parameter": ("pattern", ""),
    },
    frozenset({"function_item"}),
)  # fmt: skip
RELEVANT = re.compile(r"PoolOptions|ConnectOptions|Database::connect|PoolConstraints|PoolConfig|Pool::|MySqlPool")
UNITS = {"from_secs": 1.0, "from_millis": 1e-3, "from_mins": 60.0, "from_hours": 3600.0}
SAME_VALUE = {
    "unwrap", "expect", "parse", "into", "to_string", "to_owned", "try_into", "unwrap_or_default", "as_str", "clone",
}  # fmt: skip
"""Methods whose value is that of what they are called on, where a file contains it."""
DEFAULTS = {"unwrap_or", "unwrap_or_else", "map_or"}
"""Methods whose first argument is the default."""
ALIASES = {"connect_timeout": "acquire_timeout", "timeouts": "wait_timeout"}
"""Other names of settings: of SeaORM, and of what deadpool's timeouts are in."""
CRATE = re.compile(r"(?<![:\w])mysql(?:_async)?(?:::| as |;)")
"""What names the crate mysql or mysql_async."""
ALIAS = re.compile(r"mysql(?:_async)? as (\w{1,40})")
OF_URL = re.compile(r"[?&]pool_(min|max)=(\d{1,9})\b", re.ASCII)
"""Sizes in the URL of a pool of these crates. Source: mysql_async, docs of Opts, URL parameters."""
LONGEST_CHAIN = 60


class RustTree(SourceTree):
    """The tree of a Rust source."""

    types = frozenset({"call_expression", "struct_expression"})

    def other(self, node: Node, depth: int) -> Value:
        """Return the value of a duration in seconds, of Some(...), of a default, or of a name."""
        if node.type == "closure_expression":
            return self.value(node.child_by_field_name("body"), depth)
        if node.type == "string_literal":
            return integer(self.string(node) or "")
        if node.type != "call_expression":
            return 0 if self.text(node) == "None" else self.value_of_name(self.text(node), node, depth)
        first = next(iter(self.arguments(node)), None)
        name = self.method(node)
        unit = 1.0 if self.text(_function(node)).endswith("Duration::new") else UNITS.get(name)
        if unit or name == "Some":
            value = self.value(first, depth)
            return _whole(value * unit) if unit and isinstance(value, int | float) else value
        if name in DEFAULTS:
            return self.value(first, depth)
        receiver = self.receiver(node)
        return self.value(receiver, depth) if receiver and name in SAME_VALUE else None

    def method(self, call: Node) -> str:
        """Return the last name of what is called, such as new of Pool::new and parse of text.parse::<u32>()."""
        function = _function(call)
        name = function.child_by_field_name("field") or function.child_by_field_name("name") if function else None
        return self.text(name or function)

    def receiver(self, call: Node) -> Node | None:
        """Return what a method is called on; None for a function."""
        function = _function(call)
        is_method = function is not None and function.type == "field_expression"
        return function.child_by_field_name("value") if function and is_method else None


def rust_pools(text: str) -> list[FilePool]:
    """Return the pools of MySQL in a Rust source: what builds each, and the settings that are made of it."""
    if not RELEVANT.search(text):
        return []
    tree = RustTree(text, GRAMMAR)
    pools: list[tuple[Library, Node, dict[str, FileSetting]]] = []
    of_name: dict[tuple[int, str], dict[str, FileSetting]] = {}
    for node in sorted(
        [*tree.nodes("call_expression"), *tree.nodes("struct_expression")], key=lambda each: each.start_byte
    ):
        library = _library(tree, node, text)
        is_replaced = any(
            each is library is SEAORM and tree.function(node) == tree.function(at) for each, at, _ in pools
        )
        if library is None or (is_replaced and tree.method(node) == "connect"):  # to create the database before
            continue
        settings = dict(_made_with(tree, node, library))
        chain, top = _chain(node)
        settings |= _settings(tree, library, chain)
        pools.append((library, node, settings))
        if top.parent and top.parent.type == "let_declaration":
            of_name[tree.function(node), tree.text_at(top.parent, "pattern")] = settings
    for call in tree.nodes("call_expression"):
        receiver = tree.receiver(call)
        if receiver and receiver.type == "identifier" and (tree.function(call), tree.text(receiver)) in of_name:
            settings = of_name[tree.function(call), tree.text(receiver)]
            settings |= _settings(tree, SEAORM, [call, *_chain(call)[0]])
    is_mysql = "mysql" in text.lower()
    return [FilePool(library, f"line {line(node)}", each, database_known=is_mysql) for library, node, each in pools]


def _library(tree: RustTree, node: Node, text: str) -> Library | None:
    """Return the library of a pool that a node begins; None for another node and for another database."""
    is_call = node.type == "call_expression"
    named = tree.text(_function(node) if is_call else node.child_by_field_name("name")).replace("::<", "<")
    path, _, last = named.rpartition("::") if is_call else (named, "", "new")
    kind = path.rpartition("::")[2]
    is_mysql = "mysql" in text.lower()
    library: Library | None = None
    match kind.partition("<")[0], last:
        case "MySqlPoolOptions", "new" | "default":
            library = SQLX
        case "PoolOptions", "new" | "default":
            library = SQLX if "MySql" in (kind if "<" in kind else text) else None
        case "MySqlPool" | "Pool", "connect" | "connect_lazy" | "connect_with":
            library = SQLX if "MySql" in kind else None
        case "ConnectOptions", "new":
            library = None if not is_mysql and re.search(r"postgres|sqlite", text, re.IGNORECASE) else SEAORM
        case "Database", "connect":
            library = SEAORM if is_mysql and "sea_orm" in text and "ConnectOptions" not in text else None
        case "PoolConstraints", "new" | "new_const":
            library = MYSQL_ASYNC if is_mysql else None
        case "PoolConfig", "new":
            library = DEADPOOL if is_mysql and "deadpool" in text else None
        case "Pool", "builder":
            library = None if not is_mysql else DEADPOOL if "deadpool" in text else R2D2
        case "Pool", "new" | "new_manual" | "from_url":
            is_own = path.partition("::")[0] in {"Pool", "mysql", "mysql_async", *ALIAS.findall(text)}
            crate = MYSQL_ASYNC if is_own and CRATE.search(text) and "PoolConstraints" not in text else None
            library = R2D2 if is_mysql and "r2d2" in text else crate
    return library


def _made_with(tree: RustTree, node: Node, library: Library) -> Iterator[tuple[str, FileSetting]]:
    """Yield the settings among the arguments of a call, or among the fields of a struct."""
    names = {MYSQL_ASYNC.title: ("min", "max"), DEADPOOL.title: ("max_size",)}.get(library.title, ())
    function = node.child_by_field_name("function")
    types = function.child_by_field_name("type_arguments") if function else None
    arguments = tree.arguments(node) or (children(types) if types else [])  # as in new_const::<5, 10>()
    if tree.method(node).startswith("new") and len(arguments) >= len(names):
        for name, argument in zip(names, arguments, strict=False):
            yield name, tree.setting(name, argument)
    for argument in arguments if library is MYSQL_ASYNC else ():
        for name, number in OF_URL.findall(tree.text(argument)):
            yield name, replace(tree.setting(f"pool_{name}", argument), value=int(number))
    body = node.child_by_field_name("body") if node.type == "struct_expression" else None
    for each in children(body) if body else ():
        name = tree.text_at(each, "field")
        if setting := library.setting(ALIASES.get(name, name)):
            yield setting, tree.setting(name, each.child_by_field_name("value") or each)


def _chain(node: Node) -> tuple[list[Node], Node]:
    """Return the calls of methods on a node, on their results, and so on; and the last of them."""
    calls: list[Node] = []
    while len(calls) < LONGEST_CHAIN:
        field = node.parent
        call = field.parent if field and field.type == "field_expression" else None
        if call is None or call.type != "call_expression" or _function(call) != field:
            break
        calls.append(call)
        node = call
    return calls, node


def _settings(tree: RustTree, library: Library, calls: list[Node]) -> dict[str, FileSetting]:
    settings = {}
    for call in calls:
        name = tree.method(call)
        setting = library.setting(name) or library.setting(ALIASES.get(name, name))
        if setting and tree.arguments(call):
            settings[setting] = tree.setting(name, tree.arguments(call)[0])
    return settings


def _function(call: Node) -> Node | None:
    """Return what is called, without its type arguments."""
    function = call.child_by_field_name("function")
    is_generic = function is not None and function.type == "generic_function"
    return function.child_by_field_name("function") if function and is_generic else function


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number
