"""YAML, .properties and JSON -> pools: the entries of a file, and of each profile in it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import javaproperties
import yaml

from poolsize.errors import BadInput
from poolsize.pool_config.files.entries import Entry, parts_of
from poolsize.pool_config.files.javascript_source import javascript_pools
from poolsize.pool_config.files.keys import pools_of
from poolsize.pool_config.files.nodes import documents_of
from poolsize.pool_config.files.templates import without_templates
from poolsize.pool_config.pool import FilePool, normalized

PROFILES = ("spring.config.activate.onprofile", "spring.profiles")
"""Keys that make a document that of a profile, which overrides the documents without."""
SEPARATOR = re.compile(r"[#!]---\s*")
"""The line between two documents of a .properties file of Spring Boot."""
OF_FRAMEWORKS = {"spring", "quarkus", "micronaut", "datasources"}
"""Beginnings of keys in the files of frameworks, which do not mind hyphens and capitals in names."""
MOST_PROFILES = 100
CLASS_TAG = re.compile(r"(?:tag:yaml\.org,2002:|!)((?:com|org)\.[\w.]{1,100})")
"""A tag that names a class of Java."""


def yaml_documents(text: str) -> list[yaml.Node]:
    """Return the documents of a YAML file, with its templates as texts. Raises BadInput for a text that is not YAML."""
    text, original = without_templates(text)
    documents = documents_of(text)
    for node in _scalars(documents):
        node.value = original(node.value)
    return documents


def _scalars(documents: Sequence[yaml.Node]) -> Iterator[yaml.ScalarNode]:
    """Yield the scalars of documents, each once: an alias is the node that it names."""
    left, done = list(documents), set[int]()
    while left:
        node = left.pop()
        if id(node) in done:
            continue
        done.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.MappingNode):
            left += [each for pair in node.value for each in pair]
        else:
            left += node.value


def yaml_pools(documents: Sequence[yaml.Node]) -> list[FilePool]:
    """Return the pools of a YAML file with one document or several."""
    return _pools_of_profiles([list(entries_of(document)) for document in documents])


def properties_pools(text: str, file_name: str) -> list[FilePool]:
    """Return the pools of a properties file. Raises BadInput for a text that is not a properties file.

    file_name: tells Druid from Tomcat JDBC, which share their names.
    """
    documents: list[list[Entry]] = [[]]
    line = 1
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                documents[-1].append(Entry(parts_of(element.key), element.value, line))
            elif SEPARATOR.fullmatch(element.source.strip()):
                documents.append([])
            line += element.source.count("\n")
    except ValueError as error:
        raise BadInput(f"no properties file: line {line}: {error}") from None
    firsts = {entry.path[0] for entries in documents for entry in entries}
    relaxed = any(first in OF_FRAMEWORKS or first.startswith("%") for first in firsts)
    return _pools_of_profiles(documents, file_name, relaxed=relaxed)


def json_pools(text: str) -> list[FilePool]:
    """Return the pools of JSON, which may have comments: the options of Sequelize, Knex or TypeORM."""
    return javascript_pools(f"({text}\n)")


def _pools_of_profiles(
    documents: Sequence[Sequence[Entry]], file_name: str = "", *, relaxed: bool = True
) -> list[FilePool]:
    """Return the pools of documents: of those without a profile, and of each profile with them."""
    base: list[Entry] = []
    of_profiles: list[tuple[str, list[Entry]]] = []
    for document in documents:
        entries: list[Entry] = []
        of_prefixes: dict[str, list[Entry]] = {}
        for entry in document:
            profile, plain = _own_profile(entry)
            (of_prefixes.setdefault(profile, []) if profile else entries).append(plain)
        keys = [entry.text for entry in entries if normalized(".".join(entry.path)) in PROFILES]
        if keys:
            of_profiles.append((keys[0], entries))
        else:
            base += entries
        of_profiles += of_prefixes.items()
    pools = pools_of(base, file_name, relaxed=relaxed)
    for profile, entries in of_profiles[:MOST_PROFILES]:
        own = {pool.place for pool in pools_of(entries, file_name, relaxed=relaxed)}
        pools += [
            replace(pool, alternative=f"profile {profile}")
            for pool in pools_of([*base, *entries], file_name, relaxed=relaxed)
            if pool.place in own
        ]
    return pools


def _own_profile(entry: Entry) -> tuple[str, Entry]:
    """Return the profile that the keys of a value begin with, "" without any, and the value without it.

    Quarkus writes %prod.quarkus..., Grails environments.production....
    """
    first = entry.path[0]
    if first.startswith("%") and len(entry.path) > 1:
        return first[1:], replace(entry, path=entry.path[1:])
    if first == "environments" and len(entry.path) > 2:
        return entry.path[1], replace(entry, path=entry.path[2:])
    return "", entry


def entries_of(node: yaml.Node, path: tuple[str, ...] = ()) -> Iterable[Entry]:
    """Yield the values of a document. A merged mapping (<<) comes before what overrides it."""
    if path and (match := CLASS_TAG.fullmatch(node.tag)):
        yield Entry((*path, "type"), match[1], node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "<<":
                yield from entries_of(value, path)
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                yield from entries_of(value, (*path, *parts_of(key.value)))
    elif isinstance(node, yaml.SequenceNode) and path:
        yield from _items(node, path)
    elif isinstance(node, yaml.ScalarNode) and path:
        yield Entry(path, node.value, node.start_mark.line + 1)


def _items(node: yaml.SequenceNode, path: tuple[str, ...]) -> Iterable[Entry]:
    """Yield the values of a list: of its mappings each, of its scalars all as a single text."""
    if all(isinstance(each, yaml.MappingNode) for each in node.value):
        for place, each in enumerate(node.value):
            yield from entries_of(each, (*path[:-1], f"{path[-1]}[{place}]"))
    elif all(isinstance(each, yaml.ScalarNode) for each in node.value):
        yield Entry(path, ", ".join(each.value for each in node.value), node.start_mark.line + 1)
