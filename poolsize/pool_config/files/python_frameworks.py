"""Python source -> the databases of Django, with django-db-connection-pool, and the pools of Flask-SQLAlchemy."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from poolsize.pool_config.files.python_names import last_name
from poolsize.pool_config.files.python_values import UNKNOWN, Pairs, Values
from poolsize.pool_config.files.values import names_mysql
from poolsize.pool_config.libraries import python as libraries
from poolsize.pool_config.pool import FilePool

SETTINGS = {"CONN_MAX_AGE", "CONN_HEALTH_CHECKS"}
OF_URL = {"conn_max_age": "CONN_MAX_AGE", "conn_health_checks": "CONN_HEALTH_CHECKS"}
"""Keywords of dj-database-url -> settings of Django."""
CONNECTS = {"NAME", "USER", "HOST"}
"""Settings beside ENGINE that show a database of Django."""
POOL_OPTIONS, POOL_ENGINES = "POOL_OPTIONS", "dj_db_conn_pool"
ASGI = "ASGI_APPLICATION"
"""A setting of Django beside the databases, which shows that ASGI serves the application."""


def django_pools(values: Values, node: ast.Dict | ast.Call) -> Iterator[FilePool]:
    """Yield the pools of a database: of a dictionary, or of a call of dj_database_url or django-environ."""
    is_call = isinstance(node, ast.Call)
    own = values.of_database_url(node) if isinstance(node, ast.Call) else values.of_dict(node)
    if own is None:
        return
    pairs = own + values.items(node)
    by_name = dict(pairs)
    options = values.pairs(by_name["OPTIONS"]) if "OPTIONS" in by_name else []
    pairs += [(name, value) for name, value in options if name == "pool"]
    engine = by_name.get("ENGINE")
    is_mysql = None if engine is None else _is_mysql(values, engine)
    if is_mysql is False:
        return
    has_settings = bool((SETTINGS | OF_URL.keys()) & by_name.keys())
    is_database = is_mysql or (engine is not None and (is_call or CONNECTS & by_name.keys()))
    place = f"line {node.lineno}"
    with_pool = POOL_OPTIONS in by_name or (engine is not None and POOL_ENGINES in values.text(engine))
    if has_settings or (is_database and not with_pool):
        yield from values.pools(libraries.DJANGO, place, [*pairs, *_asgi(values)], renamed=OF_URL)
    if with_pool:
        options = values.pairs(by_name[POOL_OPTIONS]) if POOL_OPTIONS in by_name else []
        yield from values.pools(libraries.DJANGO_POOL, POOL_OPTIONS, options)


def pools_of_other_files(values: Values) -> Iterator[FilePool]:
    """Yield the databases of other files, as of `from base import *`, whose settings this file changes."""
    for name, node in values.names.changes_elsewhere():
        if name in SETTINGS:
            pairs: Pairs = [(name, node), (None, node), *_asgi(values)]
            yield from values.pools(libraries.DJANGO, f"line {node.lineno}", pairs)


def _asgi(values: Values) -> Pairs:
    node = values.names.of_module(ASGI)
    return [] if node is None else [(ASGI, node)]


def _is_mysql(values: Values, engine: ast.expr) -> bool | None:
    """Return whether an engine is of MySQL; None where the file does not contain its name."""
    text = values.text(engine)
    if isinstance(engine, ast.Call) and values.of_database_url(engine) is not None:
        return values.is_mysql(engine)
    if names_mysql(text):
        return True
    return None if UNKNOWN in text else False


URI, OPTIONS, BINDS = "SQLALCHEMY_DATABASE_URI", "SQLALCHEMY_ENGINE_OPTIONS", "SQLALCHEMY_BINDS"
OLD = {f"SQLALCHEMY_{name.upper()}": name for name in ("pool_size", "pool_timeout", "pool_recycle")} | {
    "SQLALCHEMY_MAX_OVERFLOW": "max_overflow"
}
"""Names of Flask-SQLAlchemy 2 -> SQLAlchemy's."""
SHOWS_FLASK = "SQLALCHEMY_TRACK_MODIFICATIONS"
NAMES = {URI, OPTIONS, BINDS, SHOWS_FLASK, libraries.OLD_FUNCTION, *OLD}


