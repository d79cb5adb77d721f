"""`poolsize config`: the configuration of a pool, a proxy or the server; and the check of an existing one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from poolsize.answer.fleet_plan import FleetPlan, plan_fleet
from poolsize.answer.pool_settings import PoolSettings, ServerFacts, measured_times, pool_settings
from poolsize.commands.fleet_options import application, fleet_options, has_fleet, losses_of, server_limit
from poolsize.commands.inspecting import inspected
from poolsize.commands.outputs import json_option
from poolsize.commands.run_file import end_without_pools, measured_answer
from poolsize.errors import BadInput
from poolsize.present.config.configuration import configuration
from poolsize.present.config.stacks import STACKS, find_stack
from poolsize.present.json.configuration import configuration_json
from poolsize.present.json.fleet import fleet_json
from poolsize.present.text.fleet import fleet_text
from poolsize.present.text.sentences.findings import warning_sentences


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
    help="Take --size from this measured run. The limit for waiting then follows from its wait times.",
)
@click.option(
    "--url", envvar="POOLSIZE_URL", help="Read wait_timeout and limits of this server. POOLSIZE_URL sets it too."
)
@fleet_options
@click.option("--app-threads", type=int, help="Threads of each process.")
@click.option(
    "--connections-per-thread",
    type=int,
    help="Connections that a thread holds at once. With --app-threads, it gives the smallest pool without deadlocks.",
)
@json_option
def config(stack: str | None, lists: bool, file: Path | None, as_json: bool, **options: Any) -> None:
    """Write the configuration of a connection pool, with the reason of each setting; or check an existing one.

    The configuration is for one process. With --instances and --processes, the recommended connections are divided
    among all processes.
    """
    if lists:
        click.echo("\n".join(f"{name:<24}{each.title}" for name, each in STACKS.items()))
    elif file is not None:
        if stack is not None:
            raise BadInput("--check reads from the file what it configures: leave --for out")
        _check(file, options, as_json=as_json)
    elif stack is None:
        raise BadInput("name what to configure, e.g. --for hikaricp; --list shows all stacks")
    else:
        _write(stack, options, as_json=as_json)


def _write(stack: str, options: dict[str, Any], *, as_json: bool) -> None:
    """Print the configuration of a stack."""
    chosen = find_stack(stack)
    settings = _recommended(options, as_json=as_json)
    if settings is None:
        raise BadInput("give the recommended connections: either --size, or a measured --run")
    configured = configuration(chosen, settings)
    _caution(settings)
    click.echo(configuration_json(stack, configured, settings) if as_json else configured.text, nl=as_json)


def _check(file: Path, options: dict[str, Any], *, as_json: bool) -> None:
    """Print the judgement on the pools that a file configures."""
    from poolsize.answer.pool_check import check_pools
    from poolsize.pool_files.reading import read_pools
    from poolsize.present.json.pool_check import pool_checks_json
    from poolsize.present.text.pool_check import pool_checks_text

    pools = read_pools(file)
    settings = _recommended(options, as_json=as_json)
    wait_timeout, intended = None, None
    if settings is not None:
        wait_timeout = settings.server.wait_timeout_seconds
        stacks = {pool.library.stack for pool in pools if pool.library.stack}
        intended = {
            stack: [(each.name, each.value, each.unit) for each in configuration(STACKS[stack], settings).settings]
            for stack in stacks
        }
        _caution(settings)
    elif options["url"]:
        wait_timeout = inspected(options["url"]).wait_timeout_seconds
    checked = check_pools(pools, wait_timeout, settings, intended)
    click.echo(pool_checks_json(str(file), checked) if as_json else pool_checks_text(file.name, checked))


def _recommended(options: dict[str, Any], *, as_json: bool) -> PoolSettings | None:
    """Return the settings for the size or the run that the options give; None without either. Raises BadInput.

    Where no pools fit, it prints why and ends the command.
    """
    size, run_path, url = options["size"], options["run_path"], options["url"]
    if size is not None and run_path is not None:
        raise BadInput("give the recommended connections: either --size, or a measured --run")
    if size is None and run_path is None:
        return None
    facts, measured, losses = ServerFacts(), None, None
    if run_path is not None:
        analysis, answer = measured_answer(run_path)
        assert answer.pool_size
        size, losses = answer.pool_size, losses_of(analysis, answer)
        measured = measured_times(analysis, run_path, size, answer.two_pools)
        facts = ServerFacts(server=analysis.setting.server, cores=analysis.setting.cores)
    if url:
        inspection = inspected(url)
        facts = replace(facts, server=inspection.server, wait_timeout_seconds=inspection.wait_timeout_seconds)
    service = application(options, options["app_threads"], options["connections_per_thread"])
    plan = plan_fleet(size, [service], server_limit(options, url), losses)
    _require_pools(plan, as_json=as_json)
    return pool_settings(plan, measured, facts, fleet_known=has_fleet(options))


def _require_pools(plan: FleetPlan, *, as_json: bool) -> None:
    """Print why no pools fit, and end the command."""
    if not plan.pools:
        click.echo(fleet_json(plan) if as_json else fleet_text(plan))
        end_without_pools(plan)


def _caution(settings: PoolSettings) -> None:
    """Print the fleet's warnings to standard error."""
    if settings.fleet_known:
        for caution in warning_sentences(settings.plan.findings):
            click.echo(f"poolsize: {caution}", err=True)
