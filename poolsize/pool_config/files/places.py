"""The place of settings in a file -> the library that they configure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from poolsize.pool_config.files.values import GO_DSN, Entry, is_mysql, names_mysql, without_unit
from poolsize.pool_config.libraries import java_frameworks as frameworks
from poolsize.pool_config.libraries.java import C3P0, DBCP2, DRUID, HIKARICP, TOMCAT_JDBC
from poolsize.pool_config.libraries.other_languages import OWN, OWN_CODE, OWN_GO, OWN_SIZE, PHP
from poolsize.pool_config.pool import Library, normalized

Groups = dict[tuple[str, ...], list[Entry]]
"""Place -> its settings."""
SEGMENTS = {
    "hikari": HIKARICP, "hikaricp": HIKARICP, "druid": DRUID, "dbcp2": DBCP2, "tomcat": TOMCAT_JDBC, "c3p0": C3P0,
}  # fmt: skip
"""A part of a key that names the library of the settings below it."""
OF_THE_DRIVER = {"datasourceproperties", "connectionproperties", "xaproperties", "additionaljdbcproperties"}
"""Parts of a key below which the settings are those of the driver."""
NO_DATABASE = {
    "redis", "jedis", "lettuce", "redisson", "mongo", "mongodb", "http", "httpclient", "ldap", "kafka", "rabbitmq",
    "rabbit", "executor", "thread", "threadpool", "elasticsearch", "cassandra", "jms", "activemq", "artemis", "ftp",
    "memcached", "zookeeper", "influxdb",
}  # fmt: skip
"""Parts of a key below which a pool is none of a database."""
NO_APPLICATION = NO_DATABASE | {"spring", "quarkus", "micronaut", "test"}
"""Words before DB_ in names of frameworks, of tests, and of other services."""
OF_DATABASES = {"jdbc", "db", "datasource", "database", "mysql", "mariadb", "dbcp"}
"""Parts of a key that show a database; also as the beginning or the end of a part."""
OWN_NAMES = (
    (HIKARICP, {"maximumPoolSize", "minimumIdle", "keepaliveTime"}),
    (DBCP2, {"maxTotal", "maxWaitMillis", "maxConnLifetimeMillis", "numTestsPerEvictionRun"}),
    (TOMCAT_JDBC, {"validationInterval", "maxAge"}),
    (DRUID, {"maxEvictableIdleTimeMillis"}),
)
"""Library -> settings that show it where no part of a key does; the first library that has one."""
CLASSES = {
    "com.zaxxer.hikari.": HIKARICP, "com.alibaba.druid.pool.": DRUID, "org.apache.commons.dbcp2.": DBCP2,
    "org.apache.tomcat.dbcp.dbcp2.": DBCP2, "org.apache.commons.dbcp.": frameworks.DBCP1,
    "org.apache.tomcat.dbcp.dbcp.": frameworks.DBCP1, "com.mchange.v2.c3p0.": C3P0,
    "org.apache.tomcat.jdbc.pool.": TOMCAT_JDBC,
}  # fmt: skip
"""The beginning of a class's name -> the library that has it."""
CLASS_NAMES = {"type", "class", "datasourceclassname", "factory"}
ADDRESSES = {"host", "hostname", "url", "dsn", "uri", "addr", "address", "server", "datasource", "source"}
"""Settings that only a client has, as it has settings whose names contain `pool`."""
KINDS = {"type", "driver", "dialect", "engine", "adapter", "client", "kind", "provider", "pluginname", "dbtype",
    "connection", "connector", "conn",
}  # fmt: skip
"""Settings of a project's own code that name the database."""
BOOT_1 = {
    TOMCAT_JDBC.title: frameworks.BOOT_1_TOMCAT, DRUID.title: frameworks.BOOT_1_DRUID,
    HIKARICP.title: frameworks.BOOT_1_HIKARICP, DBCP2.title: frameworks.BOOT_1_DBCP2,
}  # fmt: skip
QUARKUS = {"jdbc": frameworks.QUARKUS, "reactive": frameworks.QUARKUS_REACTIVE}
"""Part of a key -> the library of the settings below it. Before Quarkus 1.9, they also stand beside the URL."""
BELOW = {
    HIKARICP.title: "hikari", DRUID.title: "druid", DBCP2.title: "dbcp2", TOMCAT_JDBC.title: "tomcat",
    frameworks.OF_BEAN.title: "hikari",
}  # fmt: skip
"""Library -> the part of a key below which Spring Boot binds its settings."""


