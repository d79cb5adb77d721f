"""`poolsize recommend`: from the formula, from a measured run, or for the traffic of an application."""

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.completion import complete_runs
from poolsize.command_line.fleet_options import FLEET_OPTIONS, FleetOptions, fleet_options, limit_of, plan_of_run
from poolsize.command_line.grouped_command import DATABASE, FLEET, OUTPUT, RUN, TRAFFIC, GroupedCommand
from poolsize.command_line.options import (
    LIMITS,
    Encryption,
    Form,
    duration_option,
    encryption_options,
    flag,
    form_options,
    inspected,
    instance_class_option,
    is_typed,
    limit_options,
    read_by,
    typed_words,
)
from poolsize.command_line.run_file import (
    Source,
    client_times_of,
    end_unless,
    options_of,
    source_options,
    supply_of,
    traffic_with,
)
from poolsize.command_line.traffic_options import TRAFFIC_OPTIONS, TrafficOptions, times, traffic_options
from poolsize.errors import BadInput
from poolsize.present.text.json_text import json_text
from poolsize.quick_record import QuickRecord

if TYPE_CHECKING:  # --help starts without the answers, and `--cores 8` without what runs, fleets and servers need
    from collections.abc import Callable

    from poolsize.analysis.analysis import Analysis
    from poolsize.answer.application import ClientTimes
    from poolsize.answer.fleet import ServerLimit
    from poolsize.answer.fleet_plan import FleetPlan
    from poolsize.answer.from_traffic import TrafficAnswer
    from poolsize.answer.latency_limit import LatencyLimits
    from poolsize.answer.recommendation import Recommendation
    from poolsize.answer.traffic import Supply, Traffic
    from poolsize.facts.inspection import Inspection
    from poolsize.observe.pool_answer import PoolAnswer
    from poolsize.observe.text import ObservationValues, ObservedTrafficValues
    from poolsize.present.text.recommendation import MoreValues
    from poolsize.present.text.traffic import TrafficAnswerValues

