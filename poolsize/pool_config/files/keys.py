"""The keys and values of a file -> the pools that they configure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from poolsize.pool_config.files.places import SEGMENTS, Groups, default_places, is_go, library_of, named_library
from poolsize.pool_config.files.urls import url_settings
from poolsize.pool_config.files.values import (
    Entry,
    has_only_others,
    is_mysql,
    is_other_database,
    plain,
    setting_of,
    value_of,
    without_unit,
)
from poolsize.pool_config.libraries.java import DRUID, HIKARICP
from poolsize.pool_config.libraries.java_frameworks import BOOT_1_TOMCAT, DROPWIZARD, HIBERNATE_POOL, R2DBC
from poolsize.pool_config.libraries.other_languages import OWN, OWN_GO
from poolsize.pool_config.pool import FilePool, FileSetting, Library, normalized

RENAMED = {"maxpoolsize": "maximumPoolSize", "minidle": "minimumIdle"}
"""Names of HikariCP's settings in dynamic-datasource, which much code of projects takes over."""
SPRINGS = ("spring", "datasource")
DEEPEST = 20
"""Keys in each other; configurations have fewer."""
OF_DATABASE = re.compile(r"(?:db|database|mysql|mariadb)[_-]?(?=[A-Za-z])")
"""The beginning of names of a project's own code, as in dbPoolSize and db_host."""
OF_POOL = re.compile("conn|idle|life|max|open|pool|time")
"""In the names of numbers that code may give to a pool: a password may be a number, too."""
PROFILE = re.compile(
    r"(?:\b|(?<=_))(?:dev|development|debug|test|testing|local|uat|qa|stage|staging|preprod|prod|production|release)(?:\b|(?=_))",
    re.IGNORECASE,
)
"""The name of an environment in a key, as in mysql.dev and production-mysql."""
SMALL = 10
"""Connections of a pool that requests soon use up if each keeps its connection."""


@dataclass(frozen=True)
class Place:
    """Where a file configures a pool: its keys; of the pool's settings, and of the URL that it connects to."""

    library: Library
    prefix: tuple[str, ...]
    settings: tuple[Entry, ...]
    source: tuple[str, ...]


def pools_of(entries: Sequence[Entry], file_name: str = "", *, relaxed: bool = True) -> list[FilePool]:
    """Return a pool for each place with settings of a library; a later value of a setting replaces an earlier one.

    file_name: shows the library of a properties file without prefixes. relaxed: whether the spelling of names does not
    matter. Where a framework has a MySQL URL and no settings, the pool that it then has. Another database's have none.
    """
    groups: Groups = {}
    for entry in entries:
        prefix = entry.path[:-1]
        if len(prefix) > DEEPEST:
            continue
        if prefix == ("druid",) and not relaxed:
            prefix = ()  # Druid's own files may mix maxActive and druid.keepAlive
        groups.setdefault(prefix, []).append(entry)
    libraries = {prefix: library_of(prefix, groups, file_name) for prefix in groups}
    _join_own(groups, libraries)
    found = [
        Place(library, prefix, tuple(groups[prefix]), prefix)
        for prefix, library in libraries.items()
        if library and ((pool := _pool(library, prefix, groups[prefix], relaxed=relaxed)).settings or pool.unread)
    ]
    defaults = default_places(groups, {each.prefix for each in found})
    found += [Place(library, prefix, (), prefix) for prefix, library in defaults]
    if libraries.get(()) is HIKARICP and all(each.prefix for each in found) and any(map(is_mysql, groups[()])):
        found.append(Place(HIKARICP, (), (), ()))  # a file of the library itself, such as hikari.properties
    inner: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for prefix in groups:
        inner.setdefault(prefix[:-1], []).append(prefix)
    with_pools = {each.prefix for each in found}
    places = [place for each in found for place in _by_source(each, groups, inner, with_pools)]
    only_others = has_only_others(entries)
    pools = [
        _pool(place.library, place.prefix, place.settings, relaxed=relaxed)
        for place in places
        if not (only_others if (is_other := is_other_database(place.source, groups)) is None else is_other)
    ]
    jpa = [entry for entry in entries if entry.path[:2] == ("spring", "jpa")]
    is_named = named_library(groups.get(SPRINGS, ())) is not None
    pools = _without_unused(pools if is_named else map(_of_current_spring, pools))
    return [_in_view(pool, jpa) for pool in _of_environments(pools)]


def _of_environments(pools: Sequence[FilePool]) -> Iterator[FilePool]:
    """Yield the pools; those of a project's own whose places differ by an environment only are its alternatives."""
    own = OWN.values()
    environments = [
        (pool, PROFILE.search(pool.place) if pool.library in own else None, PROFILE.sub("", pool.place).strip(".-_"))
        for pool in pools
    ]
    numbers = Counter(bare for pool, _, bare in environments if pool.library in own)
    for pool, named, bare in environments:
        if named and numbers[bare] > 1:
            yield replace(pool, place=bare, alternative=f"profile {named[0]}")
        else:
            yield pool


