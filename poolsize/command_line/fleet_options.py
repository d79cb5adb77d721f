"""The options that describe a fleet, which several commands share, and their reading."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.options import flag, is_typed, read_by
from poolsize.errors import BadInput
from poolsize.quick_record import QuickRecord
from poolsize.sweep.readers import decimal

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.answer.fleet import ServerLimit, Service
    from poolsize.answer.fleet_plan import FleetPlan, MeasuredLosses
    from poolsize.answer.recommendation import Recommendation
    from poolsize.facts.inspection import Inspection
    from poolsize.facts.instance_class import InstanceClass
    from poolsize.facts.server import Server
    from poolsize.present.text.recommendation import OfClass


def _surge(text: str) -> float:
    """Return "25%" as a share. Raises ValueError."""
    if not text.strip().endswith("%"):
        raise ValueError("write a share of the instances with its unit, e.g. 25%")
    return decimal(text.strip().removesuffix("%")) / 100


class FleetOptions(QuickRecord):
    """The options that describe a fleet, as typed; None where an option was not typed.

    instances, processes, max_instances, app_threads, connections_per_thread: see Service, of the only service.
    surge, max_connections, reserve: see ServerLimit. instance_class: of the server; None in a command without it.
    """

    instances: int | None
    processes: int | None
    max_instances: int | None
    surge: float | None
    max_connections: int | None
    reserve: int | None
    app_threads: int | None
    connections_per_thread: int | None
    instance_class: "InstanceClass | None" = None

    @property
    def of_instances(self) -> tuple[str, ...]:
        """The typed parameters that describe instances."""
        names = ("instances", "processes", "max_instances")
        return tuple(name for name in names if getattr(self, name) is not None)

    def facts_of_class(self, *, needed: bool) -> dict[str, int]:
        """Return the facts of the instance class, and print them; empty without a class, and where not needed.

        Raises BadInput for an option that gives the same facts.
        """
        if self.instance_class is None:
            return {}
        for name in ("cores", "threads_per_core"):
            if is_typed(name):
                raise BadInput(f"{flag(name)}: the instance class gives this value; leave the option out")
        if not needed:
            return {}
        click.echo(f"poolsize: {self.instance_class}", err=True)
        return {"cores": self.instance_class.vcpus, "threads_per_core": self.instance_class.threads_per_core}

    def values_of_class(self) -> "OfClass":
        """Return the instance class as data for JSON; empty without a class."""
        return {"instance_class": self.instance_class.values()} if self.instance_class else {}

    def measured_in(self, answer: "Recommendation") -> "FleetOptions":
        """Return the options with the instances of the application that was measured, where none describes them."""
        measured = answer.measured_in
        if measured is None or self.of_instances:
            return self
        return replace(self, instances=measured.instances, processes=measured.processes)

    def service(self) -> "Service":
        """Return the only service of the fleet."""
        from poolsize.answer.fleet import Service

        return Service(
            name="application",
            instances=1 if self.instances is None else self.instances,
            processes=1 if self.processes is None else self.processes,
            max_instances=self.max_instances,
            threads=self.app_threads,
            connections_per_thread=self.connections_per_thread,
        )

    def limit(self, url: str | None = None) -> "ServerLimit":
        """Return the limit of the options, of the server at the URL, or of the instance class. Raises BadInput."""
        from poolsize.answer.fleet import ServerLimit

        options: dict[str, Any] = {"reserve": self.reserve, "surge": self.surge}
        typed = {name: value for name, value in options.items() if value is not None}
        limit = ServerLimit(self.max_connections, **typed)
        if not url:
            return _by_class(limit, self.instance_class)
        from poolsize.facts.server import connection_bytes, read_server
        from poolsize.server.connection import FACTS_SECONDS, asking, database_url

        with asking(database_url(url), FACTS_SECONDS) as (_, cursor):
            return limit_of(read_server(cursor), connection_bytes(cursor), limit)

    def limit_with(self, inspection: "Inspection | None") -> "ServerLimit":
        """Return the limit of the options, of the inspected server, of the server in POOLSIZE_URL, or of the class."""
        if inspection is None:
            return self.limit(os.environ.get("POOLSIZE_URL") if self.max_connections is None else None)
        return limit_of(inspection.server, inspection.connection_bytes, replace(self, instance_class=None).limit())


HELP = {
    "instances": "Instances of the application that usually run.  [default: 1]",
    "processes": "Processes of each instance; each has a pool. If instances have different numbers, give the sum as "
    "--instances.  [default: 1]",
    "max_instances": "Instances at the autoscaler's maximum.  [default: --instances]",
    "app_threads": "Threads in each process; they share its pool.",
    "connections_per_thread": "Connections that a thread holds at once. With --app-threads, it gives the smallest pool "
    "without deadlocks.  [default: 1]",
    "surge": "Further instances that run during a rolling deploy, as a share; rounded up. 100% for a blue-green "
    "deploy.  [default: 25%]",
    "max_connections": "The server's max_connections.",
    "reserve": "Connections of --max-connections for administrators, monitoring and other programs.  [default: 10]",
}
"""Parameter -> the help of its option, with the default of Service or ServerLimit."""
FLEET_OPTIONS = tuple(HELP)
"""The options' parameters."""


