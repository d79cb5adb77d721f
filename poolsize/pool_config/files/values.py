"""A value in a file: its keys, the database that it tells of, and the number, duration or default in its text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from poolsize.pool_config.pool import FileSetting, Value, normalized

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


NAMES_OF_DATABASE = {
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
    if (
        name not in NAMES_OF_DATABASE
        and not name.endswith(("url", "dialect", "drivername", "driverclassname"))
        and not url
    ):
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


NAME = re.compile(r"[A-Z](?:[A-Z0-9_-]{1,120}|[A-Z0-9]{0,40}__\w{1,80})")
"""Of an environment variable. Small letters only as in GITEA__database__HOST."""

KEYS = re.compile(r"[a-zA-Z][\w-]{0,60}(?:\.[\w-]{1,60}){1,10}")
"""The keys of a setting, from the outermost."""
LONGEST = 500
"""A longer text is no number; defaults in defaults would take long to read."""
PLACEHOLDER = re.compile(r"\$\{(?P<name>[^:{}]+)(?::(?P<quote>`?)(?P<default>.*)(?P=quote))?\}")
"""Of Spring: ${NAME:default}; the default may have further colons. Micronaut: ${NAME:`default`}."""
REFERENCE = re.compile(r"\$(?:\{\w{1,120}(?::?-(?P<default>[^{}$]{0,200}))?\}|\(\w{1,120}\)|\w{1,120})")
"""Of Compose and shells, ${NAME:-default} and $NAME, and of Kubernetes, $(NAME)."""
TEMPLATE = re.compile(r"\{\{-?(?P<words>[^{}]*?)-?\}\}")
"""Of Helm, Jinja and Go: {{ .Values.name | default 10 }}, {{ name | default(10) }}, {{ getenv "NAME" "10" }}."""
TEMPLATE_DEFAULT = re.compile(
    r"\b(?:default[\s(]|[gG]etenv\s\"(?P<name>\w{1,100})\")\s{0,9}(?P<quote>[\"']?)(?P<default>[\w.]{1,40})(?P=quote)(?=[\s|),]|$)"
)
MAVEN = re.compile(r"@[\w.-]{1,100}@")
"""Of Maven's resource filtering and of Gradle's expansion: @name@."""
UNKNOWN = re.compile(rf"\{{|\$[\w(]|<[%\w]|__\w|%\w{{1,100}}[%(]|%\(|{MAVEN.pattern}")
"""A part that something else fills in before the library reads the text."""
NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,6})?")
"""Longer numbers are not settings of a pool."""
DURATION = re.compile(r"(?P<number>\d{1,12})\s?(?P<unit>[a-z]{1,12})", re.IGNORECASE)
ISO_DURATION = re.compile(
    r"P(?:(?P<d>\d{1,6})D)?(?:T(?:(?P<h>\d{1,9})H)?(?:(?P<m>\d{1,9})M)?(?:(?P<s>\d{1,9})S)?)?", re.IGNORECASE
)
NAME_WITH_UNIT = re.compile(r"(?P<name>.{0,80}time(?:out)?)(?:in)?(?P<unit>[a-z]{2,12})")
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
WORDS = {
    "milliseconds": "ms", "millis": "ms", "seconds": "s", "secs": "s", "sec": "s", "minutes": "m", "mins": "m",
    "min": "m", "hours": "h", "days": "d",
}  # fmt: skip
"""Longer names of the units; each also without its last s."""


class Environment:
    """The environment of the program while a file is read, and the variables that a value asks for.

    texts: name -> text of the variables that other files set; no others are known. keys: those of the properties files
    that the file names, with their texts. modules: the configurations that a source of JavaScript imports, by their
    names in it, with their texts.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        self.modules: dict[str, str] = {}
        self._asked: list[str] = []

    def text(self, name: str | None, *, is_key: bool = False) -> str | None:
        """Return the text of a variable; None for one that is not known, and for another name.

        is_key: whether the name may be the keys of a setting in a file of Spring, as in db.pool-size. By relaxed
        binding, db.poolSize is the same.
        """
        if name is not None and is_key and KEYS.fullmatch(name):
            return self.configured(next((key for key in self.texts if relaxed_key(key) == relaxed_key(name)), name))
        return self.configured(name) if name is not None and NAME.fullmatch(name) else None

    def configured(self, key: str) -> str | None:
        """Return the text of a key of a configuration that the program reads; None for one that is not known."""
        self._asked.append(key)
        return self.texts.get(key)

    def of_field(self, field: str) -> str | None:
        """Return the text of the key from which the program sets a field; None where no file has a key of its name."""
        keys = (key for key in self.texts if normalized(key) == normalized(field) and not NAME.fullmatch(key))
        return next(map(self.configured, keys), None)

    def noted(self, read: Callable[[], Value]) -> tuple[Value, tuple[str, ...]]:
        """Return the value that a function reads, and the variables that this asks for."""
        outer, self._asked = self._asked, []
        value = read()
        names = tuple(dict.fromkeys(self._asked))
        self._asked = [*outer, *names]
        return value, names

    def alternatives(self, reads: Iterable[Callable[[], Value]]) -> tuple[list[Value], Value]:
        """Return the values that functions read; and that which a variable gives to the first such value, or None."""
        read = [self.noted(each) for each in reads]
        given = (value for value, names in read if value is not None and self.texts.keys() & names)
        return [value for value, _ in read], next(given, None)

    def note(self, names: Sequence[str]) -> None:
        """Note that a value asks for variables, as an earlier reading of it did."""
        self._asked += names