def _join_own(groups: Groups, libraries: dict[tuple[str, ...], Library | None]) -> None:
    """Take the settings of a group `pool`, and names such as dbPoolSize, to the address of a project's own database."""
    for place, group in groups.items():
        bare = [(OF_DATABASE.sub("", name := each.path[-1]), name, each) for each in group]
        near = [replace(each, path=(*place, own)) for own, name, each in bare if own != name or _is_own(name)]
        has_prefix = any(own != name for own, name, _ in bare)
        own = library_of(place, {place: near}, "") if has_prefix and libraries[place] is None else None
        if own in OWN.values():
            groups[place], libraries[place] = near, own
    for place in [each for each in groups if "pool" in each[-2:] and libraries[each] in (None, *OWN.values())]:
        outer = place[:-1] if place[-1] == "pool" else place[:-2]
        below = place[len(outer) + 1 :]
        near = [replace(each, path=(*outer, own_name("-".join((*below, each.path[-1]))))) for each in groups[place]]
        joined = [*groups.get(outer, ()), *near]
        own = library_of(outer, {outer: joined}, "")
        if own in OWN.values():
            groups[outer], libraries[outer], libraries[place] = joined, own, None
    _join_servers(groups, libraries)


def _join_servers(groups: Groups, libraries: dict[tuple[str, ...], Library | None]) -> None:
    """Give settings of Go their library where servers below them, such as `master`, tell the database."""
    unknown = [place for place in groups if place and libraries[place] is None]
    below: Groups = {}
    for place in unknown:
        below.setdefault(place[:-1], []).extend(replace(each, path=each.path[-2:]) for each in groups[place])
    for place in unknown:
        if place in below and is_go(each.path[-1] for each in groups[place]):
            own = library_of(place, {place: [*groups[place], *below[place]]}, "")
            libraries[place] = own if own is OWN_GO else None


def _is_own(name: str) -> bool:
    """Return whether a name is one of a pool of a project's own, and not a limit that servers have as well."""
    bare = without_unit(name)[0]
    is_of_servers = normalized(bare) in {"maxconnections", "maxconns", "maxconn"}
    return not is_of_servers and any(library.setting(bare, relaxed=True) for library in OWN.values())


def own_name(name: str) -> str:
    """Return the name of a project's own setting, which may be in a group `pool`: maxSize there is pool-maxSize."""
    is_whole = any(library.setting(name, relaxed=True) for library in OWN.values())
    return name if is_whole else f"pool-{name}"


def pool_of(library: Library, entries: Sequence[Entry]) -> FilePool:
    """Return the pool of a known library, with names in the library's own spelling or in another."""
    of_file = DRUID.ignored if library is DRUID else ()
    settings = [entry for entry in entries if entry.path[-1] not in of_file]
    return _pool(library, (), settings, relaxed=not any(library is each for each in SEGMENTS.values()))


def _pool(library: Library, prefix: tuple[str, ...], group: Sequence[Entry], *, relaxed: bool) -> FilePool:
    """Return the pool of a place, which may have no setting of it."""
    settings, unread, beside = {}, [], []
    for entry in group:
        if not entry.text:
            continue
        name, unit = without_unit(entry.path[-1]) if library is OWN_GO else (entry.path[-1], 1)
        setting = _setting(library, prefix, name, relaxed=relaxed)
        unit = 1_000 if setting in library.seconds else unit
        text = plain(entry.text) if library in (DROPWIZARD, OWN_GO) else entry.text
        read = partial(value_of, text, durations=relaxed in library.durations, unit=unit)
        found = setting_of(entry.path[-1], entry.text, entry.line, read)
        if setting:
            settings[setting] = found
        elif _is_ignored(library, prefix, entry, relaxed=relaxed):
            unread.append(found)
        elif library is OWN_GO and OF_POOL.search(normalized(name)) and isinstance(found.value, int | float):
            beside.append(found)
        elif library is R2DBC and normalized(entry.path[-1]) == "url":
            settings = url_settings(entry.text, library, entry.line, durations=True) | settings
    return FilePool(library, ".".join(prefix), settings, tuple(unread), beside=tuple(beside))


def _setting(library: Library, prefix: Sequence[str], name: str, *, relaxed: bool) -> str | None:
    """Return the setting that a name means: by the library's own spelling in its own files, else by any."""
    is_strict = not relaxed and any(library is each for each in SEGMENTS.values())
    setting = None if is_strict and name in library.ignored else library.setting(name, relaxed=not is_strict)
    is_renamed = library is HIKARICP and prefix and not _is_bound(prefix)
    return setting or (RENAMED.get(normalized(name)) if is_renamed else None)


