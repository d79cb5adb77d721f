"""Files of keys and values -> pools: Spring Boot's YAML and properties, and the properties of the Java libraries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import javaproperties
import yaml

from poolsize.errors import BadInput
from poolsize.pool_config.files.pool import FilePool, FileSetting, value_of
from poolsize.pool_config.library import C3P0, DBCP2, DRUID, HIKARICP, TOMCAT_JDBC, Library, normalized

SEGMENTS = {"hikari": HIKARICP, "druid": DRUID, "dbcp2": DBCP2, "tomcat": TOMCAT_JDBC, "c3p0": C3P0}
"""A part of a key that names the library of the settings below it."""
OF_THE_DRIVER = {"datasourceproperties", "connectionproperties", "xaproperties"}
"""Parts of a key below which the settings are those of the driver."""
OWN_NAMES = (
    (HIKARICP, {"maximumPoolSize", "minimumIdle", "keepaliveTime"}),
    (DBCP2, {"maxTotal", "maxWaitMillis", "maxConnLifetimeMillis", "numTestsPerEvictionRun"}),
    (TOMCAT_JDBC, {"validationInterval", "maxAge"}),
    (DRUID, {"maxActive", "maxWait", "removeAbandonedTimeout", "maxEvictableIdleTimeMillis"}),
)
"""Library -> settings that show it where no part of a key does; the first library that has one."""
NOT_BOUND = ("spring", "datasource")
"""Spring Boot itself binds no setting of a pool directly below these."""
DYNAMIC = {"maxPoolSize": "maximumPoolSize", "minIdle": "minimumIdle"}
"""Names of HikariCP's settings in dynamic-datasource, which many Spring Boot applications use."""
PROFILES = (("spring", "config", "activate", "on-profile"), ("spring", "profiles"))
"""Keys that make a YAML document one of a profile, which overrides the documents without."""


@dataclass(frozen=True)
class Entry:
    """A value in a file. path: its keys from the outermost. line: from 1."""

    path: tuple[str, ...]
    text: str
    line: int


@dataclass(frozen=True)
class _Kind:
    """How a file's keys are read. file_name: shows the library of a properties file without prefixes.

    relaxed: whether the spelling of names does not matter.
    """

    file_name: str
    relaxed: bool


def yaml_pools(text: str) -> list[FilePool]:
    """Return the pools of a YAML file with one document or several. Raises BadInput for a text that is not YAML."""
    try:
        documents = [node for node in yaml.compose_all(text, yaml.SafeLoader) if node is not None]
    except yaml.MarkedYAMLError as error:  # its text would quote the line, which may hold a password
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"this is not YAML: line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise BadInput(f"this is not YAML: {' '.join(str(error).split())}") from None
    base: list[Entry] = []
    of_profiles: list[tuple[str, list[Entry]]] = []
    for document in documents:
        entries = list(_entries(document, ()))
        profile = next((entry.text for entry in entries if entry.path in PROFILES), None)
        if profile is None:
            base += entries
        else:
            of_profiles.append((profile, entries))
    kind = _Kind("", relaxed=True)
    pools = _pools(base, kind)
    for profile, entries in of_profiles:
        own = {pool.place for pool in _pools(entries, kind)}
        pools += [
            FilePool(pool.library, f"{pool.place}, profile {profile}", pool.settings, pool.unread)
            for pool in _pools([*base, *entries], kind)
            if pool.place in own
        ]
    return pools


def properties_pools(text: str, file_name: str) -> list[FilePool]:
    """Return the pools of a properties file. Raises BadInput for a text that is not a properties file.

    file_name: tells Druid from Tomcat JDBC, which share their names.
    """
    entries = []
    line = 1
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                entries.append(Entry(tuple(element.key.split(".")), element.value, line))
            line += element.source.count("\n")
    except ValueError as error:
        raise BadInput(f"no properties file: line {line}: {error}") from None
    in_spring = any(entry.path[0] == "spring" for entry in entries)
    return _pools(entries, _Kind(file_name, relaxed=in_spring))


def _entries(node: yaml.Node, path: tuple[str, ...]) -> Iterable[Entry]:
    """Yield the values of a document. A merged mapping (<<) comes before what overrides it."""
    if isinstance(node, yaml.MappingNode):
        merged = [value for key, value in node.value if key.value == "<<"]
        for each in merged:
            yield from _entries(each, path)
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                yield from _entries(value, (*path, *key.value.split(".")))
    elif isinstance(node, yaml.SequenceNode):
        merging = path and all(isinstance(each, yaml.MappingNode) for each in node.value)
        for place, each in enumerate(node.value if merging else ()):
            yield from _entries(each, (*path[:-1], f"{path[-1]}[{place}]"))
    elif isinstance(node, yaml.ScalarNode) and path:
        yield Entry(path, node.value, node.start_mark.line + 1)


def _pools(entries: Sequence[Entry], kind: _Kind) -> list[FilePool]:
    """Return a pool for each place with settings of a library; a later value of a setting replaces an earlier one."""
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        prefix = entry.path[:-1]
        if prefix == ("druid",) and not kind.relaxed:
            prefix = ()  # Druid's own files may mix maxActive and druid.keepAlive
        groups.setdefault(prefix, []).append(entry)
    pools = []
    for prefix, group in groups.items():
        library = _library(prefix, group, kind)
        pool = library and _pool(library, prefix, group, kind)
        if pool:
            pools.append(pool)
    return pools


def _pool(library: Library, prefix: tuple[str, ...], group: Sequence[Entry], kind: _Kind) -> FilePool | None:
    """Return the pool of a place, or None without a setting of it."""
    settings, unread = {}, []
    durations = library is HIKARICP and not kind.relaxed
    for entry in group:
        name = entry.path[-1]
        with_prefix = ".".join(entry.path[len(prefix) :])
        setting = _setting(library, prefix, name, kind)
        text_value = value_of(entry.text, durations=durations or (library is DBCP2 and kind.relaxed))
        found = FileSetting(name, entry.text, text_value, entry.line)
        if setting:
            settings[setting] = found
        elif not kind.relaxed and (with_prefix in library.ignored or library.setting(name, relaxed=True)):
            unread.append(found)
    if not settings and not unread:
        return None
    return FilePool(library, ".".join(prefix), settings, tuple(unread))


def _setting(library: Library, prefix: tuple[str, ...], name: str, kind: _Kind) -> str | None:
    """Return the setting that a name means at a place."""
    if library is HIKARICP and "dynamic" in prefix and name in DYNAMIC:
        return DYNAMIC[name]
    return library.setting(name, relaxed=kind.relaxed)


def _library(prefix: tuple[str, ...], group: Sequence[Entry], kind: _Kind) -> Library | None:
    if any(normalized(segment) in OF_THE_DRIVER for segment in prefix) or prefix == NOT_BOUND:
        return None
    for segment in reversed(prefix):
        if segment in SEGMENTS:
            return SEGMENTS[segment]
    if not prefix:
        for name, library in SEGMENTS.items():
            if name in kind.file_name.lower():
                return library
    names = [entry.path[-1] for entry in group]
    for library, own in OWN_NAMES:
        if any(library.setting(name, relaxed=True) in own for name in names) and (library is HIKARICP or not prefix):
            return library
    return None