def fleet_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with the options that describe a fleet, which give the parameter `fleet`: FleetOptions."""

    @wraps(command)
    def with_fleet(**parameters: Any) -> None:
        values = {name: parameters.pop(name) for name in FLEET_OPTIONS}
        fleet = FleetOptions(**values, instance_class=parameters.pop("instance_class", None))
        command(fleet=fleet, **parameters)

    decorated = with_fleet
    for name, text in reversed(HELP.items()):
        of_share = {"metavar": "SHARE", "callback": read_by(_surge)} if name == "surge" else {"type": int}
        decorated = click.option(flag(name), help=text, **of_share)(decorated)
    return decorated


def _by_class(limit: "ServerLimit", instance_class: "InstanceClass | None") -> "ServerLimit":
    """Return a limit with the default of an instance class where no option gives it, and print that."""
    if instance_class is None or instance_class.max_connections is None or limit.max_connections is not None:
        return limit
    name, at_most = instance_class.name, "at most " if instance_class.service == "rds" else ""
    aurora = f" For Aurora, write aurora:{name}." if instance_class.is_ambiguous else ""
    click.echo(
        f"poolsize: the server's limit is the default of {name}: {at_most}{instance_class.max_connections:,} "
        f"connections. To set yours, give --max-connections.{aurora}",
        err=True,
    )
    return replace(limit, max_connections=instance_class.max_connections)


def limit_of(server: "Server", connection_bytes: int | None, limit: "ServerLimit") -> "ServerLimit":
    """Return a limit with the server's own values where the options do not give them.

    connection_bytes: memory of an idle connection, or None.
    """
    return replace(
        limit,
        max_connections=server.max_connections if limit.max_connections is None else limit.max_connections,
        max_user_connections=server.max_user_connections or None,
        connection_bytes=limit.connection_bytes if connection_bytes is None else connection_bytes,
    )


def plan_of_run(
    analysis: "Analysis", answer: "Recommendation", services: Sequence["Service"], limit: "ServerLimit"
) -> "FleetPlan":
    """Return the plan of a fleet by a run's answer, which has a pool size.

    The services divide the connections. But where an application was measured and limits throughput itself, another
    number of its instances has another number of cores and threads: the size of each pool stays. Raises BadInput for
    several services and a run in which the pool is not the limit.
    """
    from poolsize.answer.fleet_plan import PoolSizeKept, plan_fleet
    from poolsize.answer.verdict import Verdict

    assert answer.connections is not None
    assert answer.pool_size is not None
    if len(services) > 1 and answer.verdict is Verdict.NOT_THE_LIMIT:
        raise BadInput(
            "`run_path`: the pool is not the limit in this run, so it does not show how many connections the database "
            "can use: leave it out"
        )
    limited, pools = limited_in_application(analysis, answer), services[0].pools
    if limited is None or len(services) > 1 or answer.measured_in is None or pools == answer.measured_in.pools:
        return plan_fleet(answer.connections, services, limit, losses_of(analysis, answer))
    connections = answer.pool_size * pools
    plan = plan_fleet(connections, services, limit)
    kept = PoolSizeKept(answer.pool_size, answer.measured_in.pools, limited, connections)
    return replace(plan, findings=(kept, *plan.findings))


def limited_in_application(analysis: "Analysis", answer: "Recommendation") -> str | None:
    """Return what limits throughput in the application, outside the database; None for anything else."""
    from poolsize.analysis.bottleneck import OF_APPLICATION
    from poolsize.answer.verdict import Verdict
    from poolsize.runs.check import Check

    if analysis.bottleneck and analysis.bottleneck.name in OF_APPLICATION:
        return str(analysis.bottleneck.name)
    if answer.verdict is Verdict.NOT_THE_LIMIT:
        return "no pool size limits it"
    has_few_threads = analysis.by_size.nearest(answer.pool_size or 1).failed(Check.SERVICE_THREADS)
    return "service threads" if has_few_threads else None


def losses_of(analysis: "Analysis", answer: "Recommendation") -> "MeasuredLosses | None":
    """Return the loss of throughput that a run tells, for its load generator or for the answer's application.

    None for a run at a fixed rate, which has no capacity to lose, and where the pool is not the limit.
    """
    from poolsize.answer.fleet_plan import MeasuredLosses
    from poolsize.answer.verdict import Verdict

    if analysis.setting.plan.rate is not None or answer.verdict is Verdict.NOT_THE_LIMIT:
        return None
    if application := answer.application:
        from poolsize.analysis.application_size import LARGEST
        from poolsize.answer.application import application_losses

        def of_application(connections: int) -> float:
            return application_losses(analysis, application, connections)[connections]

        return MeasuredLosses(LARGEST, of_application)
    from poolsize.answer.price import throughput_loss

    smallest, setting = analysis.valid_sizes[0].pool_size, analysis.setting
    return MeasuredLosses(
        setting.connections(analysis.valid_sizes[-1].pool_size),
        lambda connections: throughput_loss(analysis, max(smallest, connections / setting.pools)),
    )
