"""`poolsize fleet`: the database's connections, divided among services, instances and processes."""

from pathlib import Path

import click

from poolsize.answer.fleet import Service
from poolsize.answer.fleet_plan import plan_fleet
from poolsize.command_line.fleet_options import FleetOptions, fleet_options, losses_of
from poolsize.command_line.options import Encryption, encryption_options, flag, is_typed, json_option
from poolsize.command_line.run_file import end_unless, measured_answer
from poolsize.errors import BadInput
from poolsize.present.text.fleet import fleet_json, fleet_text
from poolsize.sweep.readers import decimal, whole_number
from poolsize.toml_file import read_toml, record

PARTS = ("name", "instances", "processes", "weight")
TABLE = "service"
MOST_SERVICES = 1_000


def services_of(path: Path) -> list[Service]:
    """Return the services of a file: a table [[service]] for each, with the fields of Service.

    Raises BadInput for a file that can't be read or is not TOML, and for a service with a wrong key or value.
    """
    tables, _ = read_toml("services_file", path)
    services = tables.pop(TABLE, [])
    is_list = isinstance(services, list) and services and all(isinstance(table, dict) for table in services)
    if tables or not is_list:
        raise BadInput(f"`services_file` {path}: write a table [[{TABLE}]] for each service, and nothing else")
    if len(services) > MOST_SERVICES:
        raise BadInput(f"`services_file` {path}: {len(services):,} services: write up to {MOST_SERVICES:,}")
    found = []
    for place, table in enumerate(services, 1):
        where = f"`services_file` {path}, service {place}"
        if not table.get("name", "unnamed"):
            raise BadInput(f"{where}: the name is empty")
        found.append(record(where, Service, table))
    return found


def _service_of(text: str, fleet: FleetOptions) -> Service:
    """Return the service of NAME:INSTANCES:PROCESSES:WEIGHT; INSTANCES may be a range up to the autoscaler's maximum.

    fleet: has the threads of each process. Raises BadInput.
    """
    parts = dict(zip(PARTS, text.split(":"), strict=False))
    if len(parts) < len(PARTS) or text.count(":") != len(PARTS) - 1 or not parts["name"].strip():
        raise BadInput(f"`services` {text}: write NAME:INSTANCES:PROCESSES:WEIGHT, e.g. shop:12:4:3 or shop:12-30:4:3")
    usual, dash, most = parts["instances"].partition("-")
    try:
        return Service(
            name=parts["name"].strip(),
            instances=whole_number(usual),
            processes=whole_number(parts["processes"]),
            weight=decimal(parts["weight"]),
            max_instances=whole_number(most) if dash else None,
            threads=fleet.app_threads,
            connections_per_thread=fleet.connections_per_thread,
        )
    except ValueError as error:
        raise BadInput(f"`services` {text}: {error}") from None


@click.command()
@click.option("--size", type=int, help="Recommended connections, for all clients together.")
@click.option(
    "--run",
    "run_path",
    metavar="RUN",
    help="Take --size from this measured run. The answer then shows the throughput loss of larger pools.",
)
@click.option(
    "--url",
    metavar="URL",
    envvar="POOLSIZE_URL",
    help="Read the limit from this server, if --max-connections is not given. POOLSIZE_URL sets it too.",
)
@encryption_options
@fleet_options
@click.option(
    "--service",
    "services",
    multiple=True,
    metavar="NAME:INSTANCES:PROCESSES:WEIGHT",
    help="A service on this server, in place of --instances and --processes; repeat it for each service. Services "
    "share the connections by weight. INSTANCES may be a range up to the autoscaler's maximum, e.g. shop:12-30:4:3.",
)
@click.option(
    "--services",
    "services_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A TOML file with a table [[service]] for each service, in place of --service.",
)
@json_option
def fleet(
    size: int | None,
    run_path: str | None,
    url: str | None,
    services: tuple[str, ...],
    services_file: Path | None,
    encryption: Encryption,
    fleet: FleetOptions,
    as_json: bool,
) -> None:
    """Divide the database's connections among services, instances and processes.

    While the usual number of instances runs (--instances), all pools together stay within --size, if the smallest
    possible pools do. In a rolling deploy at the autoscaler's maximum, they stay within --max-connections, or within
    the limit of the server at --url. Each pool has at least 1 connection, or more if the threads of its process need
    more to avoid a deadlock.
    """
    if (size is None) == (run_path is None):
        raise BadInput("give the connections to divide: either --size, or a measured --run")
    if (services or services_file) and fleet.of_instances:
        raise BadInput(f"a service names its instances itself: leave out {', '.join(map(flag, fleet.of_instances))}")
    if services and services_file:
        raise BadInput("give the services either by --service, or by --services FILE")
    if services_file and (fleet.app_threads, fleet.connections_per_thread) != (None, None):
        raise BadInput("--services FILE names the threads of each service: write threads and connections_per_thread")
    parts = [_service_of(text, fleet) for text in services]
    if services_file:
        parts = services_of(services_file)
    losses = None
    if run_path is not None:
        analysis, answer = measured_answer(run_path)
        size, losses, fleet = answer.connections, losses_of(analysis, answer), fleet.measured_in(answer)
    assert size is not None
    asks_server = is_typed("url") or fleet.max_connections is None
    limit = fleet.limit(encryption.of(url if asks_server else None))
    plan = plan_fleet(size, parts or [fleet.service()], limit, losses)
    click.echo(fleet_json(plan) if as_json else fleet_text(plan))
    end_unless(plan.pools)
