"""The URL of a database -> the settings of a pool in its query; and Prisma's schema, which holds such a URL.

The URL itself, which may hold a password, is not kept.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from poolsize.pool_config.files.places import NO_APPLICATION
from poolsize.pool_config.files.values import GO_DSN, MOST, Entry, setting_of, value_of
from poolsize.pool_config.libraries.node import UNUSED_ADAPTER
from poolsize.pool_config.libraries.other_languages import OWN_GO, PRISMA, RAILS
from poolsize.pool_config.libraries.python import SQLALCHEMY
from poolsize.pool_config.pool import FilePool, FileSetting, Library

ASSIGNMENT = re.compile(r"\s{0,20}(?P<name>[A-Za-z_]\w{0,99})\s{0,20}=\s{0,20}(?P<value>.{0,2000})")
IN_URL = "in the URL"
"""In place of a text that is neither a number nor true or false: it may be part of a password."""
SCHEMES = {"mysql": PRISMA, "mysql2": RAILS, "trilogy": RAILS}
"""Scheme of a URL of MySQL -> the library whose settings its query has."""
OF_SQLALCHEMY = re.compile(r"(?:mysql|mariadb)\+[a-z]{1,30}://")
"""The beginning of a URL of MySQL that names the driver, as SQLAlchemy reads it."""


def url_settings(url: str, library: Library, line: int, *, durations: bool = False) -> dict[str, FileSetting]:
    """Return the settings of a library in the query of a URL. durations: as in value_of."""
    relaxed = library is OWN_GO
    settings = {}
    for pair in url.partition("?")[2].partition("#")[0].split("&"):
        name, _, text = pair.partition("=")
        if setting := library.setting(name, relaxed=relaxed):
            found = setting_of(name, text, line, partial(value_of, text, durations=durations))
            is_number = isinstance(found.value, int | float)  # or true and false
            settings[setting] = found if is_number else replace(found, text=IN_URL, value=None)
    return settings


def url_pools(variables: Iterable[Entry]) -> list[FilePool]:
    """Return the pools of environment variables: of each URL of MySQL with settings of Prisma, Rails or Go."""
    pools = []
    for variable in variables:
        library = SCHEMES.get(variable.text.partition("://")[0])
        if library is PRISMA and re.search(GO_DSN, variable.text[:MOST]):
            library = OWN_GO
        is_go = library is OWN_GO
        settings = url_settings(variable.text, library, variable.line, durations=is_go) if library else {}
        if library and settings:
            pools.append(FilePool(library, variable.path[0], settings))
    return pools


def default_url_pools(variables: Iterable[Entry]) -> list[FilePool]:
    """Return a pool for each different URL of SQLAlchemy in the environment. The source has its settings.

    Variables of tests and of other services are left out.
    """
    names: dict[str, str] = {}
    for variable in variables:
        name = variable.path[0]
        if OF_SQLALCHEMY.match(variable.text) and not NO_APPLICATION & {*name.lower().split("_")}:
            names.setdefault(variable.text, name)
    return [FilePool(SQLALCHEMY, name, {}, complete=False) for name in names.values()]


def is_of_url(pool: FilePool) -> bool:
    """Return whether a pool is that of default_url_pools(): without a setting."""
    return pool.library is SQLALCHEMY and not pool.complete and not pool.settings


def replaces_schema(pool: FilePool) -> bool:
    """Return whether a pool is that of a client of Prisma with an adapter, or with a URL in place of the schema's."""
    is_client = pool.place.startswith(("PrismaClient, ", "PrismaMariaDb, "))
    return is_client and pool.database_known and bool(pool.library.sizes)


def is_beside_schema(pool: FilePool) -> bool:
    """Return whether a pool is in a file with a client of Prisma that has the schema's URL."""
    return pool.place.startswith("further Prisma") or pool.library is UNUSED_ADAPTER


def prisma_pools(text: str) -> list[FilePool]:
    """Return the pool of a schema of Prisma whose provider is MySQL."""
    pools = []
    for name, block in _datasources(text.splitlines()):
        fields = {match["name"]: (match["value"], line) for line, match in block}
        provider, url = fields.get("provider", ("", 1))[0], fields.get("url")
        if _literal(provider) != "mysql":
            continue
        literal = _literal(url[0]) if url else None
        settings = url_settings(literal, PRISMA, url[1]) if literal and url else {}
        pools.append(FilePool(PRISMA, f"datasource {name}", settings, complete=literal is not None))
    return pools


def _datasources(lines: list[str]) -> Iterator[tuple[str, list[tuple[int, re.Match[str]]]]]:
    name = ""
    block: list[tuple[int, re.Match[str]]] = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if words[:1] == ["datasource"] and len(words) > 1:
            name, block = words[1].rstrip("{"), []
        elif name and words[:1] == ["}"]:
            yield name, block
            name = ""
        elif name and (match := ASSIGNMENT.match(line)):
            block.append((number, match))


def _literal(value: str) -> str | None:
    """Return a string without its quotes; None for anything else, such as env("DATABASE_URL")."""
    return value.split('"')[1] if value.startswith('"') and value.count('"') > 1 else None
