"""Files of keys and values -> pools: Spring Boot's YAML, .properties of the Java libraries, and the server's my.cnf."""

import configparser
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import javaproperties
import yaml

from poolsize.errors import BadInput
from poolsize.pool_config.library import C3P0, DBCP2, DRUID, HIKARICP, SERVER, TOMCAT_JDBC
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value, normalized

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
SECTIONS = ("mysqld", "server", "mariadb", "mariadbd")
"""Sections of an option file that the server reads; their names may end in a version, after a hyphen."""

PLACEHOLDER = re.compile(r"\$\{[^:{}]+(?::(?P<default>.*))?\}")
"""Of Spring: ${NAME:default}; the default may have further colons."""
NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,6})?")
"""Longer numbers are not settings of a pool."""
DURATION = re.compile(r"(?P<number>\d{1,12})(?P<unit>ms|s|m|h|d)")
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True)
class Entry:
    """A value in a file. path: its keys from the outermost. line: from 1."""

    path: tuple[str, ...]
    text: str
    line: int


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
    pools = _pools(base)
    for profile, entries in of_profiles:
        own = {pool.place for pool in _pools(entries)}
        pools += [
            replace(pool, place=f"{pool.place}, profile {profile}")
            for pool in _pools([*base, *entries])
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
    return _pools(entries, file_name, relaxed=any(entry.path[0] == "spring" for entry in entries))


def server_pools(text: str) -> list[FilePool]:
    """Return the settings of the server's sections. Raises BadInput for a text that is not an option file."""
    parser = configparser.ConfigParser(
        allow_no_value=True, strict=False, interpolation=None, delimiters=("=",), inline_comment_prefixes=("#",),
        default_section="",
    )  # fmt: skip
    lines = [line.strip() for line in text.splitlines()]
    try:
        parser.read_string("\n".join("" if line.startswith("!") else line for line in lines))  # !includedir
    except configparser.Error as error:  # its text would quote the line, which may hold a password
        first = getattr(error, "errors", [(getattr(error, "lineno", 1), "")])[0][0]
        raise BadInput(
            f"this is not an option file: line {first} is neither [section] nor NAME=VALUE in a section"
        ) from None
    settings: dict[str, FileSetting] = {}
    place = ""
    for section in parser.sections():
        if section.split("-")[0] not in SECTIONS:
            continue
        for name, value in parser[section].items():
            if value is not None and (setting := SERVER.setting(name, relaxed=True)):
                settings[setting] = FileSetting(name, value, _value(value.strip("'\"")), _line(lines, section, name))
                place = f"[{section}]"
    return [FilePool(SERVER, place, settings)] if settings else []


def _line(lines: Sequence[str], section: str, name: str) -> int:
    """Return the last line of a section that sets a name."""
    found, inside = 1, False
    for number, line in enumerate(lines, 1):
        if line.startswith("["):
            inside = line.startswith(f"[{section}]")
        elif inside and line.split("=")[0].strip().lower() == name:
            found = number
    return found


def _entries(node: yaml.Node, path: tuple[str, ...]) -> Iterable[Entry]:
    """Yield the values of a document. A merged mapping (<<) comes before what overrides it."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "<<":
                yield from _entries(value, path)
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                yield from _entries(value, (*path, *key.value.split(".")))
    elif isinstance(node, yaml.SequenceNode):
        merging = path and all(isinstance(each, yaml.MappingNode) for each in node.value)
        for place, each in enumerate(node.value if merging else ()):
            yield from _entries(each, (*path[:-1], f"{path[-1]}[{place}]"))
    elif isinstance(node, yaml.ScalarNode) and path:
        yield Entry(path, node.value, node.start_mark.line + 1)


def _pools(entries: Sequence[Entry], file_name: str = "", *, relaxed: bool = True) -> list[FilePool]:
    """Return a pool for each place with settings of a library; a later value of a setting replaces an earlier one.

    file_name: shows the library of a properties file without prefixes. relaxed: whether the spelling of names does not
    matter.
    """
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        prefix = entry.path[:-1]
        if prefix == ("druid",) and not relaxed:
            prefix = ()  # Druid's own files may mix maxActive and druid.keepAlive
        groups.setdefault(prefix, []).append(entry)
    pools = []
    for prefix, group in groups.items():
        library = _library(prefix, group, file_name)
        pool = library and _pool(library, prefix, group, relaxed=relaxed)
        if pool and (pool.settings or pool.unread):
            pools.append(pool)
    return pools


def _pool(library: Library, prefix: tuple[str, ...], group: Sequence[Entry], *, relaxed: bool) -> FilePool:
    """Return the pool of a place, which may have no setting of it."""
    settings, unread = {}, []
    durations = library is (DBCP2 if relaxed else HIKARICP)
    for entry in group:
        name = entry.path[-1]
        setting = library.setting(name, relaxed=relaxed)
        if library is HIKARICP and "dynamic" in prefix:
            setting = DYNAMIC.get(name, setting)
        found = FileSetting(name, entry.text, _value(entry.text, durations=durations), entry.line)
        if setting:
            settings[setting] = found
        elif not relaxed:
            with_prefix = ".".join(entry.path[len(prefix) :])
            if with_prefix in library.ignored or library.setting(name, relaxed=True):
                unread.append(found)
    return FilePool(library, ".".join(prefix), settings, tuple(unread))


def _library(prefix: tuple[str, ...], group: Sequence[Entry], file_name: str) -> Library | None:
    if any(normalized(segment) in OF_THE_DRIVER for segment in prefix) or prefix == NOT_BOUND:
        return None
    for segment in reversed(prefix):
        if segment in SEGMENTS:
            return SEGMENTS[segment]
    if not prefix:
        for name, library in SEGMENTS.items():
            if name in file_name.lower():
                return library
    for library, own in OWN_NAMES:
        shows = any(library.setting(entry.path[-1], relaxed=True) in own for entry in group)
        if shows and (library is HIKARICP or not prefix):
            return library
    return None


def _value(text: str, *, durations: bool = False) -> Value:
    """Return the value of a text; of a placeholder, its default or None.

    durations: whether the library reads 30s and 5m; they become milliseconds.
    """
    text = text.strip()
    if match := PLACEHOLDER.fullmatch(text):
        default = match["default"]
        return _value(default, durations=durations) if default else None
    if "${" in text:
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if match := NUMBER.fullmatch(text):
        return float(text) if match[1] else int(text)
    if durations and (match := DURATION.fullmatch(text)):
        return int(match["number"]) * MILLISECONDS[match["unit"]]
    return text
