"""Python source -> the databases of Django that are MySQL or MariaDB, and the pools of django-db-connection-pool."""

import ast
from collections.abc import Iterator

from poolsize.pool_config.files.entries import names_mysql
from poolsize.pool_config.files.python_values import UNKNOWN, Pairs, Values
from poolsize.pool_config.libraries.python import DJANGO, DJANGO_POOL
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
    engine = by_name.get("ENGINE")
    is_mysql = None if engine is None else _is_mysql(values, engine)
    if is_mysql is False:
        return
    has_settings = bool((SETTINGS | OF_URL.keys()) & by_name.keys())
    is_database = is_mysql or (engine is not None and (is_call or CONNECTS & by_name.keys()))
    place = f"line {node.lineno}"
    with_pool = POOL_OPTIONS in by_name or (engine is not None and POOL_ENGINES in values.text(engine))
    if has_settings or (is_database and not with_pool):
        yield from values.pools(DJANGO, place, [*pairs, *_asgi(values)], renamed=OF_URL)
    if with_pool:
        options = values.pairs(by_name[POOL_OPTIONS]) if POOL_OPTIONS in by_name else []
        yield from values.pools(DJANGO_POOL, POOL_OPTIONS, options)


def pools_of_other_files(values: Values) -> Iterator[FilePool]:
    """Yield the databases of other files, as of `from base import *`, whose settings this file changes."""
    for name, node in values.names.changes_elsewhere():
        if name in SETTINGS:
            pairs: Pairs = [(name, node), (None, node), *_asgi(values)]
            yield from values.pools(DJANGO, f"line {node.lineno}", pairs)


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
