"""`poolsize fleet`: the pools of services, which share the database's connections or serve each its own traffic."""

import re
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.fleet_options import FLEET_OPTIONS, FleetOptions, fleet_options, plan_of_run
from poolsize.command_line.grouped_command import DATABASE, FLEET, OUTPUT, GroupedCommand
from poolsize.command_line.options import (
    FILE,
    Encryption,
    Form,
    complete_runs,
    duration_option,
    encryption_options,
    flag,
    form_options,
    instance_class_option,
    is_typed,
)
from poolsize.command_line.run_file import complete_run, end_unless, measured_answer, options_of, supply_of
from poolsize.command_line.traffic_options import TrafficOptions
from poolsize.errors import BadInput
from poolsize.present.text.json_text import json_text
from poolsize.sweep.readers import decimal, positive_milliseconds, rate_per_second, whole_number
from poolsize.units import milliseconds

if TYPE_CHECKING:  # --help starts without the answers, and numpy stays out of services with weights
    from collections.abc import Sequence
    from pathlib import Path

    from poolsize.answer.fleet import Service
    from poolsize.answer.traffic import Supply, Traffic

WITH_WEIGHT, WITH_RATE = "NAME:INSTANCES:PROCESSES:WEIGHT", "NAME:INSTANCES:PROCESSES:RATE:USAGE_TIME"
GROUPS = {
    "The connections to divide": ("size", "cores", "instance_class", "run_path", "usage_time_ms"),
    FLEET: (*FLEET_OPTIONS, "services", "services_file"),
    DATABASE: ("url", "ssl_mode", "ssl_ca"),
}
"""Heading -> the parameters of its options."""


@click.command(
    cls=GroupedCommand,
    groups=GROUPS,
    others=OUTPUT,
    examples={
        "Divide 40 connections among 24 processes": "poolsize fleet --size 40 --instances 6 --processes 4",
        "Two services, each with its own traffic": "poolsize fleet --service shop:6:4:400/s:15ms "
        "--service mail:2:2:40/s:8ms",
    },
)
@click.option(
    "--size",
    type=int,
    help="Recommended connections, for all clients together: what the database can use. Not required with rates.",
)
@click.option(
    "--cores",
    type=int,
    help="Take --size from the formula, with these physical cores of the database's host (x86: 2 vCPUs are mostly 1) "
    "and 1 disk.",
)
@instance_class_option
@click.option(
    "--run",
    "run_path",
    metavar="RUN",
    shell_complete=complete_runs,
    help="Take --size from this measured run. The answer then shows the throughput loss of larger pools.",
)
@duration_option(
    "--usage-time",
    "usage_time_ms",
    help="Mean usage time of a transaction in your application when nothing queues. The --size of --run is then for "
    "that application.",
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
    type=FILE,
    help="A TOML file with a table [[service]] for each service, in place of --service.",
)
@form_options
def fleet(
    url: str | None,
    services: tuple[str, ...],
    services_file: "Path | None",
    encryption: Encryption,
    fleet: FleetOptions,
    form: Form,
    **database: Any,
) -> None:
    """Divide the database's connections among services, instances and processes.

    While the usual number of instances runs (--instances), all pools together stay within --size, if the smallest
    possible pools do. In a rolling deploy at the autoscaler's maximum, they stay within --max-connections, or within
    the limit of the server at --url. Each pool has at least 1 connection, or more if the threads of its process need
    more to avoid a deadlock.

    With rates, each service gets the pool size that its traffic needs, also while one of its instances is away. The
    answer compares the connections that are in use at once with --size, and all pools with --max-connections.
    """
    _check_services(services, services_file, fleet)
    if services_file:
        from poolsize.commands.fleet_file import services_of  # pydantic stays out of services that are options

        parts = services_of(services_file)
    else:
        parts = [_service_of(text, fleet) for text in services]
    with_weight, traffics = _by_kind(parts, f"`services_file` {services_file}:" if services_file else "`services`")
    basis = _basis(database, fleet, is_needed=not traffics)
    asks_server = is_typed("url") or fleet.max_connections is None
    url = encryption.of(url if asks_server else None)
    if traffics:
        _answer_traffic(traffics, basis, fleet, url, form)
    else:
        _answer_weights(with_weight, basis, fleet, url, form)


def _check_services(services: tuple[str, ...], services_file: "Path | None", fleet: FleetOptions) -> None:
    """Raise BadInput for options that contradict --service and --services."""
    if (services or services_file) and fleet.of_instances:
        raise BadInput(f"a service names its instances itself: leave out {', '.join(map(flag, fleet.of_instances))}")
    if services and services_file:
        raise BadInput("give the services either by --service, or by --services FILE")
    if services_file and (fleet.app_threads, fleet.connections_per_thread) != (None, None):
        raise BadInput("--services FILE names the threads of each service: write threads and connections_per_thread")


