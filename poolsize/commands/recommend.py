"""`poolsize recommend`: from the formula, from a measured run, or for the traffic of an application."""

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.fleet_options import FLEET_OPTIONS, FleetOptions, fleet_options, plan_of_run
from poolsize.command_line.grouped_command import DATABASE, FLEET, OUTPUT, RUN, TRAFFIC, GroupedCommand
from poolsize.command_line.options import (
    LIMITS,
    Encryption,
    Form,
    complete_runs,
    duration_option,
    encryption_options,
    flag,
    form_options,
    inspection_of,
    instance_class_option,
    is_typed,
    limit_options,
    read_by,
    typed_words,
)
from poolsize.command_line.run_file import Source, client_times_of, end_unless, options_of, source_options
from poolsize.command_line.traffic_options import TRAFFIC_OPTIONS, TrafficOptions, times, traffic_options
from poolsize.commands.recommend_traffic import (
    OF_CLIENT,
    OF_DATABASE,
    OF_FLEET,
    OF_OBSERVATION,
    OF_THREADS,
    ObservationOptions,
    analysis_of,
    answer_for,
    answer_observation,
    answer_traffic,
    check_observation,
)
from poolsize.errors import BadInput
from poolsize.present.text.json_text import json_text

if TYPE_CHECKING:  # --help starts without the answers, and `--cores 8` without what runs, fleets and servers need
    from poolsize.analysis.analysis import Analysis
    from poolsize.answer.application import ClientTimes
    from poolsize.answer.fleet_plan import FleetPlan
    from poolsize.answer.latency_limit import LatencyLimits
    from poolsize.answer.recommendation import Recommendation
    from poolsize.facts.inspection import Inspection
    from poolsize.present.text.recommendation import MoreValues

GROUPS = {
    DATABASE: OF_DATABASE,
    TRAFFIC: ("rate", "usage_time_ms", *TRAFFIC_OPTIONS[1:], *OF_OBSERVATION),
    RUN: ("run_path", "curve", "app_cpu_time_ms", "app_cores", *LIMITS),
    FLEET: FLEET_OPTIONS,
}
"""Heading -> the parameters of its options."""


