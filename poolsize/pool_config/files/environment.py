"""Environment variables -> the pools that they configure, by relaxed binding; and files of them, such as .env."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from poolsize.pool_config.files.databases import has_only_others
from poolsize.pool_config.files.entries import Entry
from poolsize.pool_config.files.keys import pools_of
from poolsize.pool_config.files.launch import split_words, variable_counts
from poolsize.pool_config.files.places import SEGMENTS
from poolsize.pool_config.files.urls import url_pools
from poolsize.pool_config.files.values import plain
from poolsize.pool_config.pool import FileSetting, PoolOrCount

PREFIXES = (
    ("spring", "datasource"), ("spring", "r2dbc", "pool"), ("spring", "r2dbc"), ("spring", "jpa"),
    ("quarkus", "datasource", "jdbc"), ("quarkus", "datasource", "reactive"), ("quarkus", "datasource"),
    ("datasources", "default"),
)  # fmt: skip
"""The beginning of names, of which the remaining parts are a single key: MAX_SIZE is max-size."""
NAME = re.compile(r"[A-Z][A-Z0-9_]{1,120}")
OPTION = re.compile(r"(?:--|-D)([a-z][\w.-]{2,120}\.[\w.-]{1,80})=(.*)", re.DOTALL)
"""A setting of Spring Boot in the words of a command, or a system property of Java."""
OF_JAVA = {"JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTIONS", "CATALINA_OPTS"}


def environment_pools(variables: Sequence[Entry], place: str = "", workload: str = "") -> list[PoolOrCount]:
    """Return the pools and process counts in the environment of a process. Each variable's path is its name.

    Further settings may stand in the files of the application. place: where the variables are, for people. workload: as
    in Count. An environment with the URL or the driver of other databases only has no pools.
    """
    contents: list[PoolOrCount] = [
        *variable_counts([(each.path[0], each.text, each.line) for each in variables], workload)
    ]
    if has_only_others(variables):
        return contents
    originals = [(entry, each) for each in variables for entry in _as_keys(each)]
    by_key = {(entry.path[-1], entry.line): each for entry, each in originals}
    for pool in pools_of([entry for entry, _ in originals]):
        settings = {name: _as_written(each, by_key) for name, each in pool.settings.items()}
        where = f"{pool.place}, {place}" if place else pool.place
        contents.append(replace(pool, place=where, settings=settings, complete=False, workload=workload))
    return contents


def option_entries(words: Iterable[tuple[str, int]]) -> Iterator[Entry]:
    """Yield the settings of Spring Boot and Java among the words of a command, each with its line."""
    for word, line in words:
        if match := OPTION.fullmatch(word):
            yield Entry((match[1],), match[2], line)


def _as_keys(variable: Entry) -> Iterator[Entry]:
    """Yield a variable as the setting that it binds, with its value's references in Spring's form."""
    (name,), text = variable.path, plain(variable.text)
    if name in OF_JAVA:
        yield from (
            Entry(_path(entry.path[0]), plain(entry.text), entry.line)
            for entry in option_entries(split_words([(variable.text, variable.line)]))
        )
    else:
        yield Entry(_path(name), text, variable.line)


def _path(name: str) -> tuple[str, ...]:
    """Return the keys that a name means: of a variable, by the known beginnings; else by its dots."""
    if not NAME.fullmatch(name):
        return tuple(name.split("."))
    parts = name.lower().split("_")
    ends = [place + 1 for place, part in enumerate(parts) if part in SEGMENTS and parts[0] in {"spring", "quarkus"}]
    ends += [len(prefix) for prefix in PREFIXES if tuple(parts[: len(prefix)]) == prefix][:1]
    ends = [end for end in ends if end < len(parts)]
    return (*parts[: max(ends)], "-".join(parts[max(ends) :])) if ends else (name,)


def _as_written(setting: FileSetting, by_key: dict[tuple[str, int], Entry]) -> FileSetting:
    """Return a setting with the name and the text of its variable; of several in a variable, as it is."""
    variable = by_key.get((setting.name, setting.line))
    if variable is None or variable.path[0] in OF_JAVA:
        return setting
    return replace(setting, name=variable.path[0], text=variable.text)


def env_file_pools(text: str) -> list[PoolOrCount]:
    """Return the pools and process counts of a file with lines NAME=VALUE, such as .env."""
    variables = list(assignments(text))
    return [*environment_pools(variables), *url_pools(variables)]


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
