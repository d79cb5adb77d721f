"""`poolsize config`: the configuration of a pool, a proxy or the server; and the check of an existing one."""

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.fleet_options import FLEET_OPTIONS, fleet_options
from poolsize.command_line.grouped_command import DATABASE, FLEET, OUTPUT, TRAFFIC, GroupedCommand
from poolsize.command_line.options import (
    FILE,
    Encryption,
    complete_runs,
    completed_by,
    duration_option,
    encryption_options,
    json_option,
)
from poolsize.command_line.traffic_options import TRAFFIC_OPTIONS, traffic_options
from poolsize.errors import BadInput
from poolsize.sweep.readers import positive_milliseconds

if TYPE_CHECKING:  # pathlib stays out of --help
    from collections.abc import Iterable
    from pathlib import Path

GROUPS = {
    "What to write or check": ("stack", "lists", "checked"),
    "The recommended connections": ("size", "run_path"),
    TRAFFIC: ("rate", "usage_time_ms", *TRAFFIC_OPTIONS[1:], "caller_timeout_seconds"),
    DATABASE: ("url", "ssl_mode", "ssl_ca"),
    FLEET: FLEET_OPTIONS,
}
"""Heading -> the parameters of its options."""
FORMS = ("text", "json", "github", "gitlab")


def _stacks(_: str) -> "Iterable[str]":
    from poolsize.pool_config.stacks import STACKS

    return STACKS


@click.command(
    cls=GroupedCommand,
    groups=GROUPS,
    others=OUTPUT,
    examples={
        "The lines to paste, for a recommended size": "poolsize config --for hikaricp --size 8",
        "Check the settings that you have": "poolsize config --check application.yml",
    },
)
@click.option(
    "--for",
    "stack",
    metavar="STACK",
    shell_complete=completed_by(_stacks, else_files=False),
    help="What to configure, e.g. hikaricp; --list shows all.",
)
@click.option("--list", "lists", is_flag=True, help="List the stacks.")
@click.option(
    "--check",
    "checked",
    metavar="FILE",
    multiple=True,
    type=FILE,
    help="Check the pool settings in files and folders instead: of Java, Python, Go, Node.js, PHP, Ruby, Rust, .NET, "
    "containers, proxies and servers. With --size, --run or --rate, also compare them with the recommendation.",
)
@click.argument("further", metavar="[FILE]...", nargs=-1, type=FILE)
@click.option("--size", type=int, help="Recommended connections, for all clients together.")
@click.option(
    "--run",
    "run_path",
    metavar="RUN",
    shell_complete=complete_runs,
    help="Take --size and usage times from this measured run. With --rate, it shows how usage times grow.",
)
@partial(traffic_options, without=("wait_limit",))
@duration_option(
    "--usage-time",
    "usage_time_ms",
    help="Mean time for which a request uses a connection. The size of --run is then for your application, which has "
    "this time when nothing queues.",
)
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
    checked: "tuple[Path, ...]",
    further: "tuple[Path, ...]",
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
    if sum((lists, bool(checked), stack is not None)) != 1:
        raise BadInput("give exactly one of --for STACK (to write a configuration), --check FILE, and --list")
    if option := next((each for each in map(str, checked) if each.startswith("--")), None):
        raise BadInput(f"--check {option}: name a file or a folder right after --check, as in --check . {option}")
    if further and not checked:
        raise BadInput(f"{further[0]}: only --check takes files; name a run with --run")
    from poolsize.pool_config.asked import Asked  # --help starts without what writes and checks
    from poolsize.pool_config.run_config import run_config

    asked = Asked(url=encryption.of(url), form="json" if as_json else form or "text", **options)
    run_config(asked, stack, [*checked, *further], lists=lists)
