"""The services of a fleet from a TOML file."""

import json
import tomllib
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from poolsize.answer.fleet import Service
from poolsize.errors import BadInput, did_you_mean

TABLE = "service"
KEYS = tuple(Service.__dataclass_fields__)


def services_of(path: Path) -> list[Service]:
    """Return the services of a file: a table [[service]] for each, with the fields of Service.

    Raises BadInput for a file that can't be read or is no TOML, and for a service with a wrong key or value.
    """
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"`services_file` {path} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"`services_file` {path} is no TOML: {error}") from None
    services = tables.pop(TABLE, [])
    if tables or not isinstance(services, list) or not services:
        raise BadInput(f"`services_file` {path}: write a table [[{TABLE}]] for each service, and nothing else")
    return [_service(path, place, table) for place, table in enumerate(services, 1)]


def _service(path: Path, place: int, table: Any) -> Service:
    where = f"`services_file` {path}, service {place}"
    if not isinstance(table, dict):
        raise BadInput(f"`services_file` {path}: write a table [[{TABLE}]] for each service, and nothing else")
    if not table.get("name", "unnamed"):
        raise BadInput(f"{where}: the name is empty")
    for key in table:
        if key not in KEYS:
            way_out = did_you_mean(key, KEYS) or f": the keys are {', '.join(KEYS)}"
            raise BadInput(f"{where}: {key} is unknown{way_out}")
    try:
        return TypeAdapter(Service).validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        given = "" if first["type"] == "missing" else f" {first['input']!r}"
        raise BadInput(f"{where}: {first['loc'][0]}{given}: {first['msg']}") from None
    except BadInput as error:
        raise BadInput(f"{where}: {str(error).replace('`', '')}") from None
