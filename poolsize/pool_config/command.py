"""`poolsize config`: the configuration of a pool, a proxy or the server; and the check of an existing one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from poolsize.answer.fleet_plan import FleetFloor, FleetLimit, LimitUnknown, plan_fleet
from poolsize.command_line.fleet_options import FLEET_OPTIONS, FleetOptions, fleet_options, limit_of, losses_of
from poolsize.command_line.options import (
    Encryption,
    encryption_options,
    flag,
    inspected,
    is_typed,
    json_option,
    read_by,
)
from poolsize.command_line.run_file import end_unless, measured_answer
from poolsize.errors import BadInput
from poolsize.pool_config.settings import PoolSettings, ServerFacts, SizeOfRun, measured_times, pool_settings
from poolsize.pool_config.stacks import STACKS, Stack, configuration, configuration_json, find_stack
from poolsize.present.text.fleet import fleet_json, fleet_text
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.sweep.readers import seconds


@click.command()
@click.option("--for", "stack", metavar="STACK", help="What to configure, e.g. hikaricp; --list shows all.")
@click.option("--list", "lists", is_flag=True, help="List the stacks.")
@click.option(
    "--check",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Check the pool settings in this file instead: Spring Boot YAML, .properties, Python, Go, JavaScript or "
    "my.cnf. With --size or --run, also compare them with the recommendation.",
)
@click.option("--size", type=int, help="Recommended connections, for all clients together.")
@click.option(
    "--run",
    "run_path",
    metavar="RUN",
    help="Take --size and usage times from this measured run.",
)
@click.option(
    "--caller-timeout",
    "caller_timeout_seconds",
    metavar="DURATION",
    default="30s",
    show_default=True,
    callback=read_by(seconds),
    help="How long the callers of your application wait. A third of what a usage time leaves is the pool's wait limit.",
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
    among all processes.
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
        raise BadInput("give the recommended connections: either --size, or a measured --run")
    configured = configuration(stack, settings)
    _caution(settings)
    click.echo(configuration_json(configured, settings) if as_json else configured.text, nl=as_json)


def _check(file: Path, options: dict[str, Any], *, as_json: bool) -> None:
    from poolsize.pool_config.check import check_pools, pool_checks_json, pool_checks_text
    from poolsize.pool_config.files.reading import read_pools

    read = read_pools(file)
    settings = _recommended(options, None, as_json=as_json)
    server = settings.server if settings else ServerFacts()
    if settings is None:
        for name in FLEET_OPTIONS:
            if is_typed(name):  # without a recommendation there is nothing to divide
                raise BadInput(f"{flag(name)} also needs the recommended connections: --size, or --run")
        if options["url"]:
            inspection = inspected(options["url"])
            server = ServerFacts(inspection.server.max_connections, inspection.wait_timeout_seconds)
    checked = check_pools(read.pools, server, settings)
    if settings:
        _caution(settings)
    if as_json:
        click.echo(pool_checks_json(str(file), checked, read.more))
    else:
        click.echo(pool_checks_text(file.name, checked, read.more))


def _recommended(options: dict[str, Any], stack: Stack | None, *, as_json: bool) -> PoolSettings | None:
    """Return the settings for the size or the run that the options give; None without either. Raises BadInput.

    Where no pools fit, it prints why and ends the command. stack: to configure, or None.
    """
    size, run_path, url = options["size"], options["run_path"], options["url"]
    fleet: FleetOptions = options["fleet"]
    if size is not None and run_path is not None:
        raise BadInput("give either --size or --run, not both: the run contains the recommended connections")
    if size is None and run_path is None:
        return None
    measured = losses = of_run = wait_timeout_seconds = thread_pool_cores = None
    if run_path is not None:
        analysis, answer = measured_answer(run_path)
        size, losses, fleet = answer.connections, losses_of(analysis, answer), fleet.measured_in(answer)
        assert answer.verdict
        measured, of_run = measured_times(analysis, answer), SizeOfRun(run_path, answer.verdict, bool(answer.doubts))
        measured_server = analysis.setting.server
        if measured_server and measured_server.thread_pool:
            thread_pool_cores = analysis.setting.cores
    assert size is not None
    limit = fleet.limit()
    if url:
        inspection = inspected(url)
        limit = limit_of(inspection.server, inspection.connection_bytes, limit)
        wait_timeout_seconds = inspection.wait_timeout_seconds
    facts = ServerFacts(limit.max_connections, wait_timeout_seconds, thread_pool_cores)
    if not fleet.of_instances and not is_typed("surge"):
        limit = replace(limit, surge=0.0)
    if stack and stack.shared_by_all:
        limit = limit.without_maximum()  # a proxy, or a larger limit, is the way out where the pools do not fit
    plan = plan_fleet(size, [fleet.service()], limit, losses)
    if not plan.pools:
        click.echo(fleet_json(plan) if as_json else fleet_text(plan))
        end_unless(plan.pools)
    return pool_settings(
        plan,
        measured,
        facts,
        fleet_known=bool(fleet.of_instances),
        of_run=of_run,
        caller_timeout_seconds=options["caller_timeout_seconds"],
    )


def _caution(settings: PoolSettings) -> None:
    """Print to standard error why the pools are not what was recommended, and what the fleet must heed."""
    known = settings.server.max_connections is not None or not settings.fleet_known
    findings = [finding for finding in settings.plan.findings if not (known and isinstance(finding, LimitUnknown))]
    deciding = [finding for finding in findings if isinstance(finding, FleetLimit | FleetFloor)]
    for sentence in [
        *(reason_sentences(deciding) if settings.is_reduced else ()),
        *warning_sentences(findings),
    ]:
        click.echo(f"poolsize: {sentence}", err=True)