def library_of(prefix: tuple[str, ...], groups: Groups, file_name: str) -> Library | None:
    """Return the library that the settings of a place configure; None where none is known."""
    group, parts = groups[prefix], _parts(prefix)
    if (OF_THE_DRIVER | NO_DATABASE) & set(parts):
        return None
    named, shown = named_library(group), _shown(group)
    for is_place, library in (
        (parts == ["spring", "datasource"], BOOT_1.get((named or shown or TOMCAT_JDBC).title)),
        (parts == ["spring", "datasource", "tomcat"],
         TOMCAT_JDBC if named_library(groups.get(("spring", "datasource"), [])) is TOMCAT_JDBC
         else frameworks.SPRING_TOMCAT),
        (parts == ["quarkus", "datasource"] and any(each.path[-1] == "url" for each in group), frameworks.QUARKUS),
        (parts[:2] == ["quarkus", "datasource"], QUARKUS.get("".join(parts[-1:]))),
        (parts[-2:] == ["r2dbc", "pool"] or parts[-1:] == ["r2dbc"] or parts[:2] == ["r2dbc", "datasources"],
         frameworks.R2DBC),
        (parts[:2] == ["doctrine", "dbal"], PHP),
        (parts[-1:] == ["c3p0"] and ("hibernate" in parts or any("_size" in entry.path[-1] for entry in group)),
         frameworks.SPRING_C3P0 if parts[:1] == ["spring"] else frameworks.HIBERNATE_C3P0),
        (parts[-2:] == ["hibernate", "connection"], frameworks.HIBERNATE_POOL),
        (_is_dropwizard(prefix, group), frameworks.DROPWIZARD),
        (_is_slick(prefix, groups), frameworks.SLICK),
        (_is_vertx(prefix, group), frameworks.VERTX),
        (parts[-1:] == ["properties"] and _is_slick(prefix[:-1], groups), None),
        (parts[-1:] == ["hikaricp"] and parts[0] in {"db", "play"}, frameworks.PLAY),
        (named is not None, DBCP2 if shown is DBCP2 else named),
        (parts[-2:] == ["datasource", "properties"] and not shown, TOMCAT_JDBC),
        ((prefix[:1] == ("dataSources",) and len(prefix) == 2) or prefix == ("dataSourceCommon",),
         frameworks.SHARDINGSPHERE),
        (prefix[:1] == ("datasources",) and len(prefix) == 2, shown or _micronaut(group)),
    ):  # fmt: skip
        if is_place:
            return library
    segments = [SEGMENTS[part] for part in reversed(parts) if part in SEGMENTS]
    if not prefix:
        named_so = [file_name.lower(), *(entry.path[0] for entry in group if len(entry.path) > 1)]
        segments += [library for name, library in SEGMENTS.items() if any(name in each for each in named_so)]
    if segments:
        return segments[0]
    return shown if shown and (shown is HIKARICP or not prefix) else _of_own_code(prefix, group)


def _parts(prefix: Sequence[str]) -> list[str]:
    return [normalized(part.partition("[")[0]) for part in prefix]


def named_library(group: Sequence[Entry]) -> Library | None:
    """Return the library whose class a setting names; None without any."""
    classes = [entry.text.strip() for entry in group if normalized(entry.path[-1]) in CLASS_NAMES]
    return next((library for each in classes for start, library in CLASSES.items() if each.startswith(start)), None)


def _shown(group: Sequence[Entry]) -> Library | None:
    """Return the library that a name shows which only its settings have."""
    names = {normalized(entry.path[-1]) for entry in group}
    return next((library for library, own in OWN_NAMES if names & {normalized(each) for each in own}), None)


