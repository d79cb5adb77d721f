"""YAML, with its templates, .properties and JSON -> pools: the entries of a file, and of each profile in it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import javaproperties
import yaml

from poolsize.errors import BadInput
from poolsize.pool_config.files.javascript_source import javascript_pools
from poolsize.pool_config.files.keys import pools_of
from poolsize.pool_config.files.values import MAVEN, Entry, parts_of, setting_of, value_of
from poolsize.pool_config.pool import FilePool, PoolOrCount, Variable, normalized


class Text(NamedTuple):
    """A scalar: its text and its line, from 1. is_block: whether its lines are lines of the file, from the next on."""

    text: str
    line: int
    is_block: bool


Node: TypeAlias = yaml.Node | None


SEPARATING = re.compile(
    r"(?:(?<=[\s:,\[{-])|^)(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+')|(?<!\S)#[^\n]*"
    r"|(?P<space>(?<=[:,\[{-])[ \t]+|(?<=\S)[ \t]+(?=[:#}\],]|$))",
    re.MULTILINE | re.DOTALL,
)
"""A value in quotes, a comment, or the space around a value: this may have tabs, which PyYAML does not accept."""


def documents_of(text: str, kind: str = "YAML") -> list[yaml.Node]:
    """Return the documents of YAML, or of JSON. kind: for people. Raises BadInput for a text that is not of this kind.

    The error does not quote the text, which may hold a password.
    """
    if "\t" in text:
        text = SEPARATING.sub(lambda match: " " * len(match[0]) if match["space"] else match[0], text)
    try:
        return [node for node in yaml.compose_all(text, yaml.SafeLoader) if node is not None]
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"this is not {kind}: line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise BadInput(f"this is not {kind}: {' '.join(str(error).split())}") from None


def fields_of(node: Node) -> dict[str, yaml.Node]:
    """Return the values of a mapping by their keys, with those that it merges (<<); empty for another node."""
    fields: dict[str, yaml.Node] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == "<<":
                for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    fields = {**fields_of(merged), **fields}
        fields |= {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        fields.pop("<<", None)
    return fields


def items_of(node: Node) -> list[yaml.Node]:
    """Return the items of a list; empty for another node."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def text_of(node: Node) -> Text | None:
    """Return a scalar that is not null; None for another node."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
        return None
    return Text(node.value, node.start_mark.line + 1, node.style == "|")


def below(node: Node, *keys: str) -> Node:
    """Return the node below some keys of mappings; None where a key is missing."""
    for key in keys:
        node = fields_of(node).get(key)
    return node


def text_at(node: Node, *keys: str) -> str:
    """Return the text below some keys of mappings; "" where a key is missing, or has no text."""
    text = text_of(below(node, *keys))
    return text.text if text else ""


def texts_in(node: Node) -> Iterator[Text]:
    """Yield a scalar, or the scalars of a list."""
    for each in items_of(node) or [node]:
        if text := text_of(each):
            yield text


CONTROL = re.compile(r"\{\{-?\s*(?:if|else|end|range|with|define|block|template|/\*)")
"""Templates that are replaced by nothing."""
MARKED = re.compile(r"pOOlsizeTemplate(\d{1,7})x")
"""What stands for a template while the YAML is parsed."""


def without_templates(text: str) -> tuple[str, Callable[[str], str]]:
    """Return a text that may be parsed as YAML, its lines as before, and what gives a value its templates again.

    A line with nothing but a template, such as a condition or an included block, becomes empty.
    """
    templates: list[str] = []

    def marked(template: str) -> str:
        templates.append(template)
        return f"pOOlsizeTemplate{len(templates) - 1}x"

    def original(value: str) -> str:
        return MARKED.sub(lambda match: templates[int(match[1])] if int(match[1]) < len(templates) else "", value)

    parts, done = [], 0
    while (start := text.find("{{", done)) >= 0 and (end := text.find("}}", start) + 2) > 1:
        line_end = text.find("\n", end)
        after = text[end : line_end if line_end >= 0 else len(text)].strip()
        is_line = not text[text.rfind("\n", 0, start) + 1 : start].strip() and (not after or after.startswith("#"))
        template = text[start:end]
        lines = "\n" * template.count("\n")
        parts += [text[done:start], lines if is_line or CONTROL.match(template) else marked(template) + lines]
        done = end
    return MAVEN.sub(lambda match: marked(match[0]), "".join([*parts, text[done:]])), original


PROFILES = ("spring.config.activate.onprofile", "spring.profiles")
"""Keys that make a document that of a profile, which overrides the documents without."""
STRING_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
"""Only a string is kept, and the ends of lines."""
SEPARATOR = re.compile(r"[#!]---\s*")
"""The line between two documents of a .properties file of Spring Boot."""
OF_FRAMEWORKS = {"spring", "quarkus", "micronaut", "datasources"}
"""Beginnings of keys in the files of frameworks, which do not mind hyphens and capitals in names."""
BEGINS_NUMBER = (*"0123456789+-", "$", "{{")
"""Of a text that may be a number: a digit, a sign, a reference or a template."""
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


def properties_pools(text: str, file_name: str) -> list[PoolOrCount]:
    """Return the pools and the numbers of a properties file. Raises BadInput for a text that is not a properties file.

    file_name: tells Druid from Tomcat JDBC, which share their names.
    """
    documents = _properties(text)
    firsts = {entry.path[0] for entries in documents for entry in entries}
    relaxed = any(first in OF_FRAMEWORKS or first.startswith("%") for first in firsts)
    return [*pools_of_profiles(documents, file_name, relaxed=relaxed), *key_variables(documents)]


def _properties(text: str) -> list[list[Entry]]:
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
    return documents


def keys_of(text: str) -> dict[str, str]:
    """Return the values of a properties file by their keys. Raises BadInput."""
    return {".".join(entry.path): entry.text for document in _properties(text) for entry in document}


def json_pools(text: str) -> list[FilePool]:
    """Return the pools of JSON, which may have comments: of the options of Sequelize and the like, or by its keys."""
    return javascript_pools(f"({text}\n)") or pools_of(json_entries(text))


def json_entries(text: str) -> list[Entry]:
    """Return the values of JSON, which may have comments. Raises BadInput for a text that is not JSON."""
    text = without_comments(text).replace("\t", " ")
    return [entry for node in documents_of(text, "JSON") for entry in entries_of(node)]


def without_comments(text: str) -> str:
    """Return a text of JSON or Kotlin without its comments, its lines as before."""
    return STRING_OR_COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)


def key_variables(documents: Iterable[Iterable[Entry]]) -> Iterator[Variable]:
    """Yield the integers among the values of Spring's files, by their keys, for source that asks for these."""
    for entry in (entry for entries in documents for entry in entries):
        if len(entry.path) > 1 and entry.text.strip().startswith(BEGINS_NUMBER):
            number = setting_of(".".join(entry.path), entry.text, entry.line, partial(value_of, entry.text))
            if isinstance(number.value, int) and not isinstance(number.value, bool):
                yield Variable(number)


def pools_of_profiles(
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
        own = {pool.place: pool.settings for pool in pools_of(entries, file_name, relaxed=relaxed)}
        pools += [
            replace(
                pool, alternative=f"profile {profile}", inherited=tuple(sorted(pool.settings.keys() - own[pool.place]))
            )
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
