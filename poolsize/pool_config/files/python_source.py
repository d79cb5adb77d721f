"""Python source -> pools: SQLAlchemy's create_engine, Flask-SQLAlchemy, Django's DATABASES, MySQL Connector/Python."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping

from poolsize.errors import BadInput
from poolsize.pool_config.libraries.python import (
    CONNECTOR_PYTHON,
    DJANGO,
    DJANGO_POOL,
    FLASK_SQLALCHEMY,
    SQLALCHEMY,
)
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value

CALLS = {
    "create_engine": SQLALCHEMY,
    "create_async_engine": SQLALCHEMY,
    "MySQLConnectionPool": CONNECTOR_PYTHON,
}
"""Function -> the library whose pool its keywords configure."""
OTHER_POOLS = {"NullPool", "StaticPool", "SingletonThreadPool", "AssertionPool"}
"""Classes of SQLAlchemy's pools that have no size."""
FLASK_OPTIONS, POOL_OPTIONS = "SQLALCHEMY_ENGINE_OPTIONS", "POOL_OPTIONS"
ASGI = "ASGI_APPLICATION"
"""A setting of Django beside the databases, which shows that ASGI serves the application."""
READS_ENVIRONMENT = {"get", "getenv", "getattr", "config", "setting", "int"}
"""Functions whose last argument is a default, besides those with "env" in their names."""
CONVERSIONS = {"int", "float"}
OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Mult: operator.mul, ast.Add: operator.add, ast.Sub: operator.sub, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
DEEPEST = 20
"""Constants that name each other go no deeper."""
LARGEST = 10**15
"""Larger numbers are not settings of a pool."""


_Pairs = list[tuple[str | None, ast.expr]]
"""The keywords of a call, or the keys of a dictionary; None for the unknown ones of a spread dictionary."""


def python_pools(text: str) -> list[FilePool]:
    """Return the pools of Python source. Raises BadInput for a text that is not Python."""
    tree = _parsed(text)
    source = _Source(tree)
    nodes = sorted(ast.walk(tree), key=lambda node: getattr(node, "lineno", 0))
    return [pool for node in nodes for pool in source.pools_of(node)]


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError) as error:
        raise BadInput(f"no Python: {error}") from None


def assigned_in(text: str, name: str) -> FileSetting | None:
    """Return what Python source assigns to a name; None without that. Raises BadInput for a text that is not Python."""
    source = _Source(_parsed(text))
    node = source.constants.get(name)
    return None if node is None else FileSetting(name, ast.unparse(node), source._value(node), node.lineno)


