"""The URL of a database -> the settings of a pool in its query. The URL itself, which may hold a password, is not kept.

Prisma's schema and files of environment variables (.env), which hold such URLs.
"""

import re
from collections.abc import Iterator

from poolsize.pool_config.files.values import value_of
from poolsize.pool_config.libraries.frameworks import PRISMA, RAILS
from poolsize.pool_config.pool import FilePool, FileSetting, Library

ASSIGNMENT = re.compile(r"\s{0,20}(?:export\s{1,9})?(?P<name>[A-Za-z_]\w{0,99})\s{0,20}=\s{0,20}(?P<value>.{0,2000})")
SCHEMES = {"mysql": PRISMA, "mysql2": RAILS, "trilogy": RAILS}
"""Scheme of a URL of MySQL -> the library whose settings its query has."""


def url_settings(url: str, library: Library, line: int) -> dict[str, FileSetting]:
    """Return the settings of a library in the query of a URL."""
    settings = {}
    for pair in url.partition("?")[2].partition("#")[0].split("&"):
        name, _, text = pair.partition("=")
        if setting := library.setting(name):
            settings[setting] = FileSetting(name, text, value_of(text), line)
    return settings


def dotenv_pools(text: str) -> list[FilePool]:
    """Return the pools of a file with environment variables: a URL of MySQL with settings of Prisma or Rails."""
    pools = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := ASSIGNMENT.match(line):
            url = match["value"].strip().strip("\"'")
            library = SCHEMES.get(url.partition("://")[0])
            settings = url_settings(url, library, number) if library else {}
            if library and settings:
                pools.append(FilePool(library, match["name"], settings))
    return pools


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
    """Yield the name of each data source, and its assignments with their lines."""
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
