"""GroupedCommand: a command whose help lists its options in groups and ends with examples."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

DATABASE, TRAFFIC, RUN, FLEET, OUTPUT = (
    "What the database has", "What your traffic needs", "A run", "A fleet", "Output"
)  # fmt: skip
"""Headings of groups that several commands have."""
AFTER_FIRST_SENTENCE = r"  \[default: |(?<=\.) (?=[A-Z])"
"""Regular expression, which only the help compiles."""


class GroupedCommand(click.Command):
    """A command whose help lists its options in groups and ends with examples.

    With groups, `--help` shows the first sentence of each option, without the group for experts; `--help-all` shows
    everything. Without groups, `--help` does.

    groups: heading -> parameters of its options. others: heading of the options that no group names.
    expert: heading of the group for experts, or None. examples: what a command does, in a few words -> the command.
    """

    def __init__(
        self,
        *args: Any,
        examples: Mapping[str, str],
        groups: Mapping[str, Sequence[str]] | None = None,
        others: str = "Options",
        expert: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples, self.groups, self.others, self.expert = examples, groups or {}, others, expert
        if self.groups:
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

    def in_groups(self, parameters: Iterable[click.Parameter]) -> Mapping[str, list[click.Parameter]]:
        """Return heading -> the parameters of its group."""
        left = {str(parameter.name): parameter for parameter in parameters}
        grouped = {
            heading: [left.pop(name) for name in names if name in left] for heading, names in self.groups.items()
        }
        return grouped | {self.others: [*grouped.get(self.others, ()), *left.values()]}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups."""
        shows_all = not self.groups or ctx.meta.get(__name__, False)
        options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        for heading, group in self.in_groups(options).items():
            if heading == self.expert and not shows_all:
                continue
            records = [record for option in group if (record := option.get_help_record(ctx))]
            if not shows_all:
                records = [(names, re.split(AFTER_FIRST_SENTENCE, text)[0]) for names, text in records]
            with formatter.section(heading):
                formatter.write_dl(records)
        if not shows_all:
            more = "Options for experts, and all defaults" if self.expert else "Options in full, with their defaults"
            formatter.write(f"\n{more}: {ctx.command_path} --help-all\n")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's signature)
        """Write the examples, each command on a line of its own, so that it can be copied."""
        with formatter.section("Examples"):
            for purpose, command in self.examples.items():
                formatter.write(f"  # {purpose}\n  {command}\n")


def _show_all(ctx: click.Context, _: click.Parameter, typed: bool) -> None:
    if typed and not ctx.resilient_parsing:
        ctx.meta[__name__] = True
        click.echo(ctx.get_help())
        ctx.exit()
