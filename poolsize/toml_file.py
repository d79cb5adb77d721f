"""TOML -> records: the files that people write for poolsize, with errors that name the key and the value."""

import hashlib
import json
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from poolsize.bounds import LONGEST_NAME_SHOWN, shortened, shown
from poolsize.errors import BadInput, did_you_mean
from poolsize.files import content
from poolsize.parser_process import parsed

R = TypeVar("R")
MOST_BYTES = 2**20


def read_toml(name: str, path: Path) -> tuple[dict[str, Any], str]:
    """Return the tables of a TOML file, and the hash of its text.

    name: of the parameter that names the file. Raises BadInput.
    """
    text = content(path, MOST_BYTES, f"`{name}` {path}")
    return parsed(lambda: tables_in(text), dict[str, Any], f"`{name}` {path}"), hashlib.sha256(text).hexdigest()


def tables_in(text: bytes) -> dict[str, Any]:
    """Return the tables of the text of a TOML file. Raises BadInput."""
    try:
        return tomllib.loads(text.decode())
    except ValueError as error:  # its own, of a text that is not UTF-8, and of a number that is too long
        raise BadInput(f"not TOML: {error}") from None


def record(where: str, kind: type[R], table: dict[str, Any], secret: Collection[str] = ()) -> R:
    """Return the record, a dataclass, of a table whose keys are the record's fields.

    where: begins the error. secret: keys whose values may hold a password, so that no error shows them.
    Raises BadInput for an unknown key, a missing key, and a wrong value.
    """
    known = TypeAdapter(kind)
    keys = tuple(getattr(kind, "__dataclass_fields__", ()))
    for key in table:
        if key not in keys:
            way_out = did_you_mean(key, keys) or f": the keys are {', '.join(keys)}"
            raise BadInput(f"{where}: {shortened(key, LONGEST_NAME_SHOWN)} is unknown{way_out}")
    try:
        return known.validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = shortened(".".join(map(str, first["loc"])), LONGEST_NAME_SHOWN) or kind.__name__
        is_secret = key.partition(".")[0] in secret
        if first["type"] == "missing":
            raise BadInput(f"{where}: {key} is missing") from None
        given = "" if is_secret else f" {shown(first['input'])}"
        is_number = isinstance(first["input"], str) and first["type"] in {"float_type", "int_type"}
        bare = ", without quotes and unit" if is_number else ""
        raise BadInput(f"{where}: {key}{given}: {first['msg']}{bare}") from None
    except BadInput as error:
        raise BadInput(f"{where}: {str(error).replace('`', '')}") from None
