"""YAML, .properties and JSON -> pools: the entries of a file, and of each profile in it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import javaproperties
import yaml

from poolsize.errors import BadInput
from poolsize.pool_config.files.javascript_source import javascript_pools
from poolsize.pool_config.files.keys import Entry, pools_of
from poolsize.pool_config.pool import FilePool

PROFILES = (("spring", "config", "activate", "on-profile"), ("spring", "profiles"))
"""Keys that make a YAML document one of a profile, which overrides the documents without."""


def yaml_documents(text: str) -> list[yaml.Node]:
    """Return the documents of a YAML file. Raises BadInput for a text that is not YAML."""
    try:
        return [node for node in yaml.compose_all(text, yaml.SafeLoader) if node is not None]
    except yaml.MarkedYAMLError as error:  # its text would quote the line, which may hold a password
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"this is not YAML: line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise BadInput(f"this is not YAML: {' '.join(str(error).split())}") from None


def yaml_pools(documents: Sequence[yaml.Node]) -> list[FilePool]:
    """Return the pools of a YAML file with one document or several."""
    base: list[Entry] = []
    of_profiles: list[tuple[str, list[Entry]]] = []
    for document in documents:
        entries = list(_entries(document, ()))
        profile = next((entry.text for entry in entries if entry.path in PROFILES), None)
        if profile is None:
            base += entries
        else:
            of_profiles.append((profile, entries))
    pools = pools_of(base)
    for profile, entries in of_profiles:
        own = {pool.place for pool in pools_of(entries)}
        pools += [
            replace(pool, place=f"{pool.place}, profile {profile}")
            for pool in pools_of([*base, *entries])
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
    return pools_of(entries, file_name, relaxed=any(entry.path[0] == "spring" for entry in entries))


def json_pools(text: str) -> list[FilePool]:
    """Return the pools of JSON, which may have comments: the options of Sequelize, Knex or TypeORM."""
    return javascript_pools(f"({text}\n)")


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