@click.command(
    cls=GroupedCommand,
    groups=GROUPS,
    others=OUTPUT,
    examples={
        "A number to start from: the database's host has 8 cores": "poolsize recommend --cores 8",
        "The pool size that your traffic needs": "poolsize recommend --rate 400/s --usage-time 15ms --instances 6",
        "The answer of a measured run": "poolsize recommend --run run.jsonl",
    },
)
@click.option(
    "--cores",
    type=int,
    help="Physical cores of the DATABASE's host (x86: 2 vCPUs are mostly 1).  [default: this machine's; with a rate, "
    "unknown]",
)
@instance_class_option
@click.option(
    "--disks",
    type=int,
    default=1,
    show_default=True,
    help="Disks of the database's host that hold the data. Network storage, such as EBS or a persistent disk, counts "
    "as 1.",
)
@click.option("--cache-hit-rate", type=float, help="Share of reads served from memory, 0 to 1.")
@click.option("--ssd", is_flag=True, help="The disks are SSDs. This adds a caution, and changes no number.")
@click.option(
    "--threads-per-core",
    type=int,
    default=1,
    show_default=True,
    help="--cores is divided by this number. Give 2 if you counted hyper-threads, such as vCPUs of x86, as cores.",
)
@source_options
@duration_option(
    "--usage-time",
    "usage_time_ms",
    help="Mean usage time of a transaction in your application, e.g. 3.1ms: from getting a connection to giving it "
    "back. With --run: when nothing queues. With --rate alone: at your peak.",
)
@duration_option(
    "--app-cpu-time",
    "app_cpu_time_ms",
    help="CPU time of a transaction in your application, under load, e.g. 0.6ms. It is a part of --usage-time.",
)
@click.option(
    "--app-cores", type=int, help="Cores that all instances of your application may use together.  [default: 1]"
)
@click.option(
    "--url",
    metavar="URL",
    help="Read the facts of this server: limits, who holds connections, the cache's hit rate. POOLSIZE_URL "
    "sets it too, unless --cores is given.",
)
@encryption_options
@traffic_options
@click.option(
    "--observation",
    metavar="FILE",
    shell_complete=complete_runs,
    help="Answer from the busiest period of this observation, a file of `poolsize observe`.",
)
@click.option("--pool", metavar="NAME", help="Answer for this pool, if --observation has several.")
@click.option(
    "--growth",
    metavar="FACTOR",
    callback=read_by(times),
    help="Multiply the observed rate by this factor, e.g. 2x.  [default: 1x]",
)
@limit_options
@fleet_options
@form_options
def recommend(
    source: Source,
    url: str | None,
    current: int | None,
    limits: "LatencyLimits | None",
    encryption: Encryption,
    fleet: FleetOptions,
    demand: TrafficOptions,
    form: Form,
    **facts: Any,
) -> None:
    """Recommend a pool size: from the formula, from a measured run, or for the traffic of an application.

    The formula, connections = cores * 2 + effective_disks, is a place to start measuring.
    """
    observed = ObservationOptions(*(facts.pop(name) for name in OF_OBSERVATION))
    check_observation(observed, demand, with_limits=limits is not None)
    source.check(alone=demand.rate is None and facts["usage_time_ms"] is None and not observed.path)
    facts |= fleet.facts_of_class(needed=not source)
    for_traffic = partial(answer_for, demand, source, url, encryption, facts)
    if observed.path:
        answer_observation(observed, demand, fleet, facts["usage_time_ms"], current, form, for_traffic)
        return
    is_of_run = source.run_path and facts["usage_time_ms"] is None and demand.is_rate_alone(fleet)
    if demand.rate is not None and not is_of_run:
        answer_traffic(for_traffic(fleet, current), form, fleet)
        return
    client_times = client_times_of(*(facts.pop(name) for name in OF_CLIENT))
    _check_options(source, fleet, limits, current, client_times)
    if not fleet.of_instances:  # else the deadlock floor is that of each process, and not of the answer
        facts |= {name: getattr(fleet, name) for name in OF_THREADS}
    analysis = analysis_of(source, facts, may_have=OF_FLEET if fleet.of_instances else ()) if source else None
    inspection = None if source else inspection_of(url, facts, encryption)
    if inspection and facts["cores"] is None:
        click.echo(_per_core(inspection, facts, form))
        return
    if analysis:
        from poolsize.answer.from_run import recommend as recommend_from

        answer, note = recommend_from(analysis, limits, current, client_times, demand.rate), ""
    else:
        answer, note = _from_formula(facts)
    plan = _plan(answer, analysis, fleet, inspection) if fleet.of_instances else None
    if note:
        click.echo(f"poolsize: {note}", err=True)
    if form == "json":
        text = _json(answer, plan, inspection, fleet)
    elif form == "why":
        text = _with_evidence(answer, plan, analysis) + _inspection(inspection)
    else:
        commands = source.next_commands(analysis, answer) if analysis else []
        text = _in_short(answer, plan, commands, source, at_rate=demand.rate is not None) + _inspection(inspection)
    click.echo(text)
    end_unless(answer.pool_size)
    end_unless(plan is None or plan.pools)


def _check_options(
    source: Source,
    fleet: FleetOptions,
    limits: "LatencyLimits | None",
    current: int | None,
    client_times: "ClientTimes | None",
) -> None:
    """Raise BadInput for an option that needs a run or instances, and name the options that it needs."""
    if not source:
        if limits is not None:
            raise BadInput("--max-p95 and --max-p99 need a measured run: name it with --run")
        if client_times is not None:
            raise BadInput("--usage-time needs a measured --run, or --rate")
        if current is not None:
            raise BadInput("--current needs a measured --run, or --rate with --usage-time")
    for name in ("surge", "max_connections", "reserve"):
        if is_typed(name) and not fleet.of_instances:
            raise BadInput(f"{flag(name)} also needs --instances or --processes")


