"""The generated pages of docs/reference; the page of the commands comes from click's declarations.

To write them into a checkout's docs: python -m poolsize.commands.reference FOLDER
"""

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from poolsize.command_line.sweep_options import GroupedCommand, in_groups
from poolsize.commands import COMMANDS, cli
from poolsize.present.reference import GENERATED, checks_page, options_page, run_format_page, table

INTRODUCTION = """
# Commands

`poolsize COMMAND --help`, and `poolsize sweep --help-all`, print the same in a terminal. Results go to standard output;
progress, warnings and errors go to standard error. The exit code is 0 after success. It is 1 if the work failed (for
example, the server stopped, or the run is incomplete), or if no pool size can be recommended; in the second case the
text or JSON is still printed. It is 2 for bad input, 130 after Ctrl-C, 141 if the program that reads standard output is
gone, and 143 after SIGTERM.

A control character in a text of others, such as a server's error or the name of a file, is printed as `\\u001b`.

"""


def commands_page() -> str:
    """Return the page as Markdown: a list of the commands, and a section for each."""
    summary = table(("Command", "What it does"), [(f"[`{name}`](#{name})", text) for name, text in COMMANDS.items()])
    header = GENERATED.format(source="poolsize/commands")
    return header + INTRODUCTION + summary + "".join(map(_section, COMMANDS))


PAGES: Mapping[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "options.md": options_page,
    "run-format.md": run_format_page,
    "checks.md": checks_page,
}
"""File in docs/reference -> function that returns its text."""


def _section(name: str) -> str:
    context = click.Context(cli, info_name="poolsize")
    command = cli.get_command(context, name)
    assert command is not None
    usage = " ".join(["poolsize", name, *command.collect_usage_pieces(context)])
    text = inspect.cleandoc(command.help or "")
    if isinstance(command, GroupedCommand):
        options = "".join(
            f"\n### {group.value}\n{_options(parameters)}" for group, parameters in in_groups(command.params).items()
        )
    else:
        options = _options(command.params)
    return f"\n## {name}\n\n    {usage}\n\n{text}\n{options}"


def _options(parameters: Sequence[click.Parameter]) -> str:
    rows = [_row(option) for option in parameters if isinstance(option, click.Option)]
    return "\n" + table(("Option", "Meaning", "Default"), rows) if rows else ""


def _row(option: click.Option) -> tuple[str, str, str]:
    """Return the cells of an option; its default is in its help, or click's."""
    text, _, default = re.sub(r"\]$", "", option.help or "").partition("  [default: ")
    if not default and option.required:
        default = "required"
    elif not default and option.show_default:
        default = str(option.default)
    placeholder = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    return f"`{option.opts[0]}{placeholder}`", text, default


def main(folder: Path) -> None:
    """Write every page into a folder."""
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
