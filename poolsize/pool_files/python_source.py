"""Python source -> pools: SQLAlchemy's create_engine, Flask-SQLAlchemy, Django's DATABASES, MySQL Connector/Python."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping

from poolsize.errors import BadInput
from poolsize.pool_files.found import FoundPool, FoundSetting
from poolsize.pool_files.library import (
    CONNECTOR_PYTHON,
    DJANGO,
    DJANGO_POOL,
    FLASK_SQLALCHEMY,
    SQLALCHEMY,
    Library,
    Value,
)

CALLS = {
    "create_engine": SQLALCHEMY,
    "create_async_engine": SQLALCHEMY,
    "MySQLConnectionPool": CONNECTOR_PYTHON,
}
"""Function -> the library whose pool its keywords configure."""
FLASK_OPTIONS = "SQLALCHEMY_ENGINE_OPTIONS"
POOL_OPTIONS = "POOL_OPTIONS"
OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Mult: operator.mul, ast.Add: operator.add, ast.Sub: operator.sub, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
DEEPEST = 20
"""Constants that name each other go no deeper."""

Pairs = list[tuple[str, ast.expr]]


def python_pools(text: str) -> list[FoundPool]:
    """Return the pools of Python source. Raises BadInput for a text that is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"no Python: {error}") from None
    source = _Source(text, tree)
    nodes = sorted(ast.walk(tree), key=lambda node: getattr(node, "lineno", 0))
    return [pool for node in nodes for pool in source.pools_of(node)]


class _Source:
    """A parsed source: its constants, and the dictionaries that its functions return."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text = text
        self.constants: dict[str, ast.expr] = {}
        self.returned: dict[str, ast.Dict] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.constants[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                self.constants[node.target.id] = node.value
            elif isinstance(node, ast.FunctionDef):
                for each in ast.walk(node):
                    if isinstance(each, ast.Return) and isinstance(each.value, ast.Dict):
                        self.returned[node.name] = each.value

    def pools_of(self, node: ast.AST) -> Iterable[FoundPool]:
        """Yield the pools that a node configures by itself."""
        if isinstance(node, ast.Call) and (library := CALLS.get(_name(node.func))):
            yield from self._pool(library, f"{_name(node.func)}, line {node.lineno}", self._keywords(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            (target,) = node.targets if isinstance(node, ast.Assign) and len(node.targets) == 1 else (None,)
            if _name(target) == FLASK_OPTIONS:
                yield from self._pool(FLASK_SQLALCHEMY, FLASK_OPTIONS, self._pairs(node.value))
        elif isinstance(node, ast.Dict):
            names = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if "CONN_MAX_AGE" in names or "CONN_HEALTH_CHECKS" in names:
                yield from self._pool(DJANGO, f"line {node.lineno}", self._pairs(node))
            elif POOL_OPTIONS in names and isinstance(value := dict(self._pairs(node))[POOL_OPTIONS], ast.Dict):
                yield from self._pool(DJANGO_POOL, POOL_OPTIONS, self._pairs(value))

    def _pool(self, library: Library, place: str, pairs: Pairs) -> Iterable[FoundPool]:
        settings = {
            setting: FoundSetting(
                name, ast.get_source_segment(self.text, node) or "", self._value(node), node.lineno
            )
            for name, node in pairs
            if (setting := library.setting(name))
        }  # fmt: skip
        if settings or library is SQLALCHEMY:
            yield FoundPool(library, place, settings)

    def _keywords(self, call: ast.Call) -> Pairs:
        pairs: Pairs = []
        for keyword in call.keywords:
            if keyword.arg is not None:
                pairs.append((keyword.arg, keyword.value))
            else:
                pairs += self._spread(keyword.value)
        return pairs

    def _pairs(self, node: ast.Dict) -> Pairs:
        pairs: Pairs = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                pairs += self._spread(value)
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                pairs.append((key.value, value))
        return pairs

    def _spread(self, node: ast.expr) -> Pairs:
        """Return the pairs of a dictionary after **: a literal, a constant's, or a function's."""
        if isinstance(node, ast.Call) and _name(node.func) in self.returned:
            node = self.returned[_name(node.func)]
        elif isinstance(node, ast.Name | ast.Attribute):
            node = self.constants.get(_name(node), node)
        return self._pairs(node) if isinstance(node, ast.Dict) else []

    def _value(self, node: ast.expr, depth: int = 0) -> Value:
        """Return a value where the file tells it: a literal, a constant, arithmetic, or the default of a function."""
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
            value = self._default_of(node, depth)
        return value

    def _computed(self, node: ast.UnaryOp | ast.BinOp, depth: int) -> float | None:
        """Return the result of arithmetic, or None where an operand is no known number."""
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, depth)
            return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else None
        left, right = self._value(node.left, depth), self._value(node.right, depth)
        if type(node.op) in OPERATORS and isinstance(left, int | float) and isinstance(right, int | float) and right:
            return OPERATORS[type(node.op)](left, right)
        return None

    def _default_of(self, call: ast.Call, depth: int) -> Value:
        """Return a number from int("10"), os.environ.get("POOL", "10"), env("POOL", default=10) and the like."""
        default = next((word.value for word in call.keywords if word.arg == "default"), None)
        chosen = default or (call.args[-1] if call.args else None)
        if chosen is None or (default is None and len(call.args) == 1 and _name(call.func) not in {"int", "float"}):
            return None
        value = self._value(chosen, depth + 1)
        if isinstance(value, str):
            try:
                return int(value)
            except ValueError:
                return None
        return value


def _name(node: ast.AST | None) -> str:
    """Return the last part of a dotted name, or "" for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
