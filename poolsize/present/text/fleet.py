"""A fleet's pools as text for a terminal, and as a JSON object."""

from collections.abc import Mapping, Sequence

from poolsize.answer.finding import Finding, Severity
from poolsize.answer.fleet import ServerLimit, Service, ServicePool, connections_of, in_deploy_of
from poolsize.answer.fleet_plan import FleetPlan, Proxy
from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.layout import Table, bullets, paragraph
from poolsize.present.text.recommendation import OfClass, caution, engine_line
from poolsize.present.text.sentences.findings import FindingsValues, findings_values, reason_sentences, sentence
from poolsize.present.text.short import (
    SAME,
    TWO_LINES,
    Labelled,
    NextOptions,
    brief,
    leading,
    main_caution,
    short_answer,
)
from poolsize.terminal import pasteable
from poolsize.units import count

IF_FAST = "If the database were fast enough"
"""Begins pool sizes that do not help, because the database is too small."""
TOO_FEW = "The most that fit, too few for the traffic"
TOO_FEW_THREADS = "The most that the threads can use, too few for the traffic"
"""Begin pool sizes that do not help, because the server's limit is too low, or the threads are too few."""
ALTERNATIVE = "Alternative: "
"""Begins the sentences that name what else would fit."""
FIRST_SERVICE = "  # the first service; other numbers for each other service"
"""Follows a command that each service needs."""
MOST_TYPED = 5
"""Services that a command names; more are in a file."""


def fleet_text(plan: FleetPlan) -> str:
    """Return the answer, a table with a row for each service, the reasons, the warnings, and the lines to configure.

    Without an answer: the cause, and what else would fit.
    """
    return pools_text(plan.pools, f"of {count(plan.size, 'connection')} in all", _table(plan), plan.findings)


def fleet_in_short(plan: FleetPlan, source: str, options: NextOptions) -> str:
    """Return a fleet's answer in a few lines. source: of what the database can use, e.g. ", by the formula"; or ""."""
    size = count(plan.size, "connection")
    usable = f"can use {size} at once{source}."
    return pools_in_short(plan.pools, f"of {size} in all", _table(plan), plan.findings, options, usable, plan.limit)


def answer_divided_in_short(plan: FleetPlan, answer: Recommendation, usable: str, options: NextOptions) -> str:
    """Return an answer that a fleet divides, in a few lines, with what puts it in doubt.

    usable: the sentence that says what the database can use, or "".
    """
    first = [paragraph(brief(each)) for each in answer.findings if each.leads or each.is_doubt]
    others = [each for each in answer.findings if not (each.leads or each.is_doubt)]
    pools = pools_in_short(plan.pools, "", _table(plan), (*plan.findings, *others), options, usable, plan.limit)
    return "\n".join([*first, pools])


def pools_in_short(
    pools: Sequence[ServicePool],
    basis: str,
    table: Table,
    findings: Sequence[Finding],
    options: NextOptions,
    usable: str,
    limit: ServerLimit,
    unhelpful: str = "",
) -> str:
    """Return the answer for these pools in a few lines, as fleet_in_short does; with a table for several services.

    options, limit: of the commands to type next, and of the server. options has the usage time of the first service.
    unhelpful: begins pool sizes that do not help; "" for others.
    """
    if not pools:
        return pools_text(pools, basis, table, findings)
    reasons = [each for each in findings if each.severity is Severity.REASON]
    today = [("Today", sentence(each)) for each in reasons if each.code.startswith("current_")]
    labelled = [("Database", usable), *map(_labelled, reasons[:1]), *today, main_caution(findings)]
    several = table.as_text() if len(pools) > 1 else ""
    proxies = [
        pasteable("poolsize", "config", "--for", "proxysql", "--size", each.connections, *_clients(pools, limit, each))
        for each in findings
        if isinstance(each, Proxy)
    ]
    next_commands = () if unhelpful else _commands(pools, limit, options)
    commands = [*next_commands, *proxies, SAME]
    return short_answer(_headline(pools, basis, unhelpful), labelled, commands, several)


