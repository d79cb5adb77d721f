"""Answers as JSON."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any


def json_text(values: object) -> str:
    """Return the values as JSON: of a record, its fields. A number that is not known, or that has no end, is null."""
    import json  # text starts without it

    return json.dumps(_known(values), allow_nan=False)


def _known(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return None
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _known(item) for name, item in value.items()}
    return [_known(item) for item in value] if isinstance(value, list | tuple) else value
