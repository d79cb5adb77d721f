"""Environment variables -> the pools that they configure, by relaxed binding; and files of them: .env, Dockerfiles."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from math import inf, isnan

from poolsize.errors import BadInput
from poolsize.pool_config.files.documents import json_entries
from poolsize.pool_config.files.keys import pools_of
from poolsize.pool_config.files.launch import (
    dockerfile,
    java_commands,
    process_counts,
    split_words,
    unit_counts,
    variable_counts,
)
from poolsize.pool_config.files.places import NO_APPLICATION, SEGMENTS
from poolsize.pool_config.files.urls import default_url_pools, url_pools
from poolsize.pool_config.files.values import (
    MOST,
    NAME,
    Entry,
    has_only_others,
    is_number,
    names_mysql,
    plain,
    setting_of,
    value_of,
)
from poolsize.pool_config.libraries.java import HIKARICP
from poolsize.pool_config.pool import FilePool, FileSetting, PoolOrCount, Value, Variable, normalized

PREFIXES = (
    ("spring", "datasource"), ("spring", "r2dbc", "pool"), ("spring", "r2dbc"), ("spring", "jpa"),
    ("quarkus", "datasource", "jdbc"), ("quarkus", "datasource", "reactive"), ("quarkus", "datasource"),
    ("datasources", "default"),
)  # fmt: skip
"""The beginning of names, of which the remaining parts are a single key: MAX_SIZE is max-size."""
OPTION = re.compile(r"(?:--|-D)([a-z][\w.-]{2,120}\.[\w.-]{1,80})=(.*)", re.DOTALL)
"""A setting of Spring Boot in the words of a command, or a system property of Java."""
OWN = re.compile(
    r"(?:(?P<of>[A-Z][A-Z0-9_]{0,40}?)_)?(?!(?:MYSQL|MARIADB)_MAX_CONNECTIONS)"
    r"(?:DB|DATABASE|DATASTORE|MYSQL|MARIADB|SQL_?ALCHEMY|SQL(?:SETTINGS)?)_(?:_?SQL_?ALCHEMY_|ENGINE_OPTIONS_)?"
    r"(?P<name>[A-Z0-9_]{2,60})"
)
"""Names that a project's own code reads, also behind the name of an application, as in SHOP_DB_POOL_SIZE.

MYSQL_MAX_CONNECTIONS is often the server's.
"""
OWN_NAMES = {
    "POOL": "POOL_SIZE", "MAX_POOL_SIZE": "POOL_SIZE", "MAX_POOL": "POOL_SIZE", "LIFE_TIME": "CONN_MAX_LIFETIME",
    "IDLE_TIME": "CONN_MAX_IDLE_TIME",
}  # fmt: skip
KIND = re.compile(
    r"(?:URL|URI|DSN|CONNECTION|CONN|DIALECT|CLIENT|DRIVER(?:NAME)?|ENGINE|TYPE|ADAPTER|KIND|(?:^|_)DB"
    r"|(?:^|_)(?:DB|DATABASE|DATASTORE|SQL)_(?:HOST|PORT))$"
)
"""The ends of names of variables that say which database it is."""
OF_FRAMEWORK = ("SPRING_DATASOURCE_", "QUARKUS_DATASOURCE_")
"""The beginnings of variables that a framework binds to the settings of its pool."""
OF_A_SOURCE = {
    "url", "jdbcurl", "username", "password", "driverclassname", "type", *map(normalized, HIKARICP.defaults),
}  # fmt: skip
"""Names of settings by which the end of a name shows, as in SPRING_DATASOURCE_REPLICA_JDBC_URL."""

MOST_STARTS = 100
"""Commands of a script that start Java."""


def environment_pools(variables: Sequence[Entry], within: str = "", workload: str = "") -> list[PoolOrCount]:
    """Return the pools, process counts and numbers in the environment of a process. Each variable's path is its name.

    within: as in FilePool. workload: as in Count. Further settings may stand in the files of the application. If only
    other databases have a URL or a driver, only MySQL's URLs have a pool.
    """
    pools = url_pools(variables)
    if not has_only_others(variables):
        pools += _bound_pools(variables)
        pools = pools or default_url_pools(variables)
    return [
        *variable_counts(variables, workload),
        *(Variable(each, workload) for each in map(_assignment, variables) if each.value is not None),
        *(replace(pool, within=within, workload=workload) for pool in pools),
    ]


def _bound_pools(variables: Sequence[Entry]) -> Iterator[FilePool]:
    """Yield the pools whose settings the variables bind, with the names of the variables."""
    is_mysql = any(map(_names_mysql, variables))
    has_own_code = is_mysql and not any(each.path[0].upper().startswith(OF_FRAMEWORK) for each in variables)
    originals = [
        (entry, each) for each in variables for entry in _as_keys(each, is_mysql=is_mysql, has_own_code=has_own_code)
    ]
    by_key = {(entry.path[-1], entry.line): each for entry, each in originals}
    for pool in pools_of([entry for entry, _ in originals]):
        settings = {name: _as_written(each, by_key) for name, each in pool.settings.items()}
        yield replace(pool, settings=settings, complete=False)


def _assignment(variable: Entry) -> FileSetting:
    """Return a variable with its number, or its duration in milliseconds; with None for another text."""

    def number() -> Value:
        value = value_of(plain(variable.text), durations=True)
        return value if is_number(value) else None

    return setting_of(variable.path[0], variable.text, variable.line, number)


def _names_mysql(variable: Entry) -> bool:
    """Return whether a variable's name, or what it says of the database, names MySQL or MariaDB."""
    says = KIND.search(variable.path[0]) and names_mysql(variable.text[:MOST])
    return bool(says or names_mysql(variable.path[0]))


