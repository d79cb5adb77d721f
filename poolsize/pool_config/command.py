"""`poolsize config`: the configuration of a pool, a proxy or the server; and the check of an existing one."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import click

from poolsize.command_line.fleet_options import FLEET_OPTIONS, fleet_options
from poolsize.command_line.grouped_command import DATABASE, FLEET, OUTPUT, TRAFFIC, GroupedCommand
from poolsize.command_line.options import Encryption, duration_option, encryption_options, flag, is_typed, json_option
from poolsize.command_line.traffic_options import TRAFFIC_OPTIONS, traffic_options
from poolsize.errors import FOUND_WRONG, BadInput
from poolsize.pool_config.asked import Asked
from poolsize.pool_config.reasons import traffic_findings
from poolsize.pool_config.settings import PoolSettings
from poolsize.pool_config.stacks import STACKS, Stack, configuration, configuration_values, find_stack
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
@duration_option("--usage-time", "usage_time_ms", help="Mean time for which a request uses a connection, with --rate.")
@duration_option(
    "--caller-timeout",
    "caller_timeout_seconds",
    read=lambda text: positive_milliseconds(text) / 1000,
    default="30s",
    show_default=True,
    help="Timeout of those who call your service, not of the pool. The pool's wait limit is a third of what a usage "
    "time leaves of it.",
)
@click.option(
    "--url", envvar="POOLSIZE_URL", help="Read wait_timeout and limits of this server. POOLSIZE_URL sets it too."
)
@encryption_options
@fleet_options
@click.option("--why", is_flag=True, help="Add advice beyond the settings.")
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
    """Write the configuration of a connection pool, with the reason of each setting, or check a configuration.

    The configuration is for one process. With --instances and --processes, the recommended connections are divided
    among all processes; with --rate, each process gets the pool that its traffic needs. The pools of a rolling deploy
    then count against the server's limit.

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
        titles: list[ListedStack] = [{"name": name, "title": each.title} for name, each in STACKS.items()]
        text = "\n".join("{name:<24}{title}".format_map(each) for each in titles)
        click.echo(json_text(titles) if asked.as_json else text)
    elif checked:
        _check([*checked, *further], asked)
    else:
        assert stack is not None
        _write(find_stack(stack), asked)


class ListedStack(TypedDict):
    """A stack of the list. name: for --for."""

    name: str
    title: str


def _write(stack: Stack, asked: Asked) -> None:
    settings = asked.settings(stack)
    if settings is None:
        raise BadInput("give the recommended connections: --size, a measured --run, or the traffic: --rate")
    configured = configuration(stack, settings)
    _caution(settings, stack)
    text = configured.text if asked.why else configured.brief
    click.echo(json_text(configuration_values(configured, settings)) if asked.as_json else text, nl=asked.as_json)


def _check(paths: Sequence[Path], asked: Asked) -> None:
    from poolsize.pool_config.all_pools import count_pools, typed_in, with_stated
    from poolsize.pool_config.check import checked_file, server_in
    from poolsize.pool_config.check_text import (
        github_annotations,
        gitlab_report,
        pool_checks_text,
        pool_checks_values,
        problems_of,
    )
    from poolsize.pool_config.files.reading import read_files

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
        values = pool_checks_values(checked, together) if asked.as_json else None
        click.echo(json_text(values) if values else pool_checks_text(checked, together))
    if together.finding or any(file.has_warning for file in checked):
        sys.exit(FOUND_WRONG)


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
