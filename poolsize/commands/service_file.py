"""The services of a fleet from a TOML file."""

from pathlib import Path
from typing import Any

from poolsize.answer.fleet import Service
from poolsize.errors import BadInput
from poolsize.toml_file import read_toml, record

TABLE = "service"
MOST_SERVICES = 1_000


def services_of(path: Path) -> list[Service]:
    """Return the services of a file: a table [[service]] for each, with the fields of Service.

    Raises BadInput for a file that can't be read or is no TOML, and for a service with a wrong key or value.
    """
    tables, _ = read_toml("services_file", path)
    services = tables.pop(TABLE, [])
    if tables or not isinstance(services, list) or not services:
        raise BadInput(f"`services_file` {path}: write a table [[{TABLE}]] for each service, and nothing else")
    if len(services) > MOST_SERVICES:
        raise BadInput(f"`services_file` {path}: {len(services):,} services: write up to {MOST_SERVICES:,}")
    return [_service(path, place, table) for place, table in enumerate(services, 1)]


def _service(path: Path, place: int, table: Any) -> Service:
    where = f"`services_file` {path}, service {place}"
    if not isinstance(table, dict):
        raise BadInput(f"`services_file` {path}: write a table [[{TABLE}]] for each service, and nothing else")
    if not table.get("name", "unnamed"):
        raise BadInput(f"{where}: the name is empty")
    return record(where, Service, table)