def option_entries(words: Iterable[tuple[str, int]]) -> Iterator[Entry]:
    """Yield the settings of Spring Boot and Java among the words of a command, each with its line."""
    for word, line in words:
        if match := OPTION.fullmatch(word):
            yield Entry((match[1],), match[2], line)


def _as_keys(variable: Entry, *, is_mysql: bool, has_own_code: bool) -> Iterator[Entry]:
    """Yield a variable as the setting that it binds, with its value's references in Spring's form.

    A variable with options of a command, such as JAVA_OPTS, has the settings of these. is_mysql: whether the
    environment names MySQL, so that DB_POOL_SIZE and the like are settings of the project's own code for it.
    has_own_code: whether HIKARI_MAX_POOL_SIZE and the like are, too: a framework's file may refer to these.
    """
    if is_mysql and (match := OWN.fullmatch(variable.path[0].upper())) and _is_own(match["of"]):
        name, of = OWN_NAMES.get(match["name"], match["name"]), filter(None, [(match["of"] or "").strip("_")])
        yield Entry((*of, "mysql", name), plain(variable.text), variable.line)
        return
    options = _options(variable)
    yield from [Entry(_path(each.path[0]), plain(each.text), each.line) for each in options] or [
        Entry(_path(variable.path[0], has_own_code=has_own_code), plain(variable.text), variable.line)
    ]


def _is_own(application: str | None) -> bool:
    """Return whether the beginning of a variable's name, as SHOP of SHOP_DB_HOST, is that of an application."""
    words = set((application or "").lower().split("_"))
    return not words & NO_APPLICATION and names_mysql(application or "") is not False


def _options(variable: Entry) -> list[Entry]:
    """Return the settings of Spring Boot and Java in the text of a variable: in its options, or in its JSON."""
    if variable.path[0] == "SPRING_APPLICATION_JSON":
        with suppress(BadInput):  # a template may fill it in
            return [Entry((".".join(each.path),), each.text, variable.line) for each in json_entries(variable.text)]
    words = [(variable.text, variable.line)] if variable.text.lstrip().startswith("-") else []
    return list(option_entries(split_words(words)))


def _path(name: str, *, has_own_code: bool = False) -> tuple[str, ...]:
    """Return the keys that a name means: of a variable, by the known beginnings; else by its dots.

    has_own_code: as in _as_keys. A variable such as SHOP_HIKARI_MAX_POOL_SIZE then belongs to the project's code.
    """
    if not NAME.fullmatch(name):
        return tuple(name.split("."))
    parts = name.lower().split("_")
    segments = SEGMENTS if parts[0] in {"spring", "quarkus"} else {"hikari", "druid"} if has_own_code else ()
    ends = [place + 1 for place, part in enumerate(parts) if part in segments]
    ends += [len(prefix) for prefix in PREFIXES if tuple(parts[: len(prefix)]) == prefix][:1]
    ends = [end for end in ends if end < len(parts)]
    if not ends:
        return (name,)
    place, rest = parts[: max(ends)], parts[max(ends) :]
    source, key = _of_source(rest) if parts[:2] == ["spring", "datasource"] else ((), rest)
    return (*place, *source, "-".join(key))