def _basis(database: dict[str, Any], fleet: FleetOptions, *, is_needed: bool) -> dict[str, Any]:
    """Return the basis of the connections to divide: size, cores or run_path as typed, or an instance class's facts.

    database: parameters size, cores, run_path, and usage_time_ms, which a run_path has beside it. is_needed: whether an
    empty basis is an error: services have no traffic. Raises BadInput.
    """
    usage_time = {"usage_time_ms": database.pop("usage_time_ms")}
    basis = {name: value for name, value in database.items() if value is not None}
    if len(basis) > 1 or (is_needed and not (basis or fleet.instance_class)):
        raise BadInput("give the connections to divide: --size, --cores, --instance-class or a measured --run")
    if is_typed("usage_time_ms") and not (is_needed and "run_path" in basis):
        raise BadInput(
            f"--usage-time also needs a measured --run; beside a rate, it is a part of --service {WITH_RATE}"
        )
    return basis | (usage_time if "run_path" in basis else fleet.facts_of_class(needed=not basis))


def _answer_traffic(
    traffics: "list[Traffic]", basis: dict[str, Any], fleet: FleetOptions, url: str | None, form: Form
) -> None:
    from poolsize.answer.fleet_from_traffic import plan_fleet_for  # numpy stays out of services with weights
    from poolsize.present.text.traffic import traffic_fleet_in_short, traffic_fleet_text, traffic_fleet_values

    plan = plan_fleet_for(traffics, _supply(basis, traffics), fleet.limit(url))
    if form == "json":
        click.echo(json_text(traffic_fleet_values(plan, fleet.values_of_class())))
    else:
        click.echo({"short": traffic_fleet_in_short, "why": traffic_fleet_text}[form](plan))
    end_unless(plan.helps)


def _answer_weights(
    services: "list[Service]", basis: dict[str, Any], fleet: FleetOptions, url: str | None, form: Form
) -> None:
    from poolsize.answer.fleet_plan import plan_fleet
    from poolsize.formula import starting_point
    from poolsize.present.text.fleet import fleet_in_short, fleet_text, fleet_values
    from poolsize.present.text.short import NextOptions

    source, options = "", NextOptions()
    if "run_path" in basis:
        path, usage_ms = basis["run_path"], basis["usage_time_ms"]
        analysis, answer = measured_answer(path, usage_ms)
        measured = "the measured application" if analysis.setting.application else "the load generator"
        of_usage = f"for {measured}" if usage_ms is None else f"at a usage time of {milliseconds(usage_ms)}"
        source, options = f", by the run, {of_usage}", options_of(path, answer)
        services = services or [fleet.measured_in(answer).service()]
        plan = plan_of_run(analysis, answer, services, fleet.limit(url))
    else:
        if "size" in basis:
            size = basis["size"]
        else:
            start = starting_point(**basis)
            size, source = start.pool_size, ", by the formula: a starting point"
            options = NextOptions(("--cores", start.cores))
        plan = plan_fleet(size, services or [fleet.service()], fleet.limit(url))
    if form == "json":
        click.echo(json_text(fleet_values(plan, fleet.values_of_class())))
    else:
        click.echo(fleet_text(plan) if form == "why" else fleet_in_short(plan, source, options))
    end_unless(plan.pools)


def _supply(basis: dict[str, Any], traffics: "list[Traffic]") -> "Supply | None":
    """Return what the database can use, by the basis; None for an empty basis.

    basis: as _basis returns it. The application's usage time is the mean of all services.
    """
    from poolsize.answer.traffic import Supply
    from poolsize.formula import starting_point

    if "cores" in basis:
        return Supply.by_formula(starting_point(**basis))
    if "run_path" in basis:
        from poolsize.answer.application import ClientTimes  # and the analysis of a run with it

        mean_ms = 1000 * sum(each.in_use for each in traffics) / sum(each.rate for each in traffics)
        return supply_of(basis["run_path"], complete_run(basis["run_path"]), ClientTimes(mean_ms, None, None))
    return Supply(basis["size"]) if basis else None


def _service_of(text: str, fleet: FleetOptions) -> "Service | Traffic":
    """Return the service of WITH_WEIGHT, or the traffic of WITH_RATE.

    INSTANCES may be a range up to the autoscaler's maximum. fleet: has the threads of each process. Raises BadInput.
    """
    from poolsize.answer.fleet import Service

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
            connections_per_thread=fleet.connections_per_thread,
        )
        if not has_rate:
            return service
        return TrafficOptions(rate_per_second(parts[2])).traffic(positive_milliseconds(parts[3]), service)
    except (ValueError, BadInput) as error:
        # only the threads have an option of their own
        named = re.sub(r"`(?!app_threads|connections_per_thread)(\w+)`", r"\1", str(error))
        raise BadInput(f"`services` {text}: {named}") from None


def _by_kind(services: "Sequence[Service | Traffic]", where: str) -> "tuple[list[Service], list[Traffic]]":
    """Return the services with weights, and the traffic of those with rates. Raises BadInput where there are both.

    where: begins the error.
    """
    from poolsize.answer.fleet import Service

    with_weight = [each for each in services if isinstance(each, Service)]
    traffics = [each for each in services if not isinstance(each, Service)]
    if traffics and with_weight:
        raise BadInput(
            f"{where} {with_weight[0].name} has no rate, and {traffics[0].service.name} has one; give each service a "
            "rate and a usage time, or each a weight"
        )
    return with_weight, traffics
