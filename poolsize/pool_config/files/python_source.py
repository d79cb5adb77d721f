"""Python source -> the pools of SQLAlchemy, Django, Flask, and of other libraries for MySQL."""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from urllib.parse import parse_qsl

from poolsize.errors import BadInput
from poolsize.pool_config.files.python_frameworks import FlaskSettings, django_pools, pools_of_other_files
from poolsize.pool_config.files.python_names import Names, last_name
from poolsize.pool_config.files.python_values import UNKNOWN, Pairs, Values
from poolsize.pool_config.files.values import integer_or_text, setting_of
from poolsize.pool_config.libraries import python as libraries
from poolsize.pool_config.pool import FilePool, FileSetting, Library, PoolOrCount, Variable


@dataclass(frozen=True)
class _Function:
    """A function that makes a pool. parameters: the positional ones, in order."""

    library: Library
    parameters: tuple[str, ...] = ()


_ENGINE = _Function(libraries.SQLALCHEMY, ("url",))
_PEEWEE = _Function(libraries.PEEWEE, ("database", "max_connections", "stale_timeout", "timeout"))
_SIZES = ("minsize", "maxsize", "echo", "pool_recycle")
FUNCTIONS = {
    "create_engine": _ENGINE,
    "create_async_engine": _ENGINE,
    "MySQLConnectionPool": _Function(libraries.CONNECTOR_PYTHON, ("pool_size", "pool_name", "pool_reset_session")),
    "PooledMySQLDatabase": _PEEWEE,
    "PooledMySQLConnectorDatabase": _PEEWEE,
    "PooledMariaDBConnectorDatabase": _PEEWEE,
    "PooledDB": _Function(
        libraries.DBUTILS, ("creator", "mincached", "maxcached", "maxshared", "maxconnections", "blocking", "maxusage")
    ),
    "PersistentDB": _Function(libraries.DBUTILS_PERSISTENT, ("creator",)),
}
"""The last part of a function's name -> the function."""
FULL_NAMES = {
    "aiomysql.create_pool": _Function(libraries.AIOMYSQL, _SIZES),
    "aiomysql.sa.create_engine": _Function(libraries.AIOMYSQL, _SIZES[:2]),
    "aiomysql.sa.engine.create_engine": _Function(libraries.AIOMYSQL, _SIZES[:2]),
    "asyncmy.create_pool": _Function(libraries.ASYNCMY, _SIZES),
    "mariadb.ConnectionPool": _Function(libraries.MARIADB_PYTHON),
    "peewee_async.PooledMySQLDatabase": _Function(libraries.PEEWEE_ASYNC, ("database",)),
    "databases.Database": _Function(libraries.DATABASES, ("url",)),
    "databases.core.Database": _Function(libraries.DATABASES, ("url",)),
}
"""Functions whose names other libraries have as well."""
OF_POSTGRES = ("aiopg.", "gino.")
"""Modules with functions of such names for PostgreSQL only."""
OF_PEEWEE_ASYNC = {"min_connections": "minsize", "max_connections": "maxsize"}
"""Names of its version 0 -> aiomysql's."""
CONNECTOR_POOL = {"pool_name", "pool_size"}
"""Either of them makes connect() of mysql.connector and mariadb a pool."""
TORTOISE_CALLS = {"init", "register_tortoise", "RegisterTortoise"}
URLS = ("url", "name_or_url", "db_url")
OTHER_DRIVERS = {"psycopg", "psycopg2", "pg8000", "pgdb", "sqlite3", "cx_Oracle", "oracledb", "pymssql", "dmPython"}
OTHER_DATABASES = re.compile(r"postgres|psycopg|oracle|mssql", re.IGNORECASE)
PEEWEE_URL = re.compile(r"(mysql|mysqlconnector|mariadbconnector)\+pool://")


def python_pools(text: str, file_name: str) -> list[PoolOrCount]:
    """Return the pools of Python source, and the numbers that other modules may import from this file.

    Raises BadInput for a text that is not Python.
    """
    source = _Source(_parsed(text))
    return [*source.pools(), *source.numbers(PurePath(file_name).stem)]


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError) as error:
        raise BadInput(f"no Python {sys.version_info.major}.{sys.version_info.minor}: {error}") from None