def _micronaut(group: Sequence[Entry]) -> Library:
    """Return the library of a data source of Micronaut without a name that shows it: usually HikariCP."""
    return TOMCAT_JDBC if any(normalized(entry.path[-1]) == "maxactive" for entry in group) else HIKARICP


def _is_dropwizard(prefix: Sequence[str], group: Sequence[Entry]) -> bool:
    names = {entry.path[-1] for entry in group}
    own = names & (frameworks.DROPWIZARD.defaults.keys() - {"initialSize"})
    return {"driverClass", "url"} <= names and bool(own or prefix[-1:] == ("database",))


def _is_slick(prefix: tuple[str, ...], groups: Groups) -> bool:
    names = {entry.path[-1] for entry in groups.get(prefix, ())}
    near = [*groups.get(prefix, ()), *(groups.get(prefix[:-1], ()) if prefix[-1:] == ("db",) else ())]
    is_source = (*prefix, "properties") in groups or names & {"url", "driver", "dataSourceClass", "connectionPool"}
    return bool(is_source) and ("numThreads" in names or any("slick." in entry.text for entry in near))


def _is_vertx(prefix: Sequence[str], group: Sequence[Entry]) -> bool:
    texts = {normalized(entry.path[-1]): entry.text for entry in group}
    is_own = {"maxwaitqueuesize", "idletimeoutunit", "poolcleanerperiod"} & texts.keys()
    return "maxsize" in texts and bool(is_own or (prefix[-1:] == ("pool",) and _is_own_mysql(prefix, texts)))


def _of_own_code(prefix: Sequence[str], group: Sequence[Entry]) -> Library | None:
    """Return the library of settings with a size, and with a sign of a database in a key, a URL or a driver."""
    texts = {normalized(without_unit(entry.path[-1])[0]): entry.text for entry in group}
    ends = tuple(OF_DATABASES)
    of_database = not prefix or any(part.startswith(ends) or part.endswith(ends) for part in _parts(prefix))
    is_database = of_database or any(is_mysql(entry) is not None for entry in group)
    if is_database and _has(OWN_CODE, "maxActive", texts):
        return OWN_CODE
    library = next((library for setting, library in OWN.items() if _has(library, setting, texts)), None)
    if library is OWN_GO and texts.keys() & ADDRESSES and not is_go(texts):
        library = OWN_SIZE
    is_client = texts.keys() & {*ADDRESSES, "driver", "dialect"} or any(
        "pool" in name and OWN_SIZE.setting(name, relaxed=True) for name in texts
    )
    if library is OWN_SIZE and not is_client:
        return None
    return library if _is_own_mysql(prefix, texts) else None


def is_go(names: Iterable[str]) -> bool:
    """Return whether a name besides maxConns, which other languages have as well, is of Go's database/sql."""
    bare = [normalized(without_unit(name)[0]) for name in names]
    return any(OWN_GO.setting(name, relaxed=True) for name in bare if name not in {"maxconn", "maxconns"})


def _has(library: Library, setting: str, names: Iterable[str]) -> bool:
    return any(library.setting(name, relaxed=True) == setting for name in names)


def _is_own_mysql(prefix: Sequence[str], texts: Mapping[str, str]) -> bool:
    """Return whether settings tell of MySQL, and none of another database. texts: by their normalized names."""
    named = [names_mysql(texts[name]) for name in (KINDS | ADDRESSES | {"port"}) & texts.keys()]
    if False in named:
        return False
    is_shown = any("mysql" in part or "maria" in part for part in _parts(prefix))
    return True in named or is_shown or any(re.search(GO_DSN, text) for text in texts.values())