def _clients(pools: Sequence[ServicePool], limit: ServerLimit, proxy: Proxy) -> list[object]:
    """Return the options of the processes that a proxy serves; of several services, as many with a connection each."""
    if len(pools) > 1:
        return ["--instances", proxy.clients, "--surge", "0%"]
    return fleet_words(pools[0].service, limit)


def _labelled(reason: Finding) -> Labelled:
    text = leading(sentence(reason), TWO_LINES)
    return ("Else", text.removeprefix(ALTERNATIVE)) if text.startswith(ALTERNATIVE) else ("Why", text)


def _commands(pools: Sequence[ServicePool], limit: ServerLimit, options: NextOptions) -> list[str]:
    """Return the commands for what the traffic needs, unless the pools serve it, and for the configuration."""
    if len(pools) > 1:
        opened = in_deploy_of(pools)  # as many instances of one service make the same connections
        server = ("--size", opened, "--instances", opened, "--surge", "0%")
        of_server = pasteable("poolsize", "config", "--for", "my.cnf", *server, *_words(_of_server(limit)))
        of_usage = NextOptions(usage_time=options.usage_time)  # of_size is the sum of all services
        of_first = configure_command(pools[0], one_of_several(limit), of_usage) + FIRST_SERVICE
        return [*([] if options.serves_traffic else [_need_command(pools, limit, options)]), of_first, of_server]
    of_service = options.need_command(*fleet_words(pools[0].service, limit))
    return [*([] if options.serves_traffic else [of_service]), configure_command(pools[0], limit, options)]


def _need_command(pools: Sequence[ServicePool], limit: ServerLimit, options: NextOptions) -> str:
    """Return the command that shows what the traffic of several services needs."""
    services = [pool.service for pool in pools]
    threads = {(service.threads, service.connections_per_thread) for service in services}
    is_file = len(services) > MOST_TYPED or len(threads) > 1 or any(":" in service.name for service in services)
    typed = [word for service in services for word in ("--service", _with_rate(service))]
    shared = (*({} if is_file else _of_threads(services[0])).items(), *_of_deploy(limit).items())
    named = ("--services", "FILE") if is_file else typed
    return pasteable("poolsize", "fleet", *options.of_database, *named, *_words(dict(shared)))


def one_of_several(limit: ServerLimit) -> ServerLimit:
    """Return the limit for a service that shares the server's connections with others."""
    return ServerLimit(surge=limit.surge)


def configure_command(pool: ServicePool, limit: ServerLimit, options: NextOptions) -> str:
    """Return the command for the configuration of a service."""
    of_size = options.of_size or _words({"--size": pool.connections, "--usage-time": options.usage_time})
    return pasteable("poolsize", "config", "--for", "STACK", *of_size, *fleet_words(pool.service, limit))


def _with_rate(service: Service) -> str:
    """Return a service for the option --service, with a place for its rate and its usage time."""
    most = "" if service.max_instances is None else f"-{service.max_instances}"
    return f"{service.name}:{service.instances}{most}:{service.processes}:RATE:USAGE_TIME"


def fleet_words(service: Service, limit: ServerLimit) -> list[object]:
    """Return the options that describe the processes of a service, and the server's limit."""
    options: dict[str, object] = {
        "--instances": service.instances,
        "--processes": service.processes,
        "--max-instances": service.max_instances,
    }
    return _words(options | _of_threads(service) | _of_deploy(limit))


def _of_threads(service: Service) -> dict[str, object]:
    held = service.connections_per_thread
    return {"--app-threads": service.threads, "--connections-per-thread": None if held == 1 else held}


def _of_deploy(limit: ServerLimit) -> dict[str, object]:
    """Return option -> value of a deploy, and of what a server allows, or None."""
    return {"--surge": None if limit.surge == ServerLimit.surge else f"{100 * limit.surge:g}%", **_of_server(limit)}


def _of_server(limit: ServerLimit) -> dict[str, object]:
    """Return option -> value of what a server allows, or None."""
    reserve = None if limit.reserve == ServerLimit.reserve else limit.reserve
    return {"--max-connections": limit.max_connections, "--reserve": reserve}


