"""What the answers of `poolsize recommend` rest on, and those for a traffic, as typed or as an observation has it."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.fleet_options import FleetOptions
from poolsize.command_line.options import Encryption, Form, flag, inspection_of, is_typed, typed_words
from poolsize.command_line.run_file import Source, client_times_of, end_unless, supply_of, traffic_with
from poolsize.command_line.traffic_options import TRAFFIC_OPTIONS, TrafficOptions
from poolsize.errors import BadInput
from poolsize.present.text.json_text import json_text
from poolsize.quick_record import QuickRecord

if TYPE_CHECKING:  # the formula's answer starts without them
    from collections.abc import Callable, Sequence

    from poolsize.analysis.analysis import Analysis
    from poolsize.answer.fleet import Service
    from poolsize.answer.from_traffic import TrafficAnswer
    from poolsize.answer.traffic import Supply, Traffic
    from poolsize.answer.traffic_findings import OneOfPools
    from poolsize.observe.observation import Observation
    from poolsize.observe.pool_answer import PoolAnswer
    from poolsize.observe.text import ObservationValues, ObservedTrafficValues
    from poolsize.present.text.traffic import TrafficAnswerValues

MOST_GROWTH = 1_000
STACKS = {
    "HikariCP": "hikaricp", "DBCP2": "dbcp2", "Tomcat JDBC": "tomcat-jdbc", "Druid": "druid", "c3p0": "c3p0",
    "Go database/sql": "go", "SQLAlchemy": "sqlalchemy",
}  # fmt: skip
"""Library of an observed pool -> the name of its configuration."""
OF_DATABASE = (
    "cores", "instance_class", "disks", "cache_hit_rate", "ssd", "threads_per_core", "url", "ssl_mode", "ssl_ca"
)  # fmt: skip
OF_THREADS = ("app_threads", "connections_per_thread")
OF_FLEET = (*OF_THREADS, "instance_class")
"""Parameters of a fleet's options that no run contains."""
OF_OBSERVATION = ("observation", "pool", "growth")
OF_ALL_POOLS = (*OF_OBSERVATION, "max_connections", "reserve", "surge", "instance_class")
"""Parameters of options that count for all pools together."""
OF_CLIENT = ("usage_time_ms", "app_cpu_time_ms", "app_cores")


def analysis_of(source: Source, facts: dict[str, Any], may_have: tuple[str, ...]) -> "Analysis":
    """Return the analysis of a run or a curve. Raises BadInput for an option that it has no use for.

    may_have: parameters of options that the run does not contain.
    """
    unused = {*OF_DATABASE, *OF_THREADS} - {*may_have} - {*source.of_host}
    for name in click.get_current_context().params:
        if name in unused and is_typed(name):
            why = "a curve has no use for this value" if source.curve else "the run contains this value"
            raise BadInput(f"{flag(name)}: {why}; leave the option out")
    return source.analysis(facts["cores"], facts["disks"] if is_typed("disks") else None)


class ObservationOptions(QuickRecord):
    """The options of an observation, as typed; None where an option was not typed."""

    path: str | None
    pool: str | None
    growth: float | None


def check_observation(observed: ObservationOptions, demand: TrafficOptions, *, with_limits: bool) -> None:
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
    from poolsize.units import number

    load = answer.busiest
    if usage_ms is None and load.usage_ms is None:
        raise BadInput(
            "the observation has no usage times: add --usage-time, the mean time for which a request uses a "
            "connection. A guess is enough, such as 20ms: the pool size hardly depends on it. By Little's law, it is "
            f"the connections in use on average, {number(load.mean)} in the busiest process, over its requests per "
            "second"
        )
    if usage_ms is not None and load.usage_ms is not None:
        raise _contained("--usage-time")
    if load.pool.usage_buckets and (demand.usage_p95_ms or demand.usage_p99_ms):
        raise _contained("--usage-p95 and --usage-p99")
    usage = demand.varied(load.usage_of(mean_ms=usage_ms))
    typed = fleet if fleet.of_instances else replace(fleet, instances=answer.processes)
    return answer.traffic(growth, typed.service(), usage, demand.max_wait_p99_ms, demand.wait_limit_ms)


