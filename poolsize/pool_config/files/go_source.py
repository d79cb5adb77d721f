"""Go source -> pools: the limits of database/sql, also through sqlx, gorm, ent and beego."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import ClassVar

import tree_sitter_go
from tree_sitter import Language, Node

from poolsize.pool_config.files.places import NO_DATABASE, OF_DATABASES
from poolsize.pool_config.files.source_tree import Grammar, SourceTree, children, integer, line, walk
from poolsize.pool_config.files.values import DATABASE, ENVIRONMENT, GO_DSN, KEYS, names_mysql
from poolsize.pool_config.libraries.go import GO, GO_GROUP, GO_PING, GO_RESOLVER, GO_ZERO
from poolsize.pool_config.libraries.other_languages import OWN_GO
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value, normalized

GRAMMAR = Grammar(
    Language(tree_sitter_go.language()),
    {
        "const_spec": ("name", "value"), "var_spec": ("name", "value"), "short_var_declaration": ("left", "right"),
        "assignment_statement": ("left", "right"), "parameter_declaration": ("name", ""),
    },
    frozenset({"function_declaration", "method_declaration", "func_literal"}),
)  # fmt: skip
UNITS = {
    "time.Nanosecond": 1e-9, "time.Microsecond": 1e-6, "time.Millisecond": 1e-3, "time.Second": 1.0,
    "time.Minute": 60.0, "time.Hour": 3600.0,
}  # fmt: skip
"""In seconds. A duration is a float here; an integer is a number of nanoseconds."""
DURATIONS = {"SetConnMaxLifetime", "SetConnMaxIdleTime"}
LIMITS = GO.defaults.keys() - GO.constants
OF_SEVERAL = {"NewEngineGroup": GO_GROUP, "Register": GO_RESOLVER}
"""Functions whose result sets the limits of several pools at once."""
DURATION = re.compile(r"(\d{1,9})(ms|s|m|h)")
IN_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
CONVERSIONS = {
    "int", "int32", "int64", "uint", "time.Duration", "time.ParseDuration", "strconv.Atoi", "cmp.Or",
}  # fmt: skip
"""Functions with the value of their last argument."""
ASKS = re.compile("env|default", re.IGNORECASE)
"""In the names of functions whose last argument is a default."""
FLAG = re.compile(r"p?flag\.(?:Int|Uint|Duration)(?:32|64)?(?P<sets>Var)?P?")
"""Of the packages flag and pflag: the value is the last argument but one."""
PREFIX = re.compile("(?:mysql|mariadb|database|db|default|with)+")
"""Of the normalized names of constants and options, such as MYSQL_MAX_OPEN_CONNS and WithMaxOpenConns."""
DEFAULT_TAG = re.compile(r'\b(?:envDefault|env-default|default):"([^"]{1,30})"')
NAME_TAG = re.compile(r'\b(?:env|envconfig):"(\w{1,120})')
"""Tags of a field, which libraries for the environment read."""
OPENING = {
    "Open", "OpenDB", "Connect", "MustOpen", "MustConnect", "ConnectContext", "MustConnectContext", "NewEngine",
    "NewEngineGroup", "RegisterDataBase",
}  # fmt: skip
APP_CONFIG = re.compile(r"(?:\w{1,40}\.)?AppConfig\.\w{1,40}")
"""A function of beego that reads conf/app.conf."""
VIPER = re.compile(r"(?:\w{1,40}\.){1,3}Get(?:(?:Int|Uint)(?:32|64)?|Duration)")
"""A function of viper that reads the key of a configuration."""
BEEGO = ("SetMaxIdleConns", "SetMaxOpenConns")
"""The limits that beego's RegisterDataBase sets by the arguments after the DSN."""
BEEGO_OPTIONS = {
    "MaxIdleConnections": "SetMaxIdleConns", "MaxOpenConnections": "SetMaxOpenConns",
    "ConnMaxLifetime": "SetConnMaxLifetime",
}  # fmt: skip
"""The functions in these arguments since version 2 -> limit."""
PACKAGES = {"sql", "sqlx", "gorm", "xorm", "dbresolver"}
"""Whose functions of OPENING open a database."""
OF_OTHERS = re.compile(rf"(?:{'|'.join(sorted(NO_DATABASE))})\w{{0,20}}\.", re.IGNORECASE)
"""The beginning of a type such as redis.Pool and http.Transport, whose fields are no limits of a database."""
WORDS_OF_DATABASES = "|".join(sorted(OF_DATABASES))
HAS_LIMITS = re.compile(
    rf"[a-z]{{1,2}}|cfg|conf|config|(?:{WORDS_OF_DATABASES})\w{{0,40}}|\w{{1,40}}(?:{WORDS_OF_DATABASES})",
    re.IGNORECASE,
)
"""The name before a field that a configuration's key may set: of a receiver, a configuration or a database."""
GO_ZERO_SQLX = "go-zero/core/stores/sqlx"
PINGS = {"Ping", "PingContext"}
REPEATS = {"for_statement", "go_statement", "func_literal"}
"""What may use a pool again, or later."""
HAS_POOL = re.compile(r"\bConn:\s")
"""In the options of gorm for a pool that is open already."""