def default_places(groups: Groups, found: Set[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], Library]]:
    """Yield the places whose framework has a pool for a MySQL URL without settings, each with the library.

    found: the places with settings. Those above or below a URL have its pool.
    """
    covered: set[tuple[str, ...]] = set()
    """Places with a pool at them or below them."""
    pools = set(found)
    for each in found:
        covered.update(each[:end] for end in range(1, len(each) + 1))
    firsts = {each[0] for each in found if "hibernate" in each}
    for prefix, group in sorted(groups.items(), key=lambda each: not SEGMENTS.keys() & {*each[0]}):
        place = _default_place(prefix, groups) if any(map(is_mysql, group)) else None
        if place is None or prefix in covered or place[0] in covered or prefix[0] in firsts or _is_below(prefix, pools):
            continue
        pools.add(place[0])
        covered.update(place[0][:end] for end in range(1, len(place[0]) + 1))
        yield place


def _is_below(prefix: tuple[str, ...], pools: Set[tuple[str, ...]]) -> bool:
    """Return whether a place is below a pool's, or a source of global settings."""
    above = [prefix[:end] for end in range(1, len(prefix) + 1)]
    shared = [(*each, name) for each in above if each[-1] == "dynamic" for name in SEGMENTS]
    return (("dataSourceCommon",) in pools and prefix[0] == "dataSources") or any(
        each in pools for each in above + shared
    )


def _default_place(prefix: tuple[str, ...], groups: Groups) -> tuple[tuple[str, ...], Library] | None:
    """Return where a framework has a pool by default, and its library; None for another place."""
    parts, group = _parts(prefix), groups[prefix]
    named = named_library(group)
    types = [entry.text for entry in group if normalized(entry.path[-1]) in CLASS_NAMES - {"datasourceclassname"}]
    is_unknown = named is None and any(text and "${" not in text for text in types)
    below = next((part for part in parts if part in SEGMENTS), "")
    excluded = " ".join(entry.text for entry in groups.get(("spring", "autoconfigure"), ()))
    is_excluded = parts == ["spring", "datasource"] and ".DataSourceAutoConfiguration" in excluded
    library = SEGMENTS.get(below) or named or (frameworks.OF_BEAN if is_excluded else HIKARICP)
    is_source = len(parts) - bool(below) in {2, 3} or (len(parts) == 5 and parts[2:4] == ["dynamic", "datasource"])
    is_reactive = parts[-1:] == ["reactive"] or ((*prefix, "reactive") in groups and (*prefix, "jdbc") not in groups)
    quarkus = "reactive" if is_reactive else "jdbc"
    slick = next((each for each in ((*prefix, "db"), prefix, prefix[:-1]) if _is_slick(each, groups)), None)
    has_provider = any("provider" in entry.path[-1] or entry.path[-1] == "datasource" for entry in group)
    for is_place, place, of_place in (
        (parts[:2] == ["spring", "datasource"] and is_source and not is_unknown,
         prefix if below else (*prefix, BELOW.get(library.title, "")), library),
        (parts[:3] == ["spring", "shardingsphere", "datasource"] and len(parts) == 4 and not is_unknown,
         prefix, library),
        (parts[:2] == ["quarkus", "datasource"],
         (*(prefix[:-1] if parts[-1:] and parts[-1] in QUARKUS else prefix), quarkus), QUARKUS[quarkus]),
        (parts == ["spring", "r2dbc"], (*prefix, "pool"), frameworks.R2DBC),
        (parts[:2] == ["r2dbc", "datasources"] and any("r2dbc:pool:" in entry.text for entry in group), prefix,
         frameworks.R2DBC),
        (parts[:2] == ["doctrine", "dbal"], prefix, PHP),
        (prefix[:1] == ("dataSources",) and len(prefix) == 2, prefix, named or frameworks.SHARDINGSPHERE),
        (prefix[:1] == ("datasources",) and len(prefix) == 2, prefix, library),
        (_is_dropwizard(prefix, group), prefix, frameworks.DROPWIZARD),
        (slick is not None, slick or prefix, frameworks.SLICK),
        (parts[-2:] == ["hibernate", "connection"] and not has_provider, prefix, frameworks.HIBERNATE_POOL),
    ):  # fmt: skip
        if is_place:
            return place, of_place
    return None
