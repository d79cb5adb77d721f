"""`poolsize config`: the configuration of a pool, a proxy or the server; and the check of an existing one."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from poolsize.answer.fleet import ServerLimit
from poolsize.answer.fleet_plan import plan_fleet
from poolsize.command_line.fleet_options import FLEET_OPTIONS, fleet_options, limit_of, losses_of
from poolsize.command_line.options import (
    Encryption,
    encryption_options,
    flag,
    inspected,
    is_typed,
    json_option,
    read_by,
)
from poolsize.command_line.run_file import complete_run, end_unless, measured_answer, supply_of
from poolsize.command_line.traffic_options import traffic_options
from poolsize.errors import BadInput
from poolsize.pool_config.reasons import at_server_limit, waits_at_limit
from poolsize.pool_config.settings import (
    PoolSettings,
    ServerFacts,
    SizeOfRun,
    UsageInPool,
    measured_usage,
    pool_settings,
)
from poolsize.pool_config.stacks import STACKS, Stack, configuration, configuration_json, find_stack
from poolsize.present.text.fleet import fleet_json, fleet_text
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.sweep.readers import positive_milliseconds


@click.command()
@click.option("--for", "stack", metavar="STACK", help="What to configure, e.g. hikaricp; --list shows all.")
@click.option("--list", "lists", is_flag=True, help="List the stacks.")
@click.option(
    "--check",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Check the pool settings in this file instead: Spring Boot YAML, .properties, Python, Go, JavaScript or "
    "my.cnf. With --size, --run or --rate, also compare them with the recommendation.",
)
@click.option("--size", type=int, help="Recommended connections, for all clients together.")
@click.option(
    "--run",
    "run_path",
    metavar="RUN",
    help="Take --size and usage times from this measured run. With --rate, it shows how usage times grow.",
)
@partial(traffic_options, without=("wait_limit",))
@click.option(
    "--usage-time",
    "usage_time_ms",
    metavar="DURATION",
    callback=read_by(positive_milliseconds),
    help="Mean time for which a request uses a connection, with --rate.",
)
@click.option(
    "--caller-timeout",
    "caller_timeout_seconds",
    metavar="DURATION",
    default="30s",
    show_default=True,
    callback=read_by(lambda text: positive_milliseconds(text) / 1000),
    help="Timeout of those who call your service, not of the pool. The pool's wait limit is a third of what a usage "
    "time leaves of it.",
)
@click.option(
    "--url", envvar="POOLSIZE_URL", help="Read wait_timeout and limits of this server. POOLSIZE_URL sets it too."
)
@encryption_options
@fleet_options
@json_option
def config(
    stack: str | None, lists: bool, file: Path | None, encryption: Encryption, as_json: bool, **options: Any
) -> None:
    """Write the configuration of a connection pool, with the reason of each setting; or check an existing one.

    The configuration is for one process. With --instances and --processes, the recommended connections are divided
    among all processes; with --rate, each gets the pool that its traffic needs. The pools of a rolling deploy then
    count against the server's limit.
    """
    options["url"] = encryption.of(options["url"])
    if sum((lists, file is not None, stack is not None)) != 1:
        raise BadInput("give exactly one of --for STACK (to write a configuration), --check FILE, and --list")
    if lists:
        titles = [{"name": name, "title": each.title} for name, each in STACKS.items()]
        text = "\n".join("{name:<24}{title}".format_map(each) for each in titles)
        click.echo(json.dumps(titles) if as_json else text)
    elif file is not None:
        _check(file, options, as_json=as_json)
    else:
        assert stack is not None
        _write(stack, options, as_json=as_json)


def _write(name: str, options: dict[str, Any], *, as_json: bool) -> None:
    stack = find_stack(name)
    settings = _recommended(options, stack, as_json=as_json)
    if settings is None:
        raise BadInput("give the recommended connections: --size, a measured --run, or the traffic: --rate")
    configured = configuration(stack, settings)
    _caution(settings, stack)
    click.echo(configuration_json(configured, settings) if as_json else configured.text, nl=as_json)


def _check(file: Path, options: dict[str, Any], *, as_json: bool) -> None:
    from poolsize.pool_config.check import check_pools, pool_checks_json, pool_checks_text
    from poolsize.pool_config.files.reading import read_pools

    read = read_pools(file)
    stacks = {pool.library.stack for pool in read.pools}
    stack = STACKS.get(stacks.pop()) if len(stacks) == 1 else None
    settings = _recommended(options, stack, as_json=as_json)
    server = settings.server if settings else ServerFacts()
    if settings is None:
        for name in FLEET_OPTIONS:
            if is_typed(name):  # without a recommendation there is nothing to divide
                raise BadInput(f"{flag(name)} also needs the recommended connections: --size, --run or --rate")
        if options["url"]:
            inspection = inspected(options["url"])
            server = ServerFacts(inspection.server.max_connections, inspection.wait_timeout_seconds)
    checked = check_pools(read.pools, server, settings)
    if settings:
        _caution(settings, stack)
    if as_json:
        click.echo(pool_checks_json(str(file), checked, read.more))
    else:
        click.echo(pool_checks_text(file.name, checked, read.more))


def _recommended(options: dict[str, Any], stack: Stack | None, *, as_json: bool) -> PoolSettings | None:
    """Return the settings for the size, the run or the traffic of the options; None without any. Raises BadInput.

    Where no pools fit, it prints why and ends the command. stack: of the configuration, or None.
    """
    size, run_path, demand, usage_ms = (options[name] for name in ("size", "run_path", "demand", "usage_time_ms"))
    demand.check(with_limits=False)
    if usage_ms is not None and demand.rate is None:
        raise BadInput("--usage-time also needs --rate: the requests per second of all instances together")
    if size is not None and run_path is not None:
        raise BadInput("give either --size or --run, not both: the run contains the recommended connections")
    if size is not None and demand.rate is not None:
        raise BadInput("give either --size or --rate, not both: the pool size follows from the traffic")
    if size is None and run_path is None and demand.rate is None:
        return None
    limit, wait_timeout_seconds = options["fleet"].limit(), None
    if options["url"]:
        inspection = inspected(options["url"])
        limit = limit_of(inspection.server, inspection.connection_bytes, limit)
        wait_timeout_seconds = inspection.wait_timeout_seconds
    facts = ServerFacts(limit.max_connections, wait_timeout_seconds, usable=limit.usable)
    settings_of = _divided if demand.rate is None else _for_traffic
    return settings_of(options, stack, limit, facts, as_json=as_json)


def _divided(
    options: dict[str, Any], stack: Stack | None, limit: ServerLimit, facts: ServerFacts, *, as_json: bool
) -> PoolSettings:
    """Return the settings for recommended connections, which are divided among all processes."""
    fleet, size, usage, losses, of_run = options["fleet"], options["size"], None, None, None
    if options["run_path"] is not None:
        analysis, answer = measured_answer(options["run_path"])
        size, losses, fleet = answer.connections, losses_of(analysis, answer), fleet.measured_in(answer)
        assert answer.verdict
        usage = measured_usage(analysis, answer)
        of_run = SizeOfRun(options["run_path"], answer.verdict, bool(answer.doubts))
        facts = facts.measured_in(analysis)
    if not fleet.of_instances and not is_typed("surge"):
        limit = replace(limit, surge=0.0)
    if stack and stack.shared_by_all:
        limit = limit.without_maximum()  # a proxy, or a larger limit, is the way out where the pools do not fit
    plan = plan_fleet(size, [fleet.service()], limit, losses)
    if not plan.pools:
        click.echo(fleet_json(plan) if as_json else fleet_text(plan))
        end_unless(plan.pools)
    callers_seconds = options["caller_timeout_seconds"]
    return pool_settings(plan, usage, facts, callers_seconds, fleet_known=bool(fleet.of_instances), of_run=of_run)


def _for_traffic(
    options: dict[str, Any], stack: Stack | None, limit: ServerLimit, facts: ServerFacts, *, as_json: bool
) -> PoolSettings:
    """Return the settings for the pool that the traffic needs: of each process, or of a proxy that they share."""
    from poolsize.answer.application import ClientTimes
    from poolsize.answer.from_traffic import recommend_for
    from poolsize.present.text.traffic import traffic_json, traffic_text

    fleet, usage_ms, run_path, supply = options["fleet"], options["usage_time_ms"], options["run_path"], None
    traffic = options["demand"].traffic(usage_ms, fleet.service())
    if run_path is not None:
        analysis = complete_run(run_path)
        supply, facts = supply_of(run_path, analysis, ClientTimes(usage_ms, None, None)), facts.measured_in(analysis)
    answer = recommend_for(traffic, supply, limit.without_maximum() if stack and stack.shared_by_all else limit)
    plan = answer.plan
    if not plan.pools:
        click.echo(traffic_json(answer) if as_json else traffic_text(answer))
        end_unless(plan.pools)
    if stack and stack.is_proxy:
        together = replace(traffic, service=traffic.service.as_one_process())
        answer = recommend_for(together, supply, replace(limit, surge=0.0))
        plan = replace(plan, size=answer.pool_size, findings=answer.findings)
    times = answer.traffic.loaded(answer.load).usage
    usage, callers_seconds = UsageInPool(times.p99_ms, times.mean_ms), options["caller_timeout_seconds"]
    return pool_settings(plan, usage, facts, callers_seconds, fleet_known=bool(fleet.of_instances), traffic=answer)


def _caution(settings: PoolSettings, stack: Stack | None) -> None:
    """Print to standard error why the pools are not what was recommended, and what the fleet must heed.

    stack: of the configuration, or None.
    """
    known = settings.server.max_connections is not None or not settings.fleet_known
    unsaid = {"traffic_supply_unknown", *(("fleet_limit_unknown",) if known else ())}  # `recommend` says the former
    findings = [finding for finding in settings.plan.findings if finding.code not in unsaid]
    deciding = [finding for finding in findings if finding.code in ("fleet_limit", "fleet_floor", "traffic_floor")]
    busy, is_caution = waits_at_limit(settings)
    for sentence in (
        *(reason_sentences(deciding) if settings.is_reduced else ()),
        *warning_sentences(findings),
        busy if is_caution and (stack is None or stack.has_wait_limit) else "",
        at_server_limit(settings) if stack and stack.is_proxy else "",
    ):
        if sentence:
            click.echo(f"poolsize: {sentence}", err=True)