def answer_observation(
    observed: ObservationOptions,
    demand: TrafficOptions,
    fleet: FleetOptions,
    usage_ms: float | None,
    current: int | None,
    form: Form,
    for_traffic: "Callable[[FleetOptions, int | None, Traffic], TrafficAnswer]",
) -> None:
    """Print the answer for the traffic of an observed pool; of several, a table and the sums. usage_ms: as typed."""
    from poolsize.answer.traffic_findings import Selected
    from poolsize.observe.pool_answer import answers_named, pool_answers
    from poolsize.observe.replay import replayed
    from poolsize.observe.store import load_observation
    from poolsize.observe.text import observation_values, replay_table

    assert observed.path
    observation, growth = load_observation(observed.path), observed.growth or 1.0
    all_answers = pool_answers(observation)
    answers = answers_named(all_answers, observed.pool)
    if len(answers) > 1:
        fleet = fleet if _has_server_url(fleet) else _with_limit(fleet, observation)
        _answer_pools(observation, answers, growth, fleet, form)
        return
    (of_pool,) = answers
    traffic = _observed_traffic(of_pool, growth, demand, fleet, usage_ms)
    if not _has_server_url(fleet):
        fleet = _with_limit(fleet, observation, traffic.service if of_pool.pools == 1 else None)
    fleet, others = _beside_others(fleet, of_pool, all_answers, traffic, growth)
    beside = [*filter(None, [others]), *([Selected()] if observation.source.selector else [])]
    answer = for_traffic(fleet, current or of_pool.busiest.size, traffic)
    by_run = answer.supply is not None and answer.supply.rates is not None
    need_range = None if by_run or of_pool.is_lower_bound else of_pool.need_range(traffic)
    findings = of_pool.findings(traffic, growth, need_range, answer.findings, beside)
    traffic, sizes = answer.traffic, [size.pool_size for size in answer.sizes]
    replays = [] if form == "short" or of_pool.censored else replayed(of_pool.loads, traffic, sizes)
    values = observation_values(of_pool, growth, need_range, replays)
    has_table = form == "why" and replays
    table = replay_table(replays, of_pool, traffic.most_wait_ms, by_run=by_run) if has_table else ""
    stack = STACKS.get(of_pool.busiest.pool.library)
    answer_traffic(replace(answer, findings=tuple(findings)), form, fleet, table, values, stack)
    end_unless(others is None or others.too_few is None)


def _has_server_url(fleet: FleetOptions) -> bool:
    """Return whether the server of a URL has the limit, and not the options or the observed server."""
    url = click.get_current_context().params["url"] or os.environ.get("POOLSIZE_URL")
    return bool(url) and fleet.max_connections is None


def _with_limit(fleet: FleetOptions, observation: "Observation", service: "Service | None" = None) -> FleetOptions:
    """Return the options with the limit of the observed server, where no option says the limit.

    service: of the only pool; a limit that does not admit its smallest pools in a deploy is no answer's limit.
    """
    from poolsize.observe.together import observed_limit

    limit, typed = observed_limit(observation), fleet.limit()
    if limit is None or typed.max_connections is not None:
        return replace(fleet, max_connections=typed.max_connections)  # of a class, it is printed once
    least = service.floor * service.pools_in_deploy(typed.surge) if service else 1
    if limit - typed.reserve < least:
        click.echo(
            f"poolsize: the observed max_connections, {limit:,}, is too low for these pools, and does not count. Give "
            "the limit with --max-connections",
            err=True,
        )
        return fleet
    return replace(fleet, max_connections=limit)


def _beside_others(
    fleet: FleetOptions, of_pool: "PoolAnswer", answers: "Sequence[PoolAnswer]", traffic: "Traffic", growth: float
) -> "tuple[FleetOptions, OneOfPools | None]":
    """Return the options with the connections of the other pools in reserve, and what the answer has of these pools.

    traffic: of the pool. A limit that does not admit the needs of all pools is raised.
    """
    from poolsize.answer.traffic_findings import OneOfPools
    from poolsize.answer.traffic_need import process_need
    from poolsize.observe.together import together

    if of_pool.pools == 1:
        return fleet, None
    alone, limit = OneOfPools(of_pool.pools), fleet.limit()
    others = [answer for answer in answers if answer is not of_pool and answer.is_used]
    if _has_server_url(fleet) or any(answer.busiest.is_lower_bound for answer in (of_pool, *others)):
        return fleet, alone
    try:
        of_others = together(others, limit, growth)
    except BadInput:  # of another pool, whose traffic at this growth is beyond any pool's
        return fleet, alone
    needed = of_others.needed_in_deploy if of_others else 0
    beside = OneOfPools(
        1 + len(others),
        needed,
        surge=limit.surge > 0,
        is_least=any(answer.is_lower_bound for answer in others),
        in_use=growth * sum(answer.peak_together for answer in others),
    )
    if limit.max_connections is None:
        return fleet, beside if others else None
    reserve = limit.reserve + needed
    enough = reserve + process_need(traffic).pool_size * traffic.service.pools_in_deploy(limit.surge)
    too_few = limit.max_connections if enough > limit.max_connections else None
    fleet = replace(fleet, max_connections=max(enough, limit.max_connections), reserve=reserve)
    beside = replace(beside, max_connections=fleet.max_connections, too_few=too_few)
    return fleet, beside if others or too_few else None