def _per_core(inspection: "Inspection", facts: dict[str, Any], form: Form) -> str:
    """Return the formula's answer for each number of cores, which the server does not tell."""
    from poolsize.formula import effective_disks
    from poolsize.present.text.inspection import per_core_text, per_core_values

    disks = effective_disks(facts["disks"], facts["cache_hit_rate"])
    return json_text(per_core_values(inspection, disks)) if form == "json" else per_core_text(inspection, disks)


def _inspection(inspection: "Inspection | None") -> str:
    """Return the facts of the server as a further paragraph; "" without a server."""
    if inspection is None:
        return ""
    from poolsize.present.text.inspection import inspection_text

    return f"\n\n{inspection_text(inspection)}"


def _with_evidence(answer: "Recommendation", plan: "FleetPlan | None", analysis: "Analysis | None") -> str:
    from poolsize.present.text.recommendation import recommendation_text

    text = recommendation_text(answer, plan)
    if analysis is None:
        return text
    from poolsize.present.text.layout import paragraph
    from poolsize.present.text.setting import scope

    return f"{text}\n\n{paragraph(scope(analysis.run))}"


def _in_short(
    answer: "Recommendation", plan: "FleetPlan | None", commands: list[str], source: Source, *, at_rate: bool
) -> str:
    """Return the answer in a few lines. commands: to type next. at_rate: whether an arrival rate was typed."""
    if plan:
        from poolsize.present.text.fleet import answer_divided_in_short
        from poolsize.present.text.short import NextOptions
        from poolsize.present.text.short_of_run import in_fleet

        by_formula = NextOptions(("--cores", answer.formula.cores, *typed_words("disks", "cache_hit_rate")))
        options = options_of(source.run_path, answer) if source.run_path else by_formula
        return answer_divided_in_short(plan, answer, in_fleet(answer), options)
    if answer.basis == "formula":
        from poolsize.present.text.recommendation import formula_in_short

        return formula_in_short(answer)
    from poolsize.present.text.short import SAME
    from poolsize.present.text.short_of_run import run_in_short

    return run_in_short(answer, [*commands, SAME], at_rate=at_rate)


def _json(
    answer: "Recommendation", plan: "FleetPlan | None", inspection: "Inspection | None", fleet: FleetOptions
) -> str:
    from poolsize.present.text.recommendation import recommendation_values

    more: MoreValues = {}
    if fleet.instance_class:
        more["instance_class"] = fleet.instance_class.values()
    if plan:
        from poolsize.present.text.fleet import fleet_values

        more["fleet"] = fleet_values(plan)
    if inspection:
        more["facts"] = inspection
    return json_text(recommendation_values(answer, more))


def _plan(
    answer: "Recommendation", analysis: "Analysis | None", fleet: FleetOptions, inspection: "Inspection | None"
) -> "FleetPlan | None":
    """Return the answer's connections divided among the application's processes, or None without a pool size."""
    if answer.connections is None:
        return None
    from poolsize.answer.fleet_plan import plan_fleet

    services, limit = [fleet.service()], fleet.limit_with(inspection)
    return (
        plan_of_run(analysis, answer, services, limit) if analysis else plan_fleet(answer.connections, services, limit)
    )


def _from_formula(facts: dict[str, Any]) -> "tuple[Recommendation, str]":
    """Return the recommendation of the formula, and a note where it takes this machine's cores; else "".

    facts: parameter of starting_point -> value of its option.
    """
    from poolsize.answer.recommendation import from_formula
    from poolsize.formula import starting_point

    if facts["cores"] is not None:
        return from_formula(starting_point(**facts)), ""
    from poolsize.facts.machine import this_machine

    if facts["threads_per_core"] != 1:
        raise BadInput("--threads-per-core needs --cores: without it, this machine's physical cores count")
    machine = this_machine()
    limit = f" (of {machine.physical_cores}; affinity or a quota withholds the others)" if machine.limited else ""
    note = (
        f"no --cores given: the formula uses this machine's {machine.usable_cores} physical cores{limit}, as if the "
        "database runs here. Set --cores to the cores of the database's host"
    )
    return from_formula(starting_point(**facts | {"cores": machine.usable_cores})), note
