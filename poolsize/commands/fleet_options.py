"""The options that describe a fleet, which several commands share, and their reading."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_plan import Loss
from poolsize.errors import BadInput
from poolsize.formula import deadlock_floor
from poolsize.sweep.readers import decimal, optional_text, read, whole_number

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis

OF_INSTANCES = ("instances", "processes", "max_instances")
OF_LIMIT = ("surge", "max_connections", "reserve")
FLEET_OPTIONS = (*OF_INSTANCES, *OF_LIMIT)
"""The options' parameters."""
PARTS = ("name", "instances", "processes", "weight")


def fleet_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with the options that describe an application's instances, and the server's limit."""
    for option in (
        click.option(
            "--reserve",
            type=int,
            default=ServerLimit.reserve,
            show_default=True,
            help="Connections of --max-connections for administrators, monitoring and other programs.",
        ),
        click.option("--max-connections", type=int, help="The server's max_connections.  [default: that of --url]"),
        click.option(
            "--surge",
            default=f"{ServerLimit.surge:.0%}",
            show_default=True,
            help="Further instances that run during a rolling deploy.",
        ),
        click.option(
            "--max-instances", type=int, help="Instances at the autoscaler's maximum.  [default: --instances]"
        ),
        click.option("--processes", type=int, help="Processes of each instance; each has a pool.  [default: 1]"),
        click.option("--instances", type=int, help="Instances of the application that usually run.  [default: 1]"),
    ):
        command = option(command)
    return command


def has_fleet(options: dict[str, Any]) -> bool:
    """Return whether any option describes the application's instances."""
    return any(options[name] is not None for name in OF_INSTANCES)


def require_fleet() -> None:
    """Raise BadInput for an option of the server's limit without an option that describes the instances."""
    ctx = click.get_current_context()
    for name in OF_LIMIT:
        given = ctx.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
        if given and not has_fleet(ctx.params):
            raise BadInput(f"--{name.replace('_', '-')} needs --instances or --processes: give the application's")


def server_limit(options: dict[str, Any]) -> ServerLimit:
    """Return the server's limit that the options describe. Raises BadInput."""
    limit = ServerLimit(options["max_connections"], options["reserve"], read("surge", options["surge"], _share))
    url = optional_text(options.get("url") or "")
    return _limit_of_server(limit, url) if url else limit


def _limit_of_server(limit: ServerLimit, url: str) -> ServerLimit:
    """Return the limit with what the server itself says; --max-connections stays."""
    from poolsize.facts.server import connection_bytes, read_server
    from poolsize.target.connection import connect, database_url

    with connect(database_url(url)) as connection, connection.cursor() as cursor:
        variable, max_connections = read_server(cursor).limit
        limit = replace(limit, connection_bytes=connection_bytes(cursor))
    if limit.max_connections is not None:
        return limit
    return replace(limit, max_connections=max_connections, variable=variable)


def application(options: dict[str, Any], app_threads: int | None, connections_per_thread: int | None) -> Service:
    """Return the only service of the fleet that the options describe. Raises BadInput."""
    return Service(
        name="application",
        instances=1 if options["instances"] is None else options["instances"],
        processes=1 if options["processes"] is None else options["processes"],
        max_instances=options["max_instances"] or 0,
        floor=deadlock_floor(app_threads, connections_per_thread) or 1,
    )


def service(text: str, floor: int) -> Service:
    """Return the service of NAME:INSTANCES:PROCESSES:WEIGHT; INSTANCES may be a range up to the autoscaler's maximum.

    floor: the smallest pool of a process. Raises BadInput.
    """
    parts = dict(zip(PARTS, text.split(":"), strict=False))
    if len(parts) < len(PARTS) or text.count(":") != len(PARTS) - 1 or not parts["name"].strip():
        raise BadInput(f"`services` {text}: write NAME:INSTANCES:PROCESSES:WEIGHT, e.g. shop:12:4:3 or shop:12-30:4:3")
    usual, _, most = parts["instances"].partition("-")
    return Service(
        name=parts["name"].strip(),
        instances=read("services", usual, whole_number),
        processes=read("services", parts["processes"], whole_number),
        weight=read("services", parts["weight"], decimal),
        max_instances=read("services", most, whole_number) if most else 0,
        floor=floor,
    )


def loss_of(analysis: "Analysis") -> Loss:
    """Return the loss of throughput of a run by pool size; None for a size that the run did not reach."""
    from poolsize.answer.price import price

    low, high = analysis.valid_sizes[0].pool_size, analysis.valid_sizes[-1].pool_size

    def loss(connections: int) -> float | None:
        return price(analysis, connections).throughput_loss if low <= connections <= high else None

    return loss


def _share(text: str) -> float:
    """Return a share of "25%" or "0.25". Raises ValueError."""
    percent = text.strip().endswith("%")
    value = decimal(text.strip().removesuffix("%"))
    if not percent and value > 1:
        raise ValueError(f"write {text.strip()}% or a share of at most 1")
    return value / 100 if percent else value
