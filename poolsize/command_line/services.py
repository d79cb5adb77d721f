"""The services of a fleet, from options and from a TOML file: each with a weight, or with a rate and a usage time."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsize.answer.fleet import Service
from poolsize.command_line.fleet_options import FleetOptions
from poolsize.command_line.traffic_options import TrafficOptions, requests_per_second
from poolsize.errors import BadInput
from poolsize.sweep.readers import decimal, positive_milliseconds, whole_number
from poolsize.toml_file import read_toml, record

if TYPE_CHECKING:  # numpy stays out of services with weights
    from collections.abc import Sequence

    from poolsize.answer.from_traffic import Traffic

TABLE = "service"
MOST_SERVICES = 1_000
WITH_WEIGHT, WITH_RATE = "NAME:INSTANCES:PROCESSES:WEIGHT", "NAME:INSTANCES:PROCESSES:RATE:USAGE_TIME"


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
    row = record(where, ServiceTable, table)
    service = Service(**{field.name: getattr(row, field.name) for field in fields(Service)})
    of_traffic = [name for name in table if name not in vars(service)]
    if not of_traffic:
        return service
    for name in ("rate", "usage_ms"):
        if name not in table:
            raise BadInput(f"{where}: {name} is missing: {of_traffic[0]} needs it")
    for name in of_traffic:
        if not getattr(row, name) > 0:
            raise BadInput(f"{where}: {name} {getattr(row, name):g}: give a number above 0")
    if "weight" in table:
        raise BadInput(f"{where}: it has weight and rate; leave one out")
    demand = TrafficOptions(row.rate, usage_p99_ms=row.usage_p99_ms, burst=row.burst)
    return _traffic(where, demand, row.usage_ms, service)


def service_of(text: str, fleet: FleetOptions) -> "Service | Traffic":
    """Return the service of WITH_WEIGHT, or the traffic of WITH_RATE.

    INSTANCES may be a range up to the autoscaler's maximum. fleet: has the threads of each process. Raises BadInput.
    """
    name, *parts = (part.strip() for part in text.split(":"))
    has_rate = "/" in "".join(parts)
    if len(parts) == 4 and not has_rate and parts[2].replace(".", "", 1).isdecimal():
        raise BadInput(f"`services` {text}: a rate needs a unit: write {parts[2]}/s")
    if len(parts) != 3 + has_rate or not name:
        raise BadInput(
            f"`services` {text}: write {WITH_WEIGHT}, e.g. shop:12:4:3 or shop:12-30:4:3; or {WITH_RATE}, e.g. "
            "shop:12:4:400/s:15ms"
        )
    usual, dash, most = parts[0].partition("-")
    try:
        service = Service(
            name=name,
            instances=whole_number(usual),
            processes=whole_number(parts[1]),
            weight=1.0 if has_rate else decimal(parts[2]),
            max_instances=whole_number(most) if dash else None,
            threads=fleet.app_threads,
            connections_per_thread=fleet.held,
        )
        if not has_rate:
            return service
        demand, usage_ms = TrafficOptions(requests_per_second(parts[2])), positive_milliseconds(parts[3])
    except ValueError as error:
        raise BadInput(f"`services` {text}: {error}") from None
    return _traffic(f"`services` {text}", demand, usage_ms, service)


def _traffic(where: str, demand: TrafficOptions, usage_ms: float | None, service: Service) -> "Traffic":
    try:
        return demand.traffic(usage_ms, service)
    except BadInput as error:
        raise BadInput(f"{where}: {str(error).replace('`', '')}") from None


def by_kind(services: "Sequence[Service | Traffic]") -> "tuple[list[Service], list[Traffic]]":
    """Return the services with weights, and the traffic of those with rates. Raises BadInput where there are both."""
    with_weight = [each for each in services if isinstance(each, Service)]
    traffics = [each for each in services if not isinstance(each, Service)]
    if traffics and with_weight:
        raise BadInput(
            f"`services` {with_weight[0].name}: it has no rate, and {traffics[0].service.name} has one; give each "
            "service a rate and a usage time, or each a weight"
        )
    return with_weight, traffics
