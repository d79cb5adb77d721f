"""The keys and values of a file -> the pools that they configure."""

from collections.abc import Sequence
from dataclasses import dataclass

from poolsize.pool_config.files.values import value_of
from poolsize.pool_config.libraries.java import C3P0, DBCP2, DRUID, HIKARICP, TOMCAT_JDBC
from poolsize.pool_config.pool import FilePool, FileSetting, Library, normalized

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


@dataclass(frozen=True)
class Entry:
    """A value in a file. path: its keys from the outermost. line: from 1."""

    path: tuple[str, ...]
    text: str
    line: int


def pools_of(entries: Sequence[Entry], file_name: str = "", *, relaxed: bool = True) -> list[FilePool]:
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
        found = FileSetting(name, entry.text, value_of(entry.text, durations=durations), entry.line)
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