def _answer_pools(
    observation: "Observation", answers: "Sequence[PoolAnswer]", growth: float, fleet: FleetOptions, form: Form
) -> None:
    """Print a table of several observed pools, and the connections of all of them."""
    from poolsize.observe.text import pools_evidence, pools_in_short, pools_values
    from poolsize.observe.together import together_in

    of_all = None if fleet.of_instances else together_in(observation, answers, fleet.limit(), growth)
    if form == "json":
        click.echo(json_text(pools_values(answers, of_all)))
    else:
        options = click.get_current_context().command.params
        options = [each for each in options if each.name and not getattr(each, "is_flag", True)]
        names = [str(each.name) for each in options]
        first = answers[0].busiest
        known = {"usage_time_ms"} if first.usage_ms else set()
        known |= {"usage_p95", "usage_p99"} if first.pool.usage_buckets else set()
        typed = typed_words(*(name for name in names if name not in known))
        of_pool = [
            each.opts[0] for each in options if each.name not in OF_ALL_POOLS and each.name and is_typed(each.name)
        ]
        click.echo(pools_in_short(answers, of_all, growth, typed, of_pool))
        if form == "why":
            click.echo(f"\n{pools_evidence(answers)}")
    end_unless(not (of_all and of_all.exceeds))


def answer_traffic(
    answer: "TrafficAnswer",
    form: Form,
    fleet: FleetOptions,
    table: str = "",
    observed: "ObservationValues | None" = None,
    stack: str | None = None,
) -> None:
    """Print the answer. table: to follow the text, unless empty. observed: further keys of the JSON object, or None.

    stack: the name of the library's configuration; None where it is not known.
    """
    from poolsize.present.text.traffic import STACK, traffic_in_short, traffic_text, traffic_values

    if form == "json":
        values = traffic_values(answer, fleet.values_of_class())
        click.echo(json_text(_of_observation(values, observed) if observed else values))
    else:
        of_config = (name for name in TRAFFIC_OPTIONS if name not in {"rate", "wait_limit"})
        typed = typed_words("run_path", "rate", "usage_time_ms", *of_config) if observed is None else ()
        text = {"short": traffic_in_short, "why": traffic_text}[form](answer, typed, stack or STACK)
        click.echo(f"{text}\n\n{table}" if table else text)
    end_unless(answer.helps)


def _of_observation(values: "TrafficAnswerValues", observed: "ObservationValues") -> "ObservedTrafficValues":
    return {**values, **observed}


def answer_for(
    demand: TrafficOptions,
    source: Source,
    url: str | None,
    encryption: Encryption,
    facts: dict[str, Any],
    fleet: FleetOptions,
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
    analysis = analysis_of(source, facts, may_have=OF_FLEET) if run_path else None
    traffic = observed or traffic_with(demand, usage_ms, fleet.service(), analysis)
    if run_path and analysis:
        client_times = client_times_of(traffic.usage.mean_ms, cpu_ms, app_cores)
        supply: Supply | None = supply_of(run_path, analysis, client_times, is_typed=usage_ms is not None)
        inspection = None
    elif cpu_ms is not None or app_cores is not None:
        raise BadInput("--app-cpu-time and --app-cores need a measured run: name it with --run")
    else:
        inspection = inspection_of(url, facts, encryption)
        supply = _supply_by_formula(facts, is_inspected=inspection is not None)
    return recommend_for(traffic, supply, fleet.limit_with(inspection), current)


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
