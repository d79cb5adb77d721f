"""The answer for a traffic as text for a terminal, and as a JSON object."""

from collections.abc import Iterable, Iterator, Sequence
from math import isinf
from typing import Literal, TypedDict

from poolsize.answer.finding import Finding, Severity
from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_from_traffic import FleetBelowNeed, TrafficPlan, TrafficPool
from poolsize.answer.from_traffic import SizeUse, TrafficAnswer
from poolsize.answer.traffic import Supply, Traffic, knee_rate
from poolsize.answer.traffic_findings import (
    OFTEN,
    BeyondSupply,
    CurrentPool,
    CutOff,
    FloorBound,
    KeepsWait,
    LimitBound,
    Observed,
    SpreadAssumed,
    ThreadsBound,
    TooFewThreads,
    WaitsElsewhere,
)
from poolsize.answer.traffic_need import Decides
from poolsize.present.text.fleet import (
    IF_FAST,
    TOO_FEW,
    TOO_FEW_THREADS,
    PoolsValues,
    configure_command,
    each_and_together,
    fleet_words,
    one_of_several,
    pools_in_short,
    pools_text,
    pools_values,
)
from poolsize.present.text.layout import NO_END, Table, bullets, paragraph
from poolsize.present.text.recommendation import OfClass, caution
from poolsize.present.text.sentences.findings import FindingsValues, findings_values, reason_sentences, sentence
from poolsize.present.text.short import (
    ANY_LENGTH,
    FOUR_LINES,
    SAME,
    TWO_LINES,
    Labelled,
    NextOptions,
    leading,
    main_caution,
    short_answer,
)
from poolsize.sweep.readers import write_milliseconds
from poolsize.terminal import pasteable
from poolsize.traffic.database_load import DatabaseLoad
from poolsize.traffic.pool_use import PoolUse
from poolsize.units import milliseconds, number, per_second, percent

OF_SERVICES = "by the traffic of each service"
"""The basis of the pool sizes of several services."""
BASES = {"formula": "the formula", "measured": "the run", "given": "your own number"}
"""Basis of what the database can use -> its name."""
FIRST = (BeyondSupply, LimitBound, TooFewThreads, CutOff)
FIRST_OF_FLEET = (FleetBelowNeed, BeyondSupply)
"""Doubts that stand before the pool size, or before those of several services."""
NEEDS = "The traffic needs "
"""Begins the sentence that the label "Need" repeats."""
LENGTHS = {WaitsElsewhere: FOUR_LINES, ThreadsBound: FOUR_LINES, KeepsWait: TWO_LINES + len(NEEDS)}
"""Reason -> the characters of its text that a short answer shows, where they are not TWO_LINES."""
DECIDING = (WaitsElsewhere, KeepsWait, ThreadsBound, FloorBound)
"""Reasons that say what decides the pool size."""
LEAST_P99, MOST_P99 = 1.01, 14.8
"""Times the mean: a p99 usage time beyond these is not typed. Log-normal times have at most 14.9."""
STACK = "STACK"
"""The place of the user's library in a command."""
NONE = "-"
"""The cell of a number that does not exist."""


def traffic_text(answer: TrafficAnswer, typed: Sequence[object] = (), stack: str = STACK) -> str:
    """Return the pool size, the three numbers that bound it, the waits around it, the reasons and the warnings.

    typed, stack: the options of the traffic, and the library, for the command that configures the pool; without
    options, the command has the size and the usage time.
    """
    refusals = [sentence(finding) for finding in answer.findings if finding.severity is Severity.REFUSAL]
    if refusals:
        return "\n\n".join([*map(paragraph, refusals), _bounds_table(answer).as_text()])
    doubts, others = _doubts_and_others(answer.findings, FIRST)
    parts = (
        *(paragraph(sentence(finding)) for finding in doubts),
        f"{_use(answer)} {each_and_together(answer.plan.pools[0])}.",
        _bounds_table(answer).as_text(),
        bullets(reason_sentences(answer.findings)),
        "" if is_cut_off(doubts) else _sizes_table(answer).below(_sizes_title(answer)),
        caution(others),
        *(f"The lines for your library: {each}" for each in _configure(answer, typed, stack)),
    )
    return "\n\n".join(filter(None, parts))


