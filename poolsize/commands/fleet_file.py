"""The services in a file of `poolsize fleet --services`."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsize.answer.fleet import Service
from poolsize.command_line.traffic_options import TrafficOptions
from poolsize.errors import BadInput
from poolsize.toml_file import read_toml, record

if TYPE_CHECKING:  # numpy stays out of services with weights
    from poolsize.answer.traffic import Traffic

TABLE = "service"
MOST_SERVICES = 1_000
KEYS = {"app_threads": "threads", "usage_time": "usage_ms", "usage_p99": "usage_p99_ms"}
"""Name of a value in an error -> its key in a file of services, where that has another name."""


@dataclass(frozen=True)
class ServiceTable(Service):
    """A table [[service]]: a service and, where it has a rate, its traffic. rate: requests per second."""

    rate: float | None = None
    usage_ms: float | None = None
    usage_p99_ms: float | None = None
    burst: float | None = None


def services_of(path: Path) -> "list[Service | Traffic]":
    """Return the services of a file, with the traffic of those that have a rate: the fields of ServiceTable.

    Raises BadInput for a file that can't be read or is not TOML, and for a service with a wrong key or value.
    """
    tables, _ = read_toml("services_file", path)
    services = tables.pop(TABLE, [])
    is_list = isinstance(services, list) and services and all(isinstance(table, dict) for table in services)
    if tables or not is_list:
        raise BadInput(f"`services_file` {path}: write a table [[{TABLE}]] for each service, and nothing else")
    if len(services) > MOST_SERVICES:
        raise BadInput(f"`services_file` {path}: {len(services):,} services: write up to {MOST_SERVICES:,}")
    return [_of_table(f"`services_file` {path}, service {place}", table) for place, table in enumerate(services, 1)]


def _of_table(where: str, table: dict[str, Any]) -> "Service | Traffic":
    if not table.get("name", "unnamed"):
        raise BadInput(f"{where}: the name is empty")
    try:
        row = record("", ServiceTable, table)
        service = Service(**{field.name: getattr(row, field.name) for field in fields(Service)})
        of_traffic = [name for name in table if name not in vars(service)]
        if not of_traffic:
            return service
        for name in ("rate", "usage_ms"):
            if name not in table:
                raise BadInput(f"{name} is missing: {of_traffic[0]} needs it")
        if "weight" in table:
            raise BadInput("it has weight and rate; leave one out")
        demand = TrafficOptions(row.rate, usage_p99_ms=row.usage_p99_ms, burst=row.burst)
        return demand.traffic(row.usage_ms, service)
    except BadInput as error:
        text = str(error).replace("`", "").removeprefix(": ")
        of_file = " is unknown" in text  # the name is that of the file
        named = text if of_file else re.sub(rf"\b({'|'.join(KEYS)})\b", lambda name: KEYS[name[1]], text)
        raise BadInput(f"{where}: {named}") from None