class GoTree(SourceTree):
    """A source of Go. A field of a struct has the value that the file gives to fields of its name."""

    floats_are_durations: ClassVar[bool] = True
    types: ClassVar[frozenset[str]] = frozenset({
        "call_expression", "field_declaration", "import_spec", "keyed_element", "return_statement",
    })  # fmt: skip

    def __init__(self, text: str) -> None:
        super().__init__(text, GRAMMAR)
        self.fields: dict[str, list[Node]] = {}
        """Name of a field, key of viper in quotes, or function with "()" -> its values."""
        for element in self.nodes("keyed_element"):
            key, value = element.child_by_field_name("key"), element.child_by_field_name("value")
            if value is not None and not OF_OTHERS.match(self._type_of_literal(element)):
                self.fields.setdefault(self.text(key), []).append(value)
        for field in self.nodes("field_declaration"):
            tag = field.child_by_field_name("tag")
            if tag is not None and ("env" in self.text(tag) or DEFAULT_TAG.search(self.text(tag))):
                self.fields.setdefault(self.text_at(field, "name"), []).append(tag)
        for node in self.nodes("assignment_statement"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left and right and "." in self.text(left) and self.is_fallback(children(right)[0]) is not False:
                self.fields.setdefault(self.text(left).rpartition(".")[2], []).append(right)
        for call in self.nodes("call_expression"):
            self._note_default(call)
        names = {node.start_byte: self.text_at(node, "name") for node in self.nodes("function_declaration")}
        for node in self.nodes("return_statement"):
            name = names.get(self.function_start(node))
            if name and children(node):
                self.fields[f"{name}()"] = [children(node)[0]]  # the last one: those before have conditions

    def _type_of_literal(self, node: Node) -> str:
        """Return the type of the literal that a node is in; of the elements of a slice, an array or a map."""
        literal = node.parent
        while literal is not None and literal.type != "composite_literal":  # as []T{{a: 1}}, which names T once
            literal = literal.parent
        return self.text_at(literal, "type").rpartition("]")[2].lstrip("*") if literal else ""

    def _note_default(self, call: Node) -> None:
        name, arguments = self.text_at(call, "function"), self.arguments(call)
        flag = FLAG.fullmatch(name)
        if name.endswith(".SetDefault") and len(arguments) == 2:
            self.fields.setdefault(self.text(arguments[0]).lower(), []).append(arguments[1])
        elif flag and flag["sets"] and len(arguments) > 3:
            self.fields.setdefault(self.text(arguments[0]).rpartition(".")[2].lstrip("&"), []).append(arguments[-2])

    def given(self, node: Node) -> str | None:
        """Return the text of the variable, or of the key of beego's or viper's configuration, that a call asks for."""
        function = self.text_at(node, "function") if node.type == "call_expression" else ""
        key = self.string(next(iter(self.arguments(node)), None)) if function else None
        if APP_CONFIG.fullmatch(function):
            return ENVIRONMENT.configured(key.lower()) if key else None
        if key and KEYS.fullmatch(key) and VIPER.fullmatch(function):
            return ENVIRONMENT.text(key, is_key=True)
        return super().given(node)

    def method(self, call: Node) -> tuple[Node | None, str]:
        """Return what a method is called on, and its name; None and the name for a function."""
        function = call.child_by_field_name("function")
        if function is None or function.type != "selector_expression":
            return None, self.text(function)
        return function.child_by_field_name("operand"), self.text_at(function, "field")

    def other(self, node: Node, depth: int) -> Value:
        """Return the value of a name, a field, a unit of time, a text, or a call that has a default."""
        text = self.text(node)
        if node.type == "selector_expression":
            if text in UNITS or self.named(text, node):
                return UNITS.get(text) or self.value_of_name(text, node, depth)
            of = self.text_at(node, "operand").rpartition(".")[2]
            return self._of_field(self.text_at(node, "field"), depth, is_set=may_have_limits(of))
        if node.type == "call_expression":
            return self._of_call(node, depth)
        if node.type.endswith("string_literal"):
            is_tag = node.parent is not None and node.parent.type == "field_declaration"
            return self._of_tag(text) if is_tag else text.strip('"`')
        return self.value_of_name(text, node, depth) if self.named(text, node) else self._of_field(text, depth)

    def _of_field(self, name: str, depth: int, *, is_set: bool = True) -> Value:
        """Return what a configuration sets a field to; else its values in the file, of which 0 means not set.

        is_set: whether the configuration's key of that name may be for this field.
        """
        if is_set and (given := ENVIRONMENT.of_field(name)) is not None:
            return self.of_text(given)
        values = self.fields.get(name, [])
        return self.agreed([value for value in values if self.text(value) != "0"] or values, depth + 1)

    def _of_tag(self, tag: str) -> Value:
        """Return what the variable in a field's tag is set to, or the default."""
        name, default = NAME_TAG.search(tag), DEFAULT_TAG.search(tag)
        text = ENVIRONMENT.text(name[1] if name else None) or (default[1] if default else "")
        return _of_text(text)

    def of_text(self, text: str) -> Value:
        """Return the number or the duration of a variable's text; or the text."""
        return text if (value := _of_text(text)) is None else value

    def _of_call(self, call: Node, depth: int) -> Value:
        """Return the value of a conversion, or the default of a function that asks the environment by name."""
        name, arguments = self.text_at(call, "function"), self.arguments(call)
        if not arguments:
            return self._of_field(f"{name}()", depth)
        (*_, last), given = self.values(arguments, depth)
        if given is not None and len(arguments) > 1:  # as in cmp.Or(os.Getenv("POOL"), "5")
            return _of_text(given) if isinstance(given, str) else given
        if name in CONVERSIONS:
            return _of_text(last) if isinstance(last, str) else last
        if FLAG.fullmatch(name) and len(arguments) > 2:
            return self.value(arguments[-2], depth)
        if len(arguments) > 1 and (ASKS.search(name) or isinstance(self.value(arguments[-2], depth), str)):
            return _of_text(last) if isinstance(last, str) else last
        return self._of_field(self.text(arguments[0]).lower(), depth) if len(arguments) == 1 else None

    def database(self, node: Node | None, depth: int = 0) -> bool | None:
        """Return whether a variable may be opened with a driver for MySQL; None where the file does not show it."""
        if node is None or depth > 5:
            return None
        self.count_value(depth)
        if re.search(GO_DSN, self.text(node)):  # whatever names the driver
            return True
        if node.type == "call_expression":
            return self._opened_with(node, depth)
        if "string" in node.type:  # a text that a variable may have
            return names_mysql(self.text(node)) or None
        nodes = children(node)[:1] if node.type == "expression_list" else self.named(self.text(node), node)
        known = {self.database(each, depth + 1) for each in nodes} - {None}
        return True in known if known else None

    def opens(self, call: Node) -> bool:
        """Return whether a call opens a pool: also those of gorm's dbresolver, but not with a pool that is open."""
        package, name = self.method(call)
        opening = name in OPENING and not is_driver(self.text(package)) and not HAS_POOL.search(self.text(call))
        return opening or (name == "Register" and self.text(package) == "dbresolver")

    def opened_by(self, node: Node | None, methods: Collection[str] = ()) -> dict[int, str]:
        """Return the calls that may open what a variable or a method's result is: their first bytes and names.

        methods: those whose result is the pool; by default, all.
        """
        opened, visited, left = dict[int, str](), set[int](), [node]
        while left:
            node = left.pop()
            if node is None or node.id in visited:
                continue
            self.count_value(len(visited))
            visited.add(node.id)
            if node.type == "call_expression" and self.opens(node):
                opened[node.start_byte] = self.method(node)[1]
                left += self.arguments(node)  # those of a group are engines
            elif node.type == "call_expression":
                operand, name = self.method(node)
                left += [operand] if not methods or name in methods else []
            elif node.type in {"composite_literal", "literal_value", "literal_element"}:
                left += children(node)
            else:
                left += children(node)[:1] if node.type == "expression_list" else self.named(self.text(node), node)
        return opened

    def library(self, receiver: Node) -> Library:
        """Return the library of what limits are set of: a single pool, or each of several."""
        values = [receiver] if receiver.type == "call_expression" else self.named(self.text(receiver), receiver)
        calls = [children(each)[0] if each.type == "expression_list" else each for each in values if each]
        is_result = any(  # group.DB() is the pool of its master
            each.type == "call_expression"
            and not self.opens(each)
            and self.method(each)[1] not in {*LIMITS, *OF_SEVERAL}
            for each in calls
        )
        opened = () if is_result else self.opened_by(receiver).values()
        return next((OF_SEVERAL[name] for name in opened if name in OF_SEVERAL), GO)

    def is_in_nanoseconds(self, value: Node) -> bool:
        """Return whether an integer is a duration: not where a function, or another file, may know its unit.

        What a conversion contains is a duration, unless the file multiplies it by a unit.
        """
        visited, left = set[tuple[int, bool]](), [(value, False)]
        while left:
            node, is_converted = left.pop()
            if (node.id, is_converted) in visited:
                continue
            self.count_value(len(visited))
            visited.add((node.id, is_converted))
            text, further = self.text(node), children(node)
            if node.type == "call_expression":
                name, arguments = self.text_at(node, "function"), self.arguments(node)
                is_converted |= bool(FLAG.fullmatch(name)) or name in CONVERSIONS - {"time.ParseDuration"}
                of_call = arguments if is_converted else []
                further = of_call if arguments else self.fields.get(f"{name}()", [])
            elif node.type in {"identifier", "selector_expression"}:
                field = text.rpartition(".")[2]
                further = [each for each in self.named(text, node) if each] or self.fields.get(field, [])
                if text in UNITS or not (is_converted or ENVIRONMENT.of_field(field) is None):
                    return False
            if not (further or is_converted) and (node.type == "call_expression" or "string" in node.type):
                return False
            left += [(each, is_converted) for each in further]
        return True

    def limits(self, call: Node) -> dict[str, Node]:
        """Return the limits that a call sets, each with the argument that has its value."""
        name, arguments = self.method(call)[1], self.arguments(call)
        if name == "RegisterDataBase":
            options = ((BEEGO_OPTIONS.get(self.method(each)[1]), each) for each in arguments[3:])
            limits = {limit: [each, *self.arguments(each)][-1] for limit, each in options if limit}
            return limits or dict(zip(BEEGO, arguments[3:], strict=False))
        return {name: arguments[-1]} if name in LIMITS and arguments else {}

    def branches(self, node: Node) -> Iterator[str]:
        """Yield the conditions of the branches around a node in its function; "" of an `else` and of a `default`."""
        around = node.parent
        while around is not None and around.type not in GRAMMAR.functions:
            if around.type.endswith("_case"):
                yield self.text_at(around, "value")
            elif node == around.child_by_field_name("consequence"):
                yield self.text_at(around, "condition")
            elif node == around.child_by_field_name("alternative"):
                yield ""
            node, around = around, around.parent

    def is_for_others(self, node: Node) -> bool:
        """Return whether a node is in a branch for another database, as in driver == "sqlite3"."""
        return any(
            "!" not in condition and {bool(match["mysql"]) for match in DATABASE.finditer(condition)} == {False}
            for condition in self.branches(node)
        )

    def closed_by(self, call: Node) -> set[int]:
        """Return the first bytes of the calls that open what a call closes, unless only in a branch."""
        operand, name = self.method(call)
        is_deferred = call.parent is not None and call.parent.type == "defer_statement"
        if name != "Close" or (not is_deferred and any(True for _ in self.branches(call))):
            return set()
        return {start for start in self.opened_by(operand, {"DB"}) if start < call.start_byte}

    @cached_property
    def _identifiers(self) -> dict[str, list[Node]]:
        """Return the identifiers of the file by their names."""
        identifiers: dict[str, list[Node]] = {}
        for node in walk(self._tree.root_node, {"identifier"}):
            identifiers.setdefault(self.text(node), []).append(node)
        return identifiers

    def only_pings(self, call: Node) -> bool:
        """Return whether a function, not main(), opens a pool only to ping the server, and closes the pool."""
        declaration = function = call
        while declaration.parent is not None and declaration.type != "short_var_declaration":
            declaration = declaration.parent
        while function.parent is not None and function.type not in GRAMMAR.functions:
            function = function.parent
        left = declaration.child_by_field_name("left")
        if left is None or declaration.start_byte < function.start_byte or self.text_at(function, "name") == "main":
            return False
        opened = children(left)[0]
        named = (each for each in self._identifiers.get(self.text(opened), ()) if each != opened)
        inside = (each for each in named if function.start_byte <= each.start_byte < function.end_byte)
        uses = [(each, each.parent.parent) for each in inside if each.parent]
        names = {self.method(use)[1] if use and self.method(use)[0] == each else "" for each, use in uses}
        is_closed = any(use and call.start_byte in self.closed_by(use) for _, use in uses)
        is_repeated = any(_is_repeated(each, function) for each in (call, *(each for each, _ in uses)))
        return is_closed and {"Close"} < names <= {"Close", *PINGS} and not is_repeated

    def _opened_with(self, call: Node, depth: int) -> bool | None:
        """Return whether sql.Open("mysql", dsn), gorm.Open(mysql.Open(dsn)) or a method of the result is MySQL's."""
        operand, name = self.method(call)
        package = self.text(operand)
        if is_driver(package):
            return names_mysql(package)
        if name not in OPENING:
            return self.database(operand, depth + 1)  # as in gormDB.DB()
        drivers = (self._driver(argument, depth + 1) for argument in self.arguments(call))
        return next((driver for driver in drivers if driver is not None), None)

    def _driver(self, argument: Node, depth: int) -> bool | None:
        name = self.value(argument)
        return names_mysql(name) if isinstance(name, str) else self.database(argument, depth)


def _is_repeated(node: Node, function: Node) -> bool:
    """Return whether a loop, a goroutine or another function, except in `defer func()`, is around a node."""
    around = node.parent
    while around is not None and around != function:
        call = around.parent
        is_deferred = call is not None and call.parent is not None and call.parent.type == "defer_statement"
        if around.type in REPEATS and not is_deferred:
            return True
        around = around.parent
    return False


def may_have_limits(name: str) -> bool:
    """Return whether a name may be that of a database's settings: that of another structure, as Redis, is not."""
    return HAS_LIMITS.fullmatch(name) is not None and names_mysql(name) is not False and not OF_OTHERS.match(f"{name}.")


def is_driver(package: str) -> bool:
    """Return whether a package is a driver, as in postgres.Open(dsn)."""
    return DATABASE.fullmatch(package) is not None


def go_pools(text: str) -> list[FilePool]:
    """Return the pools of Go source that may be MySQL's. Raises BadInput for a damaged file that may have one.

    A pool is what the limits are set of, by its name in the source. Limits that a further function sets again are those
    of another pool; of two in one function, the larger counts: in the branches of an `if`, SQLite has the smaller one.
    A pool that its function closes counts only where the file has no other.
    """
    tree = GoTree(text)
    imported = {names_mysql(tree.text(node)) for node in tree.nodes("import_spec")}
    calls = [(call, *tree.method(call)) for call in tree.nodes("call_expression")]
    opened = {call: tree.database(call) for call, *_ in calls if tree.opens(call)}
    databases = {*imported, *opened.values()}
    is_only = True in imported and False not in databases  # then a driver from elsewhere can only be MySQL's
    limited = _with_limits(tree)
    of_go_zero = _of_go_zero(tree, has_limits=bool(limited))
    if False in databases and True not in databases:
        return of_go_zero
    packages = PACKAGES if is_only else PACKAGES - {"dbresolver"}  # a resolver has the database of a pool beside it
    may_be_mysql = [
        call
        for call, is_mysql in opened.items()
        if is_mysql or (is_mysql is None and True in databases and tree.text(tree.method(call)[0]) in packages)
    ]
    unlimited = _unlimited(tree, calls, may_be_mysql)
    if not (limited or unlimited):
        unlimited = may_be_mysql
    of_calls = (
        FilePool(library, f"{_name(tree, call)}, line {line(call)}", {}, database_known=opened[call] or is_only)
        for call in unlimited
        for library in [GO_PING if tree.only_pings(call) else GO]
    )
    pools = [*limited, *of_calls, *of_go_zero]
    if not pools and (of_fields := _of_fields(tree)):
        pools = of_fields if {bool(match["mysql"]) for match in DATABASE.finditer(text)} == {True} else []
    if not pools:
        tree.refuse_damage("Go", "SetMaxOpenConns|SetMaxIdleConns")
    return pools


def _of_go_zero(tree: GoTree, *, has_limits: bool) -> list[FilePool]:
    """Return the pools that go-zero opens for MySQL: one for each data source. None, where the code may change a pool.

    has_limits: whether the file sets limits of database/sql, which may be those of a pool of go-zero.
    """
    imports = [each for each in tree.nodes("import_spec") if GO_ZERO_SQLX in tree.text(each)]
    packages = {tree.text_at(each, "name") or "sqlx" for each in imports}
    first_calls: dict[str, Node] = {}
    for call in tree.nodes("call_expression") if imports else ():
        package, name = tree.method(call)
        arguments = tree.arguments(call)
        if name == "RawDB" and has_limits:  # its result has Go's own functions
            return []
        if tree.text(package) not in packages:
            continue
        if name == "NewMysql" and arguments:
            first_calls.setdefault(tree.text(arguments[0]), call)
        elif name == "NewSqlConn" and len(arguments) > 1 and tree.value(arguments[0]) == "mysql":
            first_calls.setdefault(tree.text(arguments[1]), call)
    return [FilePool(GO_ZERO, f"line {line(call)}", {}) for call in first_calls.values()]


def _unlimited(tree: GoTree, calls: Sequence[tuple[Node, Node | None, str]], opened: Sequence[Node]) -> list[Node]:
    """Return the calls that open a pool to which no limit leads, and which no function closes but main() and run().

    None, where the file does not show which pool each limit is for. calls: with what each is on, and its name.
    """
    limited = {
        (tree.function(call), tree.text(of)): of
        for call, of, name in calls
        if of and name in LIMITS and not tree.is_for_others(call)
    }
    led_to = [tree.opened_by(receiver) for receiver in limited.values()]
    resolvers = {start for each in led_to for start, name in each.items() if name == "Register"}
    if resolvers and "Sources" not in tree.fields:  # the source is then the pool of gorm.Open: it has its limits
        using = [(of, each) for call, of, name in calls if name == "Use" for each in tree.arguments(call)]
        led_to += [tree.opened_by(of) for of, each in using if resolvers & tree.opened_by(each).keys()]
    further = {call.start_byte for call in opened}.difference(*led_to) if all(led_to) else set[int]()
    functions = tree.nodes("function_declaration")
    mains = {tree.function(children(each)[-1]) for each in functions if tree.text_at(each, "name") in {"main", "run"}}
    function_of = {call.start_byte: tree.function(call) for call in opened}
    closing = [call for call, *_ in calls if further and mains.isdisjoint(tree.around(call))]
    further -= {
        start for call in closing for start in tree.closed_by(call) if function_of.get(start) == tree.function(call)
    }
    return [call for call in opened if call.start_byte in further and not tree.limits(call)]


def _with_limits(tree: GoTree) -> list[FilePool]:
    pools: dict[str, list[tuple[int, dict[str, FileSetting], Library]]] = {}
    databases: dict[tuple[int, str], bool | None] = {}
    for call in tree.nodes("call_expression"):
        receiver, name = tree.method(call)
        limits = tree.limits(call)
        if receiver is None or not limits:
            continue
        function = tree.function(call)
        opened = receiver if name in limits else call
        key = function, tree.text(opened)  # it may have as many calls as the file has lines
        if key not in databases:
            databases[key] = tree.database(opened)
        if databases[key] is False or tree.is_for_others(call):
            continue
        of_name = pools.setdefault(_name(tree, receiver) + _alias(tree, call), [])
        if not of_name or (limits.keys() & of_name[-1][1].keys() and of_name[-1][0] != function):
            of_name.append((function, tree.constants_of(GO, call), tree.library(receiver)))
        group = of_name[-1][1]
        for limit, argument in limits.items():
            group[limit] = _larger(group.get(limit), _setting(tree, call, limit, argument))
    return [
        FilePool(library, f"{name}, line {min(group[limit].line for limit in LIMITS & group.keys())}", group)
        for name, groups in pools.items()
        for _, group, library in groups
    ]


def _of_fields(tree: GoTree) -> list[FilePool]:
    """Return the pool whose limits are constants, defaults of fields or options of another package's function.

    None without a size.
    """
    settings = {
        setting: replace(tree.setting(name, values[0]), value=tree.agreed(values, 0))
        for name, values in {**_options(tree), **_constants(tree), **tree.fields}.items()
        if (setting := OWN_GO.setting(PREFIX.sub("", normalized(name), count=1), relaxed=True))
    }
    size = settings.get("maxOpenConns")
    if size is None or "open" not in size.name.lower():  # MaxConns may be those of another client
        return []
    return [FilePool(OWN_GO, f"line {min(each.line for each in settings.values())}", settings)]


def _options(tree: GoTree) -> dict[str, list[Node]]:
    """Return the functions that are called with a single argument, as mysql.WithMaxOpenConns(100): name -> argument.

    Without the functions of other services, as redis.WithMaxIdleConns(3).
    """
    return {
        tree.method(call)[1]: arguments
        for call in tree.nodes("call_expression")
        if len(arguments := tree.arguments(call)) == 1 and not OF_OTHERS.match(tree.text_at(call, "function"))
    }


def _constants(tree: GoTree) -> dict[str, list[Node]]:
    specs = [spec for spec in tree.nodes("const_spec") if tree.function(spec) < 0]
    return {tree.text_at(spec, "name"): [value] for spec in specs if (value := spec.child_by_field_name("value"))}


def _alias(tree: GoTree, call: Node) -> str:
    """Return beego's name of the database that a call is for, after a space; "" for a call with one argument."""
    alias, *values = map(tree.text, tree.arguments(call))
    return f" {alias}" if values and re.fullmatch(r'\w{1,60}|"\w{1,60}"', alias) else ""


def _setting(tree: GoTree, call: Node, name: str, argument: Node) -> FileSetting:
    value, variables = ENVIRONMENT.noted(partial(tree.value, argument))
    if isinstance(value, str) or name not in DURATIONS:
        value = value if isinstance(value, int) else None
    elif value and isinstance(value, int):
        value = value / 1_000_000_000 if tree.is_in_nanoseconds(argument) else None
    field = call.child_by_field_name("function")
    at = line(field.child_by_field_name("field") or call) if field else line(call)
    return FileSetting(name, tree.text(argument), value, at, variables)


def _name(tree: GoTree, node: Node | None) -> str:
    """Return the name of an expression, e.g. db, s.pool or db.DB(): without arguments, which may hold a password."""
    if node is None:
        return ""
    if node.type == "call_expression":
        operand, name = tree.method(node)
        if name in LIMITS:  # as in register().SetMaxIdleConns(10).SetMaxOpenConns(100)
            return _name(tree, operand)
        return f"{_name(tree, operand)}.{name}()" if operand else f"{name}()"
    if node.type == "selector_expression":
        operand, field = node.child_by_field_name("operand"), node.child_by_field_name("field")
        return f"{_name(tree, operand)}.{tree.text(field)}"
    return tree.text(node) if node.type == "identifier" else ""


def _larger(present: FileSetting | None, further: FileSetting) -> FileSetting:
    """Return the setting with the larger value; a known value before an unknown one."""
    if present is None or not isinstance(present.value, int | float):
        return further
    smaller = isinstance(further.value, int | float) and further.value < present.value
    return present if smaller else further


def _of_text(text: str) -> Value:
    if match := DURATION.fullmatch(text):
        return int(match[1]) * IN_SECONDS[match[2]]
    return integer(text)
