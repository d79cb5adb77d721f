"""Python source -> the pools of Flask-SQLAlchemy, by the names of its settings."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from poolsize.pool_config.files.python_names import last_name
from poolsize.pool_config.files.python_values import Pairs, Values
from poolsize.pool_config.libraries.python import FLASK_SQLALCHEMY, FLASK_SQLALCHEMY_2, OTHER_POOLS
from poolsize.pool_config.pool import FilePool

URI, OPTIONS = "SQLALCHEMY_DATABASE_URI", "SQLALCHEMY_ENGINE_OPTIONS"
OLD = {f"SQLALCHEMY_{name.upper()}": name for name in ("pool_size", "pool_timeout", "pool_recycle")} | {
    "SQLALCHEMY_MAX_OVERFLOW": "max_overflow"
}
"""Names of Flask-SQLAlchemy 2 -> SQLAlchemy's."""
SHOWS_FLASK = "SQLALCHEMY_TRACK_MODIFICATIONS"
NAMES = {URI, OPTIONS, SHOWS_FLASK, *OLD}


class FlaskSettings:
    """The settings of Flask-SQLAlchemy in a source. Each configuration class has its own; all others are together."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._of_class: dict[str, list[tuple[str, ast.expr]]] = {}

    def note(self, node: ast.AST) -> None:
        """Note the settings of a node: an assignment, a call as app.config.update(...), a dictionary."""
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            scope = self._values.names.scope(node)
            name = scope.name if isinstance(scope, ast.ClassDef) else ""
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            self._add(name, [(last_name(target), node.value) for target in targets])
        elif isinstance(node, ast.Call):
            words = [(word.arg or "", word.value) for word in node.keywords]
            if last_name(node.func) == "SQLAlchemy":
                words = [(OPTIONS, value) for name, value in words if name == "engine_options"]
            if last_name(node.func) == "setdefault" and len(node.args) == 2 and isinstance(node.args[0], ast.Constant):
                words = [(str(node.args[0].value), node.args[1])]
            self._add("", words)
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            self._add("", [(str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant)])

    def _add(self, name: str, settings: list[tuple[str, ast.expr]]) -> None:
        known = [(setting, value) for setting, value in settings if setting in NAMES]
        if known:
            self._of_class.setdefault(name, []).extend(known)

    def pools(self, *, beside_engine: bool) -> Iterator[FilePool]:
        """Yield the pool of each configuration. beside_engine: whether create_engine uses the URL of the file."""
        classes = self._values.names.classes
        replaced: set[str] = set()
        """Classes whose settings are those of a class that is based on them, and has a pool."""
        found: list[FilePool] = []
        for name, own in reversed(self._of_class.items()):
            if name in replaced:
                continue
            inherited = [each.name for each in self._values.names.with_bases(classes[name])][1:] if name else []
            settings = [pair for base in reversed(inherited) for pair in self._of_class.get(base, ())] + own
            pools = list(self._pool(name, settings, beside_engine=beside_engine))
            replaced.update(inherited if pools else ())
            found = pools + found
        yield from found

    def _pool(self, name: str, settings: list[tuple[str, ast.expr]], *, beside_engine: bool) -> Iterator[FilePool]:
        databases = [self._values.is_mysql(value) for setting, value in settings if setting == URI]
        databases = databases[-1:] if name else databases  # a class overrides what it inherits
        if databases and all(each is False for each in databases):
            return
        old: Pairs = [(setting, value) for setting, value in settings if setting in OLD]
        options = [pair for setting, value in settings if setting == OPTIONS for pair in self._values.pairs(value)]
        if last_name(dict(options).get("poolclass")) in OTHER_POOLS:
            return
        shows_flask = any(databases) or SHOWS_FLASK in dict(settings)
        for pool in self._values.pools(
            FLASK_SQLALCHEMY_2 if old else FLASK_SQLALCHEMY,
            "SQLALCHEMY settings",
            [*old, *options],
            always=bool(databases) and shows_flask and not beside_engine,
            renamed=OLD,
        ):
            yield replace(pool, alternative=f"profile {name}" if name else "")