class _Source:
    """A parsed source: its constants, and the dictionaries that its functions return."""

    def __init__(self, tree: ast.Module) -> None:
        self.constants: dict[str, ast.expr] = {}
        self.returned: dict[str, ast.Dict] = {}
        self._spread_dicts: set[int] = set()
        self._open: list[ast.Dict] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.constants[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                self.constants[node.target.id] = node.value
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for each in ast.walk(node):
                    if isinstance(each, ast.Return) and isinstance(each.value, ast.Dict):
                        self.returned[node.name] = each.value

    def pools_of(self, node: ast.AST) -> Iterable[FilePool]:
        if isinstance(node, ast.Call):
            yield from self._of_call(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.value is not None and any(_name(target) == FLASK_OPTIONS for target in targets):
                yield from self._pool(FLASK_SQLALCHEMY, FLASK_OPTIONS, self._spread(node.value))
        elif isinstance(node, ast.Dict) and id(node) not in self._spread_dicts:
            pairs = self._of_dict(node)
            if {"CONN_MAX_AGE", "CONN_HEALTH_CHECKS"} & dict(pairs).keys():
                asgi = [(ASGI, self.constants[ASGI])] if ASGI in self.constants else []
                yield from self._pool(DJANGO, f"line {node.lineno}", [*pairs, *asgi])
            if POOL_OPTIONS in dict(pairs):
                yield from self._pool(DJANGO_POOL, POOL_OPTIONS, self._spread(dict(pairs)[POOL_OPTIONS]))

    def _of_call(self, node: ast.Call) -> Iterable[FilePool]:
        name, pairs = _name(node.func), self._keywords(node)
        if name in CALLS:
            url = self._value(node.args[0]) if node.args else None
            other_database = isinstance(url, str) and "://" in url and not url.startswith(("mysql", "mariadb"))
            if not other_database and _name(dict(pairs).get("poolclass")) not in OTHER_POOLS:
                yield from self._pool(CALLS[name], f"{name}, line {node.lineno}", pairs, always=True)
        elif FLASK_OPTIONS in dict(pairs):
            yield from self._pool(FLASK_SQLALCHEMY, FLASK_OPTIONS, self._spread(dict(pairs)[FLASK_OPTIONS]))

    def _pool(self, library: Library, place: str, pairs: _Pairs, *, always: bool = False) -> Iterable[FilePool]:
        """Yield the pool of some settings; without a setting of the library only if it is always one."""
        settings, unread = {}, []
        for name, node in pairs:
            if name is None:
                continue
            found = FileSetting(name, ast.unparse(node), self._value(node), node.lineno)
            if setting := library.setting(name):
                settings[setting] = found
            elif library.setting(name, relaxed=True):
                unread.append(found)
        if settings or unread or always:
            yield FilePool(library, place, settings, tuple(unread), complete=None not in dict(pairs))

    def _keywords(self, call: ast.Call) -> _Pairs:
        pairs: _Pairs = []
        for keyword in call.keywords:
            pairs += self._spread(keyword.value) if keyword.arg is None else [(keyword.arg, keyword.value)]
        return pairs

    def _of_dict(self, node: ast.Dict) -> _Pairs:
        pairs: _Pairs = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                pairs += self._spread(value)
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                pairs.append((key.value, value))
        return pairs

    def _spread(self, node: ast.expr) -> _Pairs:
        """Return the pairs of a dictionary: a literal, dict(...), a constant's, or a function's of the file."""
        if isinstance(node, ast.Call) and _name(node.func) in self.returned:
            node = self.returned[_name(node.func)]
        elif isinstance(node, ast.Call) and _name(node.func) == "dict" and not node.args:
            return self._keywords(node)
        elif isinstance(node, ast.Name | ast.Attribute):
            node = self.constants.get(_name(node), node)
        if not isinstance(node, ast.Dict) or node in self._open:  # as in: options = {**options, "pool_size": 5}
            return [(None, node)]
        self._spread_dicts.add(id(node))  # it is part of another dictionary, and no pool of its own
        self._open.append(node)
        pairs = self._of_dict(node)
        self._open.pop()
        return pairs

    def _value(self, node: ast.expr, depth: int = 0) -> Value:
        """Return a value where the file contains it: a literal, a constant, arithmetic, a function's default."""
        value: Value = None
        if depth > DEEPEST:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
            value = node.value
        elif isinstance(node, ast.UnaryOp | ast.BinOp):
            value = self._computed(node, depth + 1)
        elif isinstance(node, ast.Name | ast.Attribute) and _name(node) in self.constants:
            value = self._value(self.constants[_name(node)], depth + 1)
        elif isinstance(node, ast.Call):
            value = self._of_function(node, depth + 1)
        return None if isinstance(value, int | float) and not abs(value) < LARGEST else value

    def _computed(self, node: ast.UnaryOp | ast.BinOp, depth: int) -> float | None:
        """Return the result of arithmetic, or None where an operand is not a known number."""
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, depth)
            return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else None
        left, right = self._value(node.left, depth), self._value(node.right, depth)
        if not (isinstance(left, int | float) and isinstance(right, int | float) and type(node.op) in OPERATORS):
            return None
        return None if isinstance(node.op, ast.FloorDiv) and not right else OPERATORS[type(node.op)](left, right)

    def _of_function(self, call: ast.Call, depth: int) -> Value:
        """Return the number of int("10"), and the default of environ.get("POOL", "10") or env("POOL", default=10)."""
        name = _name(call.func)
        chosen = next((word.value for word in call.keywords if word.arg == "default"), None)
        if chosen is None and isinstance(call.func, ast.Name) and name in CONVERSIONS and call.args:
            chosen = call.args[0]
        elif chosen is None and len(call.args) > 1 and (name.lower() in READS_ENVIRONMENT or "env" in name.lower()):
            chosen = call.args[-1]
        value = None if chosen is None else self._value(chosen, depth)
        return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value


def _name(node: ast.AST | None) -> str:
    """Return the last part of a dotted name, the key of an item with a constant key, or "" for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.id if isinstance(node, ast.Name) else ""
