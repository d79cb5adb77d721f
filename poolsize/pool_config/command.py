"""`poolsize config`: the configuration of a pool, a proxy or the server; and the check of an existing one."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn

import click

from poolsize.answer.fleet import ServerLimit, service_pool
from poolsize.answer.fleet_plan import FleetPlan, plan_fleet
from poolsize.command_line.fleet_options import FLEET_OPTIONS, FleetOptions, fleet_options, limit_of, plan_of_run
from poolsize.command_line.grouped_command import DATABASE, FLEET, OUTPUT, TRAFFIC, GroupedCommand
from poolsize.command_line.options import (
    Encryption,
    encryption_options,
    flag,
    inspected,
    is_typed,
    json_option,
    read_by,
)
from poolsize.command_line.run_file import complete_run, measured_answer, supply_of, traffic_with
from poolsize.command_line.traffic_options import TRAFFIC_OPTIONS, TrafficOptions, traffic_options
from poolsize.errors import FOUND_WRONG, BadInput, WorkFailed
from poolsize.pool_config.proxy import proxy_findings, shared_connections, shared_service
from poolsize.pool_config.reasons import traffic_findings
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
from poolsize.present.text.json_text import json_text
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.sweep.readers import positive_milliseconds

GROUPS = {
    "What to write or check": ("stack", "lists", "checked"),
    "The recommended connections": ("size", "run_path"),
    TRAFFIC: ("rate", "usage_time_ms", *TRAFFIC_OPTIONS[1:], "caller_timeout_seconds"),
    DATABASE: ("url", "ssl_mode", "ssl_ca"),
    FLEET: FLEET_OPTIONS,
}
"""Heading -> the parameters of its options."""
FORMS = ("text", "json", "github", "gitlab")


@click.command(
    cls=GroupedCommand,
    groups=GROUPS,
    others=OUTPUT,
    examples={
        "The lines to paste, for a recommended size": "poolsize config --for hikaricp --size 8",
        "Check the settings that you have": "poolsize config --check application.yml",
    },
)
@click.option("--for", "stack", metavar="STACK", help="What to configure, e.g. hikaricp; --list shows all.")
@click.option("--list", "lists", is_flag=True, help="List the stacks.")
@click.option(
    "--check",
    "checked",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Check the pool settings in files and folders instead: of Java, Python, Go, Node.js, PHP, Ruby, Rust, .NET, "
    "containers, proxies and servers. With --size, --run or --rate, also compare them with the recommendation.",
)
@click.argument("further", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
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
@click.option("--why", is_flag=True, help="Also say what no setting can do.")
@json_option
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="Form of the answer: text (default), or json, as by --json. With --check also github, annotations of a "
    "workflow, or gitlab, a Code Quality report.",
)
def config(
    stack: str | None,
    lists: bool,
    checked: tuple[Path, ...],
    further: tuple[Path, ...],
    encryption: Encryption,
    url: str | None,
    as_json: bool,
    form: str | None,
    **options: Any,
) -> None:
    """Write the configuration of a connection pool, with the reason of each setting; or check an existing one.

    The configuration is for one process. With --instances and --processes, the recommended connections are divided
    among all processes; with --rate, each gets the pool that its traffic needs. The pools of a rolling deploy then
    count against the server's limit.

    --check takes several files and folders, and also counts their pools in all processes. The exit code is 3 if it
    finds something wrong.
    """
    if as_json and form not in (None, "json"):
        raise BadInput(f"give either --json or --format {form}, not both")
    if form in ("github", "gitlab") and not checked:
        raise BadInput(f"--format {form} also needs --check FILE: it lists what is wrong in files")
    asked = Asked(url=encryption.of(url), form="json" if as_json else form or "text", **options)
    if sum((lists, bool(checked), stack is not None)) != 1:
        raise BadInput("give exactly one of --for STACK (to write a configuration), --check FILE, and --list")
    if further and not checked:
        raise BadInput(f"{further[0]}: only --check takes files; name a run with --run")
    if lists:
        titles = [{"name": name, "title": each.title} for name, each in STACKS.items()]
        text = "\n".join("{name:<24}{title}".format_map(each) for each in titles)
        click.echo(json_text(titles) if asked.as_json else text)
    elif checked:
        _check([*checked, *further], asked)
    else:
        assert stack is not None
        _write(find_stack(stack), asked)


@dataclass(frozen=True)
class Asked:
    """The options, as typed: those of the recommendation, and why and form, for the form of the answer.

    None where an option was not typed. Raises BadInput for options that do not go together.
    """

    size: int | None
    run_path: str | None
    demand: TrafficOptions
    usage_time_ms: float | None
    caller_timeout_seconds: float
    url: str | None
    fleet: FleetOptions
    why: bool
    form: str

    @property
    def as_json(self) -> bool:
        """Whether the answer is a JSON object."""
        return self.form == "json"

    def __post_init__(self) -> None:
        self.demand.check(with_limits=False)
        if self.usage_time_ms is not None and self.demand.rate is None:
            raise BadInput("--usage-time also needs --rate: the requests per second of all instances together")
        if self.size is not None and self.run_path is not None:
            raise BadInput("give either --size or --run, not both: the run contains the recommended connections")
        if self.size is not None and self.demand.rate is not None:
            raise BadInput("give either --size or --rate, not both: the pool size follows from the traffic")

    def settings(self, stack: Stack | None) -> PoolSettings | None:
        """Return the settings for the size, the run or the traffic; None without any. Raises BadInput.

        Where no pools fit, it prints why and ends the command. stack: of the configuration, or None.
        """
        if self.size is None and self.run_path is None and self.demand.rate is None:
            return None
        settings_of = _divided if self.demand.rate is None else _for_traffic
        return settings_of(self, stack, *self.server)

    @cached_property
    def server(self) -> tuple[ServerLimit, ServerFacts]:
        """The limit and the facts of the server, as far as they are known. Raises BadInput and WorkFailed."""
        limit = self.fleet.limit()
        if not self.url:
            return limit, ServerFacts(limit.max_connections)
        inspection = inspected(self.url)
        limit = limit_of(inspection.server, inspection.connection_bytes, limit)
        return limit, ServerFacts(limit.max_connections, inspection.wait_timeout_seconds)


def _write(stack: Stack, asked: Asked) -> None:
    settings = asked.settings(stack)
    if settings is None:
        raise BadInput("give the recommended connections: --size, a measured --run, or the traffic: --rate")
    configured = configuration(stack, settings)
    _caution(settings, stack)
    text = configured.text if asked.why else configured.brief
    click.echo(configuration_json(configured, settings) if asked.as_json else text, nl=asked.as_json)


def _check(paths: Sequence[Path], asked: Asked) -> None:
    from poolsize.pool_config.annotations import github_annotations, gitlab_report
    from poolsize.pool_config.check import checked_file, count_pools, server_in
    from poolsize.pool_config.check_text import pool_checks_json, pool_checks_text, problems_of
    from poolsize.pool_config.files.reading import read_files
    from poolsize.pool_config.stated import typed_in, with_stated

    files, errors = read_files(paths)
    for error in errors:
        click.echo(f"poolsize: not checked: {error}", err=True)
    stacks = {pool.library.stack for file in files for pool in file.pools}
    stack = STACKS.get(stacks.pop()) if len(stacks) == 1 else None
    typed = typed_in(asked.fleet)
    asked = replace(asked, fleet=with_stated(asked.fleet, files, typed))
    settings = asked.settings(stack)
    limit, facts = asked.server
    if settings:
        _caution(settings, stack)
        typed = replace(typed, service=settings.service, surge=settings.plan.limit.surge)
    else:
        for name in ("app_threads", "connections_per_thread"):
            if is_typed(name):  # without a recommendation no size follows from them
                raise BadInput(f"{flag(name)} also needs the recommended connections: --size, --run or --rate")
    of_server = server_in(files)
    facts = replace(
        facts,
        max_connections=limit.max_connections or of_server.max_connections,
        wait_timeout_seconds=facts.wait_timeout_seconds or of_server.wait_timeout_seconds,
    )
    checked = [checked_file(file, facts, settings) for file in files]
    together = count_pools(checked, typed, limit, of_server.max_connections)
    if asked.form in ("github", "gitlab"):
        annotated = github_annotations if asked.form == "github" else gitlab_report
        text = annotated(problems_of(checked, together))
        click.echo(text, nl=bool(text))
    else:
        click.echo((pool_checks_json if asked.as_json else pool_checks_text)(checked, together))
    if together.finding or any(file.has_warning for file in checked):
        sys.exit(FOUND_WRONG)


def _divided(asked: Asked, stack: Stack | None, limit: ServerLimit, facts: ServerFacts) -> PoolSettings:
    """Return the settings for recommended connections, which all processes divide, or share by a proxy."""
    fleet, usage, of_run, shared, measured = asked.fleet, None, None, None, None
    if asked.run_path is not None:
        analysis, answer = measured = measured_answer(asked.run_path)
        fleet = fleet.measured_in(answer)
        assert answer.verdict
        usage = measured_usage(analysis, answer)
        of_run = SizeOfRun(asked.run_path, answer.verdict, bool(answer.doubts))
        facts = facts.measured_in(analysis)
    if not fleet.of_instances and not is_typed("surge"):
        limit = replace(limit, surge=0.0)
    service, of_pools = fleet.service(), limit.without_maximum() if stack and stack.shared_by_all else limit
    if measured is None:
        assert asked.size is not None
        plan = plan_fleet(asked.size, [service], of_pools)
    else:
        plan = plan_of_run(*measured, [service], of_pools)
    if not plan.pools:
        _end(fleet_json(plan) if asked.as_json else fleet_text(plan))
    if stack and stack.is_proxy:
        shared, findings = shared_connections(plan.size, shared_service(service, limit), limit)
        plan = replace(plan, findings=findings)
    settings = pool_settings(plan, usage, facts, asked.caller_timeout_seconds, fleet_known=bool(fleet.of_instances))
    return replace(settings, of_run=of_run, shared_connections=shared)


def _for_traffic(asked: Asked, stack: Stack | None, limit: ServerLimit, facts: ServerFacts) -> PoolSettings:
    """Return the settings for the pool that the traffic needs: of each process, or of a proxy that they share."""
    from poolsize.answer.from_traffic import recommend_for
    from poolsize.answer.traffic_need import process_need
    from poolsize.present.text.traffic import traffic_json, traffic_text

    service, supply = asked.fleet.service(), None
    analysis = None if asked.run_path is None else complete_run(asked.run_path)
    traffic = traffic_with(asked.demand, asked.usage_time_ms, service, analysis)
    is_proxy = stack is not None and stack.is_proxy
    if asked.run_path is not None and analysis is not None:
        from poolsize.answer.application import ClientTimes  # and the analysis of a run with it

        client_times = ClientTimes(traffic.usage.mean_ms)
        supply, facts = supply_of(asked.run_path, analysis, client_times), facts.measured_in(analysis)
    if is_proxy:
        shared = replace(traffic, service=shared_service(service, limit))
        answer = recommend_for(shared, supply, replace(limit, surge=0.0))
    else:
        answer = recommend_for(traffic, supply, limit.without_maximum() if stack and stack.is_server else limit)
    plan = answer.plan
    if not plan.pools:
        _end(traffic_json(answer) if asked.as_json else traffic_text(answer))
    if is_proxy:
        of_process = process_need(traffic, supply)
        pools = (service_pool(service, of_process.pool_size, limit),)
        findings = proxy_findings(answer, traffic.loaded(answer.load), of_process)
        plan = FleetPlan(answer.pool_size, limit, pools, tuple(findings))
    times = answer.traffic.loaded(answer.load).usage
    usage, fleet_known = UsageInPool(times.p99_ms, times.mean_ms), bool(asked.fleet.of_instances)
    settings = pool_settings(plan, usage, facts, asked.caller_timeout_seconds, fleet_known=fleet_known)
    return replace(settings, traffic=answer, shared_connections=answer.pool_size if is_proxy else None)


def _end(text: str) -> NoReturn:
    click.echo(text)
    sys.exit(WorkFailed.exit_code)


def _caution(settings: PoolSettings, stack: Stack | None) -> None:
    """Print to standard error why the pools are not what was recommended, and what the fleet must heed.

    stack: of the configuration, or None.
    """
    known = settings.server.max_connections is not None or not settings.fleet_known
    unsaid = {"traffic_supply_unknown", "traffic_threads_unknown"}  # `recommend` says these
    if known:
        unsaid.add("fleet_limit_unknown")
    findings = [finding for finding in settings.plan.findings if finding.code not in unsaid]
    deciding = [finding for finding in findings if finding.code in ("fleet_limit", "fleet_floor", "traffic_floor")]
    reasons = reason_sentences(deciding) if settings.is_reduced else ()
    for sentence in (*reasons, *warning_sentences([*findings, *traffic_findings(settings, stack)])):
        click.echo(f"poolsize: {stack.words(sentence) if stack else sentence}", err=True)