def _changes(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the dictionaries that a statement or a call adds to another, as in d["a"] = 5, update and setdefault."""
    match node:
        case ast.Assign():
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    yield ast.Dict([target.slice], [node.value])
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr="update")):
            yield ast.Call(ast.Name("dict"), node.args, node.keywords)
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr="setdefault"), args=[key, value]):
            yield ast.Dict([key], [value])


class FlaskSettings:
    """The settings of Flask-SQLAlchemy in a source. Each configuration class has its own; all others are together."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._of_class: dict[str, list[tuple[str, ast.expr]]] = {}

    def note(self, node: ast.AST) -> None:
        """Note the settings of a node: an assignment, a call as app.config.update(...), a dictionary, OLD_FUNCTION."""
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
        elif isinstance(node, ast.FunctionDef) and node.name == libraries.OLD_FUNCTION:
            changes = [change for each in ast.walk(node) for change in _changes(each)]
            self._add("", [(libraries.OLD_FUNCTION, change) for change in changes or [ast.Constant(None)]])
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
            pools = [*self._pool(settings, beside_engine=beside_engine, is_class=bool(name)), *self._binds(settings)]
            replaced.update(inherited if pools else ())
            found = [replace(pool, alternative=f"profile {name}" if name else "") for pool in pools] + found
        yield from found

    def _pool(self, settings: list[tuple[str, ast.expr]], *, beside_engine: bool, is_class: bool) -> Iterator[FilePool]:
        databases = [self._values.is_mysql(value) for setting, value in settings if setting == URI]
        databases = databases[-1:] if is_class else databases  # a class overrides what it inherits
        if databases and all(each is False for each in databases):
            return
        old: Pairs = [(setting, value) for setting, value in settings if setting in OLD]
        nodes = [value for setting, value in settings if setting in {OPTIONS, libraries.OLD_FUNCTION}]
        options = [pair for value in nodes for pair in self._values.pairs(value)]
        if last_name(dict(options).get("poolclass")) in libraries.OTHER_POOLS:
            return
        shows_flask = any(databases) or SHOWS_FLASK in dict(settings)
        is_old = bool(old) or libraries.OLD_FUNCTION in dict(settings)
        library = libraries.FLASK_SQLALCHEMY_2 if is_old else libraries.FLASK_SQLALCHEMY
        yield from self._values.pools(
            library,
            "SQLALCHEMY settings",
            [*old, *options],
            always=bool(databases) and shows_flask and not beside_engine,
            renamed=OLD,
        )

    def _binds(self, settings: list[tuple[str, ast.expr]]) -> Iterator[FilePool]:
        """Yield the pools of further databases.

        Their settings are only their own in version 3 (its documentation, OPTIONS), and those of all in version 2
        (_EngineConnector.get_options).
        """
        by_name = dict(settings)
        old: Pairs = [pair for pair in settings if pair[0] in OLD]
        if old and OPTIONS in by_name:
            old += self._values.pairs(by_name[OPTIONS])
        for name, url in self._values.pairs(by_name[BINDS]) if BINDS in by_name else []:
            options = self._values.pairs(url) if isinstance(url, ast.Dict) else []
            urls = [dict(options).get("url", url), *filter(None, [by_name.get(URI)])]  # one elsewhere: as the first
            if name and next((each for each in map(self._values.is_mysql, urls) if each is not None), False):
                library = libraries.FLASK_SQLALCHEMY_2 if old else libraries.FLASK_SQLALCHEMY
                yield from self._values.pools(library, f"{BINDS}, {name}", [*old, *options], renamed=OLD)
