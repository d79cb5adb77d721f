"""The fields of a record for people: the name, the type in JSON, and the meaning from the record's docstring.

A record's docstring explains its fields as "name: meaning." or, together, "name, other: meaning.".
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

JSON_TYPES = {str: "text", int: "number", float: "number", bool: "true or false", NoneType: "null"}


@dataclass(frozen=True)
class Explained:
    """Fields that the docstring explains together. names: of the fields. json_type: in words. meaning: with units."""

    names: tuple[str, ...]
    json_type: str
    meaning: str


def explained_fields(record: type) -> Iterator[Explained]:
    """Yield the fields of a dataclass in the order of its docstring."""
    hints = get_type_hints(record)
    for names, meaning in _explanations(record):
        yield Explained(names, json_type(hints[names[0]]), meaning)


def unexplained_fields(record: type) -> set[str]:
    """Return the names of the fields that the docstring does not explain."""
    explained = {name for names, _ in _explanations(record) for name in names}
    return {field.name for field in fields(record)} - explained


def json_type(hint: Any) -> str:
    """Return the JSON type of an annotation in words: "list of number", "text or null", "object"."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return " or ".join(dict.fromkeys(map(json_type, arguments)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "object"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"list of {json_type(arguments[0])}"
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return "text: " + ", ".join(f"`{member}`" for member in hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return JSON_TYPES[hint]


def _explanations(record: type) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the names and the meaning of each explanation in a dataclass's docstring."""
    text = " ".join((inspect.getdoc(record) or "").split())
    name = "|".join(field.name for field in fields(record))
    beginnings = list(re.finditer(rf"(?:^|(?<=\. ))((?:{name})(?:, (?:{name}))*): ", text))
    ends = [match.start() for match in beginnings[1:]] + [len(text)]
    for match, end in zip(beginnings, ends, strict=True):
        meaning = re.sub(r"\bNone\b", "null", text[match.end() : end].strip())
        yield tuple(match[1].split(", ")), meaning[:1].upper() + meaning[1:]
