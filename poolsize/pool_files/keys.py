"""Files of keys and values -> pools: Spring Boot's YAML and properties, and the properties of the Java libraries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import javaproperties
import yaml

from poolsize.errors import BadInput
from poolsize.pool_files.found import FoundPool, FoundSetting, value_of
from poolsize.pool_files.library import C3P0, DBCP2, DRUID, HIKARICP, TOMCAT_JDBC, Library

SEGMENTS = {"hikari": HIKARICP, "druid": DRUID, "dbcp2": DBCP2, "tomcat": TOMCAT_JDBC, "c3p0": C3P0}
"""A part of a key that names the library of the settings below it."""
OWN_NAMES = (
    (HIKARICP, {"maximumPoolSize", "minimumIdle", "keepaliveTime"}),
    (DBCP2, {"maxTotal", "maxWaitMillis", "maxConnLifetimeMillis", "numTestsPerEvictionRun"}),
    (TOMCAT_JDBC, {"validationInterval", "maxAge"}),
    (DRUID, {"maxActive", "maxWait", "removeAbandonedTimeout", "maxEvictableIdleTimeMillis"}),
)
"""Library -> settings that tell it where no part of a key does; the first library that has one."""
MOST_ENTRIES = 50_000
"""Aliases can turn a few lines of YAML into any number of values."""
NOT_BOUND = ["spring", "datasource"]
"""Spring Boot itself binds no setting of a pool directly below these."""


@dataclass(frozen=True)
class Entry:
    """A value in a file. path: its keys from the outermost. line: from 1."""

    path: tuple[str, ...]
    text: str
    line: int


def yaml_pools(text: str) -> list[FoundPool]:
    """Return the pools of a YAML file with one document or several. Raises BadInput for a text that is no YAML."""
    try:
        documents = [node for node in yaml.compose_all(text, yaml.SafeLoader) if node is not None]
    except yaml.YAMLError as error:
        raise BadInput(f"no YAML: {' '.join(str(error).split())}") from None
    entries = (entry for document in documents for entry in _entries(document, ()))
    read = list(islice(entries, MOST_ENTRIES + 1))
    if len(read) > MOST_ENTRIES:
        raise BadInput(f"more than {MOST_ENTRIES:,} values: no file with settings of a pool")
    return _pools(read, "")


def properties_pools(text: str, file_name: str) -> list[FoundPool]:
    """Return the pools of a properties file. file_name: tells Druid from Tomcat JDBC, which share their names."""
    entries = []
    line = 1
    for element in javaproperties.parse(text):
        if isinstance(element, javaproperties.KeyValue):
            entries.append(Entry(tuple(element.key.split(".")), element.value, line))
        line += element.source.count("\n")
    return _pools(entries, file_name)


def _entries(node: yaml.Node, path: tuple[str, ...]) -> Iterable[Entry]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield from _entries(value, (*path, *key.value.split(".")))
    elif isinstance(node, yaml.ScalarNode):
        yield Entry(path, node.value, node.start_mark.line + 1)


def _pools(entries: Sequence[Entry], file_name: str) -> list[FoundPool]:
    """Return a pool for each place with settings of a library; a later value of a setting replaces an earlier one."""
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.path[:-1], []).append(entry)
    pools = []
    for prefix, group in groups.items():
        library = _library(prefix, group, file_name)
        if library is None:
            continue
        settings = {
            setting: FoundSetting(entry.path[-1], entry.text, value_of(entry.text), entry.line)
            for entry in group
            if (setting := library.setting(entry.path[-1]))
        }
        if settings:
            pools.append(FoundPool(library, ".".join(prefix), settings))
    return pools


def _library(prefix: tuple[str, ...], group: Sequence[Entry], file_name: str) -> Library | None:
    for segment in reversed(prefix):
        if segment in SEGMENTS:
            return SEGMENTS[segment]
    names = [entry.path[-1] for entry in group]
    if list(prefix) == NOT_BOUND:
        return None
    if not prefix and (
        named := next((library for name, library in SEGMENTS.items() if name in file_name.lower()), None)
    ):
        return named
    for library, own in OWN_NAMES:
        if any(library.setting(name) in own for name in names) and (library is HIKARICP or not prefix):
            return library
    return None
