"""YAML nodes -> Python's mappings, lists and texts, with the line of each text."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import yaml

from poolsize.errors import BadInput


class Text(NamedTuple):
    """A scalar: its text and its line, from 1. is_block: whether its lines are lines of the file, from the next on."""

    text: str
    line: int
    is_block: bool


Node: TypeAlias = yaml.Node | None


def documents_of(text: str, kind: str = "YAML") -> list[yaml.Node]:
    """Return the documents of YAML, or of JSON. kind: for people. Raises BadInput for a text that is not of this kind.

    The error does not quote the text, which may hold a password.
    """
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
