"""Answers as JSON."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any


def json_text(values: object) -> str:
    """Return the values as JSON: a record by its printed names. An unknown or infinite number is null."""
    import json  # text starts without it

    return json.dumps(_known(values), allow_nan=False)


def printed_names(record: Any) -> list[str]:
    """Return the keys of a record, or of its class, in JSON: its fields, then the properties in its ALSO_PRINTED."""
    return [*(field.name for field in fields(record)), *getattr(record, "ALSO_PRINTED", ())]


def _known(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return None
    if is_dataclass(value):
        value = {name: getattr(value, name) for name in printed_names(value)}
    if isinstance(value, Mapping):
        return {name: _known(item) for name, item in value.items()}
    return [_known(item) for item in value] if isinstance(value, list | tuple) else value