OF_THREADS = ("app_threads", "connections_per_thread")
OF_FLEET = (*OF_THREADS, "instance_class")
"""Parameters of a fleet's options that no run contains."""
OF_OBSERVATION = ("observation", "pool", "growth")
MOST_GROWTH = 1_000
OF_CLIENT = ("usage_time_ms", "app_cpu_time_ms", "app_cores")
GROUPS = {
    DATABASE: (
        "cores",
        "instance_class",
        "disks",
        "cache_hit_rate",
        "ssd",
        "threads_per_core",
        "url",
        "ssl_mode",
        "ssl_ca",
    ),
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
    help="Physical cores of the DATABASE's host (x86: 2 vCPUs are mostly 1).  [default: this machine's]",
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
    help="Mean usage time of a transaction in your application when nothing queues, e.g. 3.1ms. With --run, the pool "
    "size is then for that application; with --rate, it is the time from getting a connection to giving it back.",
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
@click.option("--pool", metavar="NAME", help="The pool, if --observation has several.")
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
    observed = _ObservationOptions(*(facts.pop(name) for name in OF_OBSERVATION))
    _check_observation(observed, demand, with_limits=limits is not None)
    source.check(alone=demand.rate is None and facts["usage_time_ms"] is None and not observed.path)
    facts |= fleet.facts_of_class(needed=not source)
    for_traffic = partial(_for_traffic, demand, fleet, source, url, encryption, facts)
    if observed.path:
        _answer_observation(observed, demand, fleet, facts["usage_time_ms"], current, form, for_traffic)
        return
    is_of_run = source.run_path and facts["usage_time_ms"] is None and demand.is_rate_alone(fleet)
    if demand.rate is not None and not is_of_run:
        _answer_traffic(for_traffic(current), form, fleet)
        return
    client_times = client_times_of(*(facts.pop(name) for name in OF_CLIENT))
    _check_options(source, fleet, limits, current, client_times)
    if not fleet.of_instances:  # else the deadlock floor is that of each process, and not of the answer
        facts |= {name: getattr(fleet, name) for name in OF_THREADS}
    analysis = _analysis(source, facts, may_have=OF_FLEET if fleet.of_instances else ()) if source else None
    inspection = None if source else _inspected(url, facts, encryption)
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
        commands = source.next_commands(analysis.run, answer) if analysis else []
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


class _ObservationOptions(QuickRecord):
    """The options of an observation, as typed; None where an option was not typed."""

    path: str | None
    pool: str | None
    growth: float | None


def _check_observation(observed: _ObservationOptions, demand: TrafficOptions, *, with_limits: bool) -> None:
    """Raise BadInput for options that an observation has no use for."""
    if observed.path:
        if with_limits:
            raise BadInput("--max-p95 and --max-p99 are limits of a run's total time: give --max-wait-p99 instead")
        for name in ("rate", "burst"):
            if is_typed(name):
                raise _contained(flag(name))
        if observed.growth is not None and not 0 < observed.growth <= MOST_GROWTH:
            raise BadInput(f"--growth {observed.growth:g}: give a factor above 0 and up to {MOST_GROWTH:,}, such as 2x")
        return
    for name in OF_OBSERVATION:
        if is_typed(name):
            raise BadInput(f"{flag(name)} also needs --observation")
    demand.check(with_limits=with_limits)


def _contained(option: str) -> BadInput:
    return BadInput(f"{option}: the observation contains this value; leave the option out")


def _observed_traffic(
    answer: "PoolAnswer", growth: float, demand: TrafficOptions, fleet: FleetOptions, usage_ms: float | None
) -> "Traffic":
    """Return the traffic of an observed pool. Raises BadInput for usage times that are not known, or known twice."""
    from poolsize.traffic.usage_phases import UsageTimes
    from poolsize.units import number

    load = answer.busiest
    if usage_ms is None and load.usage_ms is None:
        raise BadInput(
            "the observation has no usage times: add --usage-time, the mean time for which a request uses a "
            f"connection. By Little's law, it is the connections in use on average, {number(load.mean)} in the busiest "
            "process, over its requests per second"
        )
    if usage_ms is not None and load.usage_ms is not None:
        raise _contained("--usage-time")
    if load.pool.usage_buckets and (demand.usage_p95_ms or demand.usage_p99_ms):
        raise _contained("--usage-p95 and --usage-p99")
    usage = demand.varied(load.usage if usage_ms is None else UsageTimes(usage_ms))
    typed = fleet if fleet.of_instances else replace(fleet, instances=answer.processes)
    return answer.traffic(growth, typed.service(), usage, demand.max_wait_p99_ms, demand.wait_limit_ms)


def _answer_observation(
    observed: _ObservationOptions,
    demand: TrafficOptions,
    fleet: FleetOptions,
    usage_ms: float | None,
    current: int | None,
    form: Form,
    for_traffic: "Callable[[int | None, Traffic], TrafficAnswer]",
) -> None:
    """Print the answer for the traffic of an observed pool; of several, a table. usage_ms: as typed, or None."""
    from poolsize.answer.traffic_findings import CurrentPool, HoldsWhile, InUse, KeepsWait
    from poolsize.observe.pool_answer import pool_named
    from poolsize.observe.replay import replayed
    from poolsize.observe.store import load_observation
    from poolsize.observe.text import observation_values, pools_to_choose, pools_values, replay_table

    assert observed.path
    answers = pool_named(load_observation(observed.path), observed.pool)
    if len(answers) > 1:
        as_json = form == "json"
        click.echo(json_text(pools_values(answers)) if as_json else pools_to_choose(answers, observed.path))
        return
    (of_pool,), growth = answers, observed.growth or 1.0
    traffic = _observed_traffic(of_pool, growth, demand, fleet, usage_ms)
    answer = for_traffic(current or of_pool.busiest.size, traffic)
    by_run = answer.supply is not None and answer.supply.rates is not None
    need_range = None if by_run or of_pool.is_lower_bound else of_pool.need_range(traffic)
    modelled = (CurrentPool, HoldsWhile, InUse, KeepsWait) if of_pool.censored else ()  # as if nothing was cut off
    others = (each for each in answer.findings if not isinstance(each, modelled))
    findings = (*of_pool.findings(traffic, growth, need_range), *others)
    traffic, sizes = answer.traffic, [size.pool_size for size in answer.sizes]
    replays = [] if form == "short" else replayed(of_pool.loads, traffic, sizes)
    values = observation_values(of_pool, growth, need_range, replays)
    has_table = form == "why" and not of_pool.censored
    table = replay_table(replays, of_pool, traffic.most_wait_ms, by_run=by_run) if has_table else ""
    _answer_traffic(replace(answer, findings=findings), form, fleet, table, values)


def _answer_traffic(
    answer: "TrafficAnswer",
    form: Form,
    fleet: FleetOptions,
    table: str = "",
    observed: "ObservationValues | None" = None,
) -> None:
    """Print the answer. table: to follow the text, unless empty. observed: further keys of the JSON object, or None."""
    from poolsize.present.text.traffic import traffic_in_short, traffic_text, traffic_values

    if form == "json":
        values = traffic_values(answer, fleet.values_of_class())
        click.echo(json_text(_of_observation(values, observed) if observed else values))
    else:
        text = {"short": traffic_in_short, "why": traffic_text}[form](answer, is_observed=observed is not None)
        click.echo(f"{text}\n\n{table}" if table else text)
    end_unless(answer.helps)


def _of_observation(values: "TrafficAnswerValues", observed: "ObservationValues") -> "ObservedTrafficValues":
    return {**values, **observed}


def _for_traffic(
    demand: TrafficOptions,
    fleet: FleetOptions,
    source: Source,
    url: str | None,
    encryption: Encryption,
    facts: dict[str, Any],
    current: int | None,
    observed: "Traffic | None" = None,
) -> "TrafficAnswer":
    """Return the answer for the traffic of an application, beside what the database can use: by the run or the formula.

    observed: the traffic of an observation, in place of typed traffic. Raises BadInput, and WorkFailed for a run
    without a pool size.
    """
    from poolsize.answer.from_traffic import recommend_for

    usage_ms, cpu_ms, app_cores = (facts.pop(name) for name in OF_CLIENT)
    run_path = source.run_path
    analysis = _analysis(source, facts, may_have=OF_FLEET) if run_path else None
    traffic = observed or traffic_with(demand, usage_ms, fleet.service(), analysis)
    if run_path and analysis:
        client_times = client_times_of(traffic.usage.mean_ms, cpu_ms, app_cores)
        is_observed = observed is not None and usage_ms is None
        supply: Supply | None = supply_of(run_path, analysis, client_times, is_observed=is_observed)
        inspection = None
    elif cpu_ms is not None or app_cores is not None:
        raise BadInput("--app-cpu-time and --app-cores need a measured run: name it with --run")
    else:
        inspection = _inspected(url, facts, encryption)
        supply = _supply_by_formula(facts, is_inspected=inspection is not None)
    return recommend_for(traffic, supply, _limit(fleet, inspection), current)


def _supply_by_formula(facts: dict[str, Any], *, is_inspected: bool) -> "Supply | None":
    """Return what the database can use by the formula; None without cores. Raises BadInput.

    is_inspected: whether the facts are those of a server, which may not tell its cores.
    """
    from poolsize.answer.traffic import Supply
    from poolsize.formula import starting_point

    if facts["cores"] is not None:
        return Supply.by_formula(starting_point(**facts))
    for name in ("disks", "cache_hit_rate", "ssd", "threads_per_core"):
        if is_typed(name) and not is_inspected:
            raise BadInput(f"{flag(name)} also needs --cores, of the database's host")
    return None


def _analysis(source: Source, facts: dict[str, Any], may_have: tuple[str, ...]) -> "Analysis":
    """Return the analysis of a run or a curve. Raises BadInput for an option that it has no use for.

    may_have: parameters of options that the run does not contain.
    """
    of_fleet = set(FLEET_OPTIONS) - set(OF_THREADS)
    known = {
        "why",
        "as_json",
        *OF_CLIENT,
        *OF_OBSERVATION,
        *TRAFFIC_OPTIONS,
        *LIMITS,
        *of_fleet,
        *may_have,
        *source.parameters,
    }
    for name in click.get_current_context().params:
        if name not in known and is_typed(name):
            why = "a curve has no use for this value" if source.curve else "the run contains this value"
            raise BadInput(f"{flag(name)}: {why}; leave the option out")
    return source.analysis(facts["cores"], facts["disks"] if is_typed("disks") else None)


def _inspected(url: str | None, facts: dict[str, Any], encryption: Encryption) -> "Inspection | None":
    """Return the facts of the server whose URL is given, or that POOLSIZE_URL names where no cores are given.

    Set the facts that no option gives: the hit rate, and a local server's cores.
    """
    url = encryption.of(url or (os.environ.get("POOLSIZE_URL") if facts["cores"] is None else None))
    if not url:
        return None
    inspection = inspected(url)
    if facts["cache_hit_rate"] is None:
        facts["cache_hit_rate"] = inspection.cache_hit_rate
    if facts["cores"] is None and inspection.is_here:
        from poolsize.facts.machine import this_machine

        facts["cores"] = this_machine().usable_cores
    return inspection


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

    services, limit = [fleet.service()], _limit(fleet, inspection)
    return (
        plan_of_run(analysis, answer, services, limit) if analysis else plan_fleet(answer.connections, services, limit)
    )


def _limit(fleet: FleetOptions, inspection: "Inspection | None") -> "ServerLimit":
    """Return the limit of the options, of the inspected server, of the server in POOLSIZE_URL, or of the class."""
    if inspection:
        return limit_of(inspection.server, inspection.connection_bytes, replace(fleet, instance_class=None).limit())
    return fleet.limit(os.environ.get("POOLSIZE_URL") if fleet.max_connections is None else None)


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