def _words(options: Mapping[str, object]) -> list[object]:
    """Return the options that have a value, and their values."""
    return [word for flag, value in options.items() if value is not None for word in (flag, value)]


def pools_text(
    pools: Sequence[ServicePool], basis: str, table: Table, findings: Sequence[Finding], unhelpful: str = ""
) -> str:
    """Return the answer for these pools, as fleet_text does. basis: of several pool sizes. unhelpful: as above."""
    reasons = bullets(reason_sentences(findings))
    if not pools:
        causes = [sentence(finding) for finding in findings if finding.severity is Severity.REFUSAL]
        return "\n\n".join([*map(paragraph, causes), *([f"What fits:\n{reasons}"] if reasons else [])])
    engines = "" if unhelpful else _engines(pools)
    parts = (_headline(pools, basis, unhelpful), table.as_text(), reasons, caution(findings), engines)
    return "\n\n".join(filter(None, parts))


def _headline(pools: Sequence[ServicePool], basis: str, unhelpful: str) -> str:
    if len(pools) > 1:
        return f"Pool sizes for each process, {unhelpful.lower() or basis}:"
    (pool,) = pools
    return f"{f'{unhelpful}:' if unhelpful else 'Use'} {each_and_together(pool)}."


def each_and_together(pool: ServicePool) -> str:
    """Return the size of each pool of a service, and the connections of all: "2 connections in each of 3 processes"."""
    processes, in_deploy = pool.service.pools, pool.connections_in_deploy
    if processes == 1:
        return count(pool.pool_size, "connection")
    instances = in_deploy // (pool.pool_size * pool.service.processes)
    deploy = f", {in_deploy:,} in a deploy with {instances:,} instances" if in_deploy > pool.connections else ""
    each = f"{count(pool.pool_size, 'connection')} in each of {processes:,} processes"
    return f"{each}: {pool.connections:,} together{deploy}"


def _table(plan: FleetPlan) -> Table:
    rows = []
    for pool in plan.pools:
        service, low, high = pool.service, pool.service.instances, pool.service.most_instances
        counts = (service.processes, pool.pool_size, pool.connections, pool.connections_in_deploy)
        instances = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        rows.append((service.name, instances, *(f"{value:,}" for value in counts)))
    if len(plan.pools) > 1:
        rows.append(("together", "", "", "", f"{plan.connections:,}", f"{plan.connections_in_deploy:,}"))
    return Table(("service", "instances", "processes", "pool size", "connections", "in a deploy"), rows)


def _engines(pools: Sequence[ServicePool]) -> str:
    if len(pools) == 1:
        return f"For each process: {engine_line(pools[0].pool_size)}"
    lines = (f"{engine_line(pool.pool_size)}  # {pool.service.name}" for pool in pools)
    return "\n  ".join(["For each process:", *lines])


class PoolsValues(FindingsValues, OfClass):
    """connections, connections_in_deploy: of all pools, usually and in a rolling deploy; null without pools."""

    connections: int | None
    connections_in_deploy: int | None


class FleetValues(PoolsValues):
    """Connections divided among the pools of a fleet.

    size: the connections to divide. pools: of each service; empty where the smallest pools exceed the server's limit.
    connections, connections_in_deploy: of all pools, usually and in a rolling deploy; null without pools.
    instance_class: with --instance-class.
    """

    size: int
    limit: ServerLimit
    pools: tuple[ServicePool, ...]


def fleet_values(plan: FleetPlan, more: OfClass | None = None) -> FleetValues:
    """Return a fleet's plan as data for JSON. more: further keys, or None."""
    return {
        "size": plan.size, "limit": plan.limit, "pools": plan.pools, **pools_values(plan.pools, plan.findings, more),
    }  # fmt: skip


def pools_values(pools: Sequence[ServicePool], findings: Sequence[Finding], more: OfClass | None = None) -> PoolsValues:
    """Return the totals of the pools, null without pools, and the findings as data for JSON. more: further keys."""
    return {
        "connections": connections_of(pools) or None,
        "connections_in_deploy": in_deploy_of(pools) or None,
        **findings_values(findings),
        **(more or {}),
    }