def _beside_sqlite(nodes: Sequence[ast.AST]) -> set[int]:
    """Return the nodes of branches for another database than SQLite, as in `if url.startswith("sqlite"): ... else:`.

    None where the file names a third database: the branch may be for that.
    """
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    if any(map(OTHER_DATABASES.search, texts)):
        return set()
    branches = [
        node.orelse if is_sqlite else node.body
        for node in nodes
        if isinstance(node, ast.If | ast.IfExp) and (is_sqlite := _of_sqlite(node.test)) is not None
    ]
    return set[int]().union(*map(_ids, branches))


def _of_sqlite(test: ast.expr) -> bool | None:
    """Return whether a condition holds for SQLite, or for other databases; None where it does not say."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return None if (inner := _of_sqlite(operand)) is None else not inner
        case ast.Compare(ops=[ast.Eq() | ast.In() | ast.NotEq() | ast.NotIn() as operator]):
            is_sqlite = isinstance(operator, ast.Eq | ast.In)
        case ast.Call() | ast.Name() | ast.Attribute():
            is_sqlite = True
        case _:
            return None
    return is_sqlite if "sqlite" in ast.unparse(test).lower() else None


def _ids(branch: ast.expr | list[ast.stmt]) -> set[int]:
    return {id(node) for part in (branch if isinstance(branch, list) else [branch]) for node in ast.walk(part)}


def assigned_in(text: str, name: str) -> FileSetting | None:
    """Return what Python source assigns to a name; None without that. Raises BadInput for a text that is not Python."""
    names = Names(_parsed(text))
    node = names.of_module(name)
    return None if node is None else FileSetting(name, ast.unparse(node), Values(names).value(node), node.lineno)


class _Source:
    def __init__(self, tree: ast.Module) -> None:
        self._names = Names(tree)
        self._values = Values(self._names)
        self._connected: set[str] = set()
        self._not_sqlite = _beside_sqlite(self._names.nodes)

    def pools(self) -> list[FilePool]:
        """Return the pools: those of calls and dictionaries in the order of the file, then those of settings."""
        flask = FlaskSettings(self._values)
        found: list[tuple[int, FilePool]] = []
        for node in self._names.nodes:
            flask.note(node)
            if isinstance(node, ast.Call):
                found += [(id(node), pool) for pool in self._of_call(node)]
            if isinstance(node, ast.Dict):
                found += [(id(node), pool) for pool in self._of_tortoise(node)]
            if isinstance(node, ast.Dict | ast.Call):
                found += [(id(node), pool) for pool in django_pools(self._values, node)]
        pools = [pool for key, pool in found if key not in self._values.spread]
        has_engine = any(pool.library is libraries.SQLALCHEMY for pool in pools)
        pools += self._of_texts()
        pools += pools_of_other_files(self._values)
        return [*pools, *flask.pools(beside_engine=has_engine)]

    def numbers(self, module: str) -> Iterator[Variable]:
        """Yield the integers of pydantic's settings, as other modules name them. module: the name of this one."""
        for name, node in self._names.of_settings():
            setting = setting_of(f"{module}.{name}", ast.unparse(node), node.lineno, partial(self._values.value, node))
            if isinstance(setting.value, int) and not isinstance(setting.value, bool):
                yield Variable(replace(setting, text=str(setting.value)))

    def _of_call(self, call: ast.Call) -> Iterator[FilePool]:
        name, place = last_name(call.func), f"{last_name(call.func)}, line {call.lineno}"
        keywords = self._values.keywords(call)
        if name in TORTOISE_CALLS and "db_url" in dict(keywords):
            url = dict(keywords)["db_url"]
            if self._values.is_mysql(url) is not False:
                yield from self._values.pools(libraries.TORTOISE, place, self._query(url))
        elif name == "connect" and call.args and PEEWEE_URL.match(url_text := self._values.text(call.args[0])):
            self._connected.add(url_text)
            yield from self._values.pools(libraries.PEEWEE, place, self._query(call.args[0]) + keywords)
        elif function := self._function(call, keywords):
            pairs: Pairs = [*zip(function.parameters, call.args, strict=False), *keywords]
            if any(isinstance(argument, ast.Starred) for argument in call.args):
                pairs = [(None, call), *keywords]
            if self._may_be_mysql(dict(pairs), not_sqlite=id(call) in self._not_sqlite):
                pairs += self._beside(function.library, pairs)
                renamed = OF_PEEWEE_ASYNC if function.library is libraries.PEEWEE_ASYNC else {}
                yield from self._values.pools(function.library, place, pairs, renamed=renamed)

    def _function(self, call: ast.Call, keywords: Pairs) -> _Function | None:
        """Return the function of a library that is called, or whose class a class of the file is based on."""
        name, full = last_name(call.func), self._names.full_name(call.func).replace(".pool.", ".")
        if isinstance(call.func, ast.Name) and name in self._names.functions:
            return None
        if full in FULL_NAMES:
            return FULL_NAMES[full]
        if full.startswith(OF_POSTGRES):
            return None
        if name == "connect" and CONNECTOR_POOL & dict(keywords).keys():
            return _Function(libraries.MARIADB_PYTHON if full.startswith("mariadb") else libraries.CONNECTOR_PYTHON)
        own = self._names.classes.get(name)
        bases = [last_name(base) for each in self._names.with_bases(own) for base in each.bases] if own else []
        names = bases if own and isinstance(call.func, ast.Name) else [name, *bases]
        return next((FUNCTIONS[each] for each in names if each in FUNCTIONS), None)

    def _may_be_mysql(self, by_name: dict[str | None, ast.expr], *, not_sqlite: bool) -> bool:
        """Return whether neither the URL nor the driver is of another database, and the pool has a size.

        not_sqlite: whether a branch of the program shows that the URL is not SQLite's, as its default is.
        """
        url = next((by_name[name] for name in URLS if name in by_name), None)
        creator = by_name.get("creator")
        driver = self._names.full_name(creator).partition(".")[0] if creator else ""
        is_sqlite = url is not None and self._values.text(url).startswith("sqlite")
        is_other = self._values.is_mysql(url) is False and not (not_sqlite and is_sqlite)
        is_other = is_other or driver in OTHER_DRIVERS
        return not is_other and last_name(by_name.get("poolclass")) not in libraries.OTHER_POOLS

    def _beside(self, library: Library, pairs: Pairs) -> Pairs:
        """Return the settings of a pool that its call does not have itself."""
        if library is libraries.PEEWEE_ASYNC:
            return self._values.pairs(dict(pairs)["pool_params"]) if "pool_params" in dict(pairs) else []
        if library.constants:
            return [(name, node) for name in library.constants if (node := self._names.of_module(name))]
        if library is libraries.DATABASES:
            return self._query(dict(pairs)["url"]) if "url" in dict(pairs) else []
        database = dict(pairs).get("database")
        is_later = library is libraries.PEEWEE and isinstance(database, ast.Constant) and database.value is None
        return [(None, pairs[0][1])] if is_later else []  # database.init() has the settings

    def _of_tortoise(self, node: ast.Dict) -> Iterator[FilePool]:
        by_name = dict(self._values.of_dict(node))
        if "engine" in by_name and "credentials" in by_name:
            if self._values.text(by_name["engine"]) == "tortoise.backends.mysql":
                yield from self._values.pools(
                    libraries.TORTOISE, f"line {node.lineno}", self._values.pairs(by_name["credentials"])
                )
        elif {"connections", "apps"} <= by_name.keys():
            for name, url in self._values.pairs(by_name["connections"]):
                if name is not None and self._values.is_mysql(url):
                    yield from self._values.pools(libraries.TORTOISE, f"{name}, line {url.lineno}", self._query(url))

    def _of_texts(self) -> Iterator[FilePool]:
        """Yield the pools of peewee's URLs that no call of connect() in the file takes."""
        parts: set[int] = set()
        for node in self._names.nodes:
            if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) and id(node) not in parts:
                url = self._values.text(node)
                if PEEWEE_URL.match(url) and url not in self._connected:
                    yield from self._values.pools(libraries.PEEWEE, f"line {node.lineno}", self._query(node))
                if PEEWEE_URL.match(url):
                    parts.update(id(part) for part in ast.walk(node))

    def _query(self, url: ast.expr) -> Pairs:
        text = self._values.text(url)
        if "?" not in text:
            return [(None, url)] if text.endswith(UNKNOWN) else []
        pairs: Pairs = []
        for name, value in parse_qsl(text.partition("?")[2], keep_blank_values=True):
            node = ast.Name("unknown") if UNKNOWN in value else ast.Constant(integer_or_text(value))
            pairs.append((name, ast.copy_location(node, url)))
        return pairs
