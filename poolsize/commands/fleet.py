"""`poolsize fleet`: the database's connections, divided among services, instances and processes."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from poolsize.answer.fleet_plan import plan_fleet
from poolsize.command_line.fleet_options import FleetOptions, fleet_options, losses_of
from poolsize.command_line.options import Encryption, encryption_options, flag, is_typed, json_option
from poolsize.command_line.run_file import complete_run, end_unless, measured_answer, supply_of
from poolsize.command_line.services import WITH_RATE, WITH_WEIGHT, by_kind, service_of, services_of
from poolsize.errors import BadInput
from poolsize.present.text.fleet import fleet_json, fleet_text

if TYPE_CHECKING:  # numpy stays out of services with weights
    from poolsize.answer.from_traffic import Supply, Traffic


@click.command()
@click.option(
    "--size",
    type=int,
    help="Recommended connections, for all clients together: what the database can use. Not required with rates.",
)
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
    metavar=WITH_WEIGHT,
    help="A service on this server, in place of --instances and --processes; repeat it for each service. Services "
    "share the connections by weight. INSTANCES may be a range up to the autoscaler's maximum, e.g. shop:12-30:4:3. "
    f"With {WITH_RATE}, e.g. shop:12:4:400/s:15ms, each service gets the pool size that its traffic needs. RATE "
    "is that of all its instances together.",
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

    With rates, each service gets the pool size that its traffic needs, also while one of its instances is away. The
    answer compares the connections that are in use at once with --size, and all pools with --max-connections.
    """
    if (services or services_file) and fleet.of_instances:
        raise BadInput(f"a service names its instances itself: leave out {', '.join(map(flag, fleet.of_instances))}")
    if services and services_file:
        raise BadInput("give the services either by --service, or by --services FILE")
    if services_file and (fleet.app_threads, fleet.connections_per_thread) != (None, None):
        raise BadInput("--services FILE names the threads of each service: write threads and connections_per_thread")
    parts = services_of(services_file) if services_file else [service_of(text, fleet) for text in services]
    with_weight, traffics = by_kind(parts)
    if (size is None) == (run_path is None) and not (size is None and traffics):
        raise BadInput("give the connections to divide: either --size, or a measured --run")
    asks_server = is_typed("url") or fleet.max_connections is None
    url = encryption.of(url if asks_server else None)
    if traffics:
        from poolsize.answer.fleet_from_traffic import plan_fleet_for  # numpy stays out of services with weights
        from poolsize.present.text.traffic import traffic_fleet_json, traffic_fleet_text

        by_traffic = plan_fleet_for(traffics, _supply(size, run_path, traffics), fleet.limit(url))
        click.echo(traffic_fleet_json(by_traffic) if as_json else traffic_fleet_text(by_traffic))
        end_unless(by_traffic.pools)
        return
    losses = None
    if run_path is not None:
        analysis, answer = measured_answer(run_path)
        size, losses, fleet = answer.connections, losses_of(analysis, answer), fleet.measured_in(answer)
    assert size is not None
    plan = plan_fleet(size, with_weight or [fleet.service()], fleet.limit(url), losses)
    click.echo(fleet_json(plan) if as_json else fleet_text(plan))
    end_unless(plan.pools)


def _supply(size: int | None, run_path: str | None, traffics: "list[Traffic]") -> "Supply | None":
    """Return what the database can use, by --size or by a run for an application with the mean of all usage times."""
    from poolsize.answer.application import ClientTimes
    from poolsize.answer.from_traffic import Supply

    if run_path is None:
        return None if size is None else Supply(size)
    mean_ms = 1000 * sum(each.in_use for each in traffics) / sum(each.rate for each in traffics)
    return supply_of(run_path, complete_run(run_path), ClientTimes(mean_ms, None, None))