def _is_bound(prefix: Sequence[str]) -> bool:
    """Return whether Spring Boot or Micronaut itself binds the settings of a place by the names of the library."""
    is_micronaut = prefix[:1] == ("datasources",) and len(prefix) == 2
    return is_micronaut or (tuple(prefix[:2]) == SPRINGS and "dynamic" not in prefix)


def _is_ignored(library: Library, prefix: Sequence[str], entry: Entry, *, relaxed: bool) -> bool:
    """Return whether a library does not read a name that looks as a setting."""
    if relaxed:
        is_read = library.stack == DRUID.stack  # by its setters
        return not is_read and _is_bound(prefix) and library.ignores(entry.path[-1])
    is_near = entry.path[-1] not in library.ignored and library.setting(entry.path[-1], relaxed=True) is not None
    return is_near or ".".join(entry.path[len(prefix) :]) in library.ignored


def _by_source(
    place: Place,
    groups: Groups,
    inner: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]],
    pools: Set[tuple[str, ...]],
) -> list[Place]:
    """Return the pool of a place for each of the sources that share it; with each source's own settings.

    dynamic-datasource has global settings beside its sources; the code of many projects has sources below the settings.
    """
    prefix, library, settings = place.prefix, place.library, place.settings
    parent, segment = prefix[:-1], prefix[-1:]
    if parent[-1:] == ("dynamic",):
        sources = [each for each in inner.get((*parent, "datasource"), ()) if _has_url(groups[each])]
    elif prefix == ("dataSourceCommon",):
        sources, segment = list(inner.get(("dataSources",), ())), ()
    elif len(prefix) > 4 and prefix[-4] == "dynamic" and prefix[:-3] + segment in pools:
        return []  # a source's own settings, which its shared pool has
    else:
        sources = [each for each in inner.get(prefix, ()) if segment and _has_url(groups[each])]
        sources, segment = sources if len(sources) > 1 else [], ()
    if not sources:
        return [place]
    own = {source: next((each for each in inner.get(source, ()) if each in pools), ()) for source in sources}
    return [
        Place(library, (*source, *segment), settings + tuple(groups[own[source]] if own[source] else ()), source)
        for source in sources
        if (own[source][-1:] == segment if own[source] else _shares(library, parent, groups[source], pools))
    ]


def _shares(library: Library, parent: tuple[str, ...], source: Sequence[Entry], pools: Set[tuple[str, ...]]) -> bool:
    """Return whether a source has the pool of a library with global settings: Druid's where several libraries have."""
    named = named_library(source)
    return library is named if named else library is DRUID or (*parent, "druid") not in pools


def _has_url(group: Sequence[Entry]) -> bool:
    return any(normalized(entry.path[-1]) in {"url", "jdbcurl"} and entry.text.strip() for entry in group)


def _of_current_spring(pool: FilePool) -> FilePool:
    """Return a pool of Spring Boot 1 without a size as HikariCP's, which Spring Boot has had since version 2."""
    if pool.library is not BOOT_1_TOMCAT or any(map(pool.has, pool.library.sizes)):
        return pool
    return replace(pool, library=HIKARICP, settings={}, unread=tuple(pool.settings.values()))


def _without_unused(pools: Iterable[FilePool]) -> list[FilePool]:
    """Return the pools without such as another pool replaces.

    Settings directly below spring.datasource are unread where a place below has a pool's. Hibernate's own pool has no
    use where Hibernate has another.
    """
    pools = list(pools)
    old = next((pool for pool in pools if pool.place == ".".join(SPRINGS)), None)
    below = next((pool for pool in pools if pool.place.startswith(".".join(SPRINGS) + ".")), None)
    of_hibernate = [pool for pool in pools if "hibernate" in pool.place]
    unused = [pool for pool in of_hibernate if pool.library is HIBERNATE_POOL and len(of_hibernate) > 1]
    kept = [pool for pool in pools if pool not in unused]
    if not old or not below:
        return kept
    both = replace(below, unread=(*below.unread, *old.settings.values(), *old.unread))
    return [both if pool is below else pool for pool in kept if pool is not old]


def _in_view(pool: FilePool, jpa: Sequence[Entry]) -> FilePool:
    """Return a pool with Spring's open-in-view, where the file has settings of JPA (jpa) and the pool is small."""
    if not jpa or pool.library is not HIKARICP or not pool.place.startswith("spring.datasource"):
        return pool
    if not pool.number("maximumPoolSize") <= SMALL:
        return pool
    said = [entry for entry in jpa if normalized(entry.path[-1]) == "openinview"]
    setting = FileSetting("jpa", "true (default)", True, jpa[0].line)
    if said:
        setting = FileSetting(said[-1].path[-1], said[-1].text, value_of(said[-1].text), said[-1].line)
    return pool if setting.value is False else replace(pool, settings={**pool.settings, "openInView": setting})
