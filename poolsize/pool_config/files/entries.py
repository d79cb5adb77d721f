"""A value in a file, with its keys; and the database that it tells of, by a URL, a driver or a dialect."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from poolsize.pool_config.pool import normalized

PART = re.compile(r"\"([^\"]{1,100})\"|([^.\"]+|\")")
"""A part of a key between full stops; Quarkus writes names with quotes."""


@dataclass(frozen=True)
class Entry:
    """A value in a file. path: its keys from the outermost. line: from 1."""

    path: tuple[str, ...]
    text: str
    line: int


def parts_of(key: str) -> tuple[str, ...]:
    """Return the parts of a key between full stops; a part in quotes may have some."""
    if '"' not in key:
        return tuple(key.split("."))
    return tuple(match[1] or match[2] for match in PART.finditer(key)) or (key,)


NAMES = {
    "url", "jdbcurl", "driverurl", "connectionurl", "driverclassname", "driverclass", "driver", "dialect", "dbkind",
    "databaseplatform", "database", "databasetype", "datasourceclassname", "jdbcdriver", "jdbcdriverurl",
    "protocol",
}  # fmt: skip
"""Settings that name a database, without hyphens, underscores and capitals."""
GO_DSN = r"@(?:tcp|unix)\("
"""What only the data source names of go-sql-driver/mysql have."""
DATABASE = re.compile(
    rf"(?P<mysql>mysql|mariadb|tidb|{GO_DSN}|(?:^|:)3306\b)|(?:^|:)(?:5432|1433|1521|27017|6379)\b|"
    r"postgres|pgx|oracle|godror|sqlserver|mssql|jtds|sqlite|hsqldb|derby|duckdb|"
    r"clickhouse|pgsql|pgpool|pgbuilder|pgclient|kingbase|cockroach|redshift|snowflake|spanner|firebird|informix|sybase|mongo|"
    r"(?:\b|\.)(?:h2|db2|dm|pg|pq)(?:\b|dialect|\.)",
    re.IGNORECASE,
)
"""The name of a database, also in those of drivers and dialects; or the port that its servers have by default."""
URL = re.compile(r"\b(?:jdbc|r2dbc|r2dbcs):")
MOST = 300
"""Characters of a setting in which a database is looked for."""


def names_mysql(text: str) -> bool | None:
    """Return whether the first database that a text names is MySQL or MariaDB; None for a text without such a name."""
    match = DATABASE.search(text)
    return bool(match["mysql"]) if match else None


def is_mysql(entry: Entry) -> bool | None:
    """Return whether a setting tells of MySQL or MariaDB; None where it tells of no database."""
    name = normalized(entry.path[-1])
    text = entry.text[:MOST]
    url = URL.search(text)
    if name == "profile" and text.startswith("slick."):
        return names_mysql(text)
    if name not in NAMES and not name.endswith(("url", "dialect", "drivername", "driverclassname")) and not url:
        return None
    if name.endswith("url") and not url:
        return None
    return names_mysql(text[url.end() if url else 0 :])


def is_other_database(prefix: Sequence[str], groups: Mapping[tuple[str, ...], Sequence[Entry]]) -> bool | None:
    """Return whether the pool of a place is one of another database: as the nearest setting tells; None without any.

    groups: place -> its settings.
    """
    for end in range(len(prefix), 0, -1):
        near = tuple(prefix[:end])
        databases = _databases([*groups.get(near, ()), *groups.get((*near, "connection"), ())])
        if databases:
            return not any(databases)
    return None


def has_only_others(entries: Iterable[Entry]) -> bool:
    """Return whether settings tell of databases, and none of MySQL."""
    databases = _databases(entries)
    return bool(databases) and not any(databases)


def _databases(entries: Iterable[Entry]) -> list[bool]:
    """Return what the last of each setting tells; without those that tell nothing."""
    last = {entry.path: is_mysql(entry) for entry in entries}
    return [each for each in last.values() if each is not None]
