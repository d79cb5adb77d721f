"""The options that describe a fleet, which several commands share, and their reading."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_plan import MeasuredLosses
from poolsize.command_line.options import is_typed
from poolsize.errors import BadInput
from poolsize.sweep.readers import decimal, read, whole_number

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.answer.recommendation import Recommendation
    from poolsize.facts.server import Server


OF_INSTANCES = ("instances", "processes", "max_instances")
OF_LIMIT = ("surge", "max_connections", "reserve")
FLEET_OPTIONS = (*OF_INSTANCES, *OF_LIMIT)
"""The options' parameters."""
OF_THREADS = ("app_threads", "connections_per_thread")
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
        click.option("--max-connections", type=int, help="The server's max_connections."),
        click.option(
            "--surge",
            default=f"{ServerLimit.surge:.0%}",
            show_default=True,
            help="Further instances that run during a rolling deploy, as a share; rounded up. 100% for a blue-green "
            "deploy.",
        ),
        click.option(
            "--max-instances", type=int, help="Instances at the autoscaler's maximum.  [default: --instances]"
        ),
        click.option("--processes", type=int, help="Processes of each instance; each has a pool.  [default: 1]"),
        click.option("--instances", type=int, help="Instances of the application that usually run.  [default: 1]"),
    ):
        command = option(command)
    return command


def thread_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with the options that describe the threads of each process."""
    for option in (
        click.option(
            "--connections-per-thread",
            type=int,
            help="Connections that a thread holds at once. With --app-threads, it gives the smallest pool without "
            "deadlocks.",
        ),
        click.option("--app-threads", type=int, help="Threads in each process; they share its pool."),
    ):
        command = option(command)
    return command


def has_fleet(options: dict[str, Any]) -> bool:
    """Return whether any option describes the application's instances."""
    return any(options[name] is not None for name in OF_INSTANCES)


def with_measured_fleet(options: dict[str, Any], answer: "Recommendation") -> dict[str, Any]:
    """Return the options with the instances of the application that was measured, where none describes instances."""
    measured = answer.measured_in
    if measured is None or has_fleet(options):
        return options
    return options | {"instances": measured.instances, "processes": measured.processes}


def require_fleet() -> None:
    """Raise BadInput for an option of the server's limit without an option that describes the instances."""
    for name in OF_LIMIT:
        if is_typed(name) and not has_fleet(click.get_current_context().params):
            raise BadInput(f"--{name.replace('_', '-')} also needs --instances or --processes")


def server_limit(options: dict[str, Any], url: str | None = None) -> ServerLimit:
    """Return the server's limit that the options describe, or that the server at the URL has. Raises BadInput."""
    limit = ServerLimit(options["max_connections"], options["reserve"], surge=read("surge", options["surge"], _percent))
    if not url:
        return limit
    from poolsize.facts.server import connection_bytes, read_server
    from poolsize.server.connection import FACTS_SECONDS, asking, database_url

    with asking(database_url(url), FACTS_SECONDS) as (_, cursor):
        return limit_of(read_server(cursor), connection_bytes(cursor), limit)


def limit_of(server: "Server", connection_bytes: int | None, limit: ServerLimit) -> ServerLimit:
    """Return a limit with the server's own values where the options do not give them.

    connection_bytes: memory of an idle connection, or None.
    """
    return replace(
        limit,
        max_connections=server.max_connections if limit.max_connections is None else limit.max_connections,
        max_user_connections=server.max_user_connections or None,
        connection_bytes=limit.connection_bytes if connection_bytes is None else connection_bytes,
    )


def application(options: dict[str, Any], threads: int | None, connections_per_thread: int | None) -> Service:
    """Return the only service of the fleet that the options describe. Raises BadInput."""
    return Service(
        name="application",
        instances=1 if options["instances"] is None else options["instances"],
        processes=1 if options["processes"] is None else options["processes"],
        max_instances=options["max_instances"],
        threads=threads,
        connections_per_thread=connections_per_thread,
    )


def service(text: str, threads: int | None, connections_per_thread: int | None) -> Service:
    """Return the service of NAME:INSTANCES:PROCESSES:WEIGHT; INSTANCES may be a range up to the autoscaler's maximum.

    threads, connections_per_thread: see Service. Raises BadInput.
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
            threads=threads,
            connections_per_thread=connections_per_thread,
        )
    except ValueError as error:
        raise BadInput(f"`services` {text}: {error}") from None


def losses_of(analysis: "Analysis", answer: "Recommendation") -> MeasuredLosses | None:
    """Return the loss of throughput that a run tells, for its load generator or for the answer's application.

    None for a run at a fixed rate, which has no capacity to lose.
    """
    if analysis.setting.plan.rate is not None:
        return None
    if application := answer.application:
        from poolsize.analysis.application_size import LARGEST
        from poolsize.answer.application import application_prices

        def of_application(connections: int) -> float:
            prices = application_prices(analysis, application, connections)
            return next(price.throughput_loss for price in prices if price.pool_size == connections)

        return MeasuredLosses(LARGEST, of_application)
    from poolsize.answer.price import throughput_loss

    smallest, setting = analysis.valid_sizes[0].pool_size, analysis.setting
    return MeasuredLosses(
        setting.connections(analysis.valid_sizes[-1].pool_size),
        lambda connections: throughput_loss(analysis, max(smallest, connections / setting.pools)),
    )


def _percent(text: str) -> float:
    """Return "25%" as a share. Raises ValueError."""
    if not text.strip().endswith("%"):
        raise ValueError("write a share of the instances with its unit, e.g. 25%")
    return decimal(text.strip().removesuffix("%")) / 100