def _of_source(parts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the keys of a data source and of its setting in a name below spring.datasource: of REPLICA_JDBC_URL."""
    start = next((place for place in range(len(parts)) if "".join(parts[place:]) in OF_A_SOURCE), 0)
    name = parts[:start]
    keys = [*name[:2], *filter(None, ["-".join(name[2:])])] if name[:1] == ["dynamic"] else ["-".join(name)]
    return keys if start else (), parts[start:]


def _as_written(setting: FileSetting, by_key: dict[tuple[str, int], Entry]) -> FileSetting:
    """Return a setting with the name and the text of its variable; of several in a variable, as it is."""
    variable = by_key.get((setting.name, setting.line))
    if variable is None or _options(variable):
        return setting
    return replace(setting, name=variable.path[0], text=variable.text)


def env_file_pools(text: str) -> list[PoolOrCount]:
    """Return the pools and process counts of a file with lines NAME=VALUE, such as .env."""
    return environment_pools(list(assignments(text)))


def command_pools(text: str, *, is_unit: bool = False) -> list[PoolOrCount]:
    """Return the pools that the options of Java configure in a script: of several commands, the largest of each place.

    Of a unit of systemd, also the process counts. is_unit: as in java_commands. A pool counts as the largest if its
    command has a size that is not known.
    """
    largest: dict[tuple[str, str], FilePool] = {}
    others: dict[PoolOrCount, None] = dict.fromkeys(unit_counts(text) if is_unit else ())
    for options in islice(_starts_of_java(text, is_unit=is_unit), MOST_STARTS):
        for each in environment_pools(options):
            if not isinstance(each, FilePool):
                others[each] = None
                continue
            key = (each.library.title, each.place)
            largest[key] = max(largest.get(key, each), each, key=_size)
    return [*others, *largest.values()]


def _starts_of_java(text: str, *, is_unit: bool) -> Iterator[list[Entry]]:
    """Yield the options of each command that starts Java, with those that variables have before it.

    Where the variables have an option again, as in the branches of a condition, each of its values is an alternative.
    """
    alternatives: list[dict[str, Entry]] = [{}]
    is_started = True
    for words, starts_java in java_commands(text, is_unit=is_unit):
        options = {each.path[0]: each for each in option_entries(words)}
        if starts_java:
            yield from ([*{**variables, **options}.values()] for variables in alternatives)
        elif options.keys() & alternatives[-1].keys():
            alternatives.append({**alternatives[-1], **options})
        else:
            alternatives[-1] |= options
        is_started = starts_java or (is_started and not options)
    if not is_started:
        yield from ([*variables.values()] for variables in alternatives)


def _size(pool: FilePool) -> float:
    """Return the size of a pool: infinity if it is not known, and -1 where no size is set."""
    sizes = [pool.number(name) for name in pool.library.sizes if pool.has(name)]
    return inf if any(map(isnan, sizes)) else sum(sizes) if sizes else -1


def dockerfile_contents(text: str) -> list[PoolOrCount]:
    """Return the pools, process counts and numbers of a Dockerfile. Its variables are defaults: others replace them."""
    words, variables = dockerfile(text)
    contents = environment_pools([*variables, *option_entries(words)])
    defaults = [
        replace(each, setting=replace(each.setting, variables=(each.setting.name,)))
        if isinstance(each, Variable)
        else each
        for each in contents
    ]
    return [*process_counts(words), *defaults]


def assignments(text: str) -> Iterator[Entry]:
    """Yield the lines NAME=VALUE of a text, without quotes and comments."""
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and re.fullmatch(r"[A-Za-z][\w.-]{0,120}", name.strip()):
            yield Entry((name.strip(),), unquoted(value), number)


def unquoted(value: str) -> str:
    """Return a value without its quotes, or without the comment behind it."""
    value = value.strip()
    if len(value) > 1 and value[0] in "'\"" and (end := value.find(value[0], 1)) > 0:
        return value[1:end]
    return value.split(" #")[0].strip()