def relaxed_key(name: str) -> str:
    """Return the keys of a setting as relaxed binding compares them; another name as it is."""
    return normalized(name) if KEYS.fullmatch(name) else name


ENVIRONMENT = Environment()
"""Of the process: each file is read in a process of its own."""


def setting_of(name: str, text: str, line: int, read: Callable[[], Value]) -> FileSetting:
    """Return a setting with the value that a function reads, and the variables that this asks for."""
    value, variables = ENVIRONMENT.noted(read)
    return FileSetting(name, text.strip(), value, line, variables)


def value_of(text: str, *, durations: bool = False, unit: int = 1) -> Value:
    """Return the value of a text; of a placeholder, its default or None.

    durations: whether the library reads 30s, 5 minutes and PT5M; they become milliseconds, as a float. unit: of
    a number without one, which is multiplied by it.
    """
    text = text.strip()
    if len(text) > LONGEST:
        return None if UNKNOWN.search(text) else text
    if match := PLACEHOLDER.fullmatch(text) or TEMPLATE.fullmatch(text):
        named = match if "name" in match.groupdict() else TEMPLATE_DEFAULT.search(match["words"])
        given = ENVIRONMENT.text(named["name"]) if named else None
        chosen = given or (named["default"] if named else None)
        return value_of(chosen, durations=durations, unit=unit) if chosen else None
    if UNKNOWN.search(text):
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if match := NUMBER.fullmatch(text):
        return unit * (float(text) if match[1] else int(text))
    return _milliseconds(text) if durations else text


def plain(text: str) -> str:
    """Return a text with references in Spring's form: ${NAME:-5} as ${NAME:5}, $NAME and $(NAME) as ${NAME}."""
    return REFERENCE.sub(_in_springs_form, text.replace("$$", ""))


def _in_springs_form(match: re.Match[str]) -> str:
    name, default = re.findall(r"\w+", match[0])[0], match["default"]
    return f"${{{name}}}" if default is None else f"${{{name}:{default}}}"


def number_from(text: str) -> int | None:
    """Return the whole number from 1 on of a text; None for another text, or a number that is not in the file."""
    return at_least_1(value_of(plain(text)))


def at_least_1(value: Value) -> int | None:
    """Return a number of instances or processes; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None


def is_number(value: Value) -> TypeGuard[int | float]:
    """Return whether a value is a number: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def integer_or_text(text: str) -> int | str:
    """Return the integer of a text of at most 15 ASCII digits; another text as it is."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 16 else text


def without_unit(name: str) -> tuple[str, int]:
    """Return a name without the unit of time at its end, and the unit in milliseconds: of LifetimeSeconds; else 1."""
    match = NAME_WITH_UNIT.fullmatch(normalized(name))
    unit = _unit(match["unit"]) if match else None
    return (match["name"], unit) if match and unit else (name, 1)


def largest(values: Sequence[Value]) -> int | float | None:
    """Return the largest of some numbers; None without any, and where a value is no number."""
    numbers = list(filter(is_number, values))
    return max(numbers, default=None) if len(numbers) == len(values) else None


def _unit(word: str) -> int | None:
    """Return a unit of time in milliseconds; None for another word."""
    return MILLISECONDS.get(WORDS.get(word, WORDS.get(f"{word}s", word)))


def _milliseconds(text: str) -> Value:
    """Return a duration in milliseconds, also 1h30m of Go; another text as it is."""
    spans = [(int(number), _unit(unit.lower())) for number, unit in DURATION.findall(text)]
    if spans and all(unit for _, unit in spans) and not DURATION.sub("", text):
        return float(sum(number * (unit or 0) for number, unit in spans))
    match = ISO_DURATION.fullmatch(text)
    parts = match.groupdict(default="0") if match else {}
    milliseconds = float(sum(int(number) * MILLISECONDS[unit] for unit, number in parts.items()))
    return milliseconds if match and len(text) > 2 else text
