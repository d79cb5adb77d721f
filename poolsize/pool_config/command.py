"""`poolsize config`: the configuration of a pool, a proxy or the server; and the check of an existing one."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolsize.answer.fleet_plan import FleetFloor, FleetLimit, LimitUnknown, plan_fleet
from poolsize.command_line.fleet_options import FLEET_OPTIONS, FleetOptions, fleet_options, limit_of, losses_of
from poolsize.command_line.options import flag, is_typed, json_option
from poolsize.command_line.run_file import end_without_pools, measured_answer
from poolsize.command_line.server import Encryption, encryption_options, inspected
from poolsize.errors import BadInput
from poolsize.pool_config.as_json import configuration_json, stacks_json
from poolsize.pool_config.configuration import configuration
from poolsize.pool_config.settings import PoolSettings, ServerFacts, SizeOfRun, measured_times, pool_settings
from poolsize.pool_config.stacks import STACKS, Stack, find_stack, fits
from poolsize.present.text.fleet import fleet_json, fleet_text
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences

if TYPE_CHECKING:  # only --check reads files
    from poolsize.pool_config.check import KnownServer
    from poolsize.pool_config.library import Value


SIZE_OR_RUN = "give the recommended connections: either --size, or a measured --run"


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
    help="Take --size from this measured run. The pool's timeout is then set from its wait times.",
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
        text = "\n".join(f"{name:<24}{each.title}" for name, each in STACKS.items())
        click.echo(stacks_json(STACKS) if as_json else text)
    elif file is not None:
        _check(file, options, as_json=as_json)
    else:
        assert stack is not None
        _write(stack, options, as_json=as_json)


def _write(stack: str, options: dict[str, Any], *, as_json: bool) -> None:
    """Print the configuration of a stack."""
    chosen = find_stack(stack)
    settings = _recommended(options, chosen, as_json=as_json)
    if settings is None:
        raise BadInput(SIZE_OR_RUN)
    configured = configuration(chosen, settings)
    _caution(settings)
    click.echo(configuration_json(stack, configured, settings) if as_json else configured.text, nl=as_json)


def _check(file: Path, options: dict[str, Any], *, as_json: bool) -> None:
    """Print the pools that a file configures, with their findings."""
    from poolsize.pool_config.as_json import pool_checks_json
    from poolsize.pool_config.check import check_pools
    from poolsize.pool_config.check_text import pool_checks_text
    from poolsize.pool_config.files.reading import read_pools

    read = read_pools(file)
    settings = _recommended(options, None, as_json=as_json)
    intended = None
    if settings is None:
        _refuse_fleet()
    else:
        stacks = {pool.library.stack for pool in read.pools if pool.library.stack}
        intended = {stack: _settings_of(stack, settings) for stack in stacks if fits(STACKS[stack], settings)}
        _caution(settings)
    checked = check_pools(read.pools, _known_server(settings, options), settings, intended)
    show = pool_checks_json if as_json else pool_checks_text
    click.echo(show(str(file) if as_json else file.name, checked, read.more))


def _settings_of(stack: str, settings: PoolSettings) -> "list[tuple[str, Value, str | None]]":
    """Return name, value and unit of each setting of a stack's configuration."""
    return [(each.name, each.value, each.unit) for each in configuration(STACKS[stack], settings).settings]


def _known_server(settings: PoolSettings | None, options: dict[str, Any]) -> "KnownServer":
    """Return what the options say of the server that the pools connect to."""
    from poolsize.pool_config.check import KnownServer

    known = KnownServer()
    if settings is None and options["url"]:
        inspection = inspected(options["url"])
        wait_timeout_seconds = inspection.wait_timeout_seconds or known.wait_timeout_seconds
        return KnownServer(wait_timeout_seconds, inspection.server.max_connections, is_default=False)
    if settings is None:
        return known
    if settings.server.max_connections is None:
        return replace(known, wait_timeout_seconds=settings.wait_timeout_seconds)
    return KnownServer(settings.wait_timeout_seconds, settings.server.max_connections, is_default=False)


def _refuse_fleet() -> None:
    """Raise BadInput for an option of the fleet: without a recommendation there is nothing to divide."""
    for name in FLEET_OPTIONS:
        if is_typed(name):
            raise BadInput(f"{flag(name)} also needs the recommended connections: --size, or --run")


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
    facts, measured, losses, of_run = ServerFacts(), None, None, None
    if run_path is not None:
        analysis, answer = measured_answer(run_path)
        size, losses, fleet = answer.connections, losses_of(analysis, answer), fleet.measured_in(answer)
        measured, of_run = measured_times(analysis, answer), SizeOfRun.of(run_path, answer)
        measured_server = analysis.setting.server
        if measured_server and measured_server.thread_pool:
            facts = ServerFacts(thread_pool_cores=analysis.setting.cores)
    assert size is not None
    limit = fleet.limit()
    if url:
        inspection = inspected(url)
        limit = limit_of(inspection.server, inspection.connection_bytes, limit)
        facts = replace(facts, wait_timeout_seconds=inspection.wait_timeout_seconds)
    facts = replace(facts, max_connections=limit.max_connections)
    if not fleet.of_instances and not is_typed("surge"):
        limit = replace(limit, surge=0.0)
    if stack and stack.shared_by_all:
        limit = limit.without_maximum()  # a proxy, or a larger limit, is the way out where the pools do not fit
    plan = plan_fleet(size, [fleet.service()], limit, losses)
    if not plan.pools:
        click.echo(fleet_json(plan) if as_json else fleet_text(plan))
        end_without_pools(plan)
    return pool_settings(plan, measured, facts, fleet_known=bool(fleet.of_instances), of_run=of_run)


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
