"""`poolsize fleet`: the database's connections, divided among services, instances and processes."""

from pathlib import Path
from typing import Any

import click

from poolsize.answer.fleet import Service
from poolsize.answer.fleet_plan import plan_fleet
from poolsize.command_line.fleet_options import (
    OF_INSTANCES,
    application,
    fleet_options,
    has_fleet,
    losses_of,
    server_limit,
    service,
    thread_options,
    with_measured_fleet,
)
from poolsize.command_line.options import is_typed, json_option
from poolsize.command_line.run_file import end_without_pools, measured_answer
from poolsize.command_line.server import encrypted, encryption_options
from poolsize.errors import BadInput
from poolsize.present.json.recommendation import fleet_json
from poolsize.present.text.fleet import fleet_text
from poolsize.toml_file import read_toml, record

TABLE = "service"
MOST_SERVICES = 1_000


def services_of(path: Path) -> list[Service]:
    """Return the services of a file: a table [[service]] for each, with the fields of Service.

    Raises BadInput for a file that can't be read or is not TOML, and for a service with a wrong key or value.
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
@thread_options
@json_option
def fleet(
    size: int | None,
    run_path: str | None,
    url: str | None,
    services: tuple[str, ...],
    services_file: Path | None,
    app_threads: int | None,
    connections_per_thread: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Divide the database's connections among services, instances and processes.

    While the usual number of instances runs (--instances), all pools together stay within --size, if the smallest
    possible pools do. In a rolling deploy at the autoscaler's maximum, they stay within --max-connections, or within
    the limit of the server at --url. Each pool has at least 1 connection, or more if the threads of its process need
    more to avoid a deadlock.
    """
    if (size is None) == (run_path is None):
        raise BadInput("give the connections to divide: either --size, or a measured --run")
    if (services or services_file) and has_fleet(options):
        raise BadInput(f"a service names its instances itself: leave out {_flags(options)}")
    if services and services_file:
        raise BadInput("give the services either by --service, or by --services FILE")
    if services_file and (app_threads is not None or connections_per_thread is not None):
        raise BadInput("--services FILE names the threads of each service: write threads and connections_per_thread")
    parts = [service(text, app_threads, connections_per_thread) for text in services]
    if services_file:
        parts = services_of(services_file)
    losses = None
    if run_path is not None:
        analysis, answer = measured_answer(run_path)
        size, losses, options = answer.connections, losses_of(analysis, answer), with_measured_fleet(options, answer)
    assert size is not None
    parts = parts or [application(options, app_threads, connections_per_thread)]
    url = encrypted(url if _needs_server(options) else None, options)
    plan = plan_fleet(size, parts, server_limit(options, url), losses)
    click.echo(fleet_json(plan) if as_json else fleet_text(plan))
    end_without_pools(plan)


def _needs_server(options: dict[str, Any]) -> bool:
    """Return whether the server must be asked: --url was typed, or the limit is not given."""
    return is_typed("url") or options["max_connections"] is None


def _flags(options: dict[str, Any]) -> str:
    named = [name for name in OF_INSTANCES if options[name] is not None]
    return ", ".join(f"--{name.replace('_', '-')}" for name in named)
