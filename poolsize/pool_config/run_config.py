"""What `poolsize config` does: it writes a configuration, or checks files."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import click

from poolsize.command_line.options import flag, is_typed
from poolsize.errors import FOUND_WRONG, BadInput
from poolsize.pool_config.asked import Asked
from poolsize.pool_config.reasons import traffic_findings
from poolsize.pool_config.settings import PoolSettings
from poolsize.pool_config.stacks import STACKS, Stack, configuration, configuration_values, find_stack
from poolsize.present.text.json_text import json_text
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences


def run_config(asked: Asked, stack: str | None, paths: Sequence[Path], *, lists: bool) -> None:
    """List the stacks, check files, or write the configuration of a stack, and print that. Raises BadInput."""
    if lists:
        titles: list[ListedStack] = [{"name": name, "title": each.title} for name, each in STACKS.items()]
        text = "\n".join("{name:<24}{title}".format_map(each) for each in titles)
        click.echo(json_text(titles) if asked.as_json else text)
    elif paths:
        _check(paths, asked)
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
    from poolsize.pool_config.check import checked_file, server_in, with_threads
    from poolsize.pool_config.check_text import (
        github_annotations,
        gitlab_report,
        pool_checks_text,
        pool_checks_values,
        problems_of,
    )
    from poolsize.pool_config.files.programs import in_environment, read_files

    files, errors = read_files(paths)
    for error in errors:
        click.echo(f"poolsize: not checked: {error}", err=True)
    files = in_environment(files)
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
    checked = with_threads([checked_file(file, facts, settings) for file in files])
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
    unsaid = {"traffic_supply_unknown", "traffic_threads_unknown", "fleet_pool_of_one"}  # others say these
    if known:
        unsaid.add("fleet_limit_unknown")
    findings = [finding for finding in settings.plan.findings if finding.code not in unsaid]
    deciding = [finding for finding in findings if finding.code in ("fleet_limit", "fleet_floor", "traffic_floor")]
    reasons = reason_sentences(deciding) if settings.is_reduced else ()
    for sentence in (*reasons, *warning_sentences([*findings, *traffic_findings(settings, stack)])):
        click.echo(f"poolsize: {stack.words(sentence) if stack else sentence}", err=True)