def traffic_in_short(answer: TrafficAnswer, typed: Sequence[object] = (), stack: str = STACK) -> str:
    """Return the pool size, the three numbers that bound it, the most important warning, and the next commands.

    typed, stack: as in traffic_text.
    """
    if answer.need is None:
        return traffic_text(answer)
    doubts, others = _doubts_and_others(answer.findings, FIRST)
    headline = f"{_use(answer)} {each_and_together(answer.plan.pools[0])}."
    labelled = [*_labelled(answer, doubts), main_caution(others)]
    commands = [*_configure(answer, typed, stack), SAME]
    return "\n".join([*_first(doubts), short_answer(headline, labelled, commands)])


def _doubts_and_others(
    findings: Sequence[Finding], kinds: tuple[type[Finding], ...]
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings of these kinds, which stand before the pool size, and the others."""
    doubts = [each for each in findings if isinstance(each, kinds)]
    return doubts, [each for each in findings if each not in doubts]


def _configure(answer: TrafficAnswer, typed: Sequence[object], stack: str) -> list[str]:
    """Return the command for the configuration, if a size is known to help."""
    if not answer.helps or any(isinstance(each, CutOff) and each.is_saturated for each in answer.findings):
        return []
    of_fleet = fleet_words(answer.traffic.service, answer.server_limit)
    of_traffic = typed or ("--size", answer.connections, *_usage_options(answer))
    return [pasteable("poolsize", "config", "--for", stack, *of_traffic, *of_fleet)]


def _usage_options(answer: TrafficAnswer) -> list[str]:
    """Return the options with the mean usage time, and with the p99 usage time where it was observed."""
    usage, mean = answer.traffic.usage, ["--usage-time", _usage_time(answer.traffic)]
    p99_ms = float(f"{usage.p99_ms:.3g}")
    is_assumed = any(isinstance(each, SpreadAssumed) for each in answer.findings)
    if is_assumed or not LEAST_P99 * usage.mean_ms < p99_ms < MOST_P99 * usage.mean_ms:
        return mean
    return [*mean, "--usage-p99", write_milliseconds(p99_ms)]


def _usage_time(traffic: Traffic) -> str:
    """Return the mean usage time as the value of an option."""
    return write_milliseconds(float(f"{traffic.usage.mean_ms:.3g}"))


def _first(doubts: Sequence[Finding]) -> list[str]:
    """Return what stands before the pool size: the first doubt, and the first sentences of the others."""
    return [paragraph(leading(sentence(each), 0 if place else ANY_LENGTH)) for place, each in enumerate(doubts)]


def _use(answer: TrafficAnswer) -> str:
    if unhelpful := _unhelpful(answer):
        return f"{unhelpful}:"
    return "Use at least" if is_cut_off(answer.findings) and answer.decides != "limit" else "Use"


def _unhelpful(answer: TrafficAnswer | TrafficPlan) -> str:
    """Return what begins pool sizes that do not help; "" for others."""
    if answer.helps or answer.carries:
        return "" if answer.helps else IF_FAST
    pools = answer.pools if isinstance(answer, TrafficPlan) else (answer,)
    return TOO_FEW if any(pool.decides == "limit" for pool in pools) else TOO_FEW_THREADS


def is_cut_off(findings: Iterable[Finding]) -> bool:
    """Return whether these findings say that demand was cut off, so that nothing computed from it holds."""
    return any(isinstance(each, CutOff) for each in findings)


def _labelled(answer: TrafficAnswer, doubts: Sequence[Finding]) -> Iterator[Labelled]:
    """Yield today's pool size and the three numbers that bound a pool, without those that a doubt names."""
    supply, load = answer.supply, answer.load
    reasons = {
        type(each): leading(sentence(each), LENGTHS.get(type(each), TWO_LINES))
        for each in answer.findings
        if each.severity is Severity.REASON
    }
    yield "Today", reasons.get(CurrentPool, "") if answer.helps else ""
    if doubts:
        return
    deciding = (reasons[kind] for kind in DECIDING if kind in reasons)
    yield "Need", next(deciding, next(iter(reasons.values()), "")).removeprefix(NEEDS)
    in_use = ""
    if load:
        often, connections = load.quantile(OFTEN), answer.connections
        most = f"99.9 % of the time, at most {often:,}"
        if supply and often > supply.connections:
            most = f"more than {supply.connections:,} for {percent(load.beyond(supply.connections))} of the time"
        elif often >= connections > 1:
            most = f"all of them for {percent(load.beyond(connections - 1))} of the time"
        when = "In the busiest period, on average" if growth_of(answer.findings) else "On average"
        in_use = f"{when} {number(load.mean)} of the {connections:,} are in use; {most}."
    if supply:
        yield "Database", f"can use {supply.connections:,} at once{_basis(supply)}. {in_use}".strip()
    else:
        yield "In use", in_use
    if answer.limit is not None:
        surge = answer.server_limit.surge
        deploy = f", even with {100 * surge:.0f} % more instances in a rolling deploy" if surge else ""
        yield "Server", f"allows {answer.limit:,} in each process{deploy}."
    if supply and (knee := knee_rate(supply)):
        basis = "by the run: the database completes no more"
        if measured := supply.extrapolated_from:
            basis = f"extrapolated: the highest measured throughput is {per_second(measured)}"
        elif measured := supply.taken_for_noise:
            basis = f"by the run: its highest throughput, {per_second(measured)}, counts as noise"
        yield "Up to", f"{per_second(knee)}, {basis}."


def _basis(supply: Supply) -> str:
    """Return what says how many connections the database can use; of a run, for which transactions."""
    if supply.usage_ms is None or supply.of_generator is None:
        return f", by {BASES[supply.basis]}"
    return f" for transactions of {milliseconds(supply.usage_ms)} ({supply.of_generator:,} for the load generator's)"


def _bounds_table(answer: TrafficAnswer) -> Table:
    pools, supply, limit = answer.traffic.service.pools, answer.supply, answer.limit
    can_use = "not known" if supply is None else f"{supply.connections:,}{_basis(supply).removeprefix(',')}"
    needed = (NONE, NONE) if answer.need is None else (f"{answer.need:,}", f"{answer.need * pools:,}")
    allowed = (NONE, "not known") if limit is None else (f"{limit:,}", f"{limit * pools:,}")
    return Table(
        ("", "each process", "together"),
        [
            ("the traffic needs", *needed),
            ("the database can use", NONE, can_use),
            ("the limits allow", *allowed),
        ],
    )


def growth_of(findings: Iterable[Finding]) -> float | None:
    """Return the factor on the rate that was observed; None where none was."""
    return next((each.growth for each in findings if isinstance(each, Observed)), None)


def _sizes_title(answer: TrafficAnswer) -> str:
    traffic, growth = answer.traffic, growth_of(answer.findings) or 1
    notes = [] if growth == 1 else [f"the rate is {growth:g} times the observed rate"]
    notes += ["waits of all requests of a minute"] if traffic.burst > 1 else []
    notes += ["the column at twice the rate is with all instances"] if traffic.service.instances > 1 else []
    return "Pool sizes of each process" + (f" ({'; '.join(notes)})" if notes else "")


def _sizes_table(answer: TrafficAnswer) -> Table:
    """Return the waits at each size; with a wait limit, also the shares that time out."""
    has_limit, has_others = answer.traffic.wait_limit_ms is not None, answer.traffic.service.instances > 1
    rows = []
    for size in answer.sizes:
        usual, away = size.usual, size.one_away
        row = [f"{size.pool_size:,}", _share(usual.utilisation), _share(usual.share_waiting), *_rare(usual)]
        row += [*(_rare(away) if away else ()), _rare(size.twice)[0]]
        rows.append([*row, *(_share(use.share_timed_out) for use in (usual, size.twice) if has_limit)])
    chosen = [size.pool_size for size in answer.sizes].index(answer.pool_size)
    columns = ["pool size", "in use", "waiting", "wait p99", "wait p99.9"]
    columns += ["one away p99", "one away p99.9"] if has_others else []
    columns += ["p99 at twice the rate", *(("timing out", "timing out at twice") if has_limit else ())]
    return Table(columns, rows, chosen)


def _share(share: float) -> str:
    return "<0.01 %" if 0 < share < 1e-4 else percent(share)


def _rare(use: PoolUse) -> tuple[str, str]:
    p99, p99_9 = (NO_END if isinf(wait) else milliseconds(wait) for wait in (use.wait_p99_ms, use.wait_p99_9_ms))
    return p99, p99_9


class SupplyValues(TypedDict):
    """The connections that the database can use at once, for all clients together. range: lowest and highest."""

    connections: int
    range: tuple[int, int] | None
    basis: Literal["formula", "measured", "given"]


class LoadValues(TypedDict):
    """Requests together. rate: per second. usage_ms: mean usage time; loaded_usage_ms: with the database's load.

    in_use_mean, in_use_p99_9: connections in use, on average and 99.9 % of the time at most. Where the database can't
    keep up, or demand was cut off, they and loaded_usage_ms are null.
    """

    rate: float
    usage_ms: float
    loaded_usage_ms: float | None
    in_use_mean: float | None
    in_use_p99_9: int | None


class BusiestValues(TypedDict):
    """The busiest process, with an instance away. rate: requests per second."""

    rate: float
    in_use_mean: float


class TrafficValues(LoadValues):
    """The requests of a service, its instances, and its limits.

    rate: of all processes, per second. usage_ms, usage_p99_ms: usage time; loaded_usage_ms: its mean with the
    database's load. in_use_mean, in_use_p99_9: connections in use, on average and 99.9 % of the time at most.
    usage_variation: variance of the usage time over its squared mean. burst: rate of busy times over the mean rate.
    threads: of a process; null where not known. max_wait_p99_ms: the limit that decides the need.
    wait_limit_ms: after which a request gives up; null for never.
    """

    usage_p99_ms: float
    usage_variation: float
    burst: float
    instances: int
    processes: int
    threads: int | None
    max_wait_p99_ms: float
    wait_limit_ms: float | None
    busiest_process: BusiestValues


class WaitValues(TypedDict):
    """Wait times for a connection in ms; null where they grow without end."""

    mean: float | None
    p99: float | None
    p99_9: float | None


class UseValues(TypedDict):
    """How a pool serves the traffic. utilisation: share of its connections in use. Shares are of the requests."""

    utilisation: float
    share_waiting: float
    share_timed_out: float
    wait_ms: WaitValues


class SizeValues(UseValues):
    """How pools of this size serve the traffic; also with an instance away, and at twice the rate.

    utilisation: share of the connections in use. share_waiting, share_timed_out: of the requests. one_away: null for a
    single instance.
    """

    pool_size: int
    one_away: UseValues | None
    twice: UseValues


class TrafficAnswerValues(FindingsValues, OfClass):
    """The pool size that the traffic needs, beside what the database can use and the limits allow.

    pool_size: of each process. connections, connections_in_deploy: of all pools, usually and in a rolling deploy. need:
    connections of each process. These are null where the database can't keep up with any pool. supply: null where
    nothing is known of the database. limit: connections of each process that the limits allow; null where not known.
    sizes: none where demand was cut off. knee_rate: requests per second that the database completes, by the run.
    instance_class: with --instance-class.
    """

    basis: Literal["traffic"]
    pool_size: int | None
    connections: int | None
    connections_in_deploy: int | None
    traffic: TrafficValues
    need: int | None
    supply: SupplyValues | None
    limit: int | None
    decides: Decides
    sizes: list[SizeValues]
    knee_rate: float | None


def traffic_values(answer: TrafficAnswer, more: OfClass | None = None) -> TrafficAnswerValues:
    """Return the answer as data for JSON. more: further keys, or None."""
    exists, is_unknown = answer.need is not None, is_cut_off(answer.findings)
    return {
        "basis": "traffic",
        "pool_size": answer.pool_size if exists else None,
        "connections": answer.connections if exists else None,
        "connections_in_deploy": answer.connections_in_deploy if exists else None,
        "traffic": _traffic_values(answer.traffic, None if is_unknown else answer.load),
        "need": answer.need,
        "supply": _supply_values(answer.supply),
        "limit": answer.limit,
        "decides": answer.decides,
        "sizes": [] if is_unknown else list(map(_size_values, answer.sizes)),
        "knee_rate": knee_rate(answer.supply),
        **findings_values(answer.findings),
        **(more or {}),
    }


def _supply_values(supply: Supply | None) -> SupplyValues | None:
    return {"connections": supply.connections, "range": supply.range, "basis": supply.basis} if supply else None


def _load_values(traffic: Traffic, load: DatabaseLoad | None) -> LoadValues:
    return {
        "rate": traffic.rate,
        "usage_ms": traffic.usage.mean_ms,
        "loaded_usage_ms": load.usage_ms if load else None,
        "in_use_mean": traffic.loaded(load).in_use if load else None,
        "in_use_p99_9": load.quantile(OFTEN) if load else None,
    }


def _traffic_values(traffic: Traffic, load: DatabaseLoad | None) -> TrafficValues:
    service, busiest = traffic.service, traffic.loaded(load).of_process(one_away=True)
    return {
        **_load_values(traffic, load),
        "usage_p99_ms": traffic.usage.p99_ms,
        "usage_variation": traffic.usage.variation,
        "burst": traffic.burst,
        "instances": service.instances,
        "processes": service.processes,
        "threads": service.threads,
        "max_wait_p99_ms": traffic.most_wait_ms,
        "wait_limit_ms": traffic.wait_limit_ms,
        "busiest_process": {"rate": busiest.rate * 1000, "in_use_mean": busiest.load},
    }


def _size_values(size: SizeUse) -> SizeValues:
    return {
        "pool_size": size.pool_size,
        **_use_values(size.usual),
        "one_away": _use_values(size.one_away) if size.one_away else None,
        "twice": _use_values(size.twice),
    }


def _use_values(use: PoolUse) -> UseValues:
    return {
        "utilisation": use.utilisation,
        "share_waiting": use.share_waiting,
        "share_timed_out": use.share_timed_out,
        "wait_ms": {"mean": use.wait_ms, "p99": use.wait_p99_ms, "p99_9": use.wait_p99_9_ms},
    }


def traffic_fleet_text(plan: TrafficPlan) -> str:
    """Return the answer for a fleet by traffic: its pools, their waits, the reasons, and what else fits."""
    doubts, others = _doubts_and_others(plan.findings, FIRST_OF_FLEET)
    answer = pools_text(plan.pools, OF_SERVICES, _services_table(plan), others, _unhelpful(plan))
    parts = [*(paragraph(sentence(finding)) for finding in doubts), answer]
    if plan.helps:
        of_each = one_of_several(plan.limit)
        commands = [configure_command(pool, of_each, _options(pool)) for pool in plan.pools]
        parts.append("\n  ".join(["The lines for your library, service by service:", *commands]))
    return "\n\n".join(parts)


def traffic_fleet_in_short(plan: TrafficPlan) -> str:
    """Return the answer for a fleet by traffic in a few lines, with a row for each service."""
    if not plan.pools:
        return traffic_fleet_text(plan)
    doubts, others = _doubts_and_others(plan.findings, FIRST_OF_FLEET)
    options, table = _options(plan.pools[0]), _services_table(plan)
    answer = pools_in_short(plan.pools, OF_SERVICES, table, others, options, "", plan.limit, _unhelpful(plan))
    return "\n".join([*_first(doubts), answer])


def _options(pool: TrafficPool) -> NextOptions:
    """Return the options of the next command for a service whose traffic is known."""
    return NextOptions(usage_time=_usage_time(pool.traffic), serves_traffic=True)


def _services_table(plan: TrafficPlan) -> Table:
    """Return the pool and the waits of each service; with the needs, where a pool is smaller than its need."""
    is_below, rows = any(pool.decides == "limit" for pool in plan.pools), []
    for pool in plan.pools:
        need = [f"{pool.need:,}"] if is_below else []
        counts = (f"{value:,}" for value in (pool.pool_size, pool.connections, pool.connections_in_deploy))
        usual, away = pool.use.usual, pool.use.one_away
        waits = (_share(usual.share_waiting), _rare(usual)[0], _rare(away)[0] if away else NONE)
        in_use = number(pool.use.load.mean if pool.use.load else pool.traffic.in_use)
        rows.append([pool.service.name, *need, *counts, in_use, *waits])
    if len(plan.pools) > 1:
        in_use = number(plan.load.mean if plan.load else plan.traffic.in_use)
        together = (f"{plan.connections:,}", f"{plan.connections_in_deploy:,}", in_use)
        rows.append(["together", *([""] if is_below else []), "", *together, "", "", ""])
    columns = ["service", *(["need"] if is_below else []), "pool size", "connections", "in a deploy"]
    return Table([*columns, "in use on average", "waiting", "wait p99", "one away p99"], rows)


class TrafficPoolValues(SizeValues):
    """The pool of each process of a service, and how it serves the service's traffic.

    connections, connections_in_deploy: of all processes, usually and in a rolling deploy. need: connections of each
    process. utilisation: share of the pool's connections in use. share_waiting, share_timed_out: of the requests.
    one_away: with an instance away; null for a single instance. twice: at twice the rate.
    """

    service: Service
    connections: int
    connections_in_deploy: int
    traffic: TrafficValues
    need: int
    decides: Decides


class TrafficFleetValues(PoolsValues):
    """The pools that the traffic of several services needs, beside what the database can use and its limit.

    connections, connections_in_deploy: of all pools, usually and in a rolling deploy; null without pools. knee_rate:
    requests per second that the database completes, by the run. instance_class: with --instance-class.
    """

    basis: Literal["traffic"]
    supply: SupplyValues | None
    limit: ServerLimit
    pools: list[TrafficPoolValues]
    traffic: LoadValues
    knee_rate: float | None


def traffic_fleet_values(plan: TrafficPlan, more: OfClass | None = None) -> TrafficFleetValues:
    """Return the answer for a fleet by traffic as data for JSON. more: further keys, or None."""
    return {
        "basis": "traffic",
        "supply": _supply_values(plan.supply),
        "limit": plan.limit,
        "pools": [
            {
                "service": pool.service,
                "connections": pool.connections,
                "connections_in_deploy": pool.connections_in_deploy,
                "traffic": _traffic_values(pool.traffic, pool.use.load),
                "need": pool.need,
                "decides": pool.decides,
                **_size_values(pool.use),
            }
            for pool in plan.pools
        ],
        "traffic": _load_values(plan.traffic, plan.load),
        "knee_rate": knee_rate(plan.supply),
        **pools_values(plan.pools, plan.findings, more),
    }
