"""The options of a sweep as options of a command, and their flags in errors."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from poolsize.sweep.option import Group
from poolsize.sweep.options import FLAGS, OPTIONS, with_flags

Command = Callable[..., None]
AFTER_FIRST_SENTENCE = re.compile(r"  \[default: |(?<=\.) (?=[A-Z])")


class GroupedCommand(click.Command):
    """A command that lists its options in groups.

    `--help` shows the first sentence of each option, without the options for experts; `--help-all` shows everything.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                help="Show every option in full, with its default, and exit.",
            )
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups."""
        shows_all = ctx.meta.get(__name__, False)
        for group, parameters in in_groups(self.get_params(ctx)).items():
            if group is Group.EXPERT and not shows_all:
                continue
            records = [record for parameter in parameters if (record := parameter.get_help_record(ctx))]
            if not shows_all:
                records = [(names, AFTER_FIRST_SENTENCE.split(text)[0]) for names, text in records]
            with formatter.section(group.value):
                formatter.write_dl(records)
        if not shows_all:
            formatter.write(f"\nOptions for experts, and all defaults: {ctx.command_path} --help-all\n")


def in_groups(parameters: Iterable[click.Parameter]) -> Mapping[Group, list[click.Parameter]]:
    """Return the parameters of each group; one that SweepOptions does not have is of what everybody needs."""
    groups: dict[Group, list[click.Parameter]] = {group: [] for group in Group}
    for parameter in parameters:
        option = OPTIONS.get(parameter.name or "")
        groups[option.group if option else Group.COMMON].append(parameter)
    return groups


def _show_all(ctx: click.Context, _: click.Parameter, typed: bool) -> None:
    if typed and not ctx.resilient_parsing:
        ctx.meta[__name__] = True
        click.echo(ctx.get_help())
        ctx.exit()


def sweep_options(names: Iterable[str], usage: Mapping[str, str] | None = None) -> Callable[[Command], Command]:
    """Return a decorator that gives a command these options; its parameters have the names of SweepOptions' fields.

    usage: name of an option -> its help text, where it differs from that of a sweep.
    """
    texts: Mapping[str, Any] = {name: OPTIONS[name].usage for name in names} | dict(usage or {})

    def decorated(command: Command) -> Command:
        for name, text in reversed(list(texts.items())):
            option = OPTIONS[name]
            command = click.option(
                option.flag,
                name,
                type=option.kind,
                is_flag=option.switch,
                default=None,
                multiple=option.repeatable,
                envvar=option.variable,
                metavar=option.metavar,
                help=text,
            )(command)
        return command

    return decorated


UNREACHED = ("`url`: no server answers", "`url`: the server refuses")
"""Beginnings of errors that a command without a server would not have."""


def in_flags(message: str, command: click.Command | None) -> str:
    """Return a message in which flags replace the parameters in backticks: a command's own flags, else a sweep's.

    Where an environment variable gave a parameter its value, the variable's name replaces it.
    """
    own = {option.name: option.opts[0] for option in command.params if option.name} if command else {}
    given = {word.split("=", 1)[0] for word in sys.argv[1:]}
    variables = {
        name: option.variable
        for name, option in OPTIONS.items()
        if option.variable and option.variable in os.environ and option.flag not in given
    }
    way_out = "; or unset POOLSIZE_URL" if "url" in variables and message.startswith(UNREACHED) else ""
    return with_flags(message, {**FLAGS, **own, **variables}) + way_out
